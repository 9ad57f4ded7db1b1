/* wrap.c: NCCL's functions as a program sees them. What is not recorded has no wrapper: the program finds
 * NCCL's own. One prototype serves all versions from 2.18 to 2.32. */

#include "preload/library/library.h"

/* A wrapper NCCL##name with these parameters: records the call, hands on `give`. A library that lacks the
 * function is not covered for. */
#define CALL(name, params, give, ...)                                                              \
	EXPORT int nccl##name params;                                                              \
	EXPORT int nccl##name params                                                               \
	{                                                                                          \
		int(*real) params = REAL(OF_NCCL, "nccl" #name, int(*) params);                    \
		struct made m = { __VA_ARGS__ };                                                   \
		int rc;                                                                            \
                                                                                                   \
		if (!real)                                                                         \
			return NCCL_INVALID_USAGE;                                                 \
		if (preload_thread.inside)                                                         \
			return real give;                                                          \
		call_begin(&m);                                                                    \
		rc = real give;                                                                    \
		call_end(&m, rc);                                                                  \
		return rc;                                                                         \
	}

#define TO_ALL(kind_)                                                                              \
	.kind = kind_, .send = send, .recv = recv, .count = count, .type = type, .comm = comm,     \
	.stream = stream

CALL(AllReduce,
     (const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream),
     (m.send, m.recv, m.count, m.type, m.op, m.comm, m.stream), TO_ALL(CALL_ALL_REDUCE), .op = op,
     .peer = -1)
CALL(ReduceScatter,
     (const void *send, void *recv, size_t count, int type, int op, void *comm, void *stream),
     (m.send, m.recv, m.count, m.type, m.op, m.comm, m.stream), TO_ALL(CALL_REDUCE_SCATTER),
     .op = op, .peer = -1)
CALL(AllGather, (const void *send, void *recv, size_t count, int type, void *comm, void *stream),
     (m.send, m.recv, m.count, m.type, m.comm, m.stream), TO_ALL(CALL_ALL_GATHER), .peer = -1)
CALL(AlltoAll, (const void *send, void *recv, size_t count, int type, void *comm, void *stream),
     (m.send, m.recv, m.count, m.type, m.comm, m.stream), TO_ALL(CALL_ALLTOALL), .peer = -1)
CALL(Reduce,
     (const void *send, void *recv, size_t count, int type, int op, int root, void *comm,
      void *stream),
     (m.send, m.recv, m.count, m.type, m.op, m.peer, m.comm, m.stream), TO_ALL(CALL_REDUCE),
     .op = op, .peer = root)
CALL(Broadcast,
     (const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream),
     (m.send, m.recv, m.count, m.type, m.peer, m.comm, m.stream), TO_ALL(CALL_BROADCAST),
     .peer = root)
CALL(Gather,
     (const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream),
     (m.send, m.recv, m.count, m.type, m.peer, m.comm, m.stream), TO_ALL(CALL_GATHER), .peer = root)
CALL(Scatter,
     (const void *send, void *recv, size_t count, int type, int root, void *comm, void *stream),
     (m.send, m.recv, m.count, m.type, m.peer, m.comm, m.stream), TO_ALL(CALL_SCATTER),
     .peer = root)
CALL(Bcast, (void *recv, size_t count, int type, int root, void *comm, void *stream),
     (m.recv, m.count, m.type, m.peer, m.comm, m.stream), .kind = CALL_BROADCAST, .recv = recv,
     .count = count, .type = type, .peer = root, .comm = comm, .stream = stream)
CALL(Send, (const void *send, size_t count, int type, int peer, void *comm, void *stream),
     (m.send, m.count, m.type, m.peer, m.comm, m.stream), .kind = CALL_SEND, .send = send,
     .count = count, .type = type, .peer = peer, .comm = comm, .stream = stream)
CALL(Recv, (void *recv, size_t count, int type, int peer, void *comm, void *stream),
     (m.recv, m.count, m.type, m.peer, m.comm, m.stream), .kind = CALL_RECV, .recv = recv,
     .count = count, .type = type, .peer = peer, .comm = comm, .stream = stream)

/* ---- groups ---- */

#define DECLARE(result, name, params)                                                              \
	EXPORT result nccl##name params;                                                           \
	EXPORT result nccl##name params
#define REAL_NCCL(name, params)                                                                    \
	int(*real) params = REAL(OF_NCCL, "nccl" #name, int(*) params);                            \
	if (!real)                                                                                 \
	return NCCL_INVALID_USAGE

DECLARE(int, GroupStart, (void))
{
	REAL_NCCL(GroupStart, (void));
	if (!preload_thread.inside)
		group_begin();
	return real();
}

DECLARE(int, GroupEnd, (void))
{
	int rc;

	REAL_NCCL(GroupEnd, (void));
	if (preload_thread.inside)
		return real();
	group_ending();
	rc = real();
	group_end(rc, true);
	return rc;
}

DECLARE(int, GroupSimulateEnd, (void *info))
{
	int rc;

	REAL_NCCL(GroupSimulateEnd, (void *));
	if (preload_thread.inside)
		return real(info);
	group_ending();
	rc = real(info);
	group_end(rc, false);
	return rc;
}

/* ---- communicators ---- */

static const char *name_of(const struct nccl_config *config)
{
	bool there = config && config->magic == NCCL_CONFIG_MAGIC &&
		     config->size >= sizeof(struct nccl_config);

	return there && config->version >= 22700 ? config->comm_name : NULL;
}

/* Makes a communicator by `make`, which is an expression that returns NCCL's result, and records it. */
#define MAKE(id, bytes, rank, nranks, name, newcomm, make)                                         \
	({                                                                                         \
		struct session *s_ = session_open();                                               \
		int n_ = s_ ? session_init(s_, id, bytes, rank, nranks, name) : -1, rc_;           \
		preload_thread.inside++;                                                           \
		rc_ = make;                                                                        \
		preload_thread.inside--;                                                           \
		if (s_)                                                                            \
			session_ready(s_, n_,                                                      \
				      rc_ == NCCL_SUCCESS || rc_ == NCCL_IN_PROGRESS ? *(newcomm)  \
										     : NULL,       \
				      rc_ != NCCL_SUCCESS && rc_ != NCCL_IN_PROGRESS);             \
		rc_;                                                                               \
	})

DECLARE(int, CommInitRank, (void **comm, int nranks, struct nccl_id id, int rank))
{
	REAL_NCCL(CommInitRank, (void **, int, struct nccl_id, int));
	if (preload_thread.inside)
		return real(comm, nranks, id, rank);
	return MAKE(id.bytes, sizeof(id), rank, nranks, NULL, comm, real(comm, nranks, id, rank));
}

DECLARE(int, CommInitRankConfig,
	(void **comm, int nranks, struct nccl_id id, int rank, struct nccl_config *config))
{
	REAL_NCCL(CommInitRankConfig, (void **, int, struct nccl_id, int, struct nccl_config *));
	if (preload_thread.inside)
		return real(comm, nranks, id, rank, config);
	return MAKE(id.bytes, sizeof(id), rank, nranks, name_of(config), comm,
		    real(comm, nranks, id, rank, config));
}

DECLARE(int, CommInitRankScalable,
	(void **comm, int nranks, int rank, int nids, struct nccl_id *ids,
	 struct nccl_config *config))
{
	REAL_NCCL(CommInitRankScalable,
		  (void **, int, int, int, struct nccl_id *, struct nccl_config *));
	if (preload_thread.inside)
		return real(comm, nranks, rank, nids, ids, config);
	return MAKE(ids[0].bytes, sizeof(ids[0]), rank, nranks, name_of(config), comm,
		    real(comm, nranks, rank, nids, ids, config));
}

DECLARE(int, CommInitAll, (void **comms, int n, const int *devices))
{
	REAL_NCCL(CommInitAll, (void **, int, const int *));
	if (!preload_thread.inside && n > 1 && session_open())
		say_once(SAID_RANKS,
			 "one process with %d ranks (ncclCommInitAll): their calls are not "
			 "recorded",
			 n);
	preload_thread.inside++;
	n = real(comms, n, devices);
	preload_thread.inside--;
	return n;
}

/* The end of a communicator; the calls that it made stay. */
#define END(name, aborted)                                                                         \
	DECLARE(int, name, (void *comm))                                                           \
	{                                                                                          \
		struct session *s = session_now();                                                 \
		int n = s && !preload_thread.inside ? session_comm(s, comm) : -1, rc;              \
                                                                                                   \
		REAL_NCCL(name, (void *));                                                         \
		if (n >= 0)                                                                        \
			session_end(s, n, aborted);                                                \
		preload_thread.inside++;                                                           \
		rc = real(comm);                                                                   \
		preload_thread.inside--;                                                           \
		return rc;                                                                         \
	}

END(CommDestroy, false)
END(CommAbort, true)

DECLARE(int, CommGetAsyncError, (void *comm, int *state))
{
	struct session *s = session_now();
	int n = s && !preload_thread.inside ? session_comm(s, comm) : -1, rc;

	REAL_NCCL(CommGetAsyncError, (void *, int *));
	rc = real(comm, state);
	if (n >= 0 && rc == NCCL_SUCCESS && *state != NCCL_IN_PROGRESS)
		calls_release_held(s, n);
	if (n >= 0 && rc == NCCL_SUCCESS)
		s->watch.asked(s->watch.ctx, (uint32_t)n, *state);
	return rc;
}
