/* evidence.h: what is known of a run's ranks after the fact, on disk and in memory.
 *
 * A folder: rank-N.fr says how rank N's process was and what calls its flight recorder held
 * (saved.h: the format), run.json what was run; rank-N.stack.txt and ras.txt are texts,
 * rank-N.counters.json is what the rank's host counted (machine/reading.h). Everything may be
 * missing, torn or hostile: the reader takes what is sound and says what is not. */
#pragma once

#include "base/error.h"
#include "net/sockets.h"
#include "run/progress.h"
#include "record/record.h"
#include "record/view.h"

struct reading;

struct evidence_rank {
	bool present;	       /* anything at all is known */
	bool unread;	       /* its file was there, and could not be read, or was set aside */
	bool remote;	       /* its process is on another host: not looked at here */
	struct rank_view view; /* process state, phase, wait; zero where unknown */
	char state;	  /* letter of /proc/PID/stat; 'F': frozen with its cgroup; 0: unknown */
	char syscall[24]; /* system call it is in: "futex" "read" "219"...; "" running or unknown */
	char file[80];	  /* that this call reads, writes or waits for, "" unknown */
	char where[128];  /* its line of Python, "train.py:88 (load_batch)"; or "" */
	char said[200];	  /* what it said of its end: "RuntimeError: loss is NaN"; "" unknown */
	uint64_t left_ns; /* when it began to end or aborted; 0: unknown, or it runs */
	int started_by;	  /* 1 + the rank whose process started this one; 0: none did */
	struct python_process python; /* how to ask for that; zero: it is no Python, or not here */
	bool starts; /* it has not used NCCL, and its process runs or is ready to: it may come yet
		      */
	uint64_t netns;		/* number of its network namespace (/proc/PID/ns/net), 0: unknown */
	struct sockets sockets; /* its connections over TCP */
	double cpu_share;     /* of the last tenth of a second, in which it ran or was ready to; -1:
				 unknown */
	struct record *calls; /* sound records, oldest first; owned, or in the image */
	struct call_times *times; /* of each of `calls`; owned, or in the image; NULL: none */
	size_t ncalls;
	struct record_header *recorder; /* as it was; owned, or in the image; NULL: not known */
	struct record_site *sites; /* lines of code that calls came from; owned, or in the image */
	size_t nsites;		   /* the free one at the beginning included; 0: none are known */
	uint64_t run; /* the recorder's, of a file: recorders of many ranks stay on disk */
	struct call_index index;
	void *image;   /* saved form that calls, times and recorder lie in; owned; NULL: none */
	size_t mapped; /* bytes, when the image is a mapping of a file; 0: from malloc */
	bool wrapped;  /* older calls have left the ring, or did not come along */
	bool emptied;  /* it counts calls, and none came along */
	bool undated;  /* it may be older than the others', as the recorder has it */
	/* Its host counted this during the run (rank-N.counters.json), saved with one rank of
	 * the host; owned, NULL: none. */
	struct reading *counters;
	char *stack; /* its threads' stacks as text (rank-N.stack.txt); owned, NULL: none */
};

struct evidence {
	int nranks;	/* as the ranks or run.json say; at least the highest rank seen + 1 */
	bool uncounted; /* the number is not recorded: there may have been more */
	char whole[4];	/* "yes": of a preloaded run on one host, while it ran */
	struct evidence_rank *ranks; /* nranks entries; owned */
	const int *numbers; /* of a part of a run: its ranks' numbers in the whole; NULL: own */
	char run[80];	    /* the run's name, the same on all its hosts; "" unknown */
	char backend[16];
	char library[64]; /* NCCL's or MPI's version; "" unknown */
	char program[32];
	char when[32];	    /* of the verdict, local time; "" unknown */
	double detect_ms;   /* as the verdict line says; 0: unknown */
	char command[1024]; /* without --fault and --expect: evidence never has what was injected */
	char options[1024]; /* that all ranks must have alike, but for defaults; "" unknown */
	char token[20];	    /* number of the run, in hexadecimal; "" unknown */
	char remarks[1024]; /* what is missing or unsound, sentences; "" when nothing */
	char *ras; /* what NCCL RAS answered, as text (ras.txt); owned, NULL: was not asked */
	char *said; /* of logs: what nccl_log says of them in place of an answer; owned, NULL: there may be one */
	bool logs; /* it is of logs, from which any rank's lines may be missing */
	bool calm; /* of logs: the calls of the ranks that are here are alike, and no line tells of a failure or a hang */
};

/* `command` without the arguments that say what was injected or what is expected. */
void evidence_blind_command(const char *command, char *to, size_t len);

/* Program, library and backend, as the rank's recorder names them, unless they are known. */
void evidence_identify(struct evidence *evidence, const struct record_header *recorder);

/* evidence_absent.c: finds the processes on this host of ranks without evidence, by the environment
 * that all of the run have. They stay absent, and their view has a process number alone. */
void evidence_find_absent(struct evidence *evidence);

/* Ranks that know nothing of each other number their communicators as they come: give each its
 * number in the whole run, by its id. The one of all ranks that was made first is 0; those that
 * share no rank may share a number, as progress.h expects it. Where one has none left its calls are
 * forgotten, with a remark. */
void evidence_number_comms(struct evidence *evidence);

/* evidence_aside.c: forgets, with a remark, ranks whose evidence cannot be of the others' run and
 * moment: ranks that have another run's number, or that lack calls which others completed with
 * them. */
void evidence_set_aside(struct evidence *evidence);

/* Copy the recorder's header and sound records of a memory, oldest first, and make the index. */
void evidence_take_calls(struct evidence_rank *rank, const struct record_memory *memory);

/* evidence_program.c: takes what is known of a rank's program beside its calls, after its view and
 * its calls: what it said last stands for the stacks of one that has ended. */
void evidence_take_program(struct evidence_rank *rank, const struct record_memory *memory);

/* evidence_program.c: returns true if it said that a connection to another rank of its job broke, or could not be made. */
bool evidence_lost_peer(const struct evidence_rank *rank);

/* evidence_program.c: returns true if both said the same line of code and exception of their ends, or that. */
bool evidence_same_end(const struct evidence_rank *one, const struct evidence_rank *other);

/* evidence_program.c: returns true if it said that it waited too long for other ranks of its job.
 */
bool evidence_gave_up(const struct evidence_rank *rank);

/* evidence_program.c: returns true if a rank of any program has begun to end, or has given up this
 * communicator. */
bool evidence_leaves(const struct evidence_rank *rank, uint32_t comm);

/* The program of ranks whose calls are a schedule's: no process made them. */
#define EVIDENCE_SCHEDULE "schedule"

/* evidence_program.c: returns true if the rank is in no call, by a dump or a schedule, which does
 * not say what became of it then: it may have come to its end. */
bool evidence_may_have_ended(const struct evidence_rank *rank);
/* evidence_program.c: returns true if it has made all its calls of a schedule that is carried out on paper. */
bool evidence_list_is_over(const struct evidence_rank *rank);

/* evidence_program.c: returns true if the rank stands in a framework's communication: "train.py:88
 * (step) in all_reduce". */
bool evidence_communicates(const struct evidence_rank *rank);

/* evidence_program.c: finds, among live processes of this host, ranks that other ranks have
 * started. */
void evidence_find_starters(struct evidence *evidence);

/* Take a rank's evidence from its saved form in `image`, which is copied. 0, or -EINVAL. */
int evidence_take_saved(struct evidence_rank *rank, int number, const void *image, size_t bytes);

/* The ranks as the model of a run takes them (run/progress.h), borrowed from the evidence. */
void evidence_progress(const struct evidence *evidence, struct progress *progress);
void evidence_progress_release(struct progress *progress);

/* Makes the index of the rank's calls, after `calls` is written and before a diagnosis. */
void evidence_index(struct evidence_rank *rank);

/* Returns true if later code can rely on this record. `last_seq`: newest by communicator. */
bool evidence_sound(const struct record *record, uint64_t ticket, const uint64_t *last_seq);

/* Holds the processor time of the main threads of live processes, and when that was read. */
struct evidence_probe {
	uint64_t begin_ns;
	size_t n;
	struct evidence_account {
		int pid;
		double ran_ns; /* -1: unknown */
	} * accounts;	       /* owned */
};

/* The first half, of one more process. The second half waits until 0.1 s after it. */
void evidence_probe_add(struct evidence_probe *probe, int pid);
void evidence_probe_release(struct evidence_probe *probe);

/* State letter, system call and processor share of the live processes of ranks 0..n-1 that are on
 * this host. `probe`, released here, says what they had used some time ago; zero: look twice, a
 * tenth of a second apart. */
void evidence_probe(struct evidence_rank *ranks, size_t n, struct evidence_probe *probe);

/* Write to `dir`, which exists: every file whole or not at all, and no rank's where there is no
 * room for all: records of some ranks would say less than the verdict. 0 or a negative errno with
 * the error set. */
int evidence_save(const struct evidence *evidence, const char *dir, struct error *err);

/* Write rank-N.fr alone. 0 or a negative errno. */
int evidence_save_rank(const struct evidence_rank *rank, int number, const char *dir);

/* Read what is in `n` folders of one run, those of its hosts: what each knows is joined. Where two
 * hold a rank, one file's calls must be among the other's, and the longer is taken. Files of ranks
 * from 1 << 18 on and such as saved.h rejects are passed over with a remark. The files are mapped,
 * not read. 0 when there was anything to read; else with the error set -ENOENT, or -EINVAL, also
 * where a folder is of another run, or a rank of another process. */
int evidence_load_all(struct evidence *evidence, const char *const *dirs, size_t n,
		      struct error *err);

/* Read dumps of PyTorch's Flight Recorder in `dir`: files of any name that ends with the rank,
 * pickle or JSON; python3 and torch_dumps.py decode them as data. A process group is a
 * communicator. A rank with a call that had not completed waits too long. Operator, root, stream
 * and the state of processes are not recorded: they count as alike, with a remark. 0, or a negative
 * errno with the error set: OUTCOME_USAGE where there is no dump, or of several jobs,
 * OUTCOME_UNSUPPORTED without python3. evidence_release() in either case. */
int evidence_load_torch(struct evidence *evidence, const char *dir, struct error *err);

/* Runs a script in a child (task.h) and takes a run as it tells it, line by line, as torch_dumps.py
 * does; `from`: where it is from, for errors. 0, or a negative errno with the error set. */
int evidence_play(struct evidence *evidence, void (*run)(int fd, const void *arg), const void *arg,
		  const char *from, struct error *err);

/* Becomes python3 with this script, `dir` unless NULL, and the number of communicators. Where there
 * is none it writes so. */
void evidence_run_python(int fd, const char *script, const char *dir);

/* Reads logs for what they say of calls: lines of PyTorch's watchdog, and Python's traceback of
 * the rank that ended first. A process group is a communicator. Types are not in such lines: they
 * are DT_COUNT. 0, or a negative errno with the error set: OUTCOME_USAGE where nothing says where
 * a rank is, OUTCOME_UNSUPPORTED without python3. Logs that hold no calls to compare may tell of a
 * failure or a hang all the same: it is in `said` then, as text or JSON, beside the error. Where the calls of logs
 * are alike up to the last, on a part of the ranks, it is in `said` too, or else the calls, without an error.
 * evidence_release() in either case. */
int evidence_load_logs(struct evidence *evidence, const char *const *paths, size_t n, bool json,
		       struct error *err);

/* Fills `part` with the evidence of a communicator's members alone, in the order of their numbers
 * in it: roots, partners and ranks are numbered so; an earlier content is released. Its `numbers`
 * are those in the run, -1: unknown. It owns its ranks and numbers, and borrows what these hold. */
void evidence_part_take(struct evidence *part, const struct evidence *evidence,
			const struct members *members);
void evidence_part_release(struct evidence *part);

/* The wrong elements that the rank noted, and how many; NULL: none are known. */
const struct record_wrong *evidence_wrongs(const struct evidence_rank *rank, uint32_t *n);

/* Returns true if its main thread is in one of these system calls: " read write ". */
bool evidence_in_syscall(const struct evidence_rank *rank, const char *names);

/* Writes where a live process stands, as its host saw it: "in train.py:88 (load_batch), system call
 * read of /data/x", "running 97 % of the time"; "": not known. Returns buf. */
char *evidence_doing(const struct evidence_rank *rank, char *buf, size_t len);

/* Writes the line of code that the rank's call came from; "": not known. Returns buf. */
char *evidence_site(const struct evidence_rank *rank, const struct record *record, char *buf,
		    size_t len);

/* Add a sentence to evidence->remarks, as long as there is room. */
void evidence_remark(struct evidence *evidence, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* `n` ranks of which nothing is known; free() them. */
struct evidence_rank *evidence_ranks_alloc(int n);

void evidence_rank_release(struct evidence_rank *rank);
void evidence_release(struct evidence *evidence);

enum {
	EVIDENCE_STACK_BYTES = 16384 + 256, /* of a rank's stacks, and why there are no more */
	EVIDENCE_RAS_BYTES = 4 << 20,	    /* RAS writes about 700 bytes of JSON for a rank */
};

/* N of a name "rank-N" + suffix (".fr") as the files of a folder have it, else -1. */
int evidence_file_rank(const char *name, const char *suffix);

/* Nothing but printable ASCII and newlines, in place: tabs become blanks, anything else '?'. */
void evidence_clean(char *text);

/* Write the stacks, the counters and the answer of RAS that there are. 0 or a negative errno with
 * the error set. evidence_save does not: texts may come later than the rest. */
int evidence_save_texts(const struct evidence *evidence, const char *dir, struct error *err);

/* Read those of ranks 0 to nranks - 1. A missing text stays NULL; a longer file is cut. Hostile
 * content becomes printable text. Torn or foreign counters are left out, with a remark. */
void evidence_load_texts(struct evidence *evidence, const char *dir);

/* Keep with `rank` what its host counted; the contents of `delta` are the rank's from now on. */
void evidence_take_counters(struct evidence_rank *rank, struct reading *delta);

/* The same, of a text as evidence_counters_text gave it, here or on another host. Nothing in it is
 * trusted: false where it is not sound, and nothing is saved. */
bool evidence_parse_counters(struct evidence_rank *rank, const char *text);

/* rank-N.counters.json; the caller frees; NULL: nothing is saved with this rank. */
char *evidence_counters_text(const struct evidence_rank *rank);
