/* shared.h: things that slow pairs have in common and no fast pair has. */
#pragma once

#include "pairs/plan.h"

/* Names of the things below a rank, "" where unknown. A name belongs to one host. */
enum pair_thing { PAIR_NIC, PAIR_SWITCH, PAIR_SOCKET, PAIR_GPU, PAIR_HOST, PAIR_THINGS };

struct pair_end {
	char name[PAIR_THINGS][48];
};

/* Writes "NIC mlx5_1 (6 slow pairs), ...": things on the way of at least two slow pairs and of no
 * fast pair, most pairs first. NICs and a host's network are on the way between hosts. A switch or
 * socket is on the way where one end lies below it and the other, of the same host, does not. A GPU
 * (or rank) and a host are on the way of all their pairs. `slow` has a flag a pair of the plan,
 * `ends` an entry a rank. Returns the number of slow pairs that no thing accounts for. */
int pair_shared(const struct pair_plan *plan, const struct pair_end *ends, const bool *slow,
		char *text, size_t len);
