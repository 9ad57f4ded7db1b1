/* buffers.h: the pools that calls rotate through, so that no call finds its data warm from the
 * last.
 *
 * One pool to send from, one to receive into, each 256 MiB or one slot if that is larger, with
 * CHECK_GUARD bytes before and after. Slot i of a size starts at i * stride, stride = size
 * rounded up to 512 bytes, modulo the number of slots that fit: the same for every sweep,
 * whatever -e says. */
#pragma once

#include "backend/backend.h"
#include "check/check.h"

#define BUFFERS_POOL  ((size_t)256 << 20)
#define BUFFERS_ALIGN ((size_t)512)

struct buffers {
	struct backend *backend;
	size_t pool;  /* what slots share */
	size_t bytes; /* of one pool, without guards: as much, or one slot */
	void *send_base, *recv_base;
	char *send, *recv;	/* first byte behind the leading guard */
	struct check_data data; /* what the send pool is filled with */
	size_t filled;		/* bytes of it that are, from the start */
	size_t touched;		/* bytes of the receive pool that were written at least once */
};

/* Allocate for slots of up to `largest` bytes, in pools of `pool` bytes at least: BUFFERS_POOL,
 * or what a schedule needs that keeps all its calls' data. What must fit is decided by the slots
 * that are touched: `calls` follow each other at most before the first is used again. 0 or
 * negative errno (error in the backend's). */
int buffers_init(struct buffers *buffers, struct backend *backend, size_t largest, size_t pool,
		 size_t calls);
/* Register both pools with the communicator as -R asks; after the communicator is made.
 * Collective. */
int buffers_register(struct buffers *buffers);
void buffers_release(struct buffers *buffers);

/* Byte offset of slot `index` for buffers of `bytes`, and how many slots there are. */
size_t buffers_offset(const struct buffers *buffers, size_t bytes, size_t index);
size_t buffers_slots(const struct buffers *buffers, size_t bytes);

/* See that the send pool's first `upto` bytes (and a guard behind them) hold `data` of `rank`,
 * and that as much of the receive pool was written to once, so that no timed call meets
 * untouched pages. */
int buffers_fill(struct buffers *buffers, const struct check_data *data, int rank, size_t upto);

/* The send pool was written to: the next buffers_fill starts over. */
void buffers_dirty(struct buffers *buffers);
