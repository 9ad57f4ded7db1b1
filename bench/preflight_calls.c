/* preflight_calls.c: one small and one large call of each collective, with a data check. */
#include "preflight.h"

#include "backend/traffic.h"
#include "base/clock.h"
#include "base/rank_list.h"
#include "perf_check.h"
#include "perf_report.h"
#include "answer/postmortem.h"
#include "diagnoser/diagnoser.h"
#include "settings/settings.h"

#define TRIES 4	  /* a call or a pair is slow that is so each time, */
#define PAUSE .25 /* so many seconds apart: a busy host stalls for a while */

static int report_fd = -1; /* of this process and of the rank that it starts */

const struct collective preflight = {
	.name = "preflight",
	.shape = shape_whole,
};

static void tell(struct reading *m)
{
	char *text = reading_dump(m, false);

	dprintf(report_fd, "%s\n", text);
	free(text);
	reading_release(m);
}

/* The fastest row of each size of a collective, out of place: a host that did something else makes a call longer, none shorter. */
#define SIZES 8
static struct row fastest[SIZES];
static int nsizes;

static int nranks;
static bool unpredicted; /* of a row */

static bool is_slow(const struct row *row)
{
	return row->busbw_gbs < .5 * row->predicted_low_gbs;
}

static void tell_row(const struct row *row)
{
	struct reading m = { .host = "all" };
	char part[40];

	snprintf(part, sizeof(part), "%.20s %u KiB", row->collective,
		 (unsigned)((row->size + 512) >> 10));
	reading_state(&m, part, "busbw_mbs", (int64_t)(row->busbw_gbs * 1e3));
	reading_state(&m, part, "time_ns", (int64_t)(row->time_us * 1e3));
	if (nranks > 1 || row->wrong > 0)
		reading_state(&m, part, "wrong", row->wrong);
	if (row->wrong > 0)
		reading_state(&m, part, "wrong_rank", row->report.rank);
	if (row->predicted_low_gbs > 0) {
		reading_state(&m, part, "predicted_mbs", (int64_t)(row->predicted_busbw_gbs * 1e3));
		reading_state(&m, part, "low_mbs", (int64_t)(row->predicted_low_gbs * 1e3));
	} else {
		unpredicted = true;
	}
	tell(&m);
}

/* Wrong data are told at once. */
static void take_row(void *ctx, const struct row *row)
{
	int i = 0;

	(void)ctx;
	if (row->wrong > 0)
		tell_row(row);
	else if (row->placement[0] != 'i') {
		while (i < nsizes && fastest[i].size != row->size)
			i++;
		if (i < SIZES && (i == nsizes || row->busbw_gbs > fastest[i].busbw_gbs))
			fastest[i] = *row;
		nsizes += i == nsizes && i < SIZES;
	}
}

static double share(const struct pair_note *note)
{
	return fmin(note->alone / note->usual, note->alone / note->promised); /* NaN counts not */
}

static void tell_pair(const struct rank *r, const struct pair *pair, const struct pair_note *note)
{
	const struct rank_facts *a = &r->facts[pair->a], *b = &r->facts[pair->b];
	struct reading m = { .host = "all" };
	char part[40], who[160];

	if (!pair->far)
		snprintf(m.host, sizeof(m.host), "%.63s", a->host);
	snprintf(part, sizeof(part), "ranks %d and %d", pair->a, pair->b);
	snprintf(who, sizeof(who), "%.60s%s%.60s", a->host, pair->far ? " and " : "",
		 pair->far ? b->host : "");
	reading_say(&m, part, "where", who);
	reading_say(&m, part, "link", *note->link.link ? note->link.link : "not known");
	reading_state(&m, part, "pair_mbs", (int64_t)(note->alone * 1e3));
	reading_state(&m, part, "usual_mbs", (int64_t)(note->usual * 1e3));
	if (note->promised > 0)
		reading_state(&m, part, "promised_mbs", (int64_t)(note->promised * 1e3));
	tell(&m);
}

/* Tells slow pairs, 16 at most, and the slowest of all, since a check passes on a figure. */
static void tell_pairs(const struct rank *r, const struct pair_plan *plan,
		       const struct pair_note *notes)
{
	int worst = 0, slow = 0, all = plan->n * (plan->n - 1) / 2;
	struct reading m = { .host = "all" };

	for (int i = 0; i < plan->npairs; i++) {
		worst = share(&notes[i]) < share(&notes[worst]) ? i : worst;
		if (share(&notes[i]) < .5 && slow++ < 16)
			tell_pair(r, &plan->pairs[i], &notes[i]);
	}
	tell_pair(r, &plan->pairs[worst], &notes[worst]);
	reading_state(&m, "pairs", "slow", slow);
	reading_state(&m, "pairs", "measured", plan->npairs);
	reading_state(&m, "pairs", "of", all);
	reading_state(&m, "pairs", "least_mbs", (int64_t)(notes[worst].alone * 1e3));
	tell(&m);
}

/* After the calls, so that a pair that hangs takes no line from them. */
static int try_pairs(struct rank *r)
{
	struct pair_note *best = NULL, *notes;
	struct pair_matrix m;
	int slow = 1, rc = 0;

	watch_phase(&r->watch, PHASE_TIMED);
	for (int k = 0; rc == 0 && slow && k < TRIES; k++) {
		clock_sleep(k > 0 ? PAUSE : 0);
		rc = predict_measure_pairs(&r->bench, PAIRS_QUICK, &m);
		if (rc < 0)
			break;
		slow = 0;
		notes = must(calloc((size_t)m.plan.npairs + 1, sizeof(*notes)));
		if (r->run.report)
			pairs_note(r, &m, notes);
		for (int i = 0; r->run.report && i < m.plan.npairs; i++) {
			if (best)
				notes[i].alone = fmax(notes[i].alone, best[i].alone);
			slow |= share(&notes[i]) < .5;
		}
		free(best);
		best = notes;
		rc = job_max_int(&r->job, &slow, 1);
		if (rc == 0 && r->run.report && (!slow || k == TRIES - 1))
			tell_pairs(r, &m.plan, best);
		pair_matrix_release(&m);
	}
	free(best);
	return rc;
}

/* The sizes of a collective; once more where one is slow. */
static int try_collective(struct rank *r)
{
	int slow = 1, rc = 0;

	nsizes = 0;
	for (int k = 0; rc == 0 && slow && k < TRIES; k++) {
		clock_sleep(k > 0 ? PAUSE : 0);
		r->bench.last_bytes = 0;
		rc = run_sweep(&r->run);
		slow = 0;
		for (int i = 0; i < nsizes; i++)
			slow |= is_slow(&fastest[i]);
		rc = rc != 0 ? rc : job_max_int(&r->job, &slow, 1);
	}
	for (int i = 0; i < nsizes; i++)
		tell_row(&fastest[i]);
	return rc;
}

static void tell_ranks(int announced)
{
	static const char alone[] = "one rank: no call leaves it";
	struct reading m = { .host = "all" };

	reading_state(&m, "ranks", "ranks", nranks);
	reading_state(&m, "ranks", "aside", announced > nranks ? announced - nranks : 0);
	if (nranks == 1) {
		reading_say(&m, "data", "unchecked", alone);
		reading_say(&m, "busbw", "unchecked", alone);
		reading_say(&m, "pairs", "unchecked", alone);
	}
	tell(&m);
}

static void tell_unpredicted(void)
{
	struct reading m = { .host = "all" };

	reading_say(&m, "busbw", "unchecked", "nothing is predicted for these ranks");
	tell(&m);
}

int preflight_run(struct rank *r)
{
	static const struct run_hook hook = { .row = take_row };
	int n = r->job.group_size, rc = 0;

	nranks = r->job.nranks;
	if (r->run.report) {
		tell_ranks(r->program->launch->announced);
		r->run.reconciler = &hook;
	}
	for (size_t i = 0; collectives[i] && rc == 0; i++) {
		if (collectives[i]->power_of_two && n & (n - 1))
			continue;
		if (collectives[i]->irregular)
			rc = traffic_init(&r->bench.traffic, r->bench.options, n, &r->err);
		if (rc < 0)
			break;
		r->bench.collective = collectives[i];
		rc = try_collective(r);
	}
	r->bench.collective = &preflight;
	if (unpredicted && nranks > 1)
		tell_unpredicted();
	return rc == 0 && n > 1 ? try_pairs(r) : rc;
}

/* In the process that prints the verdict. */
static void take_verdict(void *ctx, const struct answer *verdict)
{
	const struct diagnoser *diagnoser = ctx;
	const char *class = class_name(verdict->class, verdict->outcome);
	struct meaning meaning;
	struct reading m = { .host = "all" };
	char hosts[256], who[600];
	int spared = diagnoser->evidence.nranks == 1; /* ranks that are not named */

	for (int i = 0; i < diagnoser->evidence.nranks; i++)
		spared += !rank_list_has(verdict->ranks, i);
	report_hosts_of(&diagnoser->evidence, verdict->ranks, verdict->hosts, hosts, sizeof(hosts));
	/* a host alone, by proof, is one to drain; what befalls every rank is no host's own */
	if (verdict->confidence == CONFIDENCE_PROVED && *hosts && !strchr(hosts, ',') && spared)
		snprintf(m.host, sizeof(m.host), "%.63s", hosts);
	reading_state(&m, "calls", "hang", verdict->outcome == OUTCOME_HANG);
	reading_state(&m, "calls", "failed", verdict->outcome != OUTCOME_HANG);
	reading_say(&m, "calls", "class", class);
	snprintf(who, sizeof(who),
		 strcmp(verdict->ranks, "-") ? "rank %s (%s)" : "no rank is named", verdict->ranks,
		 hosts);
	reading_say(&m, "calls", "who", who);
	reading_say(&m, "calls", "evidence", verdict->evidence);
	answer_meaning(verdict, &meaning);
	reading_say(&m, "calls", "cause", meaning.cause);
	reading_say(&m, "calls", "advice", meaning.fix);
	tell(&m);
}

static void take_differences(const struct setting_difference *found, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct reading m = { .host = "all" };

		reading_state(&m, found[i].name, "differ", 1);
		reading_state(&m, found[i].name, "matters", found[i].weight >= SETTING_MATTERS);
		reading_say(&m, found[i].name, "words", found[i].words);
		tell(&m);
	}
}

int preflight_calls(int fd, int argc, char **argv)
{
	const struct perf_hooks hooks = { .printed = take_verdict, .differ = take_differences };

	report_fd = fd;
	unsetenv("NCCL_TESTS_ALLTOALLV_MATRIX_FILE"); /* of one size */
	return perf_main_hooked(&preflight, &hooks, argc, argv);
}
