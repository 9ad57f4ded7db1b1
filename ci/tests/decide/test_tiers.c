/* test_tiers.c: which waits of others' programs are named or suspected; and faults given to it. */
#include "preload/fault_spec.h"
#include "rig/unit.h"
#include "preload/aftermath.h"
#include "decide/decide_extension.h"

#define SECOND 1000000000ull

static const struct patience patience = { .look = 1, .late = 10, .hang = 120 };

UNIT_TEST(test_tiers, "tiers")
{
	static const struct {
		enum answer_class class;
		double waited, still, late;
		enum tier tier;
	} rows[] = {
		{ CLASS_MISSING, 1, 1, 10, TIER_WAIT },
		{ CLASS_MISSING, 9.9, 9.9, 10, TIER_WAIT },
		{ CLASS_MISSING, 10, 10, 10, TIER_LATE },
		{ CLASS_MISSING, 1, 1, 1, TIER_LATE },
		{ CLASS_MISSING, 120, 120, 150, TIER_VERDICT },
		{ CLASS_MISSING, 120, 3, 10, TIER_LATE }, /* some rank went on until then */
		{ CLASS_STOPPED, 120, 3, 10, TIER_VERDICT },
		{ CLASS_UNEXPLAINED, 119, 119, 10, TIER_LATE },
		{ CLASS_BLOCKED, 5, 5, 10, TIER_WAIT },
		{ CLASS_STOPPED, 1, 1, 10, TIER_VERDICT },
		{ CLASS_TRACED, 1, 1, 10, TIER_WAIT }, /* a debugger looks */
		{ CLASS_MISMATCH, 1, 1, 36, TIER_VERDICT },
		{ CLASS_CYCLE, 1, 1, 10, TIER_VERDICT },
		{ CLASS_EARLY, 1, 1, 10, TIER_WAIT },
	};

	UNIT_ROWS(row, rows)
		CU_ASSERT_EQUAL(tier_of(&patience, row->class, row->waited, row->still, row->late),
				row->tier);
}

/* Waits of `each` seconds, `n` of them, and one of `once` among `calls` calls. */
UNIT_TEST(test_usual, "usual waits")
{
	static const struct {
		int n;
		double each, once;
		uint64_t calls;
		double p99, late;
	} rows[] = {
		{ 0, 0, 0, 0, 0, 10 },
		{ 1, 30, 0, 3, 0, 10 }, /* warm-up */
		{ 0, 0, 0, 8, 0, 1 },	/* through eight calls, none long enough to be seen */
		{ 20, 0.1, 0, 20, 0.1, 1 },
		{ 20, 0.4, 0, 20, 0.4, 2 },
		{ 300, 0.4, 0, 300, 0.4, 2 },
		{ 300, 0.1, 30, 300, 0.1, 36 }, /* a checkpoint is usual once it has been seen */
		{ 2, 0.4, 30, 400, 0, 36 },
		{ 5, 0.4, 3, 5, 3, 10 },
	};

	UNIT_ROWS(row, rows) {
		struct usual u = { 0 };

		for (int i = 0; i < row->n; i++)
			usual_add(&u, row->each, 2);
		if (row->once > 0)
			usual_add(&u, row->once, 2);
		CU_ASSERT_DOUBLE_EQUAL(usual_p99(&u, row->calls), row->p99, 1e-6);
		CU_ASSERT_DOUBLE_EQUAL(usual_late(&u, row->calls, 10), row->late, 1e-6);
	}
}

static void play_end(struct rank_view *view, char how)
{
	static const char letters[] = "xtkihu";
	static const int status[] = { 1, SIGTERM, SIGKILL, SIGINT, SIGHUP, 0 };
	const char *at = strchr(letters, how);

	if (!at || how == '-')
		return;
	view->process = how == 'x' ? PROCESS_EXITED : PROCESS_KILLED;
	view->status = status[at - letters];
}

/* Returns the ranks that a verdict names, "-": there is none. */
static const char *told_named(const char *told, const char *ends, bool moves, bool orphaned)
{
	struct decide_config config = { .deadlines = true,
					.patience = { .look = 1, .late = 10, .hang = 5 } };
	struct decide_rank ranks[3];
	struct decide_input in = {
		.ranks = ranks, .nranks = 3, .job_ranks = 3, .job_hosts = 1, .orphaned = orphaned
	};
	uint64_t end = moves ? 70 * SECOND : 3 * SECOND;
	static char named[256];
	struct answer verdict;
	struct decide_state s;
	struct decision d = { .action = DECIDE_NOTHING };

	decide_open(&s, &config, SECOND);
	for (in.now = SECOND; in.now < end + 20 * SECOND && d.action != DECIDE_END;
	     in.now += SECOND / 50) {
		for (int i = 0; i < 3; i++) {
			uint64_t since = in.now < end ? in.now : end;

			ranks[i] =
				(struct decide_rank){ .view = { .rank = i,
								.outcome = -1,
								.waiting = 1,
								.since_ns = since,
								.deadline_ns = since + SECOND,
								.heartbeat = since },
						      .told_ns = strchr(told, '0' + i) ? 2 * SECOND
										       : 0 };
			if (in.now >= end)
				play_end(&ranks[i].view, ends[i]);
			if (in.now >= end + 10 * SECOND && ranks[i].view.process == PROCESS_ALIVE)
				play_end(&ranks[i].view, 'k');
		}
		d = decide(&s, &in);
		if (d.action == DECIDE_DIAGNOSE || d.action == DECIDE_END)
			verdict = d.verdict;
		if (d.action == DECIDE_DIAGNOSE)
			d = decide_answer(&s, &in, DIAGNOSIS_NAMED, &verdict);
	}
	snprintf(named, sizeof(named), "%s", verdict.outcome == OUTCOME_OK ? "-" : verdict.ranks);
	CU_ASSERT_EQUAL(d.action, DECIDE_END);
	decide_release(&s);
	return named;
}

/* A wait for an all-reduce lasted 2 s and ended; then one for a call of this kind lasts. Returns after how many seconds
 * it is suspected or ends as `class`, 0: not within 15; `moves`: a rank of another host makes steps until 14 s. It runs `runs` % of the time,
 * where that is odd in ever other functions. */
static double said_after(uint32_t kind, double hang, enum answer_class class, bool moves,
			 enum decide_action *last, uint64_t moved_per_s, int runs)
{
	struct decide_config config = { .deadlines = true,
					.patience = { .look = 1, .late = 10, .hang = hang } };
	struct decide_rank rank = { .view = { .process = PROCESS_ALIVE } };
	struct rank_view other = { .rank = 1, .outcome = -1 };
	struct decide_host host = { .views = &other, .nviews = 1 };
	struct decide_input in = { .ranks = &rank,
				   .nranks = 1,
				   .job_ranks = 1,
				   .job_hosts = 1,
				   .hosts = &host,
				   .nhosts = moves };
	struct answer verdict = { .outcome = OUTCOME_HANG, .class = class, .ranks = "-" };
	struct decide_state s;
	struct decision d;

	verdict.ranks[0] = moved_per_s || runs ? '0' : '-';
	decide_open(&s, &config, SECOND);
	for (uint64_t now = SECOND; now < 20 * SECOND; now += SECOND / 50) {
		struct rank_view *v = &rank.view;
		uint64_t since = now < 3 * SECOND ? SECOND : 4 * SECOND;

		v->waiting = now < 3 * SECOND || now >= since;
		v->since_ns = v->open_ns = v->waiting ? since : 0;
		v->deadline_ns = v->waiting ? since + SECOND : 0;
		v->waited = v->waiting ? (double)(now - since) * 1e-9 : 0;
		v->oldest.ticket = v->waiting;
		v->comm_state = kind == CALL_KIND_COUNT ? RECORD_COMM_INIT : RECORD_COMM_READY;
		v->oldest.kind = (uint8_t)(now < 3 * SECOND ? CALL_ALL_REDUCE : kind);
		rank.account = (struct rank_account){ .known = true,
						      .used.ran_ns = now / 100 * (uint64_t)runs,
						      .place = runs % 2 ? now : 7,
						      .moved = now / 1000000 * moved_per_s / 1000 };
		in.now = host.heard_ns = now;
		host.answered = true;
		other.progressed = now < 18 * SECOND;
		d = decide(&s, &in);
		if (d.action == DECIDE_DIAGNOSE)
			d = decide_answer(&s, &in, DIAGNOSIS_NAMED, &verdict);
		*last = d.action;
		if ((d.late && !moves) || d.action == DECIDE_END) {
			decide_release(&s);
			return v->waited;
		}
	}
	decide_release(&s);
	return 0;
}

/* Some of three ranks are told to end, a second before ranks do; what is left then is killed 10 s later. */
UNIT_TEST(test_told, "a job that is told to end")
{
	static const struct {
		const char *told; /* ranks */
		const char
			*ends; /* x: exits with 1, t: SIGTERM, k: SIGKILL, i: SIGINT, -: goes on */
		bool moves;    /* it makes steps 62 s later: the signal was no end */
		bool orphaned;
		const char *named; /* NULL: no verdict */
	} rows[] = {
		{ "012", "-ii", false, false, NULL }, { "012", "---", false, false, NULL },
		{ "012", "kkk", false, false, NULL }, { "012", "x--", false, false, NULL },
		{ "012", "-xt", false, false, NULL }, { "", "-i-", false, false, "1" },
		{ "02", "kxk", false, false, "1" },   { "02", "kuk", false, false, "1" },
		{ "1", "-k-", false, false, "1" },    { "", "kkk", false, true, NULL },
		{ "", "-k-", false, true, "1" },      { "", "kkk", false, false, "0,1,2" },
		{ "012", "-k-", true, false, "1" },   { "", "ttt", false, false, NULL },
		{ "", "hhh", false, false, NULL },
	};

	UNIT_ROWS(row, rows)
		CU_ASSERT(strcmp(told_named(row->told, row->ends, row->moves, row->orphaned),
				 row->named ? row->named : "-") == 0);
}

/* Rank 1 ended well at 2 s; rank 0 is in no call, and was told of a lost rank, or not. Returns after how many seconds a
 * verdict comes that names `named`, 0: not within 30. */
static double left_after(int32_t asked, const char *named)
{
	struct decide_config config = { .deadlines = true,
					.patience = { .look = 1, .late = 10, .hang = 5 } };
	struct decide_rank ranks[2] = { { .view = { .outcome = -1, .last.ticket = 1 } },
					{ .view = { .rank = 1, .process = PROCESS_EXITED } } };
	struct decide_input in = { .ranks = ranks, .nranks = 2, .job_ranks = 2, .job_hosts = 1 };
	struct answer verdict = { .outcome = OUTCOME_HANG, .class = CLASS_EARLY };
	struct decision d = { .action = DECIDE_NOTHING };
	struct decide_state s;
	bool late = false;

	strcpy(verdict.ranks, named);
	ranks[0].view.asked = asked;
	decide_open(&s, &config, SECOND);
	for (in.now = 2 * SECOND; in.now < 32 * SECOND && d.action != DECIDE_END;
	     in.now += SECOND / 50) {
		d = decide(&s, &in);
		if (d.action == DECIDE_DIAGNOSE)
			d = decide_answer(&s, &in, DIAGNOSIS_NAMED, &verdict);
		late |= d.late;
	}
	decide_release(&s);
	CU_ASSERT_FALSE(late);
	return d.action == DECIDE_END ? (double)(in.now - 2 * SECOND) * 1e-9 : 0;
}

UNIT_TEST(test_left, "left behind by a rank that ended well")
{
	double after = left_after(7, "1");

	UNIT_ALL(after > 1, after < 1.5, left_after(0, "1") == 0, left_after(1, "1") == 0,
		 left_after(7, "-") == 0);
}

/* By kind; and no hang while something moves on another host. */
UNIT_TEST(test_waits, "the longest wait of its kind")
{
	enum decide_action last;
	double said = said_after(CALL_BROADCAST, 120, CLASS_MISSING, false, &last, 0, 0);

	CU_ASSERT(said >= 10 && said < 11.5 && last == DECIDE_EXTEND);
	said = said_after(CALL_ALL_REDUCE, 120, CLASS_MISSING, false, &last, 0, 0);
	CU_ASSERT(said >= 10 && said < 11.5); /* one is not known to be usual */
	said = said_after(CALL_ALL_REDUCE, 5, CLASS_MISSING, false, &last, 0, 0);
	CU_ASSERT(said >= 5 && said < 6.5 && last == DECIDE_END);
	said = said_after(CALL_ALL_REDUCE, 5, CLASS_MISSING, true, &last, 0, 0);
	CU_ASSERT(said >= 14 && last == DECIDE_END);
	said = said_after(CALL_KIND_COUNT, 2.5, CLASS_UNEXPLAINED, false, &last, 0, 0);
	CU_ASSERT(said >= 10 &&
		  last == DECIDE_EXTEND); /* no rank is missing at init: late, not hung */
	said = said_after(CALL_KIND_COUNT, 2.5, CLASS_INIT_MISSING, false, &last, 0, 0);
	CU_ASSERT(said >= 10 &&
		  last == DECIDE_EXTEND); /* nor where one may be, and none is named */
	said = said_after(CALL_KIND_COUNT, 2.5, CLASS_MISSING, false, &last, 0, 5);
	CU_ASSERT(said >= 2.5 && said < 4 && last == DECIDE_END);
	/* a rank that works is late, however long; heartbeats are no work */
	said = said_after(CALL_ALL_REDUCE, 5, CLASS_MISSING, false, &last, 1 << 20, 0);
	CU_ASSERT(said >= 5 && last == DECIDE_EXTEND);
	said = said_after(CALL_ALL_REDUCE, 5, CLASS_MISSING, false, &last, 1 << 10, 0);
	CU_ASSERT(said >= 5 && said < 6.5 && last == DECIDE_END);
	/* its functions change while it runs: it works; asleep now and then, or in one loop, it does not */
	said = said_after(CALL_ALL_REDUCE, 5, CLASS_MISSING, false, &last, 0, 91);
	CU_ASSERT(said >= 5 && last == DECIDE_EXTEND);
	said = said_after(CALL_ALL_REDUCE, 5, CLASS_MISSING, false, &last, 0, 5);
	CU_ASSERT(said >= 5 && said < 6.5 && last == DECIDE_END);
	said = said_after(CALL_ALL_REDUCE, 5, CLASS_MISSING, false, &last, 0, 90);
	CU_ASSERT(said >= 5 && said < 6.5 && last == DECIDE_END);
	said = said_after(CALL_ALL_REDUCE, 120, CLASS_HOST_SILENT, false, &last, 0, 0);
	CU_ASSERT(said > 0 && said < 2 && last == DECIDE_END);
}

/* Ranks outside of calls, which made a step each 2 s for 10 s, and then none. Returns after how many seconds without one
 * they hang, 0: not within 20. */
static double idle_after(size_t nranks, double hang, int runs, uint64_t moved_per_s)
{
	struct decide_config config = { .deadlines = true,
					.patience = { .look = 1, .late = 10, .hang = hang } };
	struct decide_rank ranks[2] = { { .view = { .rank = 0, .outcome = -1 } },
					{ .view = { .rank = 1, .outcome = -1 } } };
	struct decide_input in = {
		.ranks = ranks, .nranks = nranks, .job_ranks = (int)nranks, .job_hosts = 1
	};
	struct answer verdict = { .outcome = OUTCOME_HANG,
				  .class = CLASS_OTHER_WAIT,
				  .ranks = "-" };
	struct decision d = { .action = DECIDE_NOTHING };
	struct decide_state s;

	decide_open(&s, &config, SECOND);
	for (in.now = SECOND; in.now < 30 * SECOND && d.action != DECIDE_END;
	     in.now += SECOND / 50) {
		for (size_t i = 0; i < nranks; i++) {
			ranks[i].view.last.ticket = 1;
			ranks[i].view.heartbeat = in.now < 10 * SECOND ? in.now / SECOND / 2 : 9;
		}
		ranks[0].account =
			(struct rank_account){ .known = true, .used.ran_ns = in.now / 100 };
		ranks[1].account =
			(struct rank_account){ .known = true,
					       .used.ran_ns = in.now / 100 * (uint64_t)runs,
					       .moved = in.now / 1000000 * moved_per_s / 1000 };
		d = decide(&s, &in);
		if (d.action == DECIDE_DIAGNOSE)
			d = decide_answer(&s, &in, DIAGNOSIS_NAMED, &verdict);
	}
	decide_release(&s);
	return d.action == DECIDE_END ? (double)(in.now - 10 * SECOND) * 1e-9 : 0;
}

UNIT_TEST(test_idle, "all ranks outside of calls")
{
	double after = idle_after(2, 5, 1, 0);

	CU_ASSERT(after > 5 && after < 6);
	after = idle_after(2, 2, 1, 0); /* twice the longest pause */
	CU_ASSERT(after > 3.9 && after < 5);
	UNIT_ALL(idle_after(2, 5, 30, 0) == 0, idle_after(2, 5, 1, 1 << 20) == 0,
		 idle_after(1, 5, 1, 0) == 0);
}

/* A look that takes as long as a pause, each time: an error comes to a verdict all the same. */
UNIT_TEST(test_slow_looks, "slow looks")
{
	struct decide_config config = { .deadlines = true };
	struct decide_rank ranks[2] = { { .view = { .rank = 0, .outcome = -1 } },
					{ .view = { .rank = 1, .outcome = -1 } } };
	struct decide_input in = { .ranks = ranks, .nranks = 2, .job_ranks = 2, .job_hosts = 1 };
	struct answer verdict = { .outcome = OUTCOME_ERROR, .ranks = "1" };
	struct decision d = { .action = DECIDE_NOTHING };
	struct decide_state s;
	int looks = 0;

	decide_open(&s, &config, SECOND);
	for (in.now = SECOND; d.action != DECIDE_END && looks < 20; in.now += 7 * SECOND / 10) {
		if (in.now > 2 * SECOND) {
			ranks[1].view.process = PROCESS_EXITED;
			ranks[1].view.outcome = ranks[1].view.status = OUTCOME_ERROR;
			looks++;
		}
		d = decide(&s, &in);
		if (d.action == DECIDE_DIAGNOSE)
			d = decide_answer(&s, &in, DIAGNOSIS_NAMED, &verdict);
	}
	CU_ASSERT(looks < 6);
	decide_release(&s);
}

/* Two ranks wait when the verdict comes, at 10 s, the third one is away; how they are at 20 s. */
UNIT_TEST(test_aftermath, "after a verdict")
{
	static const struct {
		struct rank_view view[3];
		double seconds; /* 0: the verdict stands; else what a look 1.1 s later says */
	} rows[] = {
		{ { { .since_ns = SECOND }, { .since_ns = SECOND }, { .heartbeat = 1 } }, 0 },
		{ { { .since_ns = 20 * SECOND }, { .since_ns = SECOND }, { .heartbeat = 1 } }, 0 },
		{ { { 0 }, { .since_ns = 20 * SECOND }, { .heartbeat = 1 } }, 19 },
		{ { { 0 }, { .since_ns = 20 * SECOND }, { 0 } }, 0 },
		{ { { 0 }, { .error = "remote" }, { .heartbeat = 1 } }, 0 },
		{ { { 0 },
		    { .comms = { { 0 }, { .state = RECORD_COMM_ABORTED } } },
		    { .heartbeat = 1 } },
		  0 },
		{ { { .process = PROCESS_EXITED },
		    { .process = PROCESS_EXITED },
		    { .process = PROCESS_EXITED } },
		  19 },
		{ { { .process = PROCESS_EXITED },
		    { .process = PROCESS_EXITED, .status = 1 },
		    { .heartbeat = 1 } },
		  0 },
		{ { { .process = PROCESS_KILLED, .status = 9 }, { 0 }, { .heartbeat = 1 } }, 0 },
	};
	struct decide_rank ranks[3] = { { .view = { .waiting = 1, .since_ns = SECOND } },
					{ .view = { .waiting = 1, .since_ns = SECOND } } };

	UNIT_ROWS(row, rows) {
		struct decide_rank now[3] = { { .view = row->view[0] },
					      { .view = row->view[1] },
					      { .view = row->view[2] } };
		struct aftermath a = { 0 };

		aftermath_begin(&a, ranks, 3, 10 * SECOND);
		CU_ASSERT_EQUAL(aftermath_look(&a, ranks, 3, 11 * SECOND), 0);
		if (row->view[0].process != PROCESS_EXITED)
			CU_ASSERT_EQUAL(aftermath_look(&a, now, 3, 20 * SECOND), 0);
		CU_ASSERT_DOUBLE_EQUAL(aftermath_look(&a, now, 3,
						      row->view[0].process == PROCESS_EXITED
							      ? 20 * SECOND
							      : 21 * SECOND + SECOND / 10),
				       row->seconds, 1e-6);
		aftermath_release(&a);
	}
}

/* The monitor of another host is gone, at 2 s: seconds to a verdict, 0: none; `moves`: a rank here makes steps. */
static double lost_after(double hang, bool moves)
{
	struct decide_config config = { .deadlines = true,
					.partition_seconds = 10,
					.patience = { .look = 1, .late = 10, .hang = hang } };
	struct decide_rank rank = { .view = { .process = PROCESS_ALIVE, .outcome = -1 } };
	struct rank_view other = { .rank = 1, .outcome = -1 };
	struct decide_host host = { .views = &other, .nviews = 1, .heard_ns = 2 * SECOND };
	struct decide_input in = { .ranks = &rank,
				   .nranks = 1,
				   .job_ranks = 2,
				   .job_hosts = 2,
				   .hosts = &host,
				   .nhosts = 1 };
	struct decide_state s;
	double after = 0;

	decide_open(&s, &config, SECOND);
	for (in.now = SECOND; after == 0 && in.now < 22 * SECOND; in.now += SECOND / 50) {
		host.ended_ns = in.now < 2 * SECOND ? 0 : 2 * SECOND;
		rank.view.heartbeat += moves;
		if (decide(&s, &in).action == DECIDE_DIAGNOSE)
			after = (double)(in.now - 2 * SECOND) * 1e-9;
	}
	decide_release(&s);
	return after;
}

/* A program of ours ends at once; a program of others runs on without its watchers. */
UNIT_TEST(test_lost, "a watcher is gone")
{
	double quiet = lost_after(120, false);

	UNIT_ALL(lost_after(0, true) < 1, lost_after(0, true) > 0, lost_after(120, true) == 0,
		 quiet >= 10, quiet < 12);
}

#define WRONG                                                                                      \
	"skip", "skip-call", "skip-call:3", "skip-call:-1@3", "skip-call:1@0", "skip-call:1@2,",   \
		"skip-call:1@2,kind=Nothing", "skip-call:1@2,comm=", "skip-call:1@2,ranks=4",      \
		"count-larger:1@2", "abort-comm:1@2", "slow-rank:1@2,by=5x",                       \
		"slow-rank:1@2,threads=2", "slow-rank@2", "pause-rotating@0", "slow-link:1@2",     \
		"gpu-contend:1@2"

UNIT_TEST(test_faults, "faults")
{
	static const char *const wrong[] = { WRONG };
	static const struct {
		const char *text;
		struct fault_place place;
		bool hits;
	} rows[] = {
		{ "late:2@9", { 2, "", 1, 4, CALL_SEND, 9, 3 }, true },
		{ "late:2@9", { 1, "", 1, 4, CALL_SEND, 9, 3 }, false },
		{ "late:2@9", { 2, "", 1, 4, CALL_SEND, 8, 9 }, false },
		{ "late:2@9", { 2, "", 1, 4, -1, 9, 9 }, false },
		{ "late:2@9,order=1,size=4", { 2, "", 1, 4, CALL_SEND, 9, 3 }, true },
		{ "late:2@9,order=1", { 2, "", 0, 4, CALL_SEND, 9, 3 }, false },
		{ "late:2@9,size=4", { 2, "", 1, 8, CALL_SEND, 9, 3 }, false },
		{ "late:2@9,comm=dp", { 2, "dp", 0, 4, CALL_SEND, 9, 3 }, true },
		{ "late:2@9,comm=dp", { 2, "tp", 0, 4, CALL_SEND, 9, 3 }, false },
		{ "late:2@3,kind=all_reduce", { 2, "", 0, 4, CALL_ALL_REDUCE, 9, 3 }, true },
		{ "late:2@3,kind=allreduce", { 2, "", 0, 4, CALL_ALL_GATHER, 9, 3 }, false },
		{ "slow:2@3,kind=Send", { 2, "", 0, 4, CALL_SEND, 9, 5 }, true },
		{ "slow-rank:2@3,by=2%", { 2, "", 0, 4, CALL_SEND, 9, 5 }, true },
		{ "slow-rank:2@3,every=4", { 2, "", 0, 4, CALL_SEND, 7, 5 }, true },
		{ "slow-rank:2@3,every=4", { 2, "", 0, 4, CALL_SEND, 9, 5 }, false },
		{ "pause-rotating@3,every=4", { 2, "", 0, 4, CALL_SEND, 5, 5 }, true },
		{ "pause-rotating@3,every=4", { 1, "", 0, 4, CALL_SEND, 6, 5 }, true },
		{ "pause-rotating@3,every=4", { 1, "", 0, 4, CALL_SEND, 5, 5 }, false },
		{ "host-contend:2@3", { 2, "", 0, 4, CALL_SEND, 3, 5 }, true },
		{ "host-contend:2@3", { 2, "", 0, 4, CALL_SEND, 4, 5 }, false },
		{ "redop:2@9", { 2, "", 0, 4, CALL_ALL_GATHER, 9, 3 }, false },
		{ "root:2@9", { 2, "", 0, 4, CALL_BROADCAST, 9, 3 }, true },
		{ "corrupt:2@9", { 2, "", 0, 4, CALL_SEND, 9, 3 }, false },
		{ "init-late:2@2", { 2, "", 1, 4, -1, 2, 0 }, true },
		{ "init-late:2@2", { 2, "", 1, 4, CALL_SEND, 2, 2 }, false },
	};
	struct fault_spec f;

	for (size_t i = 0; i < LENGTH(wrong); i++)
		CU_ASSERT_PTR_NOT_NULL(fault_spec_parse(&f, wrong[i]));
	CU_ASSERT_PTR_NULL(fault_spec_parse(&f, "late:2@100,comm=dp,value=0.5"));
	UNIT_ALL(f.fault == PRELOAD_LATE, f.rank == 2, f.call == 100, f.value == 0.5);
	CU_ASSERT_PTR_NULL(fault_spec_parse(&f, "slow:2@1,value=0.5"));
	UNIT_ALL(f.fault == PRELOAD_SLOW, f.slow.seconds == 0.5, f.slow.share == 0);
	UNIT_ROWS(row, rows) {
		CU_ASSERT_PTR_NULL(fault_spec_parse(&f, row->text));
		CU_ASSERT_EQUAL(fault_spec_hits(&f, &row->place), row->hits);
	}
}
