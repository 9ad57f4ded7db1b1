/* call.h: the chain that a communication call (base/call_value.h) travels: fault filter, flight
 * recorder, backend. */
#pragma once

#include "backend/backend.h"
#include "base/call_value.h"
#include "backend/comm_set.h"
#include "process/watch.h"

struct chain;

enum launch_verdict { LAUNCH_IT, LAUNCH_NOTHING, LAUNCH_OTHER };

/* The fault filter. `issue` receives the call that the benchmark wants to make and passes on
 * what is really made: it may call chain_emit() not at all, once, several times or with another
 * call, and may hold the thread. NULL filter: passes every call unchanged. Returns 0 or a
 * negative errno. `init` does the same at communicator init: it passes on what is really asked
 * for with chain_emit_init(), or never returns. NULL: passes every request unchanged. */
struct call_filter {
	void *state;
	int (*issue)(void *state, const struct call *call, struct chain *chain);
	int (*init)(void *state, const struct comm_request *request, struct chain *chain);
	/* A captured graph is about to be launched. NULL: it is. */
	enum launch_verdict (*launch)(void *state);
};

struct chain {
	struct backend *backend;
	const struct watch *watch;	  /* may be NULL */
	const struct call_filter *filter; /* may be NULL */
	uint32_t emitted;		  /* calls that went to the backend so far */
};

/* Make a call: filter, recorder, backend. Returns 0 or a negative errno (kept in the backend's
 * error). */
int chain_call(struct chain *chain, const struct call *call);

/* The part behind the filter: record, then issue. For filters only. */
int chain_emit(struct chain *chain, const struct call *call);

/* Make the communicators of the job's group, each rank those of which it is a member, in the order of
 * their numbers: the group's first rank names them, then each rank's request goes through filter and
 * recorder to the backend. Collective. 0 or a negative errno with the backend's error set. */
int chain_init(struct chain *chain, const struct comm_set *comms);

/* The part behind the filter: note the request, then make the communicator. For filters only. */
int chain_emit_init(struct chain *chain, const struct comm_request *request);

/* Give the request a name of its own, which no other rank has. For filters only. */
int chain_new_id(struct chain *chain, struct comm_request *request);

/* Abort communicator 0 on this rank alone; nothing happens when it is aborted already. -ENOTSUP
 * (no error set) on a backend whose library has no such thing. For filters only. */
int chain_abort(struct chain *chain);

/* Return once the last call is in progress, or at once where that cannot be known. -ENOTSUP (no
 * error set) on a backend whose calls are complete when they return. For filters only. */
int chain_started(struct chain *chain);

/* Launch a captured graph of `calls` calls once, and tell the watch. `other`: one captured before, which a
 * fault may launch in its place; NULL: there is none, and nothing is launched then. */
int chain_launch(struct chain *chain, void *graph, void *other, uint32_t calls);

/* Calls between begin and end start together (ncclGroupStart/End; MPI: non-blocking, completed
 * at the end). */
int chain_group_begin(struct chain *chain);
int chain_group_end(struct chain *chain);

/* Stream-ordered local copy; no communication, not recorded. */
int chain_copy(struct chain *chain, void *dst, const void *src, size_t bytes);
