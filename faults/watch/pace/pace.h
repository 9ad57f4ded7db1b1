/* pace.h: who is slow in a run that is alive, by samples of its calls. Pure: no clock, no process,
 * no file.
 *
 * A sample says when one rank came to one call and when it was through, on its own clock. In a call
 * that no rank leaves before all have come, the rank that came last waits least: differences of
 * durations say who was late, on several hosts too. Lateness spreads (a peer of the slow rank is
 * late to its next call), so that it accuses no rank: a rank's own time does, which passes outside
 * of calls. */
#pragma once

#define PACE_ROWS    4096 /* newest calls of a communicator; fewer of many ranks */
#define PACE_COMMS   256
#define PACE_FEWEST  40	    /* calls, before a rank is named */
#define PACE_CALL_NS 1000.0 /* a call's own bookkeeping is no finding */
#define PACE_LEVEL   0.999  /* of the intervals */
#define PACE_ALL     SIZE_MAX

struct pace_sample {
	uint64_t comm;		  /* the communicator's id, the same on all its ranks */
	uint64_t seq;		  /* number of the call on it, from 1 */
	int32_t rank;		  /* of the run */
	int32_t member, nmembers; /* number of the rank in the communicator, and how many it has */
	uint64_t arrived_ns, through_ns; /* clock of the rank */
	uint64_t own_ns;		 /* outside of calls, added up over the run */
	uint64_t starved_ns; /* ready to run without a processor, added up; 0: not known */
	int32_t kind;	     /* enum call_kind */
	int32_t clock;	     /* enum record_clock */
	int32_t calls;	     /* of one group that are sampled together; 0 is 1 */
	uint64_t part;	     /* as in record_sample: where it changes own time begins anew */
	uint64_t amount;     /* elements and their type, in one number */
};

/* The calls of one communicator that all its ranks have sampled, oldest first; arrays of `n`
 * figures a row, ns. Row i, counted from 0 over all that came, is at i % room. */
struct pace_rows {
	uint64_t id;
	int n;		   /* ranks of the communicator */
	int32_t *ranks;	   /* their numbers in the run */
	size_t room, rows; /* rows kept at most; rows that came */
	unsigned thin;	   /* 1 of 2^thin blocks of calls is taken, for room */
	uint64_t *seq;	   /* the call */
	uint64_t *amount;  /* kind and amount; 0: the row before had another one */
	double *calls;	   /* calls of the communicator since the row before */
	double *step;	   /* time since the row before: the median rank's */
	double *at;	   /* when the first member came to the call, ns of its clock */
	float *own;	   /* own time since the row before */
	float *inside;	   /* duration of the call */
	float *starved;	   /* without a processor since the row before */
	bool device;	   /* the device gave the times */
	size_t overlaps;   /* of all rows, those to which a rank came while another call of it was
			      under way */
	struct pace_open *open; /* calls to which not all have come; internal */
	size_t nopen;
	uint64_t *last; /* of each rank, the newest row: arrived, own, starved, part */
};

struct pace {
	double percent; /* --slow-percent: a rank is named from here on */
	double lasting; /* seconds from the first to the last call that is judged, before a rank is
			   named */
	struct pace_rows *comms;
	size_t ncomms;
	uint64_t dropped; /* samples that made no row */
};

/* When a rank's excess comes. */
enum pace_shape {
	PACE_STEADY,
	PACE_EVERY,  /* with every k-th call */
	PACE_RANDOM, /* in few of the calls, without a period */
	PACE_MOMENT  /* once */
};

/* The findings of a communicator's calls about one of its ranks. Shares are of the time that
 * passed, 0.1 for 10 %. */
struct pace_finding {
	int32_t rank;
	int n;			  /* ranks that were compared */
	size_t rows;		  /* calls in which they were */
	double excess, low, high; /* own time over that of the others, and its interval */
	double seconds;		  /* from the first of them to the last */
	double late_ns;		  /* of the calls to which it came last, the others' median wait */
	double last;		  /* share of calls to which it came last */
	double ratio;		  /* own time over the others' median one; NaN: theirs is nothing */
	double z; /* robust z of its own time among the ranks; NaN: fewer than four, or no spread */
	bool fence; /* it is beyond the upper quartile and 1.5 times the range between quartiles */
	double waited;	       /* share of their time that the others waited for the last one */
	double starved;	       /* share of the excess for which it had no processor, 1 at most */
	bool busy;	       /* other programs took processors of some of these ranks */
	uint64_t since, until; /* call from which it is slow, and the newest one that was judged */
	bool from_start;       /* it is slow since the first call of all */
	bool or_before;	       /* older calls than `since` are not known any more */
	enum pace_shape shape;
	uint64_t every; /* PACE_EVERY: calls from one to the next */
	bool device;   /* the device gave the times: compute on another stream may hide what is lost
			*/
	bool overlaps; /* calls of a rank do, so that its own time is not what the job waits for */
};

void pace_open(struct pace *pace, double percent, double lasting);
void pace_release(struct pace *pace);

/* Takes a sample. Samples of one rank and communicator come in the order of their calls; ranks in
 * any order. A sample that cannot be (an end before its begin, own time that shrinks) is dropped.
 * Calls that a rank may leave before all have come (rooted ones, sends, alltoallv) are dropped. */
void pace_add(struct pace *pace, const struct pace_sample *sample);

/* Returns true if the newest `rows` calls (PACE_ALL: all that are kept) show that member `m` of the
 * communicator is slow: its excess is pace->percent of the step, the whole interval is above that,
 * and they last long enough. `f` is filled either way where PACE_FEWEST calls are there, else its
 * `rows` is 0. */
bool pace_judge(const struct pace *pace, const struct pace_rows *comm, int m, size_t rows,
		struct pace_finding *f);

/* The same of all calls that are kept, or else of the newest half of them, of the quarter and so
 * on: a rank that is slow since lately. `f` is of those that say so, or of all. */
bool pace_slow(const struct pace *pace, const struct pace_rows *comm, int m,
	       struct pace_finding *f);

/* Returns true if a rank was ready and had no processor for 2 % of the newest `rows` calls' time.
 */
bool pace_busy(const struct pace_rows *comm, size_t rows);

/* The members whose own time alone, of all calls that are kept or of the newest eighth of them, is
 * so large that pace_judge may say yes: at most `room`, the worst ones. Returns how many. */
size_t pace_suspects(const struct pace *pace, const struct pace_rows *comm, int *members,
		     size_t room);

/* Pauses that come now on one rank, now on another. */
struct pace_pauses {
	size_t n;	 /* pauses */
	int ranks, most; /* ranks that paused; pauses of the one that did most often */
	double ns;	 /* the median one */
	double share;	 /* of the time */
};

/* Returns true if pauses rotate over the ranks: own time over four median steps, on two ranks and
 * more, no rank much more often than its share, pace->percent of the time together. No rank is a
 * straggler for them. On a busy host, whose other programs do the same, pauses of 0.3 s and more
 * count alone. */
bool pace_rotates(const struct pace *pace, const struct pace_rows *comm, struct pace_pauses *out);

/* The whole job is slower than before. */
struct pace_drift {
	uint64_t since;	      /* call */
	double before, after; /* ns from one call to the next */
	double own, inside;   /* the median rank's, of a call, after over before */
	double starved;	      /* share of the increase for which it had no processor */
};

/* Returns true if calls of one kind and amount follow each other more slowly since some call: both
 * parts have PACE_FEWEST calls and DRIFT_SECONDS, and their intervals are apart by pace->percent.
 */
bool pace_slower(const struct pace *pace, const struct pace_rows *comm, struct pace_drift *out);
#define DRIFT_SECONDS 5.0

/* The following write a line without "# slow: " and return buf. `who`: "rank 5 (node2)". */
char *pace_line(const struct pace_finding *f, const char *who, char *buf, size_t len);
char *pace_pauses_line(const struct pace_pauses *p, int n, char *buf, size_t len);
char *pace_drift_line(const struct pace_drift *d, char *buf, size_t len);

struct pace_interval {
	double ratio, low, high;
	size_t blocks;	/* that were drawn from; fewer than two: low and high are infinite */
	size_t against; /* of these, with a ratio of the other sign and half as large */
};

/* sum(part) / sum(whole) of n rows, and its interval of PACE_LEVEL by bootstrap of blocks of
 * n^(1/3) rows, 16 blocks at most (Kunsch 1989, of disjoint blocks), widened as Student's t widens
 * the normal distribution for so few blocks. The draws are the same for the same input. A part that
 * is no number is left out with its whole. */
struct pace_interval pace_bootstrap(const double *part, const double *whole, size_t n);

/* The largest upward step of part / whole in a series: the row from which it is larger, 0 where
 * there is none. */
size_t pace_step(const double *part, const double *whole, size_t n);

/* The lower median of the other n - 1 figures for each figure: `other[i]`. n >= 2. */
void pace_others(const double *values, size_t n, double *other);

/* Cuts figures that are further than a robust standard deviation from the median down to that. */
void pace_tame(double *values, size_t n);

/* How far values[i] is from the rest: (value - median) / (1.4826 x median absolute deviation); NaN
 * below four values, or where most are equal. `fence`: beyond the upper quartile by 1.5 times the
 * interquartile range. */
double pace_z(const double *values, size_t n, size_t i, bool *fence);

/* pace_step, but 0 where the rows before it are not below half of `level`. */
size_t pace_change(const double *values, const double *whole, size_t n, double level);

/* The shape of a series of excesses: the few rows that make most of the sum, and the calls between
 * them. */
enum pace_shape pace_shape(const double *excess, const uint64_t *seq, size_t n, uint64_t *every);
