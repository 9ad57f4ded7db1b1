/* saved.h: the saved form of one rank's evidence, version 2: what rank-N.fr holds, and what one host
 * tells another.
 *
 * Little endian, parts one behind the other:
 *
 *   struct saved_header          how its process was, what it waited for; sizes and number of what
 *                                follows
 *   struct record_header         the flight recorder's header, copied as it was (its own version
 *                                inside), without the token
 *   struct record[records]       the sound records that were left, oldest first: tickets rise, and
 *                                per communicator `seq`
 *   struct call_times[records]   only if has_times: when the device ran them
 *
 * A reader that meets another magic, version or size of a part rejects the file. A file that is cut
 * off gives the whole records that are there; what is behind the last record is remarked and
 * ignored. Nothing in it is trusted: numbers are held to their ranges, texts to printable
 * characters, records to what evidence_sound says. */
#pragma once

#include "evidence/evidence.h"

#define SAVED_MAGIC   "hangarEV"
#define SAVED_VERSION 2

struct saved_header {
	_Alignas(64) char magic[8];
	uint32_t version;
	uint32_t header_bytes, recorder_bytes, record_bytes; /* sizes of the three types */
	uint32_t records;
	int32_t rank, node, pid;
	int32_t process, status;		 /* enum process_state; exit code or signal */
	int32_t outcome;			 /* enum outcome, -1: it runs */
	uint32_t phase;				 /* enum phase */
	uint32_t waiting, overdue, has_recorder; /* 0 or 1 */
	uint32_t has_times;
	uint64_t issued, completed; /* calls over all communicators */
	double waited;		    /* seconds */
	uint64_t since_ns,
		seen_ns;  /* of the wait and of all this, CLOCK_MONOTONIC of its host; 0: unknown */
	double cpu_share; /* of one processor, -1: unknown */
	uint64_t
		monotonic_ns; /* CLOCK_MONOTONIC and CLOCK_REALTIME of its host at one moment: what */
	int64_t realtime_ns; /* the records' times are on the clock that hosts share more or less */
	uint64_t netns;	     /* number of its network namespace, 0: unknown */
	uint64_t init_id, aborted_after; /* of communicator 0, as struct rank_view has them */
	uint32_t comm_state;		 /* enum record_comm_state */
	int32_t init_rank, init_nranks;
	int32_t error_code; /* negative errno of `error`, 0: none */
	uint32_t oom_kills; /* by the kernel in its memory cgroup */
	char state;	    /* letter of /proc/PID/stat, 0: unknown */
	uint8_t lost;	    /* enum view_lost */
	char unused[2];
	char syscall[24];
	char what[40], host[64], error[256];
	int32_t port, resends; /* of a connection without an answer, as struct sockets has them */
	char addresses[96], peer[48];
};

/* Room for `bytes` of saved form, aligned as it must be; free() it. */
void *saved_alloc(size_t bytes);

/* Bytes that `saved_pack` writes for the newest `newest` records of the rank. */
size_t saved_bytes(const struct evidence_rank *rank, size_t newest);

/* Write the saved form of rank `number` to `image` (saved_bytes() of room, from saved_alloc). */
void saved_pack(const struct evidence_rank *rank, int number, size_t newest, void *image);

/* Take rank `number` out of `image` (aligned to 64, writable: unsound records are closed up in
 * place). On success rank->calls, times and recorder lie within the image, which must outlive
 * them, the index is made, and *unsound is how many records were passed over, *cut how many were
 * announced but are not there. Returns NULL, or what is wrong with it, as the end of a sentence;
 * then the rank is as before. */
const char *saved_unpack(struct evidence_rank *rank, int number, void *image, size_t bytes,
			 size_t *unsound, size_t *cut);
