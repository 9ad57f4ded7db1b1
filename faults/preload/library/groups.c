/* groups.c: the wrappers that are like no other: groups, and questions that tell of calls in progress. */
#include "preload/library/library.h"

#define WRAP(name, params, ...)                                                                    \
	int(*real) params = REAL(OF_NCCL, "nccl" #name, int(*) params);                            \
                                                                                                   \
	if (!real)                                                                                 \
		return NCCL_INVALID_USAGE;                                                         \
	if (preload_thread.inside)                                                                 \
	return real(__VA_ARGS__)

EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupEnd(void);
EXPORT int ncclGroupSimulateEnd(void *info);
EXPORT int ncclCommInitAll(void **comms, int n, const int *devices);
EXPORT int ncclCommGetAsyncError(void *comm, int *state);

int ncclGroupStart(void)
{
	WRAP(GroupStart, (void));
	preload_thread.depth++;
	return real();
}

int ncclGroupEnd(void)
{
	WRAP(GroupEnd, (void));
	group_ending();
	return group_end(real(), true);
}

int ncclGroupSimulateEnd(void *info)
{
	WRAP(GroupSimulateEnd, (void *), info);
	group_ending();
	return group_end(real(info), false);
}

int ncclCommInitAll(void **comms, int n, const int *devices)
{
	WRAP(CommInitAll, (void **, int, const int *), comms, n, devices);
	if (n > 1 && session_open())
		say_once(SAID_RANKS, "one process with %d ranks: their calls are not recorded", n);
	preload_thread.inside++;
	n = real(comms, n, devices);
	preload_thread.inside--;
	return n;
}

int ncclCommGetAsyncError(void *comm, int *state)
{
	struct session *s = session_now();
	int n, rc;

	WRAP(CommGetAsyncError, (void *, int *), comm, state);
	rc = real(comm, state);
	n = s && rc == NCCL_SUCCESS ? session_comm(s, comm) : -1;
	if (n >= 0 && *state != NCCL_IN_PROGRESS)
		calls_release_held(s, n);
	if (n >= 0)
		s->watch.asked(s->watch.ctx, (uint32_t)n, *state);
	return rc;
}
