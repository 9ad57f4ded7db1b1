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
	FAULT_PARTS,
	.fire = size_fire,
};

const struct fault fault_p2p_size = {
	.name = "p2p-size",
	.args = "factor=half|double by=NUMBER outcome=hang|corrupt|silent",
	.schedule = "p2p",
	.kinds = KIND_PAIR,
	.applies = has_elements,
	FAULT_PARTS,
	.fire = size_fire,
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
	FAULT_PARTS,
	.fire = dtype_fire,
};

static bool redop_applies(const struct planned_call *planned)
{
	return planned->call.op != OP_NONE;
}

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
	FAULT_ENDS("wrong-data|diverged"),
	.fire = redop_fire,
};

static bool root_applies(const struct planned_call *planned)
{
	return planned->call.peer >= 0 && planned->nranks > 1;
}

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
	FAULT_PARTS,
	.fire = root_fire,
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
	FAULT_PARTS,
	.fire = coll_fire,
};
