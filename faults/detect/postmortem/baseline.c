/* baseline.c: a healthy twin's folder is read and held against a run. */
#include "postmortem/postmortem.h"

#include "base/call_value.h"
#include "diagnose/rule.h"
#include "settings/backend_kind.h"
#include "postmortem/timeline.h"

#define CALLS_MOST 1024 /* of a rank; a schedule has fewer */

/* ---- is it the twin? ---- */

static bool same_calls(const struct evidence_rank *a, const struct evidence_rank *b)
{
	for (size_t i = 0; i < a->ncalls && i < b->ncalls; i++)
		if (a->calls[i].comm != b->calls[i].comm || a->calls[i].seq != b->calls[i].seq ||
		    evidence_signature_strict(&a->calls[i]) !=
			    evidence_signature_strict(&b->calls[i]))
			return false;
	return true;
}

/* A rank that is broken makes other calls; not all are. */
static bool same_schedule(const struct evidence *run, const struct evidence *twin)
{
	for (int i = 0; i < run->nranks; i++)
		if (same_calls(&run->ranks[i], &twin->ranks[i]))
			return true;
	return false;
}

int baseline_load(struct evidence *twin, const char *dir, const struct evidence *run,
		  struct error *err)
{
	char ranks[16], here[16];
	const char *const facts[][3] = { { "program", twin->program, run->program },
					 { "backend", twin->backend, run->backend },
					 { "options", twin->options, run->options },
					 { "ranks", ranks, run->nranks > 0 ? here : "" } };

	if (evidence_load(twin, dir, err) < 0) {
		err->outcome = OUTCOME_USAGE;
		return -EINVAL;
	}
	if (twin->steps <= 0)
		return error_usage(
			err,
			"--baseline %.300s: no healthy run was kept there; make one: the "
			"same command with --fault=none --out DIR",
			dir);
	snprintf(ranks, sizeof(ranks), "%d", twin->nranks);
	snprintf(here, sizeof(here), "%d", run->nranks);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (facts[i][2][0] && strcmp(facts[i][1], facts[i][2]) != 0)
			return error_usage(err, "--baseline %.200s: other %s: %.100s, here %.100s",
					   dir, facts[i][0], facts[i][1], facts[i][2]);
	if (run->ranks && !same_schedule(run, twin))
		return error_usage(err,
				   "--baseline %.200s: another schedule: no rank made its calls",
				   dir);
	return 0;
}

/* ---- calls ---- */

/* A collective call, or an exchange of a Send and a Recv, as all ranks that made it did. */
struct timed {
	const struct record *call; /* one rank's */
	int ranks;
	bool warmup;
	double seconds; /* of the slowest rank; 0: not known */
};

/* Index of the last record of the call that begins at `i`: an exchange has two. */
static size_t last_of(const struct evidence_rank *r, size_t i)
{
	return i + (i + 1 < r->ncalls && call_exchange(&r->calls[i], &r->calls[i + 1]));
}

/* Seconds of a call of one rank. One on a device that was not sampled, or in a group, has ended when
 * the next one begins, if the host waits for each (`stepwise`). */
static double time_call(const struct evidence *e, const struct evidence_rank *r, size_t first,
			size_t last, bool stepwise)
{
	const struct record *call = &r->calls[last];
	uint64_t begin = r->calls[first].enqueued_ns, end = r->times ? r->times[last].end_ns : 0;

	if (end == 0 && !backend_has(e->backend, BACKEND_ASYNC) && !call_in_pairs(call))
		end = call->returned_ns;
	else if (end == 0 && stepwise && last + 1 < r->ncalls && call->replays == 0)
		end = call[1].enqueued_ns;
	return call->flags & RECORD_FAILED || end <= begin ? 0 : (double)(end - begin) * 1e-9;
}

/* The calls of one rank, whose twin says what is a step. Returns how many. */
static size_t list_rank(const struct evidence *e, const struct evidence *twin, int rank,
			struct timed *calls)
{
	const struct evidence_rank *r = &e->ranks[rank], *t = &twin->ranks[rank];
	size_t all = 0, n = 0, last;

	for (size_t i = 0; i < t->ncalls; i = last_of(t, i) + 1)
		all++;
	for (size_t i = 0; i < r->ncalls && n < CALLS_MOST; i = last + 1, n++) {
		last = last_of(r, i);
		calls[n] = (struct timed){ &r->calls[i], 1,
					   n * (size_t)twin->steps < all * (size_t)twin->warmup,
					   time_call(e, r, i, last, all == (size_t)twin->steps) };
	}
	return n;
}

static int by_call(const void *a, const void *b)
{
	return call_order(((const struct timed *)a)->call, ((const struct timed *)b)->call);
}

/* All calls, by communicator and number: an array of *n that the caller frees. */
static struct timed *list_calls(const struct evidence *e, const struct evidence *twin, size_t *n)
{
	size_t total = 0, room = 1;
	struct timed *calls;

	*n = 0;
	for (int i = 0; i < e->nranks; i++)
		room += e->ranks[i].ncalls < CALLS_MOST ? e->ranks[i].ncalls : CALLS_MOST;
	calls = must(malloc(room * sizeof(*calls)));
	for (int i = 0; i < e->nranks; i++)
		total += list_rank(e, twin, i, calls + total);
	if (total > 1)
		qsort(calls, total, sizeof(*calls), by_call);
	for (size_t i = 0; i < total; i++) {
		struct timed *last = *n > 0 ? &calls[*n - 1] : NULL;

		if (!last || by_call(last, &calls[i]) != 0) {
			calls[(*n)++] = calls[i];
			continue;
		}
		last->ranks++;
		if (last->seconds == 0 || calls[i].seconds == 0)
			last->seconds = 0; /* one rank has not ended it */
		else if (calls[i].seconds > last->seconds)
			last->seconds = calls[i].seconds;
	}
	return calls;
}

/* As nccl-tests counts: the size column, and what crosses the bus. */
static uint64_t size_of(const struct timed *t, double *bus)
{
	uint64_t bytes = t->call->count * dtype_size((enum dtype)t->call->dtype);
	enum call_kind kind = (enum call_kind)t->call->kind;
	double others = (t->ranks - 1.0) / t->ranks;

	*bus = (double)bytes;
	if (kind == CALL_ALL_REDUCE)
		*bus = 2 * others * (double)bytes;
	else if (kind == CALL_ALLTOALLV)
		*bus = 0;
	else if (kind != CALL_BROADCAST && kind != CALL_REDUCE && !call_in_pairs(t->call)) {
		bytes *= (uint64_t)t->ranks;
		*bus = others * (double)bytes;
	}
	return bytes;
}

/* ---- page ---- */

/* The rows of one call, healthy and here; `slowest` of both so far, and how many ended. */
static void print_call(FILE *out, const struct timed *healthy, const struct timed *here,
		       const struct timed *slowest[2], int ended[2])
{
	const struct timed *const both[2] = { healthy, here };
	const struct record *call = healthy->call;
	double bus;
	uint64_t bytes = size_of(healthy, &bus);

	fprintf(out, "| %u:%" PRIu64 " | %s | %" PRIu64 " |", call->comm, call->seq,
		call_kind_name((enum call_kind)call->kind), bytes);
	for (int k = 0; k < 2; k++) {
		const struct timed *t = both[k];

		if (!t || t->ranks != healthy->ranks || t->seconds <= 0) {
			fprintf(out, " - | - |");
			continue;
		}
		fprintf(out, " %.1f | %.3g |", t->seconds * 1e6, bus / t->seconds * 1e-9);
		ended[k]++;
		if (!slowest[k] || t->seconds > slowest[k]->seconds)
			slowest[k] = t;
	}
	fprintf(out, "\n");
}

static void print_calls(FILE *out, const struct timed *twin, size_t n, const struct timed *run,
			size_t nrun)
{
	static const char *const who[2] = { "Healthy", "Here" };
	const struct timed *slowest[2] = { NULL, NULL };
	int ended[2] = { 0, 0 };

	fprintf(out,
		"| comm:call | what | bytes | healthy, us | busbw, GB/s | here, us | busbw, GB/s "
		"|\n|---|---|---|---|---|---|---|\n");
	for (const struct timed *t = twin; t < twin + n; t++)
		if (!t->warmup)
			print_call(out, t, bsearch(t, run, nrun, sizeof(*run), by_call), slowest,
				   ended);
	for (int k = 0; k < 2; k++) {
		fprintf(out, "\n%s: %d of these calls are known to have ended", who[k], ended[k]);
		if (slowest[k])
			fprintf(out, ", the slowest, %u:%" PRIu64 ", in %.1f us",
				slowest[k]->call->comm, slowest[k]->call->seq,
				slowest[k]->seconds * 1e6);
		fprintf(out, ".\n");
	}
}

void baseline_print(FILE *out, const struct evidence *run)
{
	struct error err = { .rank = -1 };
	struct evidence twin = { 0 };
	struct timed *healthy = NULL, *here = NULL;
	size_t n, nhere;

	if (!run->baseline)
		return;
	fprintf(out, "## The healthy twin\n\n");
	if (baseline_load(&twin, run->baseline, run, &err) < 0) {
		fprintf(out, "Not known: %s.\n\n", err.text);
	} else {
		healthy = list_calls(&twin, &twin, &n);
		here = list_calls(run, &twin, &nhere);
		print_calls(out, healthy, n, here, nhere);
		logs_print(out, run->baseline, true);
		fprintf(out, "\n");
	}
	free(healthy);
	free(here);
	evidence_release(&twin);
}
