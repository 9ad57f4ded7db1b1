/* data.c: wrong data in calls that all make alike: one element of what a call reads or writes. */
#include "base/element.h"
#include "inject/fault.h"

/* Data that a call reads or writes on its rank; `count` elements, 0: nothing. */
struct extent {
	char *first;
	size_t count, width; /* bytes of an element */
};

/* A call on one of its communicator's ranks. */
struct seat {
	const struct call *call;
	int rank, nranks;
};

static struct seat seat_of(const struct fault_act *act)
{
	uint32_t comm = act->call->comm;

	return (struct seat){ act->call, comm_set_rank(act->comms, comm, act->rank),
			      act->comms->spans[comm].n };
}

/* Elements up to the end of the last peer's stretch; of a planned call, whose matrix is not there, some. */
static size_t stretches(struct seat seat, const size_t *counts, const size_t *at)
{
	size_t end = counts ? 0 : 1;

	for (int i = 0; counts && i < seat.nranks; i++)
		if (at[i] + counts[i] > end)
			end = at[i] + counts[i];
	return end;
}

/* Elements that the rank sends or receives. */
static size_t count_of(struct seat seat, bool sent)
{
	/* what goes out and what comes in: count (1), that for each rank (n), of the root alone (I, N) */
	static const char parts[CALL_KIND_COUNT][3] = {
		[CALL_ALL_REDUCE] = "11", [CALL_ALL_GATHER] = "1n", [CALL_REDUCE_SCATTER] = "n1",
		[CALL_BROADCAST] = "I1",  [CALL_REDUCE] = "1I",	    [CALL_ALLTOALL] = "nn",
		[CALL_GATHER] = "1N",	  [CALL_SCATTER] = "N1",    [CALL_SEND] = "1 ",
		[CALL_RECV] = " 1",
	};
	const struct call *call = seat.call;
	char part = parts[call->kind][sent ? 0 : 1];

	if (call->kind == CALL_ALLTOALLV)
		return sent ? stretches(seat, call->send_counts, call->send_at)
			    : stretches(seat, call->recv_counts, call->recv_at);
	if (part == ' ' || (isupper(part) && seat.rank != call->peer))
		return 0;
	return part == 'n' || part == 'N' ? call->count * (size_t)seat.nranks : call->count;
}

static bool sends_data(const struct planned_call *planned)
{
	return count_of((struct seat){ &planned->call, planned->rank, planned->nranks }, true) > 0;
}

/* A group has received nothing before its end. */
static bool receives_data(const struct planned_call *planned)
{
	return !planned->grouped &&
	       count_of((struct seat){ &planned->call, planned->rank, planned->nranks }, false) > 0;
}

static struct extent extent_of(const struct fault_act *act, bool sent)
{
	return (struct extent){ sent ? (char *)act->call->send : act->call->recv,
				count_of(seat_of(act), sent), dtype_size(act->call->dtype) };
}

/* The element that at= names, counted modulo the length, else the one in the middle. */
static char *extent_element(const struct extent *extent, const struct fault_act *act)
{
	return extent->first + (uint64_t)fault_whole(act->spec, "at", (int64_t)extent->count / 2) %
				       extent->count * extent->width;
}

/* Flips the bit of the element that bit= names, modulo its width, else the second highest, which
 * changes any number by much. Waits for the calls before. */
static int element_flip(const struct fault_act *act, char *element, size_t width)
{
	uint64_t bit =
		(uint64_t)fault_whole(act->spec, "bit", 8 * (int64_t)width - 2) % (8 * width);
	struct backend *be = act->chain->backend;
	unsigned char bytes[8];
	int rc = be->ops->fetch(be, bytes, element, width);

	if (rc < 0)
		return rc;
	bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	return be->ops->store(be, element, bytes, width);
}

/* An alltoallv's matrix may leave a rank without such data. */
static int extent_empty(const struct fault_act *act, const char *what)
{
	return error_set(act->chain->backend->err, OUTCOME_UNSUPPORTED, -ENOTSUP,
			 "%s: rank %d %s nothing in this call, a %s", act->spec->fault->name,
			 act->rank, what, call_kind_name(act->call->kind));
}

static int corrupt_send_fire(const struct fault_act *act)
{
	struct extent sent = extent_of(act, true);

	return sent.count == 0 ? extent_empty(act, "sends")
			       : element_flip(act, extent_element(&sent, act), sent.width);
}

const struct fault fault_corrupt_send = {
	.name = "corrupt-send",
	.args = "at=ELEMENT bit=BIT",
	.needs = { .stream = true },
	.applies = sends_data,
	FAULT_ENDS("wrong-data"),
	.fire = corrupt_send_fire,
};

static int corrupt_recv_fire(const struct fault_act *act)
{
	struct extent received = extent_of(act, false);
	struct backend *be = act->chain->backend;
	int rc;

	if (received.count == 0)
		return extent_empty(act, "receives");
	rc = chain_emit(act->chain, act->call);
	if (rc == 0)
		rc = be->ops->wait(be);
	if (rc == 0)
		rc = element_flip(act, extent_element(&received, act), received.width);
	return fault_swallowed(rc);
}

const struct fault fault_corrupt_recv = {
	.name = "corrupt-recv",
	.args = "at=ELEMENT bit=BIT",
	.needs = { .stream = true },
	.applies = receives_data,
	FAULT_ENDS("wrong-data"),
	.fire = corrupt_recv_fire,
};

static bool nan_applies(const struct planned_call *planned)
{
	return sends_data(planned) && check_is_float(planned->call.dtype);
}

static int nan_fire(const struct fault_act *act)
{
	struct backend *be = act->chain->backend;
	struct extent sent = extent_of(act, true);
	uint64_t bits = check_round(act->call->dtype, NAN);

	if (sent.count == 0)
		return extent_empty(act, "sends");
	return be->ops->store(be, extent_element(&sent, act), &bits, sent.width);
}

const struct fault fault_nan = {
	.name = "nan",
	.args = "at=ELEMENT",
	.needs = { .stream = true },
	.applies = nan_applies,
	FAULT_ENDS("wrong-data"),
	.fire = nan_fire,
};

#define BOUND_SECONDS 3.0 /* a cold communicator launches nothing while its stream waits */

/* Its first half then holds what the second one does. */
static int rewrite(const struct fault_act *act, const struct extent *sent)
{
	size_t half = sent->count / 2 * sent->width;
	struct backend *be = act->chain->backend;
	int rc = be->ops->breakage->wait_word(be, BOUND_SECONDS);

	if (rc == 0)
		rc = be->ops->copy(be, sent->first, sent->first + half, half);
	if (rc == 0)
		rc = chain_emit(act->chain, act->call);
	be->ops->breakage->let_go(be);
	return rc;
}

static int stale_buffer_fire(const struct fault_act *act)
{
	struct extent sent = extent_of(act, true);
	int rc = sent.count > 1 ? rewrite(act, &sent) : extent_empty(act, "sends");

	return fault_swallowed(rc);
}

const struct fault fault_stale_buffer = {
	.name = "stale-buffer",
	.needs = { .machine = NEED_GPU, .stream = true },
	.applies = sends_data,
	.nccl = "wrong-data",
	.fire = stale_buffer_fire,
};
