/* collectives.h: the register of the programs NAME_perf: NAME_perf.c defines `const struct collective NAME`. */
#pragma once

/* A line each, sorted by name. Programs, table, schedules, faults and tests take theirs from here. */
/* clang-format off */
#define COLLECTIVES(row) \
	row(all_gather) \
	row(all_reduce) \
	row(alltoall) \
	row(alltoallv) \
	row(broadcast) \
	row(gather) \
	row(hypercube) \
	row(reduce) \
	row(reduce_scatter) \
	row(scatter) \
	row(sendrecv)

/* Programs of that form that are no collective: no rows, no place in a schedule. */
#define PROGRAMS_BESIDE(row) \
	row(p2p_matrix) \
	row(step)
/* clang-format on */
