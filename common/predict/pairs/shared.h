/* shared.h: what slow pairs have in common that no fast pair has. */
#pragma once

#include "pairs/plan.h"

/* Names of what a rank sits on, "" where that is not known; names are of one host each. */
enum pair_thing { PAIR_NIC, PAIR_SWITCH, PAIR_SOCKET, PAIR_GPU, PAIR_HOST, PAIR_THINGS };

struct pair_end {
	char name[PAIR_THINGS][48];
};

/* Writes "NIC mlx5_1 (of 6 slow pairs), ...": things on the way of slow pairs alone, of two at least, first those of
 * most pairs; "" where nothing is. A NIC, and a host's network, is on the way between hosts; a switch or
 * socket where one end lies below it and the other on the same host does not; a GPU (a rank, where it has
 * none) and a host on the way of all their pairs. `slow`: a flag per pair of the plan, `ends`: one per rank.
 * Returns how many slow pairs no thing accounts for. */
int pair_shared(const struct pair_plan *plan, const struct pair_end *ends, const bool *slow,
		char *text, size_t len);
