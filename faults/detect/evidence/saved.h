/* saved.h: the saved form of one rank's evidence, version 7: what rank-N.fr holds, and what one host
 * tells another.
 *
 * Little endian, parts one behind the other:
 *
 *   struct saved_header          sizes and number of what follows; the rank's view, its process
 *   struct record_header         the flight recorder's header, as it was (its own version inside),
 *                                without the token
 *   struct record_site[sites]    lines of code that calls came from, a free entry first
 *   struct record[records]       the sound records, oldest first: tickets rise, and per
 *                                communicator `seq`
 *   struct call_times[records]   only if has_times: when the device ran them
 *
 * A reader rejects another magic, version or size of a part. A file that is cut off gives its whole
 * records. Bytes behind the last record are ignored, with a remark. Nothing in a file is trusted:
 * numbers are held to their ranges, texts to printable characters, records to evidence_sound(). */
#pragma once

#include "evidence/evidence.h"

#define SAVED_MAGIC   "hangarEV"
#define SAVED_VERSION 7

struct saved_header {
	/* the same in all versions, so that each is known by its number */
	_Alignas(64) char magic[8];
	uint32_t version;
	uint32_t header_bytes, recorder_bytes, record_bytes; /* sizes of the three types */
	uint32_t records;
	int32_t rank;

	uint32_t has_recorder, has_times; /* 0 or 1 */
	struct rank_view view;
	double cpu_share; /* these as in struct evidence_rank */
	uint64_t netns;
	char state;
	char syscall[24];
	struct sockets sockets;
	uint32_t sites;
	char file[80], where[128], said[200];
	uint64_t left_ns;
	int32_t started_by;
};

/* Parts that are missing in a saved form. */
struct saved_loss {
	size_t unsound; /* records that were passed over */
	size_t cut;	/* records that are announced and not there */
	bool times;	/* device times are announced and not there */
};

/* Room for `bytes` of saved form, aligned as it must be; free() it. */
void *saved_alloc(size_t bytes);

/* Bytes that `saved_pack` writes for the newest `newest` records of the rank. */
size_t saved_bytes(const struct evidence_rank *rank, size_t newest);

/* Write the saved form of rank `number` to `image` (saved_bytes() of room, from saved_alloc). */
void saved_pack(const struct evidence_rank *rank, int number, size_t newest, void *image);

/* Take rank `number` out of `image` (aligned to 64, writable: unsound records are closed up in
 * place). On success calls, times and recorder of the rank lie within the image, which must outlive
 * them, and the index is made. Returns NULL, or what is wrong with it, as the end of a sentence;
 * then the rank is as before. */
const char *saved_unpack(struct evidence_rank *rank, int number, void *image, size_t bytes,
			 struct saved_loss *loss);
