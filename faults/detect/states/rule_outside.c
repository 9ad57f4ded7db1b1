/* rule_outside.c: the rule about ranks that wait for each other outside of calls, where one does
 * not come; and what is said where no rule explains a hang. */

#include "settings/backend_kind.h"
#include "base/error.h"
#include "finding/rule.h"
#include "process/watch.h"

/* Returns true if its last call is over, or at least not what it waits for. That it is over may
 * not have been noted yet: what has returned is, where calls block, and where they do not the
 * rank says when it waits for its device. But a group of sends and receives waits at its end. */
static bool is_over(const struct rule_ctx *ctx, int rank)
{
	const struct rank_view *v = &ctx->evidence->ranks[rank].view;
	const struct track *t = &ctx->comm->tracks[rank];
	bool elsewhere = backend_lacks(ctx->evidence->backend, BACKEND_ASYNC) ||
			 v->device_wait == RECORD_DEVICE_LEFT;

	return v->completed >= v->issued || (elsewhere && !t->inside && !call_in_pairs(t->final));
}

/* Where the rank waits that was the last to come to its place, and how many ranks wait there, all calls completed. */
struct place {
	const char *what;
	size_t n; /* 0: not all ranks are through with their calls, or some wait there for one */
	double longest; /* seconds since the first of them came */
};

static struct place find_place(const struct rule_ctx *ctx)
{
	struct place p = { .what = NULL };
	double least = INFINITY;

	for (int i = 0; i < ctx->comm->nranks; i++) {
		const struct track *t = &ctx->comm->tracks[i];

		if (!t->known || t->last == 0 || t->last != ctx->comm->top || !is_over(ctx, i) ||
		    view_of(ctx, i)->process >= PROCESS_EXITED)
			return p;
		if (view_of(ctx, i)->waiting && view_of(ctx, i)->waited < least) {
			least = view_of(ctx, i)->waited;
			p.what = view_of(ctx, i)->what;
		}
	}
	for (int i = 0; p.what && i < ctx->comm->nranks; i++) {
		const struct rank_view *v = view_of(ctx, i);

		if (!v->waiting || strcmp(v->what, p.what) != 0)
			continue;
		if (v->completed < v->issued)
			return (struct place){ .n = 0 };
		p.n++;
		p.longest = fmax(p.longest, v->waited);
	}
	return p;
}

bool rule_behind(const struct rule_ctx *ctx, struct finding *f)
{
	const struct place others = find_place(ctx);
	const size_t there = others.n;
	enum answer_class class;
	int first = -1;

	if (there == 0)
		return false;
	for (int i = 0; i < ctx->comm->nranks; i++) {
		const struct rank_view *v = view_of(ctx, i);

		/* in another place since before any of them came, in the midst of calls that have all ended: nothing there takes long;
		 * buffers and data checks are a rank's own work, and may. One that waits for its device has more calls there than
		 * are noted: a graph repeats them */
		if ((v->phase != PHASE_WARMUP && v->phase != PHASE_TIMED) || !v->waiting ||
		    strcmp(v->what, others.what) == 0 || v->waited <= others.longest ||
		    v->device_wait == RECORD_DEVICE_AWAITED)
			continue;
		first = first < 0 ? i : first;
		rank_set_add(&f->culprits, i);
	}
	class = culprits_class(ctx, &f->culprits, CLASS_MISSING);
	/* where others are in yet other places, or most are behind, waits cannot be told; and a rank
	 * that waits in MPI is busy, too */
	if (!class || there + f->culprits.n != (size_t)ctx->comm->nranks || there < f->culprits.n ||
	    (there == f->culprits.n && class == CLASS_BUSY))
		return false;
	finding_place(f, ctx->comm->comm, ctx->comm->top, ctx->comm->top, -1);
	finding_differ(f, "place", view_of(ctx, first)->what, others.what);
	note(f,
	     "Nobody waits for a call: those up to %lu of communicator %u have ended or returned. "
	     "%zu of %d ranks wait outside of calls, in '%s'; the other%s stayed behind.",
	     ctx->comm->top, ctx->comm->comm, there, ctx->comm->nranks, others.what,
	     f->culprits.n == 1 ? "" : "s");
	f->reasons |= reason_if(there <= f->culprits.n, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, class, CONFIDENCE_MAJORITY);
	return true;
}

/* Alive, with calls that are known and complete: it waits for something else. */
static bool is_outside(const struct rule_ctx *ctx, int rank)
{
	const struct rank_view *v = &ctx->evidence->ranks[rank].view;

	return ctx->comm->tracks[rank].known && v->process == PROCESS_ALIVE && v->waiting &&
	       v->completed >= v->issued && v->comm_state != RECORD_COMM_INIT;
}

/* All others wait in one place before the first call. Later a rank may be on its way from one to the next. */
bool rule_not_come(const struct rule_ctx *ctx, struct finding *f)
{
	const struct evidence_rank *ranks = ctx->evidence->ranks;
	const char *what = NULL;
	size_t there = 0;

	for (int i = 0; i < ctx->comm->nranks && ctx->comm->top == 0; i++) {
		const struct rank_view *v = &ranks[i].view;

		/* alive, with as many calls as all, in none of them and in no wait: code of its own, which says nothing */
		if (v->process == PROCESS_ALIVE && !v->waiting && v->completed >= v->issued &&
		    v->comm_state == RECORD_COMM_READY && v->last.state != RECORD_ISSUING) {
			rank_set_add(&f->culprits, i);
			continue;
		}
		if (!is_outside(ctx, i) || (what && strcmp(what, ranks[i].view.what) != 0))
			return false;
		what = ranks[i].view.what;
		there++;
	}
	if (there == 0 || f->culprits.n == 0)
		return false;
	finding_place(f, ctx->comm->comm, ctx->comm->top, ctx->comm->top, -1);
	finding_differ(f, "place", "no wait", what);
	note(f, "Nobody waits for a call: %zu of %d ranks wait in '%s', and %s not come there.",
	     there, ctx->comm->nranks, what, f->culprits.n == 1 ? "one has" : "others have");
	f->reasons |= reason_if(there <= f->culprits.n, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, culprits_class(ctx, &f->culprits, CLASS_MISSING),
			 CONFIDENCE_MAJORITY);
	return true;
}

/* A line for all of `left` that are where `first` is, taken out of it. `there`: as many marks. */
static void note_place(const struct rule_ctx *ctx, struct finding *f, bool *left, bool *there,
		       int first)
{
	const struct evidence_rank *ranks = ctx->evidence->ranks, *r = &ranks[first];
	char *names, call[256];
	size_t n = 0;

	for (int i = 0; i < ctx->comm->nranks; i++) {
		there[i] = left[i] && strcmp(ranks[i].syscall, r->syscall) == 0 &&
			   strcmp(ranks[i].view.what, r->view.what) == 0;
		left[i] = left[i] && !there[i];
		n += there[i];
	}
	evidence_doing(r, call, sizeof(call));
	names = ranks_words(ctx->evidence, there, 64);
	names[0] = 'R';
	note(f, "%s wait%s in '%s', %s.", names, n == 1 ? "s" : "", r->view.what,
	     r->syscall[0] || r->where[0] ? call : "in no system call");
}

bool remark_no_calls(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	bool *left = must(calloc(2 * (size_t)a->nranks + 1, sizeof(*left))), all = true;
	size_t n = 0;

	for (int i = 0; all && i < a->nranks; i++) {
		const struct evidence_rank *r = &ctx->evidence->ranks[i];

		left[i] = is_outside(ctx, i) && a->tracks[i].last == a->top;
		n += left[i];
		/* a spare rank has no part in it */
		all = left[i] || (r->present && r->view.phase == PHASE_SPARE);
	}
	all = all && n > 0;
	if (all)
		note(f,
		     "Nobody has made call %lu of communicator %u: all %zu ranks wait outside of "
		     "calls.",
		     a->top + 1, a->comm, n);
	for (int i = 0; all && i < a->nranks && finding_has_room(f); i++)
		if (left[i])
			note_place(ctx, f, left, left + a->nranks, i);
	free(left);
	return all;
}

/* Returns true if no rank is in a call, and all live. */
static bool all_outside(const struct rule_ctx *ctx)
{
	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct evidence_rank *r = &ctx->evidence->ranks[i];

		if (!r->present || !r->recorder || !r->recorder->preloaded || r->view.waiting ||
		    r->view.completed < r->view.issued || r->view.process != PROCESS_ALIVE)
			return false;
	}
	return true;
}

/* Takes the ranks that stand where the first of `left` does out of it, and writes them and their place behind `line`.
 * Returns how many; `there`: room for as many marks. */
static size_t take_place(const struct evidence *e, bool *left, bool *there, char *line, size_t len)
{
	char place[256], other[256], words[64];
	size_t n = 0;
	int first = 0;

	while (!left[first])
		first++;
	for (int i = first; i < e->nranks; i++) {
		const char *where = e->ranks[i].where;
		char *text = n ? other : place;

		there[i] = false;
		if (!left[i])
			continue;
		snprintf(text, sizeof(place), "%s%s", where[0] ? "in " : "", where);
		if (!where[0] && !evidence_doing(&e->ranks[i], text, sizeof(place))[0])
			snprintf(text, sizeof(place), "outside of calls");
		there[i] = n == 0 || strcmp(place, other) == 0;
		left[i] = !there[i];
		n += there[i];
	}
	memset(there, 0, (size_t)first * sizeof(*there));
	snprintf(words, sizeof(words), "%s", ranks_words(e, there, sizeof(words)));
	words[0] = line[0] ? 'r' : 'R';
	text_add(line, len, "%s%s %s", line[0] ? "; " : "", words, place);
	return n;
}

/* One rank that stands elsewhere than all others is the one that these may wait for. */
bool rule_other_wait(const struct rule_ctx *ctx, struct finding *f)
{
	const struct evidence *e = ctx->evidence;
	size_t n = (size_t)e->nranks, places = 0, taken = 0, alone = 0;
	bool *left = must(calloc(3 * n + 1, sizeof(*left))), *there = left + n, *one = there + n;
	char line[sizeof(f->answer.notes[0])] = "";

	memset(left, true, n);
	while (all_outside(ctx) && taken < n) {
		size_t more = take_place(e, left, there, line, sizeof(line));

		taken += more;
		places++;
		if (more == 1)
			memcpy(one, there, n * sizeof(*one));
		alone += more == 1;
	}
	if (places > 1) {
		note(f, "%s.", line);
		for (int i = 0; i < e->nranks && n > 2 && places == 2 && alone == 1; i++)
			if (one[i])
				rank_set_add(&f->culprits, i);
		finding_conclude(ctx, f, CLASS_OTHER_WAIT,
				 f->culprits.n ? CONFIDENCE_MAJORITY : CONFIDENCE_INCONCLUSIVE);
	}
	free(left);
	return places > 1;
}

/* Returns true if the rank received wrong data, and all of them in buffers of no call that it made. */
static bool is_uncalled(const struct evidence_rank *r)
{
	uint32_t n;
	const struct record_wrong *wrong = evidence_wrongs(r, &n);

	for (uint32_t k = 0; k < n; k++)
		if (wrong[k].seq != 0 || wrong[k].sent)
			return false;
	return n > 0 && !r->wrapped;
}

bool rule_uncalled(const struct rule_ctx *ctx, struct finding *f)
{
	for (int i = 0; i < ctx->evidence->nranks; i++)
		if (!is_uncalled(&ctx->evidence->ranks[i]) &&
		    ctx->evidence->ranks[i].view.phase != PHASE_SPARE)
			return false;
	f->answer.class = CLASS_SKIPPED_OR_EARLY;
	note(f, "Nothing diverged: all ranks made the same %lu calls on communicator %u.",
	     ctx->comm->top, ctx->comm->comm);
	note(f, "The wrong data are in buffers of calls that nobody made: all ranks left them out "
		"alike, or left before them.");
	return true;
}

/* Where all wait in the first call it is often not the program. */
static void note_first(const struct rule_ctx *ctx, struct finding *f, uint64_t seq)
{
	if (seq == 1 && strcmp(ctx->run->program, "PyTorch") == 0)
		note(f,
		     "It is the first call of communicator %u, in which its connections are made: "
		     "the network between its ranks may hold it.",
		     ctx->comm->comm);
}

static void note_half(const struct rule_ctx *ctx, struct finding *f, size_t absent)
{
	if (absent > 1 && 2 * absent == (size_t)ctx->comm->nranks)
		note(f, "Half of the ranks are not here, as those of another host may be: look at "
			"it, and at the network between.");
}

bool rule_unseen(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	uint64_t seq = UINT64_MAX;
	size_t n;

	if (ctx->run->uncounted) /* a paste: what is not in it may have been elsewhere */
		return false;
	for (int i = 0; i < a->nranks; i++) {
		uint64_t done;

		if (!ctx->evidence->ranks[i].present) {
			rank_set_add(&f->culprits, i);
			continue;
		}
		done = progress_completed(ctx->comm, i);
		if (!view_awaits_device(ctx->comm->ranks[i].view) || done >= a->tracks[i].last)
			return false;
		seq = done + 1 < seq ? done + 1 : seq;
	}
	if (seq == UINT64_MAX || f->culprits.n == 0)
		return false;
	finding_place(f, a->comm, seq, seq, (int64_t)seq);
	f->collectives = a->collectives;
	if (ctx->run->logs) /* their lines may be elsewhere: that they lack the call is not said */
		f->answer.seq_low = f->answer.seq_high = -1;
	else
		finding_differ(f, "call", "not known", common_call(ctx, &f->culprits, seq, &n));
	note(f, "No evidence of %s is here, and all others wait.",
	     f->culprits.n == 1 ? "it" : "them");
	note_half(ctx, f, f->culprits.n);
	note_first(ctx, f, seq);
	finding_conclude(ctx, f, CLASS_UNSEEN, CONFIDENCE_INCONCLUSIVE);
	return true;
}

/* PyTorch says itself which calls are over: fewer than half of the ranks wait in a call that is over on all others, which
 * wait in a later one. */
bool rule_lagging(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	uint64_t least = UINT64_MAX, next = UINT64_MAX;
	size_t known = 0;

	if (strcmp(ctx->run->program, "PyTorch") != 0)
		return false;
	for (int i = 0; i < a->nranks; i++) {
		uint64_t done = progress_completed(a, i);

		if (!a->tracks[i].known || a->tracks[i].last == 0)
			continue;
		known++;
		next = done < least ? least : done > least && done < next ? done : next;
		least = done < least ? done : least;
	}
	for (int i = 0; i < a->nranks && next != UINT64_MAX; i++) {
		if (!a->tracks[i].known || a->tracks[i].last == 0 ||
		    progress_completed(a, i) != least)
			continue;
		if (!view_of(ctx, i)->waiting || a->tracks[i].last == least)
			return false;
		rank_set_add(&f->culprits, i);
	}
	if (f->culprits.n == 0 || 2 * f->culprits.n >= known ||
	    call_in_pairs(progress_reference(a, least + 1)))
		return false;
	finding_place(f, a->comm, least + 1, least + 1, (int64_t)next + 1);
	note(f, "Call %lu is over on %zu other rank%s, which came to call %lu.", least + 1,
	     known - f->culprits.n, known - f->culprits.n == 1 ? "" : "s", next + 1);
	finding_conclude(ctx, f, CLASS_BEHIND, CONFIDENCE_MAJORITY);
	return true;
}

static int by_call(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The call in which most ranks wait, by what is over on each; of as many the first. */
struct crowd {
	uint64_t seq; /* 0: none waits */
	size_t n, waiting;
};

static struct crowd find_crowd(const struct rule_ctx *ctx)
{
	uint64_t *at = must(malloc(((size_t)ctx->comm->nranks + 1) * sizeof(*at)));
	struct crowd crowd = { .seq = 0 };
	size_t end;

	for (int i = 0; i < ctx->comm->nranks; i++)
		if (ctx->comm->tracks[i].known && view_of(ctx, i)->waiting)
			at[crowd.waiting++] = progress_completed(ctx->comm, i) + 1;
	qsort(at, crowd.waiting, sizeof(*at), by_call);
	for (size_t i = 0; i < crowd.waiting; i = end) {
		for (end = i + 1; end < crowd.waiting && at[end] == at[i]; end++)
			;
		if (end - i > crowd.n) {
			crowd.n = end - i;
			crowd.seq = at[i];
		}
	}
	free(at);
	return crowd;
}

bool rule_unexplained(const struct rule_ctx *ctx, struct finding *f)
{
	struct crowd crowd = { .seq = 0 };
	size_t absent = 0;

	for (int i = 0; i < ctx->comm->nranks; i++)
		absent += !ctx->evidence->ranks[i].present;
	if (strcmp(ctx->run->program, "PyTorch") == 0)
		crowd = find_crowd(ctx);
	f->answer.class = CLASS_UNEXPLAINED;
	f->answer.comm = ctx->comm->comm;
	f->answer.hang_seq = progress_hang_point(ctx->comm);
	/* PyTorch says itself which calls are over */
	if (crowd.n > 0) {
		f->answer.hang_seq = (int64_t)crowd.seq;
		f->answer.together = crowd.n > 1 && crowd.n == (size_t)ctx->comm->nranks - absent;
	}
	if (f->answer.together)
		note(f, "All ranks that are here wait in the same call: none is behind.");
	else
		note(f,
		     "Ranks wait past their deadline, and nothing in the evidence says for whom.");
	note_half(ctx, f, absent);
	note_first(ctx, f, (uint64_t)f->answer.hang_seq);
	return true;
}
