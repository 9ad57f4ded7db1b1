/* rule_plans.c: the rules about ranks with plans of their own, which nothing says what others do of: one that others wait for is
 * in no call, or one has left what it always did. */
#include "find/plans.h"
#include "answer/answer.h"

#define RANKS_MAX  1024 /* of a run that is looked at */
#define HABITS_MAX 256	/* of a run whose habits are */
#define CIRCLE_MAX 64

static bool has_own_plans(const struct rule_ctx *ctx)
{
	return ctx->played && ctx->in_pairs && ctx->comm->any_program &&
	       ctx->run->nranks <= RANKS_MAX;
}

/* Returns true if the rank is in host code for certain, whatever it has enqueued: its main thread does not wait for the device so. */
static bool is_asleep(const struct evidence_rank *r)
{
	return r->state == 'S' &&
	       evidence_in_syscall(
		       r, " nanosleep clock_nanosleep read readv recvfrom recvmsg wait4 waitid "
			  "flock fcntl accept connect write sendto sendmsg ");
}

enum absence {
	ABSENCE_NONE,
	ABSENCE_LIVES,
	ABSENCE_ENDED,
	ABSENCE_UNKNOWN /* it may have come to its end, as others have that owe nothing */
};

bool others_ended(const struct rule_ctx *ctx, int rank)
{
	bool any = false;

	for (int i = 0; i < ctx->run->nranks && ctx->played && !any; i++)
		any = i != rank && evidence_may_have_ended(&ctx->run->ranks[i]) &&
		      !progress_owed(ctx->played, i);
	return any && evidence_may_have_ended(&ctx->run->ranks[rank]);
}

/* The part of call `in` that its partner has not made, as the partner would make it. */
static struct record lacking_part(const struct rule_ctx *ctx, const struct pending_call *in)
{
	struct record lacking = *in->call;

	lacking.kind = (uint8_t)flow_other(lacking.kind);
	lacking.peer = progress_part(ctx->played, in->rank, in->call->comm)->place;
	return lacking;
}

static bool is_expected(const struct rule_ctx *ctx, int rank, const struct pending_call *in)
{
	struct record lacking;

	if (!call_is_pair(in->call->kind))
		return false;
	lacking = lacking_part(ctx, in);
	return progress_expects(ctx->played, rank, &lacking);
}

/* Returns true if the rank waits in a circle of sends and receives, or behind what it has no part in: a program that asks and
 * sleeps until its calls are over makes no further one. */
static bool is_held(const struct rule_ctx *ctx, int rank)
{
	const struct pending_call *circle[CIRCLE_MAX];
	size_t n = progress_circle(ctx->played, true, circle, CIRCLE_MAX);

	while (n > 0 && circle[n - 1]->rank != rank)
		n--;
	return n > 0 || progress_waits_beyond(ctx->played, rank);
}

static enum absence absence_of(const struct rule_ctx *ctx, int rank)
{
	const struct evidence_rank *r = &ctx->run->ranks[rank];
	const struct pending_call *in = progress_owed(ctx->played, rank);

	if (!in)
		return ABSENCE_NONE;
	if (others_ended(ctx, rank) && !is_expected(ctx, rank, in))
		return ABSENCE_UNKNOWN;
	if (view_finished(&r->view) || r->view.process >= PROCESS_EXITED ||
	    evidence_list_is_over(r))
		return ABSENCE_ENDED;
	return r->view.process == PROCESS_ALIVE && (r->view.completed >= r->view.issued ||
						    (is_asleep(r) && !is_held(ctx, rank)))
		       ? ABSENCE_LIVES
		       : ABSENCE_NONE;
}

/* Marks the ranks of the run that are so absent. Returns how many. */
static size_t mark_absent(const struct rule_ctx *ctx, enum absence how, bool *in)
{
	size_t n = 0;

	for (int i = 0; i < ctx->run->nranks; i++) {
		in[i] = absence_of(ctx, i) == how;
		n += in[i];
	}
	return n;
}

bool any_absent(const struct rule_ctx *ctx)
{
	for (int i = 0; i < ctx->run->nranks && has_own_plans(ctx); i++) {
		enum absence absence = absence_of(ctx, i);

		if (absence == ABSENCE_LIVES || absence == ABSENCE_UNKNOWN)
			return true;
	}
	return false;
}

/* `certain`: it lives, and no habit alone says that it makes a further call. */
static void report_awaited(const struct rule_ctx *ctx, struct finding *f,
			   const struct pending_call *in, enum absence how, bool certain)
{
	const struct rank_comm *part = progress_part(ctx->played, in->partner, ctx->comm->comm);
	const struct track *t = &ctx->comm->tracks[part->place];
	uint64_t next = t->final ? t->final->seq + 1 : 1;
	struct record lacking = lacking_part(ctx, in);
	enum answer_class class;

	rank_set_add(&f->culprits, part->place);
	finding_place(f, ctx->comm->comm, next, next, (int64_t)in->call->seq);
	finding_differ(f, "call", "no call", call_words(ctx->evidence, &lacking));
	name_pair(ctx, f, part->place, lacking.kind, lacking.peer);
	note_open_pairs(ctx, f);
	class = how == ABSENCE_ENDED
			? CLASS_SKIPPED_OR_EARLY
			: host_class(&ctx->evidence->ranks[part->place], CLASS_MISSING);
	finding_conclude(ctx, f, class, certain ? CONFIDENCE_PROVED : CONFIDENCE_MAJORITY);
}

/* The one rank may have made this call too many, or the other may lack its part. */
static void report_either(const struct rule_ctx *ctx, struct finding *f,
			  const struct pending_call *in)
{
	const struct rank_comm *own = progress_part(ctx->played, in->rank, ctx->comm->comm);

	finding_place(f, ctx->comm->comm, in->call->seq, in->call->seq, (int64_t)in->call->seq);
	finding_differ(f, "call", call_words(ctx->evidence, in->call), "no call");
	name_pair(ctx, f, own->place, in->call->kind, in->call->peer);
	finding_tie(f, own->place, in->call->peer);
	note(f,
	     "Rank %d waits for rank %d's part, which may have come to its end: either call may be "
	     "the one too many, or the one that is missing.",
	     rank_number(ctx->evidence, own->place), rank_number(ctx->evidence, in->call->peer));
	finding_conclude(ctx, f, CLASS_UNMATCHED, CONFIDENCE_INCONCLUSIVE);
}

/* A rank that lives outranks one that ended, which may have left open a call too many. Several: each may be the one. */
bool rule_left_open(const struct rule_ctx *ctx, struct finding *f)
{
	bool *absent = must(calloc((size_t)ctx->run->nranks + 1, sizeof(*absent)));
	enum absence how = ABSENCE_LIVES;
	const struct pending_call *in = NULL;
	bool certain;
	size_t n = 0;

	if (has_own_plans(ctx)) {
		n = mark_absent(ctx, how, absent);
		while (n == 0 && how < ABSENCE_UNKNOWN)
			n = mark_absent(ctx, ++how, absent);
		for (int i = 0; i < ctx->run->nranks && !in; i++)
			in = absent[i] ? progress_owed(ctx->played, i) : NULL;
	}
	free(absent);
	if (!in || in->members != ctx->members || !call_is_pair(in->call->kind))
		return false;
	if (how == ABSENCE_UNKNOWN) {
		report_either(ctx, f, in);
		return true;
	}
	certain = how == ABSENCE_LIVES && !evidence_may_have_ended(&ctx->run->ranks[in->partner]);
	report_awaited(ctx, f, in, how, certain);
	for (int i = 0; i < ctx->run->nranks && how == ABSENCE_ENDED; i++)
		f->reasons |= reason_if(i != in->partner && view_finished(&ctx->run->ranks[i].view),
					REASON_SURPLUS);
	f->reasons |= reason_if(n > 1, REASON_NO_MAJORITY);
	f->reasons |=
		reason_if(!certain && progress_count_owed(ctx->played, in->partner) < 2 &&
				  !progress_habit(ctx->played, in->rank, in->call).asked_usual,
			  REASON_SURPLUS);
	return true;
}

bool rule_awaited(const struct rule_ctx *ctx, struct finding *f)
{
	return rule_left_open(ctx, f) && !f->reasons;
}

/* The rank of the run that alone left what it always did; -1: none, or several. */
static int find_breaker(const struct rule_ctx *ctx, struct habit_break *b, bool *steady)
{
	int who = -1;

	for (int i = 0; i < ctx->run->nranks; i++) {
		struct habit_break one = progress_habit(ctx->played, i, NULL);

		*steady &= one.kind != HABIT_KEPT || one.steady;
		if (one.kind == HABIT_KEPT)
			continue;
		if (who >= 0)
			return -1;
		who = i;
		*b = one;
	}
	return who;
}

static enum answer_class class_of_break(const struct habit_break *b)
{
	const struct record *call = b->kind == HABIT_SKIPPED ? b->usual : b->made;
	bool pair = call_in_pairs(call);

	if (b->kind == HABIT_OTHER && pair && call_in_pairs(b->usual) &&
	    b->made->peer == b->usual->peer)
		return CLASS_PAIR_DEADLOCK; /* the other order of the two */
	if (b->kind == HABIT_SKIPPED)
		return pair ? CLASS_UNMATCHED : CLASS_SKIPPED;
	if (b->kind == HABIT_EXTRA || b->kind == HABIT_OTHER)
		return pair ? CLASS_UNMATCHED : CLASS_EXTRA;
	if (!pair)
		return CLASS_MISMATCH;
	return b->made->peer != b->usual->peer ? CLASS_PAIR_PEER : CLASS_PAIR_SIZE;
}

static void report_break(const struct rule_ctx *ctx, struct finding *f, int rank,
			 const struct habit_break *b)
{
	const struct rank_comm *part = progress_part(ctx->played, rank, ctx->comm->comm);
	const struct record *made = b->made, *call = b->kind == HABIT_SKIPPED ? b->usual : made;
	bool field = b->kind == HABIT_FIELD;
	const char *name = made->peer != b->usual->peer	    ? "peer"
			   : made->count != b->usual->count ? "count"
							    : "dtype";

	rank_set_add(&f->culprits, part->place);
	finding_place(f, ctx->comm->comm, made->seq, made->seq, (int64_t)made->seq);
	finding_differ(f, field ? name : "call",
		       b->kind == HABIT_SKIPPED ? "no call" : call_words(ctx->evidence, made),
		       b->kind == HABIT_EXTRA ? "no call" : call_words(ctx->evidence, b->usual));
	if (call_in_pairs(call))
		name_pair(ctx, f, part->place, call->kind, field ? b->usual->peer : call->peer);
	note(f,
	     "Rank %d made call %lu (%s) where (%s) had come each time, %zu times; no other rank "
	     "left what it always did.",
	     rank_number(ctx->evidence, part->place), made->seq, call_words(ctx->evidence, made),
	     call_words(ctx->evidence, b->usual), b->times);
	finding_conclude(ctx, f, class_of_break(b), CONFIDENCE_MAJORITY);
	if (b->kind == HABIT_SKIPPED) /* where it had always come from */
		snprintf(f->answer.lines_there[1], sizeof(f->answer.lines_there[1]), "%s",
			 call_site(ctx->evidence, part->place, b->usual));
}

/* One of two ranks sends where it received, or the other way round, and both wait so: either may be the one to turn round. */
static bool turned_round(const struct rule_ctx *ctx, const struct habit_break *b)
{
	const struct pending_call *calls[2];

	return ctx->run->nranks == 2 && (b->kind == HABIT_SKIPPED || b->kind == HABIT_OTHER) &&
	       call_in_pairs(b->made) && call_in_pairs(b->usual) &&
	       b->made->kind != b->usual->kind && progress_circle(ctx->played, true, calls, 2) == 2;
}

bool rule_habit(const struct rule_ctx *ctx, struct finding *f)
{
	struct habit_break b = { .kind = HABIT_KEPT };
	bool steady = true;
	int rank;

	if (!has_own_plans(ctx) || ctx->run->nranks > HABITS_MAX || any_absent(ctx))
		return false;
	rank = find_breaker(ctx, &b, &steady);
	if (rank < 0 || turned_round(ctx, &b) ||
	    (b.kind == HABIT_SKIPPED ? b.usual : b.made)->comm != ctx->comm->comm ||
	    progress_part(ctx->played, rank, ctx->comm->comm)->members != ctx->members)
		return false;
	f->reasons |= reason_if(!steady, REASON_OWN_PLANS); /* another one may be the one */
	report_break(ctx, f, rank, &b);
	return true;
}
