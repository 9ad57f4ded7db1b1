/* record.h: the flight recorder's memory, version 5: a header and a ring of fixed-size records.
 *
 * One such memory per rank, written by the rank alone, read by others at any moment: so everything
 * that changes is either a single aligned word, or guarded by a sequence number. Times are
 * nanoseconds of CLOCK_MONOTONIC on the rank's host. Little endian, as every host we build for. */
#pragma once

#include <stdatomic.h>

#define RECORD_MAGIC	"hangarFR"
#define RECORD_VERSION	5
#define RECORD_RING	4096 /* records; a power of two */
#define RECORD_COMMS	256  /* a multiple of 64 */
#define RECORD_SETTINGS 2048
#define RECORD_WRONGS	8
#define RECORD_LINES	2
#define RECORD_STRIDE	256 /* collectives from one mark to the next */
#define RECORD_MARKS	64
#define RECORD_SITES	1024
#define RECORD_UNMARKED UINT64_MAX /* no mark covers the call yet */

enum record_state {
	RECORD_EMPTY,
	RECORD_ISSUING,	 /* handed to the backend, which has not returned */
	RECORD_RETURNED, /* the backend returned; whether it completed says `completed_ticket` */
	RECORD_CLOSING, /* the newest call of a group whose end, which starts it, has not returned */
	RECORD_COMPLETED /* in evidence alone: by record_times */
};

enum record_flags {
	RECORD_FAILED = 1, /* the backend returned an error */
	RECORD_ALONE = 2,  /* made outside of a group: started by itself */
	RECORD_HEADS = 4,  /* of a schedule: the first of a group of sends and receives */
	RECORD_TAKEN = 8   /* of logs: all but its number is from another rank's lines */
};

/* 64 bytes, one cache line: data in motion push the ring out of the caches, so every line costs.
 * `ticket` counts the rank's calls from 1; it is stored last, and 0 while the slot is being
 * rewritten: a reader takes the record only if it reads the same ticket before and after. */
struct record {
	_Atomic uint64_t ticket;
	uint64_t seq;	      /* number of the call on its communicator, from 1 */
	uint64_t count;	      /* elements */
	uint64_t offset : 48; /* of the buffer in its pool, bytes */
	uint64_t site : 16;   /* record_site, 0: not known; was 0 in older evidence */
	uint64_t enqueued_ns;
	_Atomic uint64_t returned_ns; /* 0 until the backend has returned */
	int32_t peer;		      /* root or peer, -1 for none */
	uint16_t comm;
	uint8_t kind;  /* enum call_kind */
	uint8_t dtype; /* enum dtype */
	int8_t op;     /* enum redop */
	uint8_t stream;
	_Atomic uint8_t state;	  /* enum record_state */
	uint8_t flags;		  /* enum record_flags */
	_Atomic uint32_t replays; /* graph launches that repeated this call */
};

/* The device's side of the call of the same slot. Times are sampled with --record=full; 0: not
 * sampled, or not yet. The device itself writes `done`, in stream order (preload/): each slot has a
 * word, since streams write in any order. */
struct record_times {
	_Atomic uint64_t start_ns, end_ns; /* start_ns: or RECORD_AHEAD */
	_Atomic uint64_t done;		   /* ticket: the stream is past the call */
	_Atomic uint64_t covered_by;	   /* the later call with the mark; 0: itself */
};

#define RECORD_AHEAD 1 /* of a preloaded program: the stream has not come to the call yet */

/* The device ran a call at these times; 0: not sampled. Part of the evidence. A preloaded
 * program's end is not known, and its start is the host's time of the call once the stream has
 * come to it. */
struct call_times {
	uint64_t start_ns, end_ns;
};

struct record_comm {
	_Atomic uint64_t seq;  /* calls issued */
	_Atomic uint64_t hash; /* rolling hash of all collectives' signatures (record_hash) */
};

/* The hash after every RECORD_STRIDE-th collective: observers look too seldom to see each call. */
struct record_mark {
	_Atomic uint64_t calls; /* collectives up to here; stored last, 0 while it is rewritten */
	_Atomic uint64_t ticket, hash;
};

/* A wait in progress. `sequence` is odd while one is. */
struct record_wait {
	_Atomic uint32_t sequence;
	_Atomic uint32_t work; /* 1: at work of its own, or waits (was padding) */
	_Atomic uint64_t since_ns;
	_Atomic uint64_t deadline_ns; /* 0: none */
	char what[40];
};

enum record_comm_state {
	RECORD_COMM_NONE, /* init was not called */
	RECORD_COMM_INIT, /* inside init */
	RECORD_COMM_READY,
	RECORD_COMM_FAILED,  /* init returned an error */
	RECORD_COMM_ABORTED, /* by this rank */
	RECORD_COMM_LEFT     /* destroyed by it */
};

/* States whether the rank waits for its device to complete what was enqueued. */
enum record_device {
	RECORD_DEVICE_UNKNOWN, /* not recorded: a backend without device, or older evidence */
	RECORD_DEVICE_LEFT,    /* it does not */
	RECORD_DEVICE_AWAITED
};

/* Until a child's init has returned its rank and nranks hold these of how many children its
 * parent has and of the parent's number: -2 and below. */
#define RECORD_CHILD(number) (-2 - (int32_t)(number))

/* Arguments of a communicator's init, and its state, which is stored last. */
struct record_init {
	_Atomic uint32_t state; /* enum record_comm_state */
	int32_t rank, nranks;	/* as handed to init */
	/* The library, asked while the rank waits whether the communicator has failed
	 * (ncclCommGetAsyncError), last said: 1 no error, 1 + n its error n; 0: never asked. */
	_Atomic int32_t asked;
	uint64_t id;		/* hash of the id handed to init (FNV-1a), not 0 */
	uint64_t aborted_after; /* calls issued on it before it was aborted */
	uint64_t born; /* calls of the rank before it: older ones are of one that had its number */
};

/* The rank's check found a wrong element in what calls seq to seq_last of `comm` left: the fields
 * of struct wrong_data (base/call_value.h). seq 0: which calls is not known any more. */
struct record_wrong {
	uint64_t seq, seq_last;
	uint64_t index, count, expected, got;
	int32_t from, culprit;
	uint16_t comm;
	uint8_t dtype; /* enum dtype */
	uint8_t sent;  /* 1: in the rank's own send buffer */
	uint32_t unused;
};

/* A line of code that calls on one communicator; a line that calls on several has an entry for
 * each. A call's site is the entry's index; entry 0 stays free. Entries are added in order and
 * never change but for `calls`. */
struct record_site {
	_Atomic uint64_t hash;	/* of the text, never 0; stored last; 0: free, as all behind it */
	_Atomic uint64_t calls; /* made from there */
	uint16_t comm;
	uint16_t unused[3];
	char text[104]; /* "dir/train.py:88 (step)", "prog:train+0x1c" */
};

#define RECORD_PEERS  32 /* ranks of an alltoallv whose amounts are kept */
#define RECORD_COUNTS 32 /* of the newest so many, whatever is called between them */

/* Elements that one alltoallv sends to and receives from each rank of its communicator. `seq` is
 * stored last, and is 0 while the rest is rewritten. */
struct record_counts {
	_Atomic uint64_t seq;
	uint32_t comm, n;				 /* ranks, at most RECORD_PEERS */
	uint32_t send[RECORD_PEERS], recv[RECORD_PEERS]; /* UINT32_MAX: that many or more */
};

struct record_header {
	char magic[8];
	uint32_t version, header_bytes, record_bytes, ring_records;

	/* identity; -1 and "" until known */
	_Atomic int32_t rank, nranks, node, nnodes, local_rank;
	int32_t pid;
	char host[64], program[32], device[64], library[64];

	/* progress */
	_Atomic uint32_t phase; /* enum phase */
	struct record_wait wait;
	_Alignas(64) _Atomic uint64_t heartbeat; /* grows with everything the rank does */
	_Atomic uint64_t issued_ticket, completed_ticket;
	struct record_comm comms[RECORD_COMMS];

	/* the rank's own outcome: -1 while it runs, else enum outcome, set before exit */
	_Atomic int32_t outcome;
	char culprits[64]; /* ranks that the outcome points at, "1,3"; "" for none */
	char error[256];

	/* address of the monitor on rank 0's host; filled from MPI after init */
	_Atomic uint32_t uplink_wanted; /* set by rank 0 of a run on several nodes */
	_Atomic int32_t uplink_port;	/* the monitor's answer: TCP port, -1 for failed */
	_Atomic uint32_t uplink_ready;
	char uplink_address[256]; /* "a.b.c.d:port" list, separated by blanks */
	uint64_t uplink_token;

	/* since version 2 */
	struct record_init inits[RECORD_COMMS];
	_Atomic int32_t error_code; /* negative errno; -ENOMEM: of the device, -EFAULT: a kernel */
	_Atomic uint32_t device_wait; /* enum record_device; was padding, so still version 2 */

	/* since version 3 */
	char settings[RECORD_SETTINGS]; /* of NCCL, lines "NAME=VALUE" (settings/settings.h) */
	_Atomic uint64_t settings_hash; /* of those that break calls; stored last, 0: none */
	_Atomic uint32_t wrongs;	/* wrong elements noted, at most RECORD_WRONGS */
	struct record_wrong wrong[RECORD_WRONGS];
	struct record_counts counts[RECORD_COUNTS]; /* of one after the other, round and round */
	_Atomic uint64_t pairs[RECORD_COMMS];	    /* of comms[].seq: sends and receives */

	/* since version 4 */
	_Atomic uint32_t preloaded;  /* 1: it runs any program: waits are read off its calls */
	_Atomic int32_t exit_status; /* handed to exit, -1: it was not called */

	uint64_t run;	  /* its number: odd on all hosts; even on this one; 0: unknown */
	uint32_t undated; /* 1: these may not be all of its calls; RECORD_LINES: a log's */
	uint32_t told;	  /* 1: NCCL tells of its calls, which leaves some out; was reserved, 0 */
};

/* Facts of a program beside its calls, for observers on its host alone: no file holds them. */
#define RECORD_SAID 4096 /* a power of two */
struct record_program {
	uint64_t python_runtime; /* of a Python program: where its _PyRuntime is, 0: it is none */
	uint32_t python_minor;	 /* of Python 3 */
	int32_t number; /* the observer's number of this rank, where another has its own; 0: its own */
	_Atomic uint64_t left_ns; /* when it began to end or aborted; 0: it has not */
	_Atomic uint64_t said_ns; /* when it last wrote to standard error */
	_Atomic uint64_t said;	  /* bytes that it has written to standard error */
	char text[RECORD_SAID];	  /* the newest of these, each at its number modulo the size */
};

/* When a rank came to a call and was through, on its own clock. The calls of a communicator are
 * sampled alike on all its ranks: record_sampled says of which numbers. No file holds them. */
#define RECORD_SAMPLES	  1024 /* a power of two */
#define RECORD_SAMPLE_MAX 1000 /* about so many a second: above that fewer of the calls */
enum record_clock {
	RECORD_CLOCK_HOST,
	RECORD_CLOCK_DEVICE,
	RECORD_CLOCK_OVERLAP /* the device's; another call of the rank was under way on arrival */
};

struct record_sample {
	_Atomic uint64_t number; /* of the rank's, from 1; stored last, 0 while rewritten */
	uint64_t id;		 /* record_init.id of the communicator */
	uint64_t seq;		 /* number of the call on it */
	uint64_t arrived_ns, through_ns;
	uint64_t own_ns; /* outside of calls, from end to next arrival, so far */
	uint64_t count;	 /* elements; 0: of several calls of one group, of which this is the last */
	uint8_t comm;
	uint8_t calls; /* of one group, of which this is the last; 1: it is alone. 255: so many or more */
	uint16_t site;
	uint8_t kind;  /* enum call_kind */
	uint8_t dtype; /* enum dtype */
	uint8_t clock; /* enum record_clock, of the two stamps */
	uint8_t part; /* changes where calls were not sampled: what is own is not known from there on */
};

/* All calls of one kind on one communicator, sampled or not. */
#define RECORD_NAME  32
#define RECORD_KINDS 16 /* enum call_kind fits */
struct record_total {
	_Atomic uint64_t calls, bytes;
};

/* The words that others read while they change: one that stands for nothing else, and one that
 * comes after all that it stands for. A reader gets the latter. */
#define record_put(word, value)	    atomic_store_explicit(word, value, memory_order_relaxed)
#define record_publish(word, value) atomic_store_explicit(word, value, memory_order_release)
#define record_get(word)	    atomic_load_explicit(word, memory_order_acquire)

/* A set of communicators. */
struct record_set {
	uint64_t words[RECORD_COMMS / 64];
};

static inline void record_set_add(struct record_set *set, uint32_t comm)
{
	set->words[comm / 64 % (RECORD_COMMS / 64)] |= 1ull << comm % 64;
}

static inline bool record_set_has(const struct record_set *set, uint32_t comm)
{
	return comm < RECORD_COMMS && set->words[comm / 64] >> comm % 64 & 1;
}

struct record_memory {
	struct record_header header;
	_Alignas(64) struct record ring[RECORD_RING];
	_Alignas(4096) struct record_times times[RECORD_RING]; /* pages that a device may write */
	struct record_mark marks[RECORD_COMMS][RECORD_MARKS];  /* by calls / RECORD_STRIDE */
	struct record_site sites[RECORD_SITES];		       /* since version 5 */
	struct record_program program;
	_Atomic uint64_t sampled; /* samples so far */
	_Alignas(64) struct record_sample
		samples[RECORD_SAMPLES]; /* number n at n % RECORD_SAMPLES */
	struct record_total totals[RECORD_COMMS][RECORD_KINDS];
	char names[RECORD_COMMS][RECORD_NAME]; /* NCCL's, of communicators; written once */
};

/* Returns true if call `seq` of the communicator `id` belongs to the 1 of 2^shift calls that are
 * sampled. A call that is sampled at one shift is at all smaller ones, so that ranks with
 * different shifts still meet. The finaliser is that of splitmix64 (Steele, Lea, Flood 2014). */
static inline bool record_sampled(uint64_t id, uint64_t seq, unsigned shift)
{
	uint64_t x = id ^ seq * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return ((x ^ x >> 31) & ((1ull << shift) - 1)) == 0;
}

/* The mark of that many collectives, a multiple of RECORD_STRIDE, unless it was overwritten. */
static inline const struct record_mark *record_mark_of(const struct record_memory *memory,
						       uint32_t comm, uint64_t calls)
{
	return &memory->marks[comm][calls / RECORD_STRIDE % RECORD_MARKS];
}

/* Returns true if the call is over: all up to `completed` are, or the device has marked it. */
static inline bool record_done(const struct record *record, uint64_t completed)
{
	return record->ticket <= completed || record->state == RECORD_COMPLETED;
}

/* site.c: the site with this text on the communicator, added where new, by the rank alone; 0:
 * the table is full. */
uint32_t record_site_of(struct record_memory *memory, uint32_t comm, const char *text);
/* How many entries there are, the free one at the beginning included. */
size_t record_sites(const struct record_site *sites);
/* Writes a site's text in printable characters, whatever stands there; "": not known. Returns
 * buf. */
char *record_site_text(const struct record_site *sites, size_t n, uint32_t site, char *buf,
		       size_t len);

/* number.c: no two ranks of a host have the same number: the second one is of another job, which
 * a rank has started, or has no launcher. It gets the next free one, which is printed, for as
 * long as another has its own. */
void record_number_ranks(struct record_memory *const *memories, size_t n);

/* Returns true if the device is past the call of this ticket, which is not yet overwritten. */
bool record_device_done(const struct record_memory *memory, uint64_t ticket);
/* The newest call up to which the device is past all, given that it is past `completed`. */
uint64_t record_device_completed(const struct record_memory *memory, uint64_t completed);

/* Add a call to a rolling hash of what must be alike on all ranks: FNV-1a over (kind, count, dtype,
 * op, peer). Partners, amounts and types of sends and receives differ by right: all of them are one
 * call here. Equal histories have equal hashes; the order matters. */
uint64_t record_hash(uint64_t hash, const struct record *record);
/* The same, but of sends and receives only the partners are left out: they are alike on all ranks
 * where all follow one plan. */
uint64_t record_hash_strict(uint64_t hash, const struct record *record);
/* Bytes of a call on a communicator of `nranks` ranks, nccl-tests' size: what one rank has of
 * all ranks' data. */
uint64_t record_bytes(int kind, int dtype, uint64_t count, int nranks);
/* FNV-1a of a communicator's id, never 0. */
uint64_t record_hash_id(const void *id, size_t bytes);
/* A stand-in for an id that a rank hands to init again, written into `wide`, of COMM_ID_BYTES: `id` as recorded of its first init,
 * `times` inits with it before this. Returns its hash, as record_init has it. */
uint64_t record_again_id(uint64_t id, uint64_t times, unsigned char *wide);
