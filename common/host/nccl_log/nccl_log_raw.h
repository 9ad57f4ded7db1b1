/* nccl_log_raw.h: the inside of the reader: origins of lines, and facts before they are joined.
 * Internal to nccl_log. */
#pragma once

#include "nccl_log/nccl_log.h"

/* An origin that a line has or names, and its member. */
enum place_kind {
	PLACE_HOST,
	PLACE_PROCESS,
	PLACE_THREAD,
	PLACE_DEVICE,
	PLACE_ADDRESS,
	PLACE_COMM,   /* by its id, in place of a host */
	PLACE_WARNING /* by the place of its line, in place of a host, and its text */
};

struct place {
	const char *host;
	int64_t pid;
	enum place_kind kind;
	uint64_t id;
	/* Thread: initialised last; device: called last, else initialised; process: the rank 0 that
	 * called last; NULL none. */
	struct nccl_member *member;
	struct nccl_member *first; /* device: its first */
	bool in_init;
	bool seen; /* process: a line is from it */
	/* Host, communicator, warning: its own, from 1; device: communicators without an id. */
	int number;
};

struct nccl_log_raw {
	void *places; /* tsearch tree */
	int rank_hint;
};

/* One NCCL message: text without its prefix. */
struct message {
	const char *host, *text;
	const char *where; /* WARN: file:line, else NULL */
	int64_t pid, tid;
	int dev;	 /* -1 unknown */
	int hint;	 /* rank as the launcher's prefix or the caller says; -1 */
	bool may_be_cut; /* as long as NCCL's buffer */
};

/* The log's copy of a text. */
const char *nccl_log_text(struct nccl_log *log, const char *text, size_t len);

/* Append an item (an expression, commas allowed). */
#define raw_add(list, count, ...)                                                                  \
	((list) = must_room((list), (count), sizeof(*(list))), (list)[(count)++] = __VA_ARGS__)

/* The place, made if new. */
struct place *nccl_place(struct nccl_log *log, const char *host, int64_t pid, enum place_kind kind,
			 uint64_t id);

/* The member of a message: in the communicator under initialisation in that thread, else in the
 * newest call's of its device; `rank` (-1 unknown) must fit. NULL, counted, when that can't be
 * told. */
struct nccl_member *nccl_log_member(struct nccl_log *log, const struct message *message, int rank);

/* Its communicator, or NULL. */
struct nccl_comm *nccl_log_comm_of(struct nccl_log *log, const struct message *message, int rank);

/* Take in one message. */
void nccl_log_message(struct nccl_log *log, const struct message *message);

/* nccl_log_comm.c: messages about communicators, their members and calls. */
void nccl_message_init(struct nccl_log *log, const struct message *message);
void nccl_message_call(struct nccl_log *log, const struct message *message);

/* nccl_log_join.c: sort what lines said, each once; make the rings. */
void nccl_log_join(struct nccl_log *log);

/* The first of the log's paths of this GPU, or NULL. */
const struct nccl_path *nccl_log_path(const struct nccl_log *log, const char *host, uint64_t gpu);
