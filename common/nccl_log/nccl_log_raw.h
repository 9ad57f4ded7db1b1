/* nccl_log_raw.h: the reader's inside: what lines said, before it is sorted and joined. */
#ifndef HANGAR_NCCL_LOG_RAW_H
#define HANGAR_NCCL_LOG_RAW_H

#include "nccl_log/nccl_log.h"

/* Something that a line comes from or names, and the member it stands for. */
enum place_kind { PLACE_PROCESS, PLACE_THREAD, PLACE_DEVICE, PLACE_ADDRESS };

struct place {
	const char *host;
	int64_t pid;
	enum place_kind kind;
	uint64_t id;
	int member; /* -1 none: thread: initialised last; device: called last, else initialised */
	int first;  /* device: its first member */
	int tuner;  /* process: the rank 0 that called last */
	bool in_init;
	int guesses; /* device: communicators without an id so far */
};

/* Rank 0's "Channel" line: ranks in pool[first] on. */
struct raw_order {
	int comm, channel, first, n;
	bool cut;
};

/* A rank's "Ring" line. */
struct raw_edge {
	int comm, channel, rank, prev, next;
};

struct raw_warning {
	const char *where, *text;
	bool trace;
	int rank, first, count; /* first: warnings before it */
};

struct nccl_log_raw {
	void *places; /* tsearch tree */
	void *keys;   /* of communicators: text to number */
	struct raw_order *orders;
	struct raw_edge *edges;
	struct raw_warning *warnings;
	struct nccl_tree *trees;
	struct nccl_link *links;
	struct nccl_tuning *tunings;
	struct nccl_graph *graphs;
	int *pool;
	int n_orders, n_edges, n_warnings, n_trees, n_links, n_tunings, n_graphs, n_pool;
	int rank_hint, warned;
	int64_t compact_at; /* lines */
	const char *file;   /* that is being read */
	int64_t file_line;
	char *line; /* the one being read, clean */
	bool no_memory;
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

/* Room for element n of an array: the array, perhaps elsewhere, or NULL. Capacity doubles. */
void *nccl_array_room(void *array, int n, size_t size);

/* The log's copy of a text; NULL on lack of memory, which is noted. */
const char *nccl_log_text(struct nccl_log *log, const char *text, size_t len);

/* Append an item (an expression, commas allowed). False, noted, on lack of memory. */
#define raw_add(log, list, count, ...)                                                             \
	((list) = raw_room((log), (list), (count), sizeof(*(list))),                               \
	 !(log)->raw->no_memory && ((list)[(count)++] = __VA_ARGS__, true))
/* nccl_array_room, but on lack of memory the array as it is, and a note. */
void *raw_room(struct nccl_log *log, void *array, int n, size_t size);

/* The place, made if new; NULL on lack of memory. */
struct place *nccl_place(struct nccl_log *log, const char *host, int64_t pid, enum place_kind kind,
			 uint64_t id);
/* The place if it is there. */
struct place *nccl_place_find(struct nccl_log *log, const char *host, int64_t pid,
			      enum place_kind kind, uint64_t id);

/* The communicator named `id`, made if new: its number, or -1. */
int nccl_log_comm(struct nccl_log *log, const char *id, bool guessed);

/* The member that a message about communicators is from: of the communicator under
 * initialisation in that thread, else of the one its device called last; `rank` (-1 unknown)
 * must fit. -1, counted, when that can't be told. */
int nccl_log_member(struct nccl_log *log, const struct message *message, int rank);

/* The same for a message that NCCL prints during initialisation only: a thread that is in none
 * begins one, whose communicator is guessed (NCCL before 2.18 says nothing at its start). */
int nccl_log_builder(struct nccl_log *log, const struct message *message, int rank);

/* Take in one message. */
void nccl_log_message(struct nccl_log *log, const struct message *message);

/* nccl_log_comm.c: messages about communicators, their members and calls. */
bool nccl_message_init(struct nccl_log *log, const struct message *message);
bool nccl_message_call(struct nccl_log *log, const struct message *message);
bool nccl_message_tuning(struct nccl_log *log, const struct message *message);

/* nccl_log_join.c and nccl_log_rings.c: sort and join; what was said twice once, while more is read. */
void nccl_log_compact(struct nccl_log *log);
int nccl_log_join(struct nccl_log *log);
int nccl_log_join_rings(struct nccl_log *log);
void nccl_log_raw_free(struct nccl_log *log);

/* A communicator's line that is the head of what is printed of it. */
void nccl_log_print_title(FILE *out, const struct nccl_log *log, const struct nccl_comm *comm);

/* A small sscanf that can't overflow: %d int, %l int64_t, %x uint64_t (0x or not, "(nil)" is 0),
 * %f double, %w char[64] (up to a blank or one of ",:)"), blank: any blanks, even none; anything
 * else stands for itself. Returns where the match ends, or NULL; then what was stored before the
 * mismatch stays. */
const char *nccl_match(const char *text, const char *format, ...);

#endif
