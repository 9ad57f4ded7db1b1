/* test_pace.c: who is slow, of simulated runs: rows of a table, and many seeded healthy ones. */
/* timeout: 350 */
#include "rig/unit.h"

#include "base/call_value.h"
#include "pace/pace.h"
#include "record/record.h"

#define MOST 1024

/* A run in which each step is some calls in groups of ranks, and one of all ranks of a second kind of group. */
struct layout {
	int n;
	int tensor; /* ranks r / tensor share a communicator, with `calls` calls a step; 0: none */
	int calls;
	int data; /* ranks r % data share one, with a call a step; 1: all ranks */
};

struct plant {
	int rank;
	double excess; /* of a step; 0: none */
	bool rotates;  /* each rank in its turn */
	bool overlaps; /* calls of a rank do, as the device says */
	int from, until, every,
		ranks; /* steps; every: 0 is always, -1 at random one in ten; ranks from `rank` on */
};

struct run {
	struct layout layout;
	struct plant plant;
	double step_us, jitter; /* own work of a step, standard deviation of it as a share */
	double offset;		/* ranks differ for good by up to this share */
	double crowd;		/* chance that another program comes within 60 steps */
	double spikes;		/* share of steps in which a rank is away for a step */
	double wander; /* chance a step that another rank is the one that is late by 0.6 of a step for a while */
	int steps;
};

#define RUN_OF(places, us, sd, for_good, away, n, ...)                                             \
	{                                                                                          \
		.layout = places, .step_us = us, .jitter = sd, .offset = for_good, .spikes = away, \
		.steps = n, .plant = {                                                             \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define PLACES(ranks, in_tensor, tensor_calls, groups)                                             \
	{                                                                                          \
		.n = ranks, .tensor = in_tensor, .calls = tensor_calls, .data = groups             \
	}
/* One call of all ranks a step; eight ranks in pairs of four calls, and in two halves. */
#define FLAT(ranks, ...)	    RUN_OF(PLACES(ranks, 0, 0, 1), __VA_ARGS__)
#define GRID(us, sd, for_good, ...) RUN_OF(PLACES(8, 2, 4, 2), us, sd, for_good, 0, __VA_ARGS__)

static uint64_t state;

static double uniform(void)
{
	state += 0x9e3779b97f4a7c15ull;
	uint64_t x = (state ^ state >> 30) * 0xbf58476d1ce4e5b9ull;

	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

static struct {
	double now[MOST], own[MOST], offset[MOST], starved[MOST];
	int away[MOST]; /* steps for which another program still uses the rank's processor */
	uint64_t seq[2 * MOST];
	int late; /* the rank that wander made late */
} sim;

/* One call of the ranks first, first + stride... */
static void call(struct pace *pace, bool overlaps, int comm, int first, int stride, int members,
		 double work[])
{
	double all = -INFINITY;

	for (int i = 0, r = first; i < members; i++, r += stride) {
		sim.now[r] += work[r];
		sim.own[r] += work[r];
		all = fmax(all, sim.now[r]);
	}
	sim.seq[comm]++;
	for (int i = 0, r = first; i < members; i++, r += stride) {
		struct pace_sample s = {
			.comm = (uint64_t)comm + 1,
			.seq = sim.seq[comm],
			.rank = r,
			.member = i,
			.nmembers = members,
			.arrived_ns = (uint64_t)(1e9 * (r + 1) + sim.now[r]), /* clocks differ */
			.own_ns = (uint64_t)sim.own[r],
			.starved_ns = (uint64_t)sim.starved[r],
			.kind = CALL_ALL_REDUCE,
			.clock = overlaps ? RECORD_CLOCK_OVERLAP : RECORD_CLOCK_HOST,
		};

		sim.now[r] = all + 20e3 + 2e3 * uniform();
		s.through_ns = (uint64_t)(1e9 * (r + 1) + sim.now[r]);
		pace_add(pace, &s);
	}
}

static bool planted(const struct plant *p, int rank, int step, int n)
{
	bool in = p->rotates || (rank >= p->rank && rank < p->rank + (p->ranks ? p->ranks : 1));
	int turn = p->rotates ? step + rank * p->every / n : step;

	return p->excess > 0 && in && step >= p->from && (!p->until || step < p->until) &&
	       (p->every < 0 ? uniform() < 0.1 : !p->every || turn % p->every == 0);
}

/* Other programs come for some 60 steps, and take the processor in most of them for up to two steps. */
static double taken(const struct run *run, int r)
{
	double ns = 0;

	if (run->crowd <= 0)
		return 0;
	if (sim.away[r] > 0) {
		sim.away[r]--;
		ns = uniform() < 0.6 ? 2 * run->step_us * 1e3 * uniform() : 0;
	} else if (uniform() < run->crowd / 60) {
		sim.away[r] = (int)(120 * uniform());
	}
	sim.starved[r] += ns;
	return ns;
}

static void simulate_step(struct pace *pace, const struct run *run, int step)
{
	const struct layout *l = &run->layout;
	int parts = l->tensor ? l->calls + 1 : 1;
	double work[MOST];

	if (uniform() < run->wander)
		sim.late = (int)(uniform() * l->n);
	for (int part = 0; part < parts; part++) {
		for (int r = 0; r < l->n; r++) {
			double own = run->step_us * 1e3 / parts;

			work[r] = own * fmax(0.1, 1 + sim.offset[r] + run->jitter * normal());
			if (part == 0 && run->spikes > 0 && uniform() < run->spikes)
				work[r] += run->step_us * 1e3 * uniform();
			if (part == 0)
				work[r] += taken(run, r);
			if (part == 0 && run->wander > 0 && r == sim.late)
				work[r] += 0.6 * run->step_us * 1e3;
			if (part == 0 && planted(&run->plant, r, step, l->n))
				work[r] += run->plant.excess * run->step_us * 1e3;
		}
		if (part + 1 < parts)
			for (int g = 0; g * l->tensor < l->n; g++)
				call(pace, run->plant.overlaps, g, g * l->tensor, 1, l->tensor,
				     work);
		else
			for (int g = 0; g < l->data; g++)
				call(pace, run->plant.overlaps, MOST + g, g, l->data,
				     l->n / l->data, work);
	}
}

static void begin(struct pace *pace, const struct run *run, uint64_t seed)
{
	pace_open(pace, 5, 0);
	memset(&sim, 0, sizeof(sim));
	state = seed;
	for (int r = 0; r < run->layout.n; r++)
		sim.offset[r] = run->offset * uniform();
}

/* The ranks that are named, as "1,3"; *first: the first finding. */
static void named(const struct pace *pace, char *text, size_t len, struct pace_finding *first)
{
	bool in[MOST] = { false };
	int members[64];

	*first = (struct pace_finding){ .rank = -1 };
	for (size_t i = 0; i < pace->ncomms; i++) {
		size_t n = pace_suspects(pace, &pace->comms[i], members, 64);

		for (size_t k = 0; k < n; k++) {
			struct pace_finding f;

			if (!pace_slow(pace, &pace->comms[i], members[k], &f))
				continue;
			in[f.rank] = true;
			if (first->rank < 0 || f.n > first->n)
				*first = f;
		}
	}
	text[0] = '\0';
	for (int r = 0; r < MOST; r++)
		if (in[r])
			snprintf(text + strlen(text), len - strlen(text), "%s%d", *text ? "," : "",
				 r);
}

static const struct {
	const char *name, *wanted;
	struct run run;
	enum pace_shape shape;
	uint64_t every;
} planted_rows[] = {
	{ "two ranks", "1", FLAT(2, 3000, .02, 0, 0, 60, .rank = 1, .excess = .1), 0, 0 },
	{ "two ranks, healthy", "", FLAT(2, 3000, .02, .03, 0, 60), 0, 0 },
	{ "ties: no jitter at all", "", FLAT(8, 3000, 0, 0, 0, 60), 0, 0 },
	{ "ties, and one is slow", "7", FLAT(8, 3000, 0, 0, 0, 60, .rank = 7, .excess = .1), 0, 0 },
	{ "eight ranks", "0", FLAT(8, 3000, .02, 0, 0, 50, .excess = .1), 0, 0 },
	{ "2 %: not named", "", FLAT(8, 3000, .02, 0, 0, 300, .rank = 3, .excess = .02), 0, 0 },
	{ "1,000", "555", FLAT(1000, 3000, .02, 0, 0, 70, .rank = 555, .excess = .2), 0, 0 },
	{ "1,000, healthy", "", FLAT(1000, 3000, .02, .03, 0, 70), 0, 0 },
	{ "spikes of all ranks", "", FLAT(4, 3000, .05, .03, .1, 500), 0, 0 },
	{ "too few calls", "", FLAT(4, 3000, .02, 0, 0, 30, .rank = 1, .excess = .5), 0, 0 },
	{ "tensor x data parallel: its peers are late, too", "5",
	  GRID(3000, .02, 0, 100, .rank = 5, .excess = .2), 0, 0 },
	{ "the same, healthy", "", GRID(3000, .02, .03, 100), 0, 0 },
	{ "two of eight", "2,3", FLAT(8, 3000, .02, 0, 0, 100, .rank = 2, .excess = .2, .ranks = 2),
	  0, 0 },
	{ "half of them: all others wait", "0,1",
	  FLAT(4, 3000, .02, 0, 0, 100, .excess = .2, .ranks = 2), 0, 0 },
	{ "from step 100 on", "1",
	  FLAT(4, 3000, .02, 0, 0, 200, .rank = 1, .excess = .3, .from = 100), 0, 0 },
	{ "every 10th step", "1",
	  FLAT(4, 3000, .02, 0, 0, 600, .rank = 1, .excess = 2, .every = 10), PACE_EVERY, 10 },
	{ "at random", "2", FLAT(4, 3000, .02, 0, 0, 900, .rank = 2, .excess = 2, .every = -1),
	  PACE_RANDOM, 0 },
	{ "pauses of each rank in its turn", "",
	  FLAT(4, 3000, .02, 0, 0, 230, .excess = 20, .every = 40, .rotates = true), 0, 0 },
	{ "the same of two ranks", "",
	  FLAT(2, 3000, .02, 0, 0, 230, .excess = 20, .every = 40, .rotates = true), 0, 0 },
	{ "one moment", "",
	  FLAT(4, 3000, .02, 0, 0, 300, .rank = 1, .excess = 100, .from = 50, .until = 51), 0, 0 },
	{ "last to three in four calls", "1", FLAT(2, 3000, .1, 0, 0, 400, .rank = 1, .excess = .1),
	  0, 0 },
	{ "the same, calls overlap", "",
	  FLAT(2, 3000, .1, 0, 0, 400, .rank = 1, .excess = .1, .overlaps = true), 0, 0 },
	{ "calls overlap, last to nearly all", "1",
	  FLAT(2, 3000, .1, 0, 0, 400, .rank = 1, .excess = .5, .overlaps = true), 0, 0 },
	{ "calls back to back of 1 us: bookkeeping", "",
	  FLAT(2, 1, .1, 0, 0, 400, .rank = 1, .excess = .9), 0, 0 },
};

UNIT_TEST(test_runs, "planted and healthy runs: which ranks are named, and in which shape")
{
	UNIT_ROWS(row, planted_rows) {
		struct pace_finding f;
		struct pace pace;
		char text[64];
		bool fits;

		begin(&pace, &row->run, 1);
		for (int step = 0; step < row->run.steps; step++)
			simulate_step(&pace, &row->run, step);
		named(&pace, text, sizeof(text), &f);
		fits = strcmp(text, row->wanted) == 0 && f.shape == row->shape &&
		       (f.shape != PACE_EVERY || f.late_ns > 5e6) && f.every == row->every;
		if (row->run.plant.from && f.rank >= 0)
			fits = fits && !f.from_start &&
			       f.since == (uint64_t)row->run.plant.from + 1;
		if (!fits)
			printf("%s: wanted \"%s\" shape %d, named \"%s\" shape %d every %lu since "
			       "%lu excess %.3f (%.3f to %.3f) z %.1f\n",
			       row->name, row->wanted, row->shape, text, f.shape, f.every, f.since,
			       f.excess, f.low, f.high, f.z);
		CU_ASSERT(fits);
		pace_release(&pace);
	}
}

UNIT_TEST(test_whole, "no straggler: rotating pauses, a job that is slower than before")
{
	static const struct {
		const char *name;
		struct run run;
		bool rotates, slower;
	} rows[] = {
		{ "rotating",
		  FLAT(4, 3000, .02, 0, 0, 230, .excess = 20, .every = 40, .rotates = true), true,
		  0 },
		{ "two ranks",
		  FLAT(2, 3000, .02, 0, 0, 230, .excess = 20, .every = 40, .rotates = true), true,
		  0 },
		{ "of one rank",
		  FLAT(4, 3000, .02, 0, 0, 230, .rank = 1, .excess = 20, .every = 40), 0, 0 },
		{ "healthy", FLAT(4, 3e4, .05, .03, 0, 600), 0, 0 },
		{ "all ranks slower",
		  FLAT(4, 3e4, .05, .03, 0, 600, .excess = .3, .from = 300, .ranks = 4), 0, true },
		{ "for too short a time",
		  FLAT(4, 3e4, .05, .03, 0, 600, .excess = .3, .from = 590, .ranks = 4), 0, 0 },
	};

	UNIT_ROWS(row, rows) {
		struct pace_pauses pauses;
		struct pace_drift drift;
		struct pace pace;
		bool rotates, slower;

		begin(&pace, &row->run, 3);
		for (int step = 0; step < row->run.steps; step++)
			simulate_step(&pace, &row->run, step);
		rotates = pace_rotates(&pace, &pace.comms[0], &pauses);
		slower = pace_slower(&pace, &pace.comms[0], &drift);
		if (rotates != row->rotates || slower != row->slower)
			printf("%s: %zu pauses on %d, most %d, share %.3f; since %lu %.0f to %.0f "
			       "us\n",
			       row->name, pauses.n, pauses.ranks, pauses.most, pauses.share,
			       drift.since, drift.before * 1e-3, drift.after * 1e-3);
		CU_ASSERT(rotates == row->rotates && slower == row->slower);
		CU_ASSERT(!slower || (drift.since > 290 && drift.since < 310 && drift.own > 1.2));
		pace_release(&pace);
	}
}

UNIT_TEST(test_healthy, "1,000 healthy runs, looked at six times: at most one false name")
{
	static const struct run kinds[] = {
		FLAT(2, 3000, .1, .03, .02, 300),
		FLAT(8, 3000, .05, .03, .05, 300),
		FLAT(4, 300, .3, .03, .1, 300),
		GRID(3000, .1, .03, 100),
		FLAT(2, 3e4, .05, .03, 0, 900, .rank = 0),
		FLAT(4, 3e4, .05, .03, 0, 900, .rank = 0),
	};
	int wrong = 0;

	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct run run = kinds[seed % LENGTH(kinds)];
		struct pace_finding f;
		struct pace pace;
		char text[64];

		run.crowd = seed % LENGTH(kinds) >= 4 ? .3 : 0;
		begin(&pace, &run, seed << 32);
		*text = '\0';
		for (int step = 0; step < run.steps && !*text; step++) {
			simulate_step(&pace, &run, step);
			if (step % (run.steps / 6) == 0)
				named(&pace, text, sizeof(text), &f);
		}
		wrong += *text != '\0';
		pace_release(&pace);
	}
	printf("%d of 1,000 healthy runs\n", wrong);
	CU_ASSERT(wrong <= 1);
}

UNIT_TEST(test_found, "how many of 20 are found: slowdown and jitter")
{
	static const struct {
		double excess, jitter;
		int n, steps, least, most;
	} rows[] = {
		{ .10, .02, 8, 50, 19, 20 },   { .10, .02, 2, 50, 19, 20 },
		{ .10, .05, 8, 50, 15, 20 },   { .20, .10, 8, 50, 19, 20 },
		{ .10, .10, 8, 200, 15, 20 },  { .02, .02, 8, 200, 0, 0 },
		{ .07, .02, 64, 200, 19, 20 },
	};

	UNIT_ROWS(row, rows) {
		struct run run = FLAT(row->n, 3000, row->jitter, 0, 0, row->steps, .rank = 1,
				      .excess = row->excess);
		int found = 0, measured = 0;

		for (uint64_t seed = 0; seed < 20; seed++) {
			struct pace_finding f;
			struct pace pace;
			char text[64];

			begin(&pace, &run, seed << 32);
			for (int step = 0; step < run.steps; step++)
				simulate_step(&pace, &run, step);
			named(&pace, text, sizeof(text), &f);
			found += strcmp(text, "1") == 0;
			pace_judge(&pace, &pace.comms[0], 1, PACE_ALL, &f);
			measured += f.low > 0 && f.low < row->excess && f.high > row->excess * 0.8;
			pace_release(&pace);
		}
		printf("%.0f %% of a step, jitter %.0f %%, %d ranks, %d steps: found %d of 20, "
		       "measured %d\n",
		       row->excess * 100, row->jitter * 100, row->n, row->steps, found, measured);
		CU_ASSERT(found >= row->least && found <= row->most);
		CU_ASSERT(measured >= 19);
	}
}

/* Lateness of seconds, as where hosts feed GPUs: two H200 with a step of 4 ms had it. */
UNIT_TEST(test_wander, "lateness that wanders between ranks for seconds names no rank; a slow one "
		       "beside it is named")
{
	struct run run = FLAT(2, 20000, .02, 0, 0, 9000, .rank = 1);
	int healthy = 0, slow = 0;

	run.wander = 0.02;
	for (int i = 0; i < 20; i++) {
		struct pace_finding f;
		struct pace pace;
		char text[64];

		run.plant.excess = i % 4 ? 0 : 1;
		begin(&pace, &run, 400 + (uint64_t)i);
		pace.lasting = 60;
		for (int step = 0; step < run.steps; step++) {
			simulate_step(&pace, &run, step);
			if ((step + 1) % 500)
				continue;
			named(&pace, text, sizeof(text), &f);
			if (i % 4)
				healthy += text[0] != '\0';
			else if (step + 1 == run.steps)
				slow += strcmp(text, "1") == 0;
		}
		pace_release(&pace);
	}
	CU_ASSERT_EQUAL(healthy, 0);
	CU_ASSERT_EQUAL(slow, 5);
}

UNIT_TEST(
	test_thin,
	"calls come so often that the rows would not last a minute: every second block makes rows")
{
	const struct run run = FLAT(2, 5000, .02, 0, 0, 30000, .rank = 1, .excess = .1);
	struct pace_finding f;
	struct pace pace;
	char text[64];

	begin(&pace, &run, 9);
	pace.lasting = 60;
	for (int step = 0; step < run.steps; step++)
		simulate_step(&pace, &run, step);
	named(&pace, text, sizeof(text), &f);
	CU_ASSERT_STRING_EQUAL(text, "1");
	CU_ASSERT(f.seconds >= 60);
	CU_ASSERT(f.excess > .08 && f.excess < .1);
	pace_release(&pace);
}

UNIT_TEST(test_broken, "samples that cannot be, a rank that joins late, one whose clock jumps")
{
	const struct run run = FLAT(4, 3000, .02, 0, 0, 100, .rank = 1, .excess = .2);
	struct pace_sample bad = { .comm = MOST + 1,
				   .seq = 5000,
				   .rank = 0,
				   .nmembers = 4,
				   .arrived_ns = 2000,
				   .through_ns = 1000 };
	struct pace_finding f;
	struct pace pace;
	char text[64];

	begin(&pace, &run, 7);
	for (int step = 0; step < 20; step++)
		simulate_step(&pace, &run, step);
	pace_add(&pace, &bad); /* ends before it begins */
	bad.through_ns = 3000;
	bad.member = 4; /* is no member */
	pace_add(&pace, &bad);
	bad.member = -1;
	pace_add(&pace, &bad);
	bad.member = 0;
	bad.kind = CALL_BROADCAST; /* may be left early */
	pace_add(&pace, &bad);
	CU_ASSERT_EQUAL(pace.dropped, 4);
	for (int r = 0; r < 4; r++) /* every clock jumps back: rows begin anew */
		sim.now[r] -= 5e8;
	for (int step = 20; step < 100; step++)
		simulate_step(&pace, &run, step);
	named(&pace, text, sizeof(text), &f);
	CU_ASSERT_STRING_EQUAL(text, "1");
	CU_ASSERT_EQUAL(f.rows, 98);
	pace_release(&pace);

	/* rank 3 has no samples of the first 30 calls: these make no rows */
	begin(&pace, &run, 8);
	for (uint64_t seq = 1; seq <= 30; seq++)
		for (int r = 0; r < 3; r++)
			pace_add(&pace, &(struct pace_sample){ .comm = MOST + 1,
							       .seq = seq,
							       .rank = r,
							       .member = r,
							       .nmembers = 4,
							       .arrived_ns = seq,
							       .through_ns = seq });
	sim.seq[MOST] = 30;
	for (int step = 30; step < 100; step++)
		simulate_step(&pace, &run, step);
	named(&pace, text, sizeof(text), &f);
	CU_ASSERT_STRING_EQUAL(text, "1");
	CU_ASSERT_EQUAL(f.rows, 69);
	pace_release(&pace);
}

UNIT_TEST(test_statistics, "interval, z, fence, others' median")
{
	const double values[] = { 10, 11, 9, 10, 30 }, equal[] = { 3, 3, 3, 3 };
	const double part[] = { 1, NAN, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	const double whole[] = { 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10 };
	double other[5];
	bool fence;

	CU_ASSERT(pace_z(values, 5, 4, &fence) > 10 && fence);
	CU_ASSERT(fabs(pace_z(values, 5, 0, &fence)) < 1 && !fence);
	CU_ASSERT(isnan(pace_z(equal, 4, 0, &fence)) && !fence);
	CU_ASSERT(isnan(pace_z(values, 3, 0, &fence)) && !fence);
	pace_others(values, 5, other);
	CU_ASSERT(other[4] == 10 && other[2] == 10 && other[1] == 10);
	pace_others(values, 2, other);
	CU_ASSERT(other[0] == 11 && other[1] == 10);
	CU_ASSERT(fabs(pace_bootstrap(part, whole, 12).ratio - 0.1) < 1e-9);
	CU_ASSERT(isinf(pace_bootstrap(part, whole, 1).high) &&
		  pace_bootstrap(part, whole, 0).ratio == 0);
}

UNIT_TEST(test_line, "the line, in words")
{
	static const struct {
		struct pace_finding f;
		const char *line;
	} rows[] = {
		{ { .rank = 5,
		    .n = 64,
		    .fence = false,
		    .rows = 2048,
		    .excess = .1,
		    .low = .09,
		    .high = .12,
		    .late_ns = 1.8e6,
		    .last = .94,
		    .ratio = 2.3,
		    .z = 7.1,
		    .waited = .091,
		    .since = 1200 },
		  "rank 5 (node2) came last to 94 % of 2,048 sampled calls, 1.8 ms late (2.3 x "
		  "median, z 7.1), "
		  "since call 1,200: its own work takes 10.0 % of the time longer (9.0 to 12.0), "
		  "the others "
		  "waited 9.1 % of the time, as if 5.7 of 64 ranks were idle" },
		{ { .rank = 1,
		    .n = 2,
		    .rows = 50,
		    .excess = .1,
		    .low = .09,
		    .high = .12,
		    .late_ns = 3e5,
		    .last = 1,
		    .ratio = NAN,
		    .z = NAN,
		    .waited = .2,
		    .from_start = true,
		    .shape = PACE_EVERY,
		    .every = 10,
		    .starved = .6 },
		  "rank 1 (node2) came last to 100 % of 50 sampled calls, 300 us late, from its "
		  "first call on, "
		  "in every 10th call: its own work takes 10.0 % of the time longer (9.0 to 12.0), "
		  "the other "
		  "waited 20.0 % of the time; for 60 % of that it had no processor" },
	};
	char line[512];

	UNIT_ROWS(row, rows)
		CU_ASSERT_STRING_EQUAL(pace_line(&row->f,
						 row->f.rank == 5 ? "rank 5 (node2)"
								  : "rank 1 (node2)",
						 line, sizeof(line)),
				       row->line);
}
