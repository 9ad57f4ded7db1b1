/* test_tiers.c: which waits of a program of others are named, suspected, or none of our business; and the faults that
 * it can be given. */
#include "preload/fault_spec.h"
#include "rig/unit.h"
#include "watch/decide_extension.h"

#define SECOND 1000000000ull

static const struct patience patience = { .look = 1, .suspect = 10, .hang = 120 };

UNIT_TEST(test_tiers, "tiers")
{
	static const struct {
		enum diagnosis_class class;
		double waited, still, longest;
		enum tier tier;
	} rows[] = {
		{ CLASS_MISSING, 1, 1, 0, TIER_WAIT },
		{ CLASS_MISSING, 9.9, 9.9, 0, TIER_WAIT },
		{ CLASS_MISSING, 10, 10, 0, TIER_SUSPECT },
		{ CLASS_MISSING, 30, 30, 2, TIER_WAIT },
		{ CLASS_MISSING, 40, 40, 2, TIER_SUSPECT },
		{ CLASS_MISSING, 120, 120, 30, TIER_VERDICT },
		{ CLASS_MISSING, 120, 3, 0, TIER_SUSPECT }, /* some rank went on until then */
		{ CLASS_STOPPED, 120, 3, 0, TIER_VERDICT },
		{ CLASS_UNEXPLAINED, 119, 119, 0, TIER_SUSPECT },
		{ CLASS_BLOCKED, 5, 5, 0, TIER_WAIT },
		{ CLASS_STOPPED, 1, 1, 0, TIER_VERDICT },
		{ CLASS_TRACED, 1, 1, 0, TIER_WAIT }, /* a debugger looks */
		{ CLASS_MISMATCH, 1, 1, 30, TIER_VERDICT },
		{ CLASS_CYCLE, 1, 1, 0, TIER_VERDICT },
		{ CLASS_EARLY, 1, 1, 0, TIER_WAIT },
	};

	UNIT_ROWS(row, rows)
		CU_ASSERT_EQUAL(tier_of(&patience, row->class, row->waited, row->still,
					row->longest),
				row->tier);
}

/* A wait for an all-reduce lasted 2 s and ended; then one for a call of this kind lasts. Returns after how many seconds
 * it is suspected or ends as `class`, 0: not within 15; `moves`: a rank of another host makes steps until 14 s. */
static double said_after(uint32_t kind, double hang, enum diagnosis_class class, bool moves,
			 enum decide_action *last)
{
	struct decide_config config = { .deadlines = true,
					.patience = { .look = 1, .suspect = 10, .hang = hang } };
	struct decide_rank rank = { .view = { .process = PROCESS_ALIVE } };
	struct rank_view other = { .rank = 1, .outcome = -1 };
	struct decide_host host = { .views = &other, .nviews = 1 };
	struct decide_input in = { .ranks = &rank,
				   .nranks = 1,
				   .job_ranks = 1,
				   .job_hosts = 1,
				   .hosts = &host,
				   .nhosts = moves };
	struct verdict verdict = { .outcome = OUTCOME_HANG, .class = class, .ranks = "-" };
	struct decide_state s;
	struct decision d;

	decide_open(&s, &config, SECOND);
	for (uint64_t now = SECOND; now < 20 * SECOND; now += SECOND / 50) {
		struct rank_view *v = &rank.view;
		uint64_t since = now < 3 * SECOND ? SECOND : 4 * SECOND;

		v->waiting = now < 3 * SECOND || now >= since;
		v->since_ns = v->open_ns = v->waiting ? since : 0;
		v->deadline_ns = v->waiting ? since + SECOND : 0;
		v->waited = v->waiting ? (double)(now - since) * 1e-9 : 0;
		v->oldest.ticket = v->waiting;
		v->oldest.kind = (uint8_t)(now < 3 * SECOND ? CALL_ALL_REDUCE : kind);
		in.now = host.heard_ns = now;
		host.answered = true;
		other.progressed = now < 18 * SECOND;
		d = decide(&s, &in);
		if (d.action == DECIDE_DIAGNOSE)
			d = decide_answer(&s, &in, DIAGNOSIS_NAMED, &verdict);
		*last = d.action;
		if (d.suspected || d.action == DECIDE_END) {
			decide_release(&s);
			return v->waited;
		}
	}
	decide_release(&s);
	return 0;
}

/* By kind; and no hang while something moves on another host. */
UNIT_TEST(test_waits, "the longest wait of its kind")
{
	enum decide_action last;
	double said = said_after(CALL_BROADCAST, 120, CLASS_MISSING, false, &last);

	CU_ASSERT(said >= 10 && said < 11.5 && last == DECIDE_EXTEND);
	CU_ASSERT_EQUAL(said_after(CALL_ALL_REDUCE, 120, CLASS_MISSING, false, &last), 0);
	said = said_after(CALL_ALL_REDUCE, 5, CLASS_MISSING, false, &last);
	CU_ASSERT(said >= 5 && said < 6.5 && last == DECIDE_END);
	said = said_after(CALL_ALL_REDUCE, 5, CLASS_MISSING, true, &last);
	CU_ASSERT(said >= 14 && last == DECIDE_END);
	said = said_after(CALL_ALL_REDUCE, 120, CLASS_HOST_SILENT, false, &last);
	CU_ASSERT(said > 0 && said < 2 && last == DECIDE_END);
}

/* The monitor of another host is gone, at 2 s. Returns after how many seconds that is a verdict, 0: not within 20; `moves`: a rank
 * here makes steps. */
static double lost_after(double hang, bool moves)
{
	struct decide_config config = { .deadlines = true,
					.partition_seconds = 10,
					.patience = { .look = 1, .suspect = 10, .hang = hang } };
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
		"count-larger:1@2", "abort-comm:1@2"

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
	UNIT_ROWS(row, rows) {
		CU_ASSERT_PTR_NULL(fault_spec_parse(&f, row->text));
		CU_ASSERT_EQUAL(fault_spec_hits(&f, &row->place), row->hits);
	}
}
