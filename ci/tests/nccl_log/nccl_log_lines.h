/* nccl_log_lines.h: NCCL logs made for tests, line by line, and read at once. */
#pragma once

#include "rig/nccl_log_memory.h"
#include "rig/unit.h"

/* A job: ranks, ranks of a host, the launcher's prefix of each line ("%d": the rank). */
struct lines {
	FILE *out;
	char *text;
	size_t size;
	int nranks, per_host;
	const char *prefix;
};

void lines_open(struct lines *lines, int nranks, int per_host);

/* One INFO line of a rank: host-A, host-B, ...; pid 1000 + rank, tid 2000 + rank. */
__attribute__((format(printf, 3, 4))) void lines_say(struct lines *lines, int rank,
						     const char *format, ...);

/* GPUs of a host: busId 0x1000, 0x2000, ... */
void lines_start(struct lines *lines, int rank);

void lines_started(struct lines *lines, int nranks, int per_host);

void lines_call(struct lines *lines, int rank, const char *function, int count, int root);

/* The ring `order` on a channel: every rank's Ring line, its transport, rank 0's Channel line. */
void lines_ring(struct lines *lines, int channel, const int *order, bool listed);

void lines_link(struct lines *lines, int channel, int from, int to, const char *transport);

/* Transports along the ring: P2P/CUMEM on a host, `net` between hosts. */
void lines_links(struct lines *lines, int channel, const int *order, const char *net);

/* 16 ranks on two hosts, two channels, ring 0 1 2 ... 15. */
void lines_job(struct lines *lines, const char *prefix);

void lines_read_text(struct nccl_log *log, const char *text, size_t len);

/* Closes the lines and reads them. */
void lines_read(struct lines *lines, struct nccl_log *log);
