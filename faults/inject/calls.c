/* calls.c: one call has other arguments than those of the other ranks. */
#include "inject/fault.h"

/* The count after the keys factor= and by=, from 1 to twice the call's; by default half of it. */
static size_t changed_count(const struct fault_spec *spec, size_t count)
{
	int64_t changed = (int64_t)count, most = 2 * changed;

	if (fault_arg(spec, "by"))
		changed += fault_whole(spec, "by", 0);
	else
		changed = fault_says(spec, "factor", "double") ? most : changed / 2;
	changed = changed < most ? changed : most;
	return changed > 0 ? (size_t)changed : 1;
}

static bool has_elements(const struct planned_call *planned)
{
	return planned->call.count > 1;
}

/* All ways were measured: 2 ranks over P2P and SHM, 4 over sockets and MPI, 32 KiB to 1 MiB, NCCL 2.28.9, H200. */
static const struct fault_way size_ways[] = {
	{ "hang", BY_P2P,
	  KIND(ALL_REDUCE) | KIND(ALL_GATHER) | KIND(REDUCE_SCATTER) | KIND(BROADCAST) |
		  KIND(REDUCE) | KIND(ALLTOALL) | KIND(GATHER),
	  0, 0, "factor=half" },
	{ "hang", BY_P2P, KIND(SCATTER), 0, 0, "factor=double" },
	{ "hang", BY_SHM, KIND(ALL_GATHER) | KIND(REDUCE_SCATTER) | KIND(ALLTOALL) | KIND(GATHER),
	  0, 0, "factor=half" },
	{ "hang", BY_SHM, KIND(ALL_REDUCE) | KIND(BROADCAST), 0, 64 << 10, "factor=half" },
	{ "hang", BY_SHM, KIND(SCATTER), 0, 0, "factor=double" },
	{ "hang", BY_NET, KIND(ALL_GATHER) | KIND(ALL_REDUCE) | KIND(REDUCE) | KIND(REDUCE_SCATTER),
	  0, 64 << 10, "factor=half" },
	{ "hang", BY_NET, KIND(GATHER), 0, 0, "factor=half" },
	{ "hang", BY_NET, KIND(BROADCAST) | KIND(REDUCE) | KIND(SCATTER) | KIND(ALLTOALL), 64 << 10,
	  0, "factor=double" },
	{ "hang", BY_MPI | WAY_UNSURE,
	  KIND(ALL_REDUCE) | KIND(REDUCE_SCATTER) | KIND(REDUCE) | KIND(ALLTOALL), 0, 0,
	  "factor=half" },
	{ "hang", BY_MPI | WAY_UNSURE, KIND(BROADCAST) | KIND(REDUCE) | KIND(GATHER), 0, 0,
	  "factor=double" },
	{ "corrupt", BY_P2P | BY_SHM | BY_NET, 0, 0, 0, "by=-1" },
	{ "corrupt", BY_MPI | WAY_UNSURE, KIND(GATHER) | KIND(REDUCE), 0, 0, "by=-1" },
	{ "silent", BY_MPI | WAY_UNSURE, KIND(SCATTER), 0, 0, "factor=double" },
	{ .outcome = NULL },
};

static int size_fire(const struct fault_act *act)
{
	struct call call = *act->call;

	call.count = changed_count(act->spec, call.count);
	return fault_replace(act, &call);
}

const struct fault fault_size_mismatch = {
	.name = "size-mismatch",
	.args = "factor=half|double by=NUMBER outcome=hang|corrupt|silent",
	.kinds = ~(KIND_PAIR | KIND(ALLTOALLV)),
	.applies = has_elements,
	.ways = size_ways,
	FAULT_PARTS,
	.fire = size_fire,
};

static const struct fault_way p2p_size_ways[] = {
	{ "hang", BY_P2P | BY_SHM, 0, 0, 0, "factor=double" },
	{ "hang", BY_P2P, 0, 0, 0, "factor=half" },
	{ "corrupt", BY_SHM | BY_NET, 0, 0, 0, "factor=half" },
	{ "corrupt", BY_NET, 0, 0, 0, "factor=double" },
	{ .outcome = NULL },
};

const struct fault fault_p2p_size = {
	.name = "p2p-size",
	.args = "factor=half|double by=NUMBER outcome=hang|corrupt|silent",
	.schedule = "p2p",
	.kinds = KIND_PAIR,
	.applies = has_elements,
	.ways = p2p_size_ways,
	FAULT_PARTS,
	.fire = size_fire,
};

static const struct fault_way alltoallv_counts_ways[] = {
	{ "hang", BY_P2P | BY_SHM | BY_NET, 0, 0, 0, "factor=half" },
	{ "corrupt", BY_P2P, 0, 0, 0, "factor=double" },
	{ "corrupt", BY_MPI, 0, 0, 0, "factor=half" },
	{ .outcome = NULL },
};

static int alltoallv_counts_fire(const struct fault_act *act)
{
	size_t n = (size_t)act->nranks, *counts = must(malloc(n * sizeof(*counts)));
	struct call call = *act->call;
	int rc;

	memcpy(counts, call.send_counts, n * sizeof(*counts));
	for (int i = 0; i < act->nranks; i++)
		if (i != act->rank)
			counts[i] = changed_count(act->spec, counts[i]);
	call.send_counts = counts;
	rc = fault_replace(act, &call);
	free(counts);
	return rc;
}

const struct fault fault_alltoallv_counts = {
	.name = "alltoallv-counts",
	.args = "factor=half|double by=NUMBER outcome=hang|corrupt|silent",
	.kinds = KIND(ALLTOALLV),
	.ways = alltoallv_counts_ways,
	FAULT_PARTS,
	.fire = alltoallv_counts_fire,
};

/* Another type: of the same width, of half of it (of 1 byte: the double), or the other 16-bit float. */
static enum dtype other_type(enum dtype dtype, bool width)
{
	static const enum dtype same[DT_COUNT] = {
		[DT_INT8] = DT_UINT8,	 [DT_UINT8] = DT_INT8,	 [DT_INT32] = DT_FLOAT,
		[DT_UINT32] = DT_INT32,	 [DT_INT64] = DT_DOUBLE, [DT_UINT64] = DT_INT64,
		[DT_HALF] = DT_BFLOAT16, [DT_FLOAT] = DT_INT32,	 [DT_DOUBLE] = DT_INT64,
		[DT_BFLOAT16] = DT_HALF, [DT_F8E4M3] = DT_INT8,	 [DT_F8E5M2] = DT_INT8,
	};
	static const enum dtype narrow[9] = {
		[1] = DT_HALF, [2] = DT_INT8, [4] = DT_HALF, [8] = DT_FLOAT
	};

	return width ? narrow[dtype_size(dtype)] : same[dtype];
}

static const struct fault_way dtype_ways[] = {
	{ "hang", BY_P2P,
	  KIND(ALL_REDUCE) | KIND(ALL_GATHER) | KIND(REDUCE_SCATTER) | KIND(BROADCAST) |
		  KIND(REDUCE) | KIND(ALLTOALL) | KIND(GATHER),
	  0, 0, "how=width" },
	{ "hang", BY_SHM, KIND(ALL_GATHER) | KIND(REDUCE_SCATTER) | KIND(ALLTOALL) | KIND(GATHER),
	  0, 0, "how=width" },
	{ "hang", BY_NET, KIND(GATHER), 0, 0, "how=width" },
	{ "hang", BY_NET, KIND(ALL_GATHER) | KIND(ALL_REDUCE) | KIND(REDUCE) | KIND(REDUCE_SCATTER),
	  0, 64 << 10, "how=width" },
	{ "hang", BY_MPI | WAY_UNSURE, KIND(ALL_REDUCE) | KIND(REDUCE_SCATTER) | KIND(REDUCE), 0, 0,
	  "how=width" },
	{ "corrupt", BY_ANY, KIND(ALL_REDUCE) | KIND(REDUCE_SCATTER), 0, 0, "how=same" },
	{ "corrupt", BY_P2P | BY_SHM, KIND(SCATTER), 0, 0, "how=width" },
	{ "corrupt", BY_SHM, KIND(ALL_REDUCE) | KIND(BROADCAST) | KIND(REDUCE), 0, 0, "how=width" },
	{ "corrupt", BY_NET,
	  KIND(ALL_REDUCE) | KIND(BROADCAST) | KIND(REDUCE) | KIND(REDUCE_SCATTER), 64 << 10, 0,
	  "how=width" },
	{ "corrupt", BY_MPI | WAY_UNSURE, KIND(GATHER), 0, 0, "how=width" },
	{ "silent", BY_ANY,
	  KIND(ALL_GATHER) | KIND(ALLTOALL) | KIND(BROADCAST) | KIND(GATHER) | KIND(SCATTER), 0, 0,
	  "how=same" },
	{ .outcome = NULL },
};

static int dtype_fire(const struct fault_act *act)
{
	struct call call = *act->call;

	call.dtype = other_type(call.dtype, !fault_says(act->spec, "how", "same"));
	return fault_replace(act, &call);
}

const struct fault fault_dtype_mismatch = {
	.name = "dtype-mismatch",
	.args = "how=width|same outcome=hang|corrupt|silent",
	.kinds = ~(KIND_PAIR | KIND(ALLTOALLV)),
	.ways = dtype_ways,
	FAULT_PARTS,
	.fire = dtype_fire,
};

static bool redop_applies(const struct planned_call *planned)
{
	return planned->call.op != OP_NONE;
}

static const struct fault_way redop_ways[] = {
	{ "corrupt", BY_ANY & ~BY_MPI, KIND(ALL_REDUCE) | KIND(REDUCE_SCATTER), 0, 0, "" },
	{ "corrupt", BY_MPI | WAY_UNSURE, KIND(ALL_REDUCE) | KIND(REDUCE_SCATTER), 0, 0, "" },
	{ "corrupt", BY_NET, KIND(REDUCE), 0, 0, "" },
	/* the root, and on MPI ranks that hand on others' sums, use their operator */
	{ "silent", BY_MPI | BY_P2P | BY_SHM | WAY_UNSURE, KIND(REDUCE), 0, 0, "" },
	{ .outcome = NULL },
};

static int redop_fire(const struct fault_act *act)
{
	struct call call = *act->call;

	call.op = call.op == OP_MAX ? OP_SUM : OP_MAX;
	return fault_replace(act, &call);
}

const struct fault fault_redop_mismatch = {
	.name = "redop-mismatch",
	.applies = redop_applies,
	.args = "outcome=corrupt|silent",
	.ways = redop_ways,
	FAULT_ENDS("wrong-data|diverged"),
	.fire = redop_fire,
};

static bool root_applies(const struct planned_call *planned)
{
	return planned->call.peer >= 0 && planned->nranks > 1;
}

static const struct fault_way root_ways[] = {
	{ "hang", BY_P2P, KIND(BROADCAST) | KIND(REDUCE) | KIND(GATHER) | KIND(SCATTER), 0, 0, "" },
	/* of two ranks both may send, which MPI buffers, as it does what is left of a reduce or gather */
	{ "hang", BY_MPI | WAY_OF_THREE, KIND(BROADCAST) | KIND(SCATTER), 0, 0, "" },
	{ "hang", BY_MPI | WAY_UNSURE, KIND(REDUCE) | KIND(GATHER), 0, 0, "" },
	{ "hang", BY_SHM, KIND(REDUCE) | KIND(GATHER) | KIND(SCATTER), 0, 0, "" },
	{ "hang", BY_SHM, KIND(BROADCAST), 0, 64 << 10, "" },
	{ "hang", BY_NET, KIND(GATHER) | KIND(SCATTER), 0, 0, "" },
	{ "corrupt", BY_SHM, KIND(BROADCAST), 64 << 10, 0, "" },
	{ "silent", BY_NET, KIND(BROADCAST) | KIND(REDUCE), 0, 0, "" },
	{ .outcome = NULL },
};

static int root_fire(const struct fault_act *act)
{
	struct call call = *act->call;

	call.peer = (call.peer + 1) % act->comms->spans[call.comm].n;
	return fault_replace(act, &call);
}

const struct fault fault_root_mismatch = {
	.name = "root-mismatch",
	.kinds = ~KIND_PAIR,
	.applies = root_applies,
	.args = "outcome=hang|corrupt|silent",
	.ways = root_ways,
	FAULT_PARTS,
	.fire = root_fire,
};

static const struct fault_way coll_ways[] = {
	{ "hang", BY_ANY, 0, 0, 0, "" },
	{ .outcome = NULL },
};

/* An all-reduce of as many elements fits into every collective's buffers; in its place a gather. */
static int coll_fire(const struct fault_act *act)
{
	const size_t n = (size_t)act->comms->spans[act->call->comm].n;
	struct call call = *act->call;

	call.kind = call.kind == CALL_ALL_REDUCE ? CALL_ALL_GATHER : CALL_ALL_REDUCE;
	call.op = call.kind == CALL_ALL_REDUCE ? OP_SUM : OP_NONE;
	call.peer = -1;
	if (call.kind == CALL_ALL_GATHER && call.count >= n)
		call.count /= n;
	return fault_replace(act, &call);
}

const struct fault fault_coll_mismatch = {
	.name = "coll-mismatch",
	.kinds = ~KIND_PAIR,
	.args = "outcome=hang",
	.ways = coll_ways,
	FAULT_PARTS,
	.fire = coll_fire,
};
