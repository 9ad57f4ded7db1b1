/* call.h: the chain of a call (base/call_value.h): fault filter, flight recorder, backend. */
#pragma once

#include "backend/backend.h"
#include "base/call_value.h"
#include "backend/comm_set.h"
#include "process/watch.h"

struct chain;

enum launch_verdict { LAUNCH_IT, LAUNCH_NOTHING, LAUNCH_OTHER };

/* The fault filter. `issue` receives the benchmark's call and decides which calls are made: it may
 * call chain_emit() never, once, several times or with another call, and may block. NULL passes
 * every call unchanged. Returns 0 or a negative errno. `init` does the same at communicator init
 * with chain_emit_init(), and may never return. NULL passes every request unchanged. */
struct call_filter {
	void *state;
	int (*issue)(void *state, const struct call *call, struct chain *chain);
	int (*init)(void *state, const struct comm_request *request, struct chain *chain);
	/* Before a launch of a captured graph. NULL: launch it. */
	enum launch_verdict (*launch)(void *state);
};

struct chain {
	struct backend *backend;
	const struct watch *watch;	  /* may be NULL */
	const struct call_filter *filter; /* may be NULL */
	uint32_t emitted;		  /* calls passed to the backend so far */
	double *entered; /* gets the time at which the newest was passed; NULL: not wanted */
};

/* Makes a call through filter, recorder and backend. 0 or a negative errno (backend's error). */
int chain_call(struct chain *chain, const struct call *call);

/* The chain behind the filter: records, then issues. For filters only. */
int chain_emit(struct chain *chain, const struct call *call);

/* Makes the communicators of the job's group in the order of their numbers, on each rank those it
 * is a member of. The group's first rank names them; requests go through filter and recorder.
 * Collective. Returns 0 or a negative errno with the backend's error set. */
int chain_init(struct chain *chain, const struct comm_set *comms);

/* For filters: the chain behind the filter records the request and makes the communicator. */
int chain_emit_init(struct chain *chain, const struct comm_request *request);

/* Launches a captured graph of `calls` calls once, and reports it to the watch. A fault may launch
 * `other`, an earlier graph, in its place; NULL: there is none, and such a launch is skipped. */
int chain_launch(struct chain *chain, void *graph, void *other, uint32_t calls);

/* Calls between begin and end start together (ncclGroupStart/End; MPI: non-blocking). */
int chain_group_begin(struct chain *chain);
int chain_group_end(struct chain *chain);
