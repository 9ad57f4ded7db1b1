/* nccl_log_raw.h: the inside of the reader: origins of lines, facts. For it and for nccl_check. */
#pragma once

#include "nccl_log/nccl_log.h"
#include "nccl_log/rows.h"

/* An origin that a line has or names, and its member. */
enum place_kind {
	PLACE_HOST,
	PLACE_PROCESS,
	PLACE_THREAD,
	PLACE_DEVICE,
	PLACE_ADDRESS,
	PLACE_COMM,    /* by its id, in place of a host */
	PLACE_WARNING, /* by the place of its line, in place of a host, and its text */
	PLACE_ORIGIN,  /* of a warning: by its number, the device (24 bits) and the rank (23) */
	PLACE_NIC,     /* by its name's text */
	PLACE_NIC_AT,  /* by its number on the host */
	PLACE_FACT,
	/* by its text */ PLACE_HOME, /* of a host: by the name of its interface */
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
	const char *address;	   /* home: its address */
	bool in_init;
	bool seen;   /* process: a line is from it */
	bool shared; /* process: it has several devices */
	int loose; /* thread: 1 + the number of a communicator of its own, of which no line has said the name */
	int warning; /* thread: the number of its newest WARN, 0 none */
	/* Host, communicator, warning, origin: its own, from 1; process: 1, a communicator has it; device: communicators without an id. */
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
	int64_t processes; /* that wrote a line */
	size_t held;	   /* bytes, of all communicators */
	bool binary;	   /* the stream holds NULs: lines that are not NCCL's are no text */
	char *torn;	   /* a wrapped line whose rest has not come yet; NULL: none */
	struct nccl_open_trace *traces; /* NULL: none was open yet */
	struct {
		int blocks;
		bool open; /* JSON's lines are ncclras' */
		int rank;
		const char *host;
		int64_t pid;
	} ras;
};

/* One NCCL message: text without its prefix. */
struct message {
	const char *host, *text;
	const char *where; /* WARN: file:line, else NULL */
	struct span stamp; /* the time before its origin */
	double time;	   /* seconds of it; NAN: none */
	int64_t pid, tid;
	int dev;	 /* -1 unknown */
	int hint;	 /* rank as the launcher's prefix or the caller says; -1 */
	bool may_be_cut; /* as long as NCCL's buffer */
	size_t len;	 /* of the text */
	uint64_t shape;	 /* of the text */
	int times;	 /* that it stands for: Ray folds lines of other processes */
};

/* Returns true if the text holds one of the words, which "|" parts. */
bool nccl_has(const char *text, const char *words);

/* The log's copy of a text. */
const char *nccl_log_text(struct nccl_log *log, const char *text, size_t len);

#define NCCL_TEXTS	 65536
#define NCCL_OPEN_TRACES 32

/* The log's copy of what a group holds, "" where it holds nothing. */
const char *found_text(struct nccl_log *log, const struct found *found, enum row_field field);

/* nccl_log_torch.c: a line of a program, of which `found` is a watchdog's, or of a Python traceback (true: it is no failure). */
void nccl_torch_timeout(struct nccl_log *log, const struct found *found, const char *line);
void nccl_torch_progress(struct nccl_log *log, const struct found *found, const char *line);
bool nccl_torch_traceback(struct nccl_log *log, const char *line);
void nccl_torch_open(struct nccl_log *log, const struct found *found, const char *line);
void nccl_torch_join(struct nccl_log *log);
/* Which of two waits comes first: by the call, then those that have not made it, then those that a line tells of. */
int nccl_wait_by_call(const struct nccl_wait *x, const struct nccl_wait *y);
void nccl_torch_release(struct nccl_log_raw *raw);

/* nccl_log_ras.c: a line of what ncclras prints. Then what JSON says of kinds of calls of which all ranks have launched as many
 * goes. */
void nccl_ras_take(struct nccl_log *log, const struct found *found);
void nccl_ras_join(struct nccl_log *log);

/* nccl_cause.c: the built-in table; peer and device that a warning names. */
void nccl_causes_init(struct nccl_log *log);
void nccl_causes_release(struct nccl_log *log);
void nccl_cause_names(struct nccl_log *log, struct nccl_warning *warning);

/* The first row of the class `least` or a later one that fits a line's text, NULL: none. `shape`: of the text; 0: it is not remembered. */
const struct nccl_cause *nccl_cause_of(const struct nccl_log *log, const char *where,
				       const char *text, enum nccl_class least, uint64_t shape);

/* nccl_log.c: the first time in the text, seconds without the year, NAN: none; *stamp: as it stands there. */
double nccl_log_time(struct nccl_log *log, const char *text, size_t len, struct span *stamp);

/* A line that is no message of NCCL's, as it is: a failure of the program, or nothing. */
void nccl_log_foreign(struct nccl_log *log, const char *line, size_t len);
/* The rank that a launcher's prefix names, -1: none. */
int nccl_log_prefix_rank(struct nccl_log *log, const char *line, const char *end);

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
/* Takes out the communicators that are moved; names of splits hold their parent's number, -1: it is taken out. */
void nccl_log_drop(struct nccl_log *log);

/* Its communicator, or NULL. */
struct nccl_comm *nccl_log_comm_of(struct nccl_log *log, const struct message *message, int rank);

/* nccl_log_line.c: one more line about it in NCCL's own words, unless it is there. */
void nccl_comm_say(struct nccl_log *log, struct nccl_comm *comm, const char *text, size_t len);

/* nccl_log_join.c: before something is added to it. Facts that are there twice go; of a log without end the communicators go
 * whose lines are oldest. `bytes`: of calls, which stay. */
void nccl_comm_hold(struct nccl_log *log, struct nccl_comm *comm, size_t bytes);

void nccl_comm_free(struct nccl_comm *comm);

typedef void nccl_take(struct nccl_log *log, const struct message *message,
		       const struct found *found);

/* nccl_log_node.c: messages about networks, and others of hosts, which are facts of this kind; NICs and facts in order. */
nccl_take nccl_message_nics, nccl_message_speed, nccl_message_gdr;
void nccl_host_say(struct nccl_log *log, const struct message *message,
		   const struct nccl_cause *row);
void nccl_node_join(struct nccl_log *log);
void nccl_log_message(struct nccl_log *log, struct message *message);

/* nccl_log_comm.c: messages about communicators, their members and calls. */
nccl_take nccl_message_init, nccl_message_call, nccl_message_api;

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
