/* buffers.c: what a call reads and writes on its rank, by NCCL's meaning of count. */
#include "inject/data/buffers.h"

#include "base/parse.h"

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

static size_t sent_count(struct seat seat)
{
	const struct call *call = seat.call;
	bool root = seat.rank == call->peer;

	switch (call->kind) {
	case CALL_REDUCE_SCATTER:
	case CALL_ALLTOALL:
		return call->count * (size_t)seat.nranks;
	case CALL_SCATTER:
		return root ? call->count * (size_t)seat.nranks : 0;
	case CALL_BROADCAST:
		return root ? call->count : 0;
	case CALL_ALLTOALLV:
		return stretches(seat, call->send_counts, call->send_at);
	case CALL_RECV:
		return 0;
	default:
		return call->count;
	}
}

static size_t received_count(struct seat seat)
{
	const struct call *call = seat.call;
	bool root = seat.rank == call->peer;

	switch (call->kind) {
	case CALL_ALL_GATHER:
	case CALL_ALLTOALL:
		return call->count * (size_t)seat.nranks;
	case CALL_GATHER:
		return root ? call->count * (size_t)seat.nranks : 0;
	case CALL_REDUCE:
		return root ? call->count : 0;
	case CALL_ALLTOALLV:
		return stretches(seat, call->recv_counts, call->recv_at);
	case CALL_SEND:
		return 0;
	default:
		return call->count;
	}
}

bool sends_data(const struct planned_call *planned)
{
	return sent_count((struct seat){ &planned->call, planned->rank, planned->nranks }) > 0;
}

/* What a group receives is there only behind its end. */
bool receives_data(const struct planned_call *planned)
{
	return !planned->grouped &&
	       received_count((struct seat){ &planned->call, planned->rank, planned->nranks }) > 0;
}

struct extent extent_sent(const struct fault_act *act)
{
	return (struct extent){ (char *)act->call->send, sent_count(seat_of(act)),
				dtype_size(act->call->dtype) };
}

struct extent extent_received(const struct fault_act *act)
{
	return (struct extent){ act->call->recv, received_count(seat_of(act)),
				dtype_size(act->call->dtype) };
}

/* The value of a key that the parser has let through, else `otherwise`. */
static uint64_t number_of(const struct fault_act *act, const char *key, uint64_t otherwise)
{
	const char *text = fault_arg(act->spec, key);
	int64_t value = 0;

	return text && parse_int(text, 0, INT64_MAX, &value) == 0 ? (uint64_t)value : otherwise;
}

char *extent_element(const struct extent *extent, const struct fault_act *act)
{
	return extent->first +
	       number_of(act, "at", extent->count / 2) % extent->count * extent->width;
}

int element_flip(const struct fault_act *act, char *element, size_t width)
{
	uint64_t bit = number_of(act, "bit", 8 * width - 2) % (8 * width);
	struct backend *be = act->chain->backend;
	unsigned char bytes[8];
	int rc = be->ops->fetch(be, bytes, element, width);

	if (rc < 0)
		return rc;
	bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
	return be->ops->store(be, element, bytes, width);
}

int extent_empty(const struct fault_act *act, const char *what)
{
	return error_set(act->chain->backend->err, OUTCOME_UNSUPPORTED, -ENOTSUP,
			 "%s: rank %d %s nothing in this call, a %s", act->spec->fault->name,
			 act->rank, what, call_kind_name(act->call->kind));
}
