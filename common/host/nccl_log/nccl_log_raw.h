/* nccl_log_raw.h: the inside of the reader: origins of lines, facts. For it and for nccl_check. */
#pragma once

#include "nccl_log/nccl_log.h"

/* An origin that a line has or names, and its member. */
enum place_kind {
	PLACE_HOST,
	PLACE_PROCESS,
	PLACE_THREAD,
	PLACE_DEVICE,
	PLACE_ADDRESS,
	PLACE_COMM,    /* by its id, in place of a host */
	PLACE_WARNING, /* by the place of its line, in place of a host, and its text */
	PLACE_NIC,     /* by its name's text */
	PLACE_NIC_AT,  /* by its number on the host */
	PLACE_FACT,    /* by its text */
	PLACE_WAIT /* by the process group, in place of a host, and the rank, in place of a process */
};

struct place {
	const char *host;
	int64_t pid;
	enum place_kind kind;
	uint64_t id;
	/* Thread: initialised last; device: called last, else initialised; process: the rank 0 that
	 * called last; NULL none. */
	struct nccl_member *member;
	struct nccl_member *first; /* device, process: its first */
	bool in_init;
	bool seen;   /* process: a line is from it */
	bool shared; /* process: it has several devices */
	int loose; /* thread: 1 + the number of a communicator of its own, of which no line has said the name */
	int warning; /* thread: the number of its newest WARN, 0 none */
	/* Host, communicator, warning: its own, from 1; device: communicators without an id. */
	int number;
};

#define NCCL_CACHE 8192
#define NCCL_LINES 4096

struct nccl_log_raw {
	void *places; /* tsearch tree */
	int texts; /* of warnings: from NCCL_TEXTS on new ones are not kept; of a program's own lines from NCCL_LINES on */
	struct place *places_cache[NCCL_CACHE]; /* lately asked for */
	const char *texts_cache[NCCL_CACHE];
	int rank_hint;
	bool binary; /* the stream holds NULs: lines that are not NCCL's are no text */
	struct nccl_open_trace *traces; /* NULL: none was open yet */
};

/* One NCCL message: text without its prefix. */
struct message {
	const char *host, *text;
	const char *where; /* WARN: file:line, else NULL */
	const char *stamp; /* the time before its origin, "" none */
	int64_t pid, tid;
	int dev;	 /* -1 unknown */
	int hint;	 /* rank as the launcher's prefix or the caller says; -1 */
	bool may_be_cut; /* as long as NCCL's buffer */
	int times;	 /* that it stands for: Ray folds lines of other processes */
};

/* Returns true if the text holds one of the words, which "|" parts. */
bool nccl_has(const char *text, const char *words);

/* The log's copy of a text. */
const char *nccl_log_text(struct nccl_log *log, const char *text, size_t len);

#define NCCL_TEXTS	 65536
#define NCCL_OPEN_TRACES 32

/* nccl_log_torch.c: a line of PyTorch's watchdog or of a Python traceback is taken; false: it is none of these. */
bool nccl_log_torch(struct nccl_log *log, const char *line);
void nccl_torch_join(struct nccl_log *log);
/* Which of two waits comes first: by the call, then those that have not made it. */
int nccl_wait_by_call(const struct nccl_wait *x, const struct nccl_wait *y);
void nccl_torch_release(struct nccl_log_raw *raw);

/* nccl_cause.c: the built-in table; the first row of the class `least` or a later one that fits a line's text, NULL: none; peer and device that it names; the time in
 * front of `end`, NAN: none. */
void nccl_causes_init(struct nccl_log *log);
const struct nccl_cause *nccl_cause_of(const struct nccl_log *log, const char *where,
				       const char *text, enum nccl_class least);
void nccl_cause_names(struct nccl_log *log, struct nccl_warning *warning);
double nccl_log_time(const char *text, const char *end);

/* A line that is no message of NCCL's, as it is: a failure of the program, or nothing. */
void nccl_log_foreign(struct nccl_log *log, char *line);
/* The rank that a launcher's prefix names, -1: none. */
int nccl_log_prefix_rank(const char *line, const char *end);

/* Append an item (an expression, commas allowed). */
#define raw_add(list, count, ...)                                                                  \
	((list) = must_room((list), (count), sizeof(*(list))), (list)[(count)++] = __VA_ARGS__)

/* The place, made if new. */
struct place *nccl_place(struct nccl_log *log, const char *host, int64_t pid, enum place_kind kind,
			 uint64_t id);

/* The same of a message's process. */
static inline struct place *place_of(struct nccl_log *log, const struct message *message,
				     enum place_kind kind, uint64_t id)
{
	return nccl_place(log, message->host, message->pid, kind, id);
}

/* The member of a message: in the communicator under initialisation in that thread, else in the
 * newest call's of its device; `rank` (-1 unknown) must fit. NULL, counted: that is not known. */
struct nccl_member *nccl_log_member(struct nccl_log *log, const struct message *message, int rank);

/* nccl_log_comm.c: brings what threads said of communicators without a name to the ones that it belongs to. */
void nccl_log_settle(struct nccl_log *log);

/* Its communicator, or NULL. */
struct nccl_comm *nccl_log_comm_of(struct nccl_log *log, const struct message *message, int rank);

/* nccl_log_line.c: one more line about it in NCCL's own words, unless it is there. */
void nccl_comm_say(struct nccl_comm *comm, const char *text);

void nccl_comm_free(struct nccl_comm *comm);

/* nccl_log_node.c: messages about networks, and others of hosts, which are facts of this kind; NICs and facts in order; the
 * rings of a communicator against what its nodes have (steps_known: lines tell of all steps). */
void nccl_message_nics(struct nccl_log *log, const struct message *message);
void nccl_message_device(struct nccl_log *log, const struct message *message);
void nccl_message_gdr(struct nccl_log *log, const struct message *message);
void nccl_host_say(struct nccl_log *log, const struct message *message,
		   const struct nccl_cause *row);
void nccl_node_join(struct nccl_log *log);
void nccl_log_message(struct nccl_log *log, const struct message *message);

/* nccl_log_comm.c: messages about communicators, their members and calls. */
void nccl_message_init(struct nccl_log *log, const struct message *message);
void nccl_message_call(struct nccl_log *log, const struct message *message);
void nccl_message_api(struct nccl_log *log, const struct message *message);

/* nccl_log_join.c: sort what lines said, each once; make the rings. */
void nccl_log_join(struct nccl_log *log);

/* The log's path of the member's GPU behind `path`, the first one where that is NULL; NULL: there is none. */
const struct nccl_path *nccl_next_path(const struct nccl_log *log, const struct nccl_path *path,
				       const struct nccl_member *member);

/* Which of two comes first, for comparisons of several fields: BY(x->a, y->a) ?: BY(x->b, y->b). */
#define BY(a, b) (((a) > (b)) - ((a) < (b)))
/* Sorts n items. Compares numbers, or the first n texts of two structs. */
void nccl_sort(void *array, int n, size_t size, int (*compare)(const void *, const void *));
int nccl_by_number(const void *a, const void *b);
int nccl_by_texts(const void *a, const void *b, int n);
