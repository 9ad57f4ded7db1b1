/* rule_process.c: the rules about how a rank's process and its device are: dead, stopped, out of
 * device memory; the device broke, or does not come to a call that was enqueued. */

#include "settings/backend_kind.h"
#include "finding/rule.h"
#include "states/settings_differ.h"
#include "answer/answer.h"

#define LEFT_NS 40000000ull /* observers look so often: what lies closer has no order */

static enum answer_class death_class(const struct rank_view *v)
{
	return v->process < PROCESS_EXITED	   ? CLASS_ABORTED
	       : v->process == PROCESS_EXITED	   ? CLASS_EXITED
	       : v->status && v->status != SIGKILL ? CLASS_CRASHED
	       : v->oom_kills > 0		   ? CLASS_OOM
						   : CLASS_KILLED;
}

/* Returns true if NCCL had reported a lost peer to it (ncclRemoteError): its end follows from
 * that. */
static bool was_told(const struct evidence_rank *r)
{
	for (int c = 0; r->recorder && c < RECORD_COMMS; c++)
		if (r->recorder->inits[c].asked == 1 + 6)
			return true;
	return false;
}

static bool is_preloaded(const struct evidence_rank *r)
{
	return r->recorder && r->recorder->preloaded;
}

/* How a rank ended; the first are blamed first. */
enum death { DEATH_BY_ITSELF, DEATH_EXIT, DEATH_SIGNALLED, DEATH_TOLD, DEATH_NONE };

/* A rank that dies of a signal of its own may take the others with it: these exit, or a launcher
 * ends them. A rank that its launcher has ended is blamed after those, and one that ended as if
 * all were well last; -1: not at all. */
static int death_order(const struct evidence_rank *r)
{
	const struct rank_view *v = &r->view;

	if (!r->present || (!view_died(v) && v->process != PROCESS_EXITED) || was_told(r))
		return -1;
	if (!view_died(v))
		return DEATH_NONE;
	if (v->told)
		return DEATH_TOLD;
	if (v->process == PROCESS_EXITED)
		return DEATH_EXIT;
	/* a signal that no process here saw may be the launcher's, too; a rank goes with its
	 * supervisor */
	return v->status == SIGTERM || (v->status == 0 && is_preloaded(r)) ||
			       (v->reported && v->lost >= LOST_MONITOR)
		       ? DEATH_SIGNALLED
		       : DEATH_BY_ITSELF;
}

/* The culprits are seen to be so; other ranks that are behind are noted. False: there are none. */
static bool conclude(const struct rule_ctx *ctx, struct finding *f, enum answer_class class,
		     enum confidence seen)
{
	if (f->culprits.n == 0)
		return false;
	place_missing(ctx, f);
	finding_conclude(ctx, f, class, seen);
	note_missing_too(ctx, f);
	return true;
}

/* A rank that ended in the call that the others wait in, by itself or by a signal of its own,
 * may have done so because that failed: for another one that ended. */
static bool may_follow(const struct rule_ctx *ctx, const struct rank_set *dead, int first)
{
	bool follows = false;

	for (int i = 0; i < dead->nranks && (dead->n > 1 || first >= 0); i++) {
		const struct rank_view *v = view_of(ctx, i);

		follows |= dead->in[i] && v->completed < v->issued &&
			   (v->status || v->process < PROCESS_EXITED) && v->status != SIGKILL &&
			   ctx->comm->tracks[i].last >= ctx->comm->top;
	}
	return follows;
}

/* The rank that began to end before the others, as their clocks have it, when several have
 * ended: what became of these followed. -1: one has, or that is not known, or the launcher's
 * signal was the first. */
static int first_to_leave(const struct rule_ctx *ctx)
{
	const struct evidence *e = ctx->evidence;
	uint64_t first = UINT64_MAX, next = UINT64_MAX;
	int rank = -1;

	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];

		/* it lives, and has aborted a communicator or begun to exit */
		bool leaves = r->present && r->view.process < PROCESS_EXITED && r->left_ns &&
			      !was_told(r);

		if ((death_order(r) < 0 && !leaves) || death_order(r) == DEATH_NONE)
			continue;
		if (!r->left_ns ||
		    strcmp(r->view.host, e->ranks[rank < 0 ? i : rank].view.host) != 0)
			return -1;
		if (r->left_ns < first) {
			next = first;
			first = r->left_ns;
			rank = i;
		} else if (r->left_ns < next) {
			next = r->left_ns;
		}
	}
	return next != UINT64_MAX && next - first >= LEFT_NS &&
			       e->ranks[rank].view.status != SIGTERM && !e->ranks[rank].view.told
		       ? rank
		       : -1;
}

static bool has_ended(const struct evidence_rank *r)
{
	return death_order(r) >= 0 && death_order(r) < DEATH_NONE;
}

/* A launcher's signal ended it, most likely because another rank had ended. */
static bool was_ended(const struct evidence_rank *r)
{
	return death_order(r) == DEATH_SIGNALLED || death_order(r) == DEATH_TOLD;
}

/* How many ranks end by the same exception at the same line, as all that end by themselves; 0:
 * not all of these do. */
static size_t count_alike(const struct rule_ctx *ctx)
{
	const struct evidence_rank *ranks = ctx->evidence->ranks, *first = NULL;
	size_t n = 0;

	for (int i = 0; i < ctx->evidence->nranks; i++)
		first = first || !has_ended(&ranks[i]) || was_ended(&ranks[i]) ? first : &ranks[i];
	for (int i = 0; i < ctx->evidence->nranks && first && is_preloaded(first); i++) {
		bool alike = evidence_same_end(first, &ranks[i]);

		if (!alike && !was_ended(&ranks[i]) &&
		    (has_ended(&ranks[i]) || ranks[i].said[0] || ranks[i].left_ns))
			return 0;
		n += alike;
	}
	return n;
}

/* Returns true if these ends follow from others: several that no rank waits for in a call, those
 * that had waited for too long, and those that lost a connection, for which both sides, or what
 * is between, may be the cause. */
static bool is_no_cause(const struct rule_ctx *ctx, size_t alike)
{
	bool awaited = false, gave_up = true, any = false, lost = true, by_itself = false;

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct evidence_rank *r = &ctx->evidence->ranks[i];

		awaited |= r->present && r->view.process < PROCESS_EXITED &&
			   r->view.completed < r->view.issued;
		any |= has_ended(r);
		by_itself |= has_ended(r) && !was_ended(r);
		lost &= !has_ended(r) || was_ended(r) || evidence_lost_peer(r);
		gave_up &= !has_ended(r) || evidence_gave_up(r);
	}
	return (any && gave_up) || (by_itself && lost) || (alike > 1 && !awaited);
}

/* No rank is the culprit: the ends are noted. */
static bool report_no_cause(const struct rule_ctx *ctx, struct finding *f, size_t alike)
{
	const struct evidence *e = ctx->evidence;
	bool *ends = must(calloc((size_t)e->nranks + 1, sizeof(*ends)));
	int first = 0, left = first_to_leave(ctx);
	char leader[40] = "";

	while (!has_ended(&e->ranks[first]) || (alike > 1 && was_ended(&e->ranks[first])))
		first++;
	for (int i = 0; i < e->nranks; i++)
		ends[i] = i == first || evidence_same_end(&e->ranks[first], &e->ranks[i]);
	if (left >= 0)
		snprintf(leader, sizeof(leader), ", rank %d first", rank_number(e, left));
	note(f, "%s %s%s.", ranks_words(e, ends, 40),
	     evidence_gave_up(&e->ranks[first]) ? "gave up a wait"
	     : evidence_lost_peer(&e->ranks[first]) && alike <= 1
		     ? "ended, having lost a connection"
		     : "end alike",
	     leader);
	f->answer.notes[0][0] = 'R';
	memcpy(f->answer.said, e->ranks[left >= 0 && ends[left] ? left : first].said,
	       sizeof(f->answer.said));
	free(ends);
	f->answer.comm = ctx->comm->comm;
	f->answer.hang_seq = progress_hang_point(ctx->comm);
	finding_conclude(ctx, f,
			 alike > 1 || evidence_lost_peer(&e->ranks[first]) ? CLASS_ERROR
									   : CLASS_EXITED,
			 CONFIDENCE_INCONCLUSIVE);
	return true;
}

bool rule_dead(const struct rule_ctx *ctx, struct finding *f)
{
	enum answer_class class = CLASS_OUTCOME;
	size_t alike = count_alike(ctx);
	int first = alike > 1 ? -1 : first_to_leave(ctx);
	bool mixed = false;

	if (is_no_cause(ctx, alike))
		return report_no_cause(ctx, f, alike);
	if (first >= 0) {
		class = death_class(view_of(ctx, first));
		rank_set_add(&f->culprits, first);
	}
	for (int order = 0; order <= DEATH_NONE && f->culprits.n == 0; order++)
		for (int i = 0; i < ctx->evidence->nranks; i++) {
			enum answer_class how = death_class(&ctx->evidence->ranks[i].view);
			int own = death_order(&ctx->evidence->ranks[i]);

			mixed = mixed || (class && class != how && own >= 0 && own < DEATH_TOLD &&
					  !is_preloaded(&ctx->evidence->ranks[i]));
			if (own != order || (own == DEATH_NONE && ctx->comm->tracks[i].known &&
					     ctx->comm->tracks[i].last >= ctx->comm->top))
				continue; /* or it ended when there was no more to do */
			mixed = mixed || own == DEATH_NONE;
			class = class ? class : how;
			rank_set_add(&f->culprits, i);
		}
	for (int i = 0; i < ctx->evidence->nranks && first < 0; i++) {
		const struct evidence_rank *r = &ctx->evidence->ranks[i];

		mixed |= is_preloaded(r) && !f->culprits.in[i] && death_order(r) >= 0 &&
			 death_order(r) < DEATH_SIGNALLED;
	}
	f->reasons |= reason_if(mixed || may_follow(ctx, &f->culprits, first), REASON_OTHER_CAUSE);
	if (first >= 0)
		note(f, "Rank %d was the first to leave; the others ended after it.",
		     rank_number(ctx->evidence, first));
	if (conclude(ctx, f, class, CONFIDENCE_PROVED) && class == CLASS_OOM)
		note(f, "The kernel counts a kill for lack of memory in its cgroup.");
	return f->culprits.n > 0;
}

/* CLASS_OUTCOME of a process that runs, or ran lately: it is held for a moment, again and again
 * perhaps. */
static enum answer_class held_class(const struct evidence_rank *r)
{
	if (!r->present || r->view.process > PROCESS_STOPPED || r->view.ran)
		return CLASS_OUTCOME;
	if (r->state == 't')
		return CLASS_TRACED;
	if (r->view.process == PROCESS_STOPPED || r->state == 'T')
		return CLASS_STOPPED;
	return r->state == 'F' ? CLASS_FROZEN : CLASS_OUTCOME;
}

/* Returns true if the rank waits in a call; or (`lacks`) if it is in none, and others wait for
 * it in one. */
static bool is_at(const struct rule_ctx *ctx, const struct awaited *call, int rank, bool lacks)
{
	int number = members_rank(ctx->members, rank);

	if (ctx->played && number >= 0)
		return lacks ? progress_is_awaited(ctx->progress, number)
			     : progress_known(ctx->played, number) &&
				       progress_at(ctx->played, number);
	return call->n > 0 &&
	       progress_presence(call, rank) == (lacks ? PRESENCE_ABSENT : PRESENCE_CAME);
}

/* A rank that is held in the call that all wait in keeps none of them from it, where one that
 * runs lacks the call. */
bool rule_stopped(const struct rule_ctx *ctx, struct finding *f)
{
	const struct evidence *e = ctx->evidence;
	const struct awaited call = progress_first_missing(ctx->comm);
	enum answer_class class = CLASS_OUTCOME;
	bool lacks = false;

	for (int i = 0; i < e->nranks; i++)
		lacks |= e->ranks[i].present && e->ranks[i].view.process == PROCESS_ALIVE &&
			 !held_class(&e->ranks[i]) && is_at(ctx, &call, i, true);
	for (int i = 0; i < e->nranks; i++) {
		enum answer_class one = held_class(&e->ranks[i]);

		if (one == CLASS_OUTCOME || (lacks && is_at(ctx, &call, i, false)))
			continue;
		class = shared_class(class, one, CLASS_STOPPED);
		rank_set_add(&f->culprits, i);
	}
	return conclude(ctx, f, class, CONFIDENCE_PROVED);
}

/* Marks those that ended with this error, a negative errno, and notes, of `most` of them, what
 * they said. */
static void mark_given_up(const struct rule_ctx *ctx, struct finding *f, int error, size_t most,
			  const char *fmt)
{
	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct rank_view *v = &ctx->evidence->ranks[i].view;

		if (!ctx->evidence->ranks[i].present || !view_finished(v) ||
		    v->outcome != OUTCOME_ERROR || v->error_code != error)
			continue;
		rank_set_add(&f->culprits, i);
		if (f->culprits.n <= most && finding_has_room(f))
			note(f, fmt, rank_number(ctx->evidence, i), v->error);
	}
}

bool rule_device_memory(const struct rule_ctx *ctx, struct finding *f)
{
	mark_given_up(ctx, f, -ENOMEM, 1, "Rank %d gave up: %.200s");
	return conclude(ctx, f, CLASS_GPU_OOM, CONFIDENCE_PROVED);
}

enum stand {
	STAND_UNKNOWN, /* or it waits for no call, and may lack the one that the others wait in */
	STAND_STARTED, /* its device has come to the first call that is not done */
	STAND_AHEAD    /* it has not: something stands ahead of the call */
};

/* A call without times says nothing if the one before has none either, or a graph repeats it. */
static bool is_sampled(const struct evidence_rank *r, const struct record *call)
{
	size_t k = (size_t)(call - r->calls);

	if (call->replays)
		return false;
	if (k == 0)
		return call->ticket == 1;
	return r->times && r->times[k - 1].start_ns != 0 && r->times[k - 1].end_ns != 0;
}

/* The stream of a preloaded program has not come to the call, and would tell. */
static bool is_told_before(const struct evidence_rank *r, const struct record *call)
{
	return r->times && r->times[call - r->calls].start_ns == RECORD_AHEAD;
}

static enum stand stand_of(const struct rule_ctx *ctx, int rank)
{
	const struct evidence_rank *r = &ctx->evidence->ranks[rank];
	const struct record *call;

	if (!r->present || r->view.completed >= r->view.issued ||
	    r->view.process != PROCESS_ALIVE || r->view.device_wait != RECORD_DEVICE_AWAITED)
		return STAND_UNKNOWN;
	call = progress_first_open(&ctx->comm->ranks[rank]);
	if (!call || call->state != RECORD_RETURNED)
		return STAND_UNKNOWN;
	if (is_told_before(r, call))
		return call->ticket == r->view.completed + 1 ? STAND_AHEAD : STAND_UNKNOWN;
	if (r->times && r->times[call - r->calls].start_ns)
		return STAND_STARTED;
	return is_sampled(r, call) ? STAND_AHEAD : STAND_UNKNOWN;
}

bool rule_stuck(const struct rule_ctx *ctx, struct finding *f)
{
	uint64_t first = UINT64_MAX; /* call that some device has not come to */
	size_t started = 0, unknown = 0;
	bool asked = false;   /* of a preloaded program: before the call */
	bool sampled = false; /* some device's times are there: they were taken */

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		enum stand stand = stand_of(ctx, i);
		const struct record *call =
			stand == STAND_AHEAD ? progress_first_open(&ctx->comm->ranks[i]) : NULL;

		started += stand == STAND_STARTED;
		asked |= call && is_told_before(&ctx->evidence->ranks[i], call);
		unknown += stand == STAND_UNKNOWN;
		sampled = sampled || ctx->evidence->ranks[i].times;
		if (!call || call->comm != ctx->comm->comm)
			continue;
		first = call->seq < first ? call->seq : first;
		rank_set_add(&f->culprits, i);
	}
	if (f->culprits.n == 0 || !sampled || (asked && started + unknown == 0))
		return false; /* of own work ahead of a call on all devices none is the cause */
	finding_place(f, ctx->comm->comm, first, first, (int64_t)first);
	note(f,
	     "Call %lu of communicator %u is enqueued on %s, and the device has not come to it; no "
	     "call of theirs stands ahead of it. %zu other%s come to their first call that is not "
	     "done and wait in it.",
	     first, ctx->comm->comm, f->culprits.n == 1 ? "the culprit" : "the culprits", started,
	     started == 1 ? " has" : "s have");
	f->reasons |= reason_if(unknown > 0, started ? REASON_SOME_UNKNOWN : REASON_MOST_UNKNOWN);
	finding_conclude(ctx, f, CLASS_GPU_STUCK, CONFIDENCE_PROVED);
	return true;
}

/* The rank's newest call, or the group that ends with it, has not returned; NULL: it has. */
static const struct record *not_returned(const struct evidence_rank *r)
{
	const struct record *newest = r->present && r->ncalls ? &r->calls[r->ncalls - 1] : NULL;

	return newest && newest->state != RECORD_RETURNED &&
			       !record_done(newest, r->view.completed) &&
			       r->view.process == PROCESS_ALIVE
		       ? newest
		       : NULL;
}

/* Returns true if the rank's call `seq` of the communicator at hand waits for no rank to come. */
static bool all_came(const struct rule_ctx *ctx, int rank, uint64_t seq)
{
	int number = members_rank(ctx->members, rank);

	if (ctx->played)
		return number >= 0 && progress_known(ctx->played, number) &&
		       !progress_at(ctx->played, number);
	for (int i = 0; i < ctx->comm->nranks; i++)
		if (!ctx->comm->tracks[i].known || ctx->comm->tracks[i].last < seq)
			return false;
	return true;
}

/* Where calls return once they are enqueued, one that all came to holds no rank. Where all are
 * inside, or are inside different ones, nothing tells which rank holds which. */
bool rule_inside(const struct rule_ctx *ctx, struct finding *f)
{
	const int nranks = ctx->evidence->nranks;
	const struct record *at = NULL;

	if (!backend_has(ctx->run->backend, BACKEND_ASYNC) || settings_break(ctx))
		return false;
	for (int i = 0; i < nranks; i++) {
		const struct record *r = not_returned(&ctx->evidence->ranks[i]);

		if (!r || r->comm != ctx->comm->comm || !all_came(ctx, i, r->seq))
			continue;
		if (at && r->seq != at->seq && !call_in_pairs(r))
			return false;
		at = at ? at : r;
		rank_set_add(&f->culprits, i);
	}
	if (!at || (int)f->culprits.n == nranks)
		return false;
	finding_place(f, at->comm, at->seq, at->seq, (int64_t)at->seq);
	note(f,
	     "Call %lu of communicator %u (%s) waits for nobody any more, and has not returned on "
	     "%s; on the other%s it has.",
	     at->seq, at->comm, call_words(ctx->evidence, at),
	     f->culprits.n == 1 ? "the culprit" : "the culprits",
	     nranks - (int)f->culprits.n == 1 ? "" : "s");
	/* the end of a group of sends and receives may wait for a partner's group, which another
	 * call may have met */
	f->reasons |= reason_if(call_in_pairs(at), REASON_OTHER_CAUSE);
	finding_conclude(ctx, f, CLASS_INSIDE, CONFIDENCE_MAJORITY);
	return true;
}

bool rule_device_fault(const struct rule_ctx *ctx, struct finding *f)
{
	const int nranks = ctx->evidence->nranks;

	/* a protocol of its own makes a rank write where its peer's kernel does not expect it */
	if (settings_break(ctx))
		return false;
	mark_given_up(ctx, f, -EFAULT, SIZE_MAX, "Rank %d's device broke: %.190s");
	if (f->culprits.n == 0)
		return false;
	f->answer.comm = ctx->comm->comm;
	f->answer.hang_seq = progress_hang_point(ctx->comm);
	place_own(ctx, f);
	/* what a peer sent may break a device, too */
	f->reasons |= reason_if(f->culprits.n > 1 && 2 * (int)f->culprits.n >= nranks,
				REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_GPU_FAULT, CONFIDENCE_MAJORITY);
	return true;
}

/* A rank that reports an error may do so because of another one, unless all others ended well. */
bool rule_reported(const struct rule_ctx *ctx, struct finding *f)
{
	int well = 0;

	f->answer.class = CLASS_OUTCOME;
	for (int i = 0; i < ctx->evidence->nranks && ctx->outcome != OUTCOME_OK; i++) {
		const struct rank_view *v = &ctx->evidence->ranks[i].view;

		well += view_finished(v) && v->outcome == OUTCOME_OK;
		if (view_finished(v) && v->outcome == (int)ctx->outcome)
			rank_set_add(&f->culprits, i);
	}
	if (ctx->outcome == OUTCOME_OK || (ctx->outcome == OUTCOME_ERROR && f->culprits.n == 1 &&
					   well + 1 == ctx->evidence->nranks))
		f->answer.confidence = CONFIDENCE_PROVED;
	return true;
}
