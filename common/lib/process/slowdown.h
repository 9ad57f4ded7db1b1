/* slowdown.h: faults that leave a rank slow and alive. One table for both carriers, --fault of our own programs and of
 * hangar_run: names, keys, defaults, and the steps in which they fire. */
#pragma once

/* Name, keys (base/keys.h). */
/* clang-format off */
#define SLOW_RANK_ROW "slow-rank", "by=PACE every=COUNT p=SHARE seed=NUMBER on=host|gpu how=busy|sleep"
#define PAUSE_ROTATING_ROW "pause-rotating", "by=PACE every=COUNT how=busy|sleep"
#define HOST_CONTEND_ROW "host-contend", "threads=COUNT seconds=MINUTE"
#define GPU_CONTEND_ROW "gpu-contend", "what=sm|memory share=SHARE seconds=MINUTE"
#define SLOW_LINK_ROW "slow-link", "to=RANK by=PACE"

#define SLOWDOWNS(row) \
	row(SLOW_RANK, SLOW_RANK_ROW) row(PAUSE_ROTATING, PAUSE_ROTATING_ROW) row(HOST_CONTEND, HOST_CONTEND_ROW) \
	row(GPU_CONTEND, GPU_CONTEND_ROW) row(SLOW_LINK, SLOW_LINK_ROW)
/* clang-format on */
#define SLOWDOWN_ENTRY(id, ...) id,
enum slowdown_kind { SLOWDOWNS(SLOWDOWN_ENTRY) SLOWDOWN_KINDS };

struct slowdown {
	enum slowdown_kind kind;
	/* A step becomes longer by a share of what it takes without the fault, or by seconds; one is 0. */
	double share, seconds;
	uint64_t every; /* in every so many steps; 1: in each */
	double p;	/* in such a step with this probability, drawn from: */
	uint64_t seed;
	bool on_gpu, sleeps; /* on=gpu, how=sleep */
	bool memory;	     /* what=memory */
	double part;	     /* share=: of the SMs */
	double bound;	     /* seconds=: the contention ends after these */
	int threads;	     /* 0: one for each core of the rank */
	int to;		     /* -1: the next rank */
};

/* The keys of a kind, as base/keys.h has them; static. */
const char *slowdown_keys(enum slowdown_kind kind);

/* Returns the kind of that name, -1: there is none. */
int slowdown_find(const char *name);

/* Sets the defaults of a kind; then takes a key whose value keys_refused() has accepted. */
void slowdown_init(struct slowdown *s, enum slowdown_kind kind);
void slowdown_take(struct slowdown *s, const char *key, const char *value);

/* Tells whether it fires on rank `rank` of `nranks` at its call `n`, from 0: the first at which it may; a step has `calls`
 * calls. A share is taken of the time before each call, which adds up over a step; a time is spent before the first call
 * of a step; contention begins once; a link delays each send. Equal for equal arguments, in any process. */
bool slowdown_due(const struct slowdown *s, uint64_t n, uint64_t calls, int rank, int nranks);

/* Returns the seconds by which the rank is late to a call at which it fires. `since`: seconds of the rank from the call
 * before to this one, without what the fault took there. */
double slowdown_delay(const struct slowdown *s, double since);

/* Spends so many seconds on the host: in a loop that counts, or asleep up to the last 0.1 ms. */
void slowdown_spend(double seconds, bool sleeps);

/* Starts `threads` busy threads where the calling thread may run, without signals; 0: one for each core of its
 * affinity mask. They end after `seconds`, and with the process. Returns how many run, or a negative errno for none. */
int slowdown_contend(int threads, double seconds);
