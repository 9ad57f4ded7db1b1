/* segment.h: expected content of a receive buffer. */
#pragma once

enum segment_kind {
	SEGMENT_COPY,	/* elements from `from_at` on of rank `from`'s send buffer */
	SEGMENT_REDUCE, /* the reduction over all ranks of elements from `from_at` on */
	SEGMENT_KEEP	/* must not change */
};

/* A stretch of the receive buffer and its expected content. */
struct segment {
	enum segment_kind kind;
	size_t at, count; /* place in the receive buffer, elements */
	int from;	  /* SEGMENT_COPY only */
	size_t from_at;	  /* place in the send buffers, elements */
};
