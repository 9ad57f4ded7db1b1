/* segment.h: what must stand where in a receive buffer: the oracle's words. */
#pragma once

enum segment_kind {
	SEGMENT_COPY,	/* elements `from_at...` of rank `from`'s send buffer */
	SEGMENT_REDUCE, /* the reduction over all ranks of elements `from_at...` */
	SEGMENT_KEEP	/* must be left as it was */
};

/* A stretch of the receive buffer and what must stand there afterwards. */
struct segment {
	enum segment_kind kind;
	size_t at, count; /* place in the receive buffer, elements */
	int from;	  /* SEGMENT_COPY only */
	size_t from_at;	  /* place in the send buffer(s), elements */
};
