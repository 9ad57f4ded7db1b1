/* buffers.h: pools of slots that calls rotate through, so no call finds its data in a cache. One
 * pool to send and one to receive, each 256 MiB or one slot if that is larger, with CHECK_GUARD
 * bytes before and after. Slot i of a size starts at i * stride, modulo the number of slots that
 * fit; stride is the size rounded up to 512 bytes. The layout does not depend on -e. */
#pragma once

#include "backend/backend.h"
#include "check/check.h"

#define BUFFERS_POOL  ((size_t)256 << 20)
#define BUFFERS_ALIGN ((size_t)512)

struct buffers {
	struct backend *backend;
	size_t pool;  /* bytes that slots share */
	size_t bytes; /* bytes of one pool, without guards: `pool`, or one slot */
	size_t used;  /* bytes of one that may be written, with guards */
	void *send_base, *recv_base;
	char *send, *recv;	/* first byte after the leading guard */
	struct check_data data; /* content of the send pool */
	size_t filled;		/* bytes of the send pool that are filled, from the start */
	size_t touched;		/* bytes of the receive pool that have been written */
};

/* Allocates pools for slots of up to `largest` bytes. A pool has at least `pool` bytes:
 * BUFFERS_POOL, or the size of a schedule that keeps all its calls' data. The required memory
 * follows from the slots in use: at most `calls` calls before the first slot is used again. Returns
 * 0 or a negative errno (error in the backend's). */
int buffers_init(struct buffers *buffers, struct backend *backend, size_t largest, size_t pool,
		 size_t calls);
/* Registers both pools with the communicator by -R, after the communicator is made. Collective. */
int buffers_register(struct buffers *buffers);
void buffers_release(struct buffers *buffers);

/* Return the byte offset of slot `index` for buffers of `bytes`, and the number of such slots. */
size_t buffers_offset(const struct buffers *buffers, size_t bytes, size_t index);
size_t buffers_slots(const struct buffers *buffers, size_t bytes);

/* Ensures that the first `upto` bytes of the send pool, and a guard after them, hold `data` of
 * `rank`. Writes as much of the receive pool once, so no timed call meets untouched pages. */
int buffers_fill(struct buffers *buffers, const struct check_data *data, int rank, size_t upto);

/* Marks the send pool as overwritten: the next buffers_fill starts over. */
void buffers_dirty(struct buffers *buffers);
