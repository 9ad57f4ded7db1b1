/* bench_all.h: every collective of bench/ in one table: the files themselves, with their main()
 * renamed and perf_main() as a collector. Include it once per test program. */
#ifndef HANGAR_BENCH_ALL_H
#define HANGAR_BENCH_ALL_H

#include "bench/perf_main.h"

int main_all_gather(int argc, char **argv);
int main_all_reduce(int argc, char **argv);
int main_alltoall(int argc, char **argv);
int main_alltoallv(int argc, char **argv);
int main_broadcast(int argc, char **argv);
int main_gather(int argc, char **argv);
int main_hypercube(int argc, char **argv);
int main_reduce(int argc, char **argv);
int main_reduce_scatter(int argc, char **argv);
int main_scatter(int argc, char **argv);
int main_sendrecv(int argc, char **argv);

#define main main_all_gather
#include "bench/all_gather_perf.c"
#undef main
#define main main_all_reduce
#include "bench/all_reduce_perf.c"
#undef main
#define main main_alltoall
#include "bench/alltoall_perf.c"
#undef main
#define main main_alltoallv
#include "bench/alltoallv_perf.c"
#undef main
#define main main_broadcast
#include "bench/broadcast_perf.c"
#undef main
#define main main_gather
#include "bench/gather_perf.c"
#undef main
#define main main_hypercube
#include "bench/hypercube_perf.c"
#undef main
#define main main_reduce
#include "bench/reduce_perf.c"
#undef main
#define main main_reduce_scatter
#include "bench/reduce_scatter_perf.c"
#undef main
#define main main_scatter
#include "bench/scatter_perf.c"
#undef main
#define main main_sendrecv
#include "bench/sendrecv_perf.c"
#undef main

/* What the renamed main() functions hand to perf_main(): see bench_all_check. */
static const struct collective *bench_seen;

int perf_main(const struct collective *collective, int argc, char **argv)
{
	(void)argv;
	bench_seen = collective;
	return argc;
}

static const struct bench_entry {
	const struct collective *collective;
	int (*main)(int argc, char **argv);
} bench_all[] = {
	{ &all_gather, main_all_gather },
	{ &all_reduce, main_all_reduce },
	{ &alltoall, main_alltoall },
	{ &alltoallv, main_alltoallv },
	{ &broadcast, main_broadcast },
	{ &gather, main_gather },
	{ &hypercube, main_hypercube },
	{ &reduce, main_reduce },
	{ &reduce_scatter, main_reduce_scatter },
	{ &scatter, main_scatter },
	{ &sendrecv, main_sendrecv },
};

enum { BENCH_COUNT = sizeof(bench_all) / sizeof(bench_all[0]) };

#endif
