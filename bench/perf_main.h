/* perf_main.h: the program around a collective. */
#pragma once

#include "backend/call.h"
#include "backend/collective.h"
#include "collectives.h"
#include "inject/fault.h"

#define COLLECTIVE_DECLARE(name) extern const struct collective name;
COLLECTIVES(COLLECTIVE_DECLARE)
extern const struct collective p2p_matrix; /* stands for the program, and is none */
/* perf_check.c: those of COLLECTIVES in their order; NULL-terminated. */
extern const struct collective *const collectives[];

/* Runs a program around a collective: options, processes, sweep, output. Returns the exit code. */
int perf_main(const struct collective *collective, int argc, char **argv);

struct setting_difference;
struct answer;
/* Additions of a test program, or of preflight, to a run; NULL: none. */
struct perf_hooks {
	/* In every rank's call chain, unless --fault uses that place. */
	const struct call_filter *filter;
	/* Called once by a rank's supervisor after a fault has fired on the rank. */
	void (*fired)(int rank, const struct fault_record *record);
	/* As struct monitor_client has it; `ctx` is the run's diagnoser. */
	void (*printed)(void *ctx, const struct answer *verdict);
	/* On rank 0: settings in which ranks differ, n > 0. */
	void (*differ)(const struct setting_difference *found, size_t n);
};

/* The same with hooks. */
int perf_main_hooked(const struct collective *collective, const struct perf_hooks *hooks, int argc,
		     char **argv);

/* Returns the GPUs that a bare start may use with a backend, by its name or "auto": 0 for one without GPUs. Asked in a process
 * of its own: one that has opened CUDA must not fork. */
int perf_count_gpus(const char *backend);

/* A bare start: this program again, as so many ranks, which mpirun starts where the backend's are MPI's. `devices`: the GPUs
 * above. HANGAR_START=0 in the environment: all is checked, and no rank is started. Returns the exit code, or a negative errno with the error set. */
struct launch_guard;
int perf_start(const char *backend, int devices, int ranks, char **argv,
	       const struct launch_guard *guard, struct error *err);
