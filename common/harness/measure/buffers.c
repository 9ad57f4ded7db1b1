/* buffers.c: pools, slots and their contents. */
#include "measure/buffers.h"

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* Bytes of a pool that are written: a slot for every call, and the slots that keep the checked one
 * apart (plan_last_slot). Smaller slots reach less far. */
static size_t reach(const struct buffers *b, size_t largest, size_t calls)
{
	size_t stride = round_up(largest ? largest : 1, BUFFERS_ALIGN);
	size_t slots = b->bytes / stride, apart = 2 * CHECK_GUARD / BUFFERS_ALIGN + 1;

	return slots > apart && calls < slots - apart ? (calls + apart) * stride : b->bytes;
}

int buffers_init(struct buffers *b, struct backend *backend, size_t largest, size_t pool,
		 size_t calls)
{
	size_t whole;
	int rc;

	memset(b, 0, sizeof(*b));
	b->backend = backend;
	if (largest > SIZE_MAX / 4)
		largest = SIZE_MAX / 4; /* too large as well, and no sum below overflows */
	b->pool = pool;
	b->bytes = round_up(largest, BUFFERS_ALIGN);
	if (b->bytes < pool)
		b->bytes = pool;
	whole = b->bytes + 2 * CHECK_GUARD;
	b->used = reach(b, largest, calls) + 2 * CHECK_GUARD;
	rc = backend->ops->alloc(backend, whole, b->used, &b->send_base);
	if (rc < 0)
		return rc;
	rc = backend->ops->alloc(backend, whole, b->used, &b->recv_base);
	if (rc < 0)
		return rc;
	b->send = (char *)b->send_base + CHECK_GUARD;
	b->recv = (char *)b->recv_base + CHECK_GUARD;
	return 0;
}

int buffers_register(struct buffers *b)
{
	size_t whole = b->bytes + 2 * CHECK_GUARD;
	int rc;

	if (!b->backend->ops->register_memory)
		return 0;
	rc = b->backend->ops->register_memory(b->backend, b->send_base, whole);
	return rc < 0 ? rc : b->backend->ops->register_memory(b->backend, b->recv_base, whole);
}

void buffers_release(struct buffers *b)
{
	size_t whole = b->bytes + 2 * CHECK_GUARD;

	if (b->recv_base)
		b->backend->ops->release(b->backend, b->recv_base, whole, b->used);
	if (b->send_base)
		b->backend->ops->release(b->backend, b->send_base, whole, b->used);
	memset(b, 0, sizeof(*b));
}

size_t buffers_slots(const struct buffers *b, size_t bytes)
{
	size_t stride = round_up(bytes ? bytes : 1, BUFFERS_ALIGN);

	return b->pool / stride ? b->pool / stride : 1;
}

size_t buffers_offset(const struct buffers *b, size_t bytes, size_t index)
{
	return index % buffers_slots(b, bytes) * round_up(bytes ? bytes : 1, BUFFERS_ALIGN);
}

static bool same_data(const struct check_data *a, const struct check_data *b)
{
	return a->seed == b->seed && a->dtype == b->dtype && a->op == b->op &&
	       a->nranks == b->nranks && a->avg_premultiplies == b->avg_premultiplies;
}

static int touch(struct buffers *b, size_t upto)
{
	int rc;

	if (upto <= b->touched)
		return 0;
	rc = b->backend->ops->poison(b->backend, b->recv + b->touched, upto - b->touched);
	if (rc == 0)
		b->touched = upto;
	return rc;
}

int buffers_fill(struct buffers *b, const struct check_data *data, int rank, size_t upto)
{
	size_t elsize = dtype_size(data->dtype);
	size_t end = upto + CHECK_GUARD;
	int rc;

	if (!same_data(&b->data, data))
		b->filled = 0;
	if (end > b->bytes + CHECK_GUARD)
		end = b->bytes + CHECK_GUARD;
	end = end / elsize * elsize;
	rc = touch(b, end);
	if (rc < 0 || end <= b->filled)
		return rc;
	rc = b->backend->ops->fill(b->backend, b->send + b->filled, data, rank, b->filled / elsize,
				   (end - b->filled) / elsize);
	if (rc < 0)
		return rc;
	b->data = *data;
	b->filled = end;
	return 0;
}

void buffers_dirty(struct buffers *b)
{
	b->filled = 0;
}
