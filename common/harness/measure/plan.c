/* plan.c: addresses, calls and expected data of a point. */
#include "measure/plan.h"

#include "backend/check_call.h"

struct geometry plan_geometry(const struct bench *bench, const struct point *point, int rank)
{
	const struct collective *collective =
		point->collective ? point->collective : bench->collective;

	return (struct geometry){
		.rank = point->comm ? comm_set_rank(&bench->comms, point->comm, rank) : rank,
		.nranks = point->comm ? bench->comms.spans[point->comm].n : bench->job->group_size,
		.root = point->root,
		.elsize = dtype_size(point->dtype),
		.bytes = point->bytes,
		.align = bench->options->align,
		.traffic = collective->irregular ? &bench->traffic : NULL,
	};
}

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* In place a KEEP stretch may hold this rank's own send data, which must stay. */
static int keep_in_place(const struct plan *plan, const struct segment *keep, struct segment *out)
{
	size_t from = plan->shape.inplace_recv + keep->at, to = from + keep->count;
	size_t own = plan->shape.inplace_send, own_end = own + plan->shape.send;
	size_t a = min_of(own > from ? own : from, to), b = min_of(own_end > a ? own_end : a, to);
	int n = 0;

	if (a > from)
		out[n++] = (struct segment){ SEGMENT_KEEP, keep->at, a - from, 0, 0 };
	if (b > a)
		out[n++] = (struct segment){ SEGMENT_COPY, keep->at + (a - from), b - a,
					     plan->geometry.rank, a - own };
	if (to > b)
		out[n++] = (struct segment){ SEGMENT_KEEP, keep->at + (b - from), to - b, 0, 0 };
	return n;
}

static void make_segments(struct plan *plan)
{
	size_t room = (size_t)plan->geometry.nranks + 2;
	struct segment *raw = must(calloc(room, sizeof(*raw)));
	int n;

	plan->segments = must(calloc(room + 2, sizeof(*plan->segments)));
	n = plan->collective->segments(&plan->geometry, &plan->shape, raw);
	for (int i = 0; i < n; i++) {
		if (plan->in_place && raw[i].kind == SEGMENT_KEEP)
			plan->nsegments +=
				keep_in_place(plan, &raw[i], plan->segments + plan->nsegments);
		else
			plan->segments[plan->nsegments++] = raw[i];
	}
	free(raw);
}

int plan_init(struct plan *plan, struct bench *bench, const struct point *point, bool in_place)
{
	struct backend *be = bench->backend;

	memset(plan, 0, sizeof(*plan));
	plan->bench = bench;
	plan->collective = point->collective ? point->collective : bench->collective;
	plan->comm = point->comm;
	plan->in_place = in_place;
	plan->geometry = plan_geometry(bench, point, bench->job->group_rank);
	plan->collective->shape(&plan->geometry, &plan->shape);
	if (plan->shape.bytes == 0)
		return -ENODATA;
	plan->shift_bytes = (size_t)bench->options->unalign * plan->geometry.elsize;
	plan->slot_bytes = plan->shape.bytes + plan->shift_bytes;
	plan->data = (struct check_data){
		.seed = bench->options->seed,
		.dtype = point->dtype,
		.op = point->op,
		.nranks = plan->geometry.nranks,
		.avg_premultiplies = be->ops->flags & BACKEND_AVG_FIRST,
	};
	make_segments(plan);
	return 0;
}

void plan_release(struct plan *plan)
{
	free(plan->segments);
	plan->segments = NULL;
}

/* Returns the start of a slot's buffers; in place both have the same. */
static char *slot_address(const struct plan *plan, char *pool, size_t index)
{
	return pool + buffers_offset(&plan->bench->buffers, plan->slot_bytes, index) +
	       plan->shift_bytes;
}

static int issue_at(struct plan *plan, size_t index, char *send, char *recv)
{
	size_t elsize = plan->geometry.elsize;
	struct invocation invocation = {
		.geometry = &plan->geometry,
		.shape = &plan->shape,
		.send = plan->in_place ? recv + plan->shape.inplace_send * elsize : send,
		.recv = plan->in_place ? recv + plan->shape.inplace_recv * elsize : recv,
		.dtype = plan->data.dtype,
		.op = plan->data.op,
		.comm = plan->comm,
		.offset = buffers_offset(&plan->bench->buffers, plan->slot_bytes, index) +
			  plan->shift_bytes,
	};

	return collective_run(plan->collective, &plan->bench->chain, &invocation);
}

int plan_issue(struct plan *plan, size_t index)
{
	struct buffers *b = &plan->bench->buffers;

	return issue_at(plan, index, slot_address(plan, b->send, index),
			slot_address(plan, b->recv, index));
}

struct checked_slot plan_last_slot(const struct plan *plan, size_t calls)
{
	size_t slots = buffers_slots(&plan->bench->buffers, plan->slot_bytes);
	size_t stride = slots > 1 ? buffers_offset(&plan->bench->buffers, plan->slot_bytes, 1) : 1;
	/* its own guard, and as much for an overrun of the slot before it */
	size_t apart = calls - 1 + (2 * CHECK_GUARD + stride - 1) / stride;

	if (calls == 1 || slots == 1)
		return (struct checked_slot){ .index = 0, .spare = plan->in_place && calls > 1 };
	if (apart < slots)
		return (struct checked_slot){ .index = apart };
	if (plan->in_place)
		return (struct checked_slot){ .index = 0, .spare = true };
	return (struct checked_slot){ .index = (calls - 1) % slots, .crowded = true };
}

static char *checked_recv(const struct plan *plan, struct checked_slot slot)
{
	const struct buffers *b = &plan->bench->buffers;

	return slot_address(plan, slot.spare ? b->send : b->recv, slot.index);
}

int plan_issue_checked(struct plan *plan, struct checked_slot slot)
{
	return issue_at(plan, slot.index, slot_address(plan, plan->bench->buffers.send, slot.index),
			checked_recv(plan, slot));
}

/* Returns the pool index of the slot's first element. */
static uint64_t slot_base(const struct plan *plan, size_t index)
{
	return (buffers_offset(&plan->bench->buffers, plan->slot_bytes, index) +
		plan->shift_bytes) /
	       plan->geometry.elsize;
}

int plan_prepare(struct plan *plan, struct checked_slot slot)
{
	struct backend *be = plan->bench->backend;
	char *recv = checked_recv(plan, slot);
	int rc;

	if (slot.spare)
		buffers_dirty(&plan->bench->buffers);
	rc = be->ops->poison(be, recv - CHECK_GUARD, plan->shape.bytes + 2 * CHECK_GUARD);
	if (rc < 0 || !plan->in_place || plan->shape.send == 0)
		return rc;
	return be->ops->fill(be, recv + plan->shape.inplace_send * plan->geometry.elsize,
			     &plan->data, plan->geometry.rank, slot_base(plan, slot.index),
			     plan->shape.send);
}

int plan_fill(struct plan *plan, struct checked_slot slot)
{
	struct backend *be = plan->bench->backend;
	size_t elsize = plan->geometry.elsize;
	char *from = slot_address(plan, plan->bench->buffers.send, slot.index) - CHECK_GUARD;

	buffers_dirty(&plan->bench->buffers);
	return be->ops->fill(be, from, &plan->data, plan->geometry.rank,
			     slot_base(plan, slot.index) - CHECK_GUARD / elsize,
			     (plan->shape.bytes + 2 * CHECK_GUARD) / elsize);
}

int plan_check(struct plan *plan, struct checked_slot slot, struct check_report *report)
{
	size_t elsize = plan->geometry.elsize;
	char *recv = checked_recv(plan, slot);
	struct check_place place = {
		.recv = recv + (plan->in_place ? plan->shape.inplace_recv * elsize : 0),
		.recv_bytes = plan->shape.recv * elsize,
		/* in place this rank's own data surround a part of the buffer */
		.guards = !slot.crowded &&
			  (!plan->in_place || plan->shape.recv * elsize == plan->shape.bytes),
		.segments = plan->segments,
		.nsegments = plan->nsegments,
		.base = slot_base(plan, slot.index),
	};

	if (!plan->in_place) {
		place.send = slot_address(plan, plan->bench->buffers.send, slot.index);
		place.send_bytes = plan->shape.send * elsize;
	}
	return check_call(plan->bench->backend, &plan->data, plan->geometry.rank, &place, report);
}
