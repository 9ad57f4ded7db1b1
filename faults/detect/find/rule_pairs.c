/* rule_pairs.c: sends and receives that do not fit each other, and notes of those that wait. */

#include "base/call_value.h"
#include "find/plans.h"
#include "answer/answer.h"

#define PEER_RANKS_MAX 1024 /* of a communicator with more no wrong partners are looked for */

/* A send and the receive that meets it, of which one is not what the other takes it for. */
struct mismatch {
	struct link link;
	size_t at;
	const struct record *send, *recv;
};

static uint64_t place_of(const struct mismatch *mismatch)
{
	return mismatch->send->seq < mismatch->recv->seq ? mismatch->send->seq
							 : mismatch->recv->seq;
}

/* The first mismatch of the members. False: there is none that can be told. */
static bool first_mismatch(const struct rule_ctx *ctx, const struct flows *flows,
			   struct mismatch *first)
{
	struct mismatch mismatch = { .at = 0 };
	bool any = false;

	while (flows_next(flows, &mismatch.link)) {
		if (!progress_mismatch(ctx->comm, &mismatch.link, &mismatch.at))
			continue;
		mismatch.send = mismatch.link.sent.calls[mismatch.at];
		mismatch.recv = mismatch.link.received.calls[mismatch.at];
		if (!any || place_of(&mismatch) < place_of(first))
			*first = mismatch;
		any = true;
	}
	return any;
}

/* Returns true if this call is other than most ranks', the rank's first such, and no other rank differs. */
static bool differs_alone(const struct rule_ctx *ctx, int rank, const struct record *r)
{
	const struct progress_comm *a = ctx->comm;
	struct deviation own = progress_deviation(a, rank);
	bool alone = !a->tie && own.kind == DEVIATION_FIELD && own.high == r->seq &&
		     (own.agreed >= PLAN_MIN || own.high == 1) &&
		     progress_reference(a, r->seq)->kind == r->kind;

	for (int i = 0; i < a->nranks && alone; i++)
		alone = i == rank || progress_deviation(a, i).kind == DEVIATION_NONE;
	return alone;
}

/* Returns true if the one flow from `i` on fits the other from `k` on: as far as both go, once at least. */
static bool fits_on(const struct flow *a, size_t i, const struct flow *b, size_t k)
{
	size_t first = i;

	while (i < a->n && k < b->n && progress_fits(a->calls[i], b->calls[k])) {
		i++;
		k++;
	}
	return i > first && (i == a->n || k == b->n);
}

/* How a call goes on from those before it, where their amounts go by about equal steps. */
enum flow_step {
	STEP_UNKNOWN, /* they do not, or are too few */
	STEP_EXACT,
	STEP_KEEPS, /* but for what rounding may do */
	STEP_AHEAD, /* it is what comes behind the next one */
	STEP_AGAIN, /* the last one once more */
	STEP_BREAKS
};

static double amount(const struct record *r)
{
	return (double)r->count;
}

static enum flow_step flow_step(const struct flow *flow, size_t at)
{
	const struct record *const *c = flow->calls + at;
	double step, before, now, off;

	if (at < 3 || at >= flow->n)
		return STEP_UNKNOWN;
	step = amount(c[-1]) - amount(c[-2]);
	before = amount(c[-2]) - amount(c[-3]);
	now = amount(c[0]) - amount(c[-1]);
	off = fabs(step) / 8;
	if (c[-1]->dtype != c[-2]->dtype || fabs(step - before) > off)
		return STEP_UNKNOWN;
	if (c[0]->dtype != c[-1]->dtype)
		return STEP_BREAKS;
	if (fabs(now - step) <= off)
		return now == step ? STEP_EXACT : STEP_KEEPS;
	if (c[0]->count == c[-1]->count)
		return STEP_AGAIN;
	return fabs(now - 2 * step) <= 2 * off ? STEP_AHEAD : STEP_BREAKS;
}

/* Returns true if the calls before this one were of one amount. */
static bool was_constant(const struct flow *flow, size_t at)
{
	return at >= 2 && flow->calls[at - 1]->count == flow->calls[at - 2]->count;
}

/* A mismatch as it is judged: the rank with the wrong call (-1: not known), how that goes on from those before. */
struct judgement {
	int culprit;
	enum flow_step step;
	bool moved; /* a call was left out, or is one too many */
};

static struct judgement judge(const struct rule_ctx *ctx, const struct mismatch *mismatch)
{
	const struct flow *out = &mismatch->link.sent, *in = &mismatch->link.received;
	size_t at = mismatch->at;
	enum flow_step sent = flow_step(out, at), received = flow_step(in, at);
	bool from = sent > received && (received == STEP_EXACT || received == STEP_KEEPS);
	bool to = received > sent && (sent == STEP_EXACT || sent == STEP_KEEPS);
	struct judgement j = { .culprit = -1 };

	if (from == to) {
		from = differs_alone(ctx, mismatch->link.from, mismatch->send);
		to = differs_alone(ctx, mismatch->link.to, mismatch->recv);
	}
	if (from != to) {
		j.culprit = from ? mismatch->link.from : mismatch->link.to;
		j.step = from ? sent : received;
	}
	/* in step again behind it: no call was left out */
	j.moved = j.step == STEP_AHEAD || j.step == STEP_AGAIN ||
		  (!fits_on(out, at + 1, in, at + 1) &&
		   (fits_on(out, at, in, at + 1) || fits_on(in, at, out, at + 1)));
	if (j.moved && j.step == STEP_BREAKS && was_constant(out, at) && was_constant(in, at))
		j.culprit = -1; /* one such call more or less, of either */
	return j;
}

/* Returns true if no rank is free on which the rank's wait depends: it will not come. */
static bool is_stuck(const struct rule_ctx *ctx, int rank)
{
	int number = members_rank(ctx->members, rank);

	return ctx->played && number >= 0 && progress_closed(ctx->played, number);
}

/* Returns true if most ranks' partners say that call `odd` should go to `partner`, and say so of no other call of
 * the rank's: where several ranks have an order of their own, two may have the same one by chance. */
static bool is_off_plan(const struct rule_ctx *ctx, const struct flows *flows, int rank,
			const struct record *odd, int partner)
{
	bool off = progress_planned_peer(ctx->comm, rank, odd->seq, odd->kind) == partner;

	for (size_t k = flows->first[rank]; k < flows->first[rank + 1] && off; k++) {
		const struct record *r = flows->calls[k];
		int plan = r == odd ? r->peer
				    : progress_planned_peer(ctx->comm, rank, r->seq, r->kind);

		off = plan < 0 || plan == r->peer;
	}
	return off;
}

/* A call of `rank`'s, of this kind and amount, with a partner that has no part in it, where it lacks one with
 * `partner`; `sure`: and no rank will come to it, or most ranks' partners say so. NULL: there is none. */
static const struct record *find_wrong_peer(const struct rule_ctx *ctx, const struct flows *flows,
					    int rank, const struct record *lacking, int partner,
					    bool sure)
{
	int kind = flow_other(lacking->kind);

	for (size_t k = flows->first[rank]; k < flows->first[rank + 1]; k++) {
		const struct record *r = flows->calls[k];
		struct flow flow = progress_flow(flows, rank, kind, r->peer), theirs;
		bool strange;

		if (r->kind != kind || r->peer == partner || !progress_fits(r, lacking) ||
		    !progress_knows_all(ctx->comm, r->peer))
			continue;
		theirs = progress_flow(flows, r->peer, lacking->kind, rank);
		if (!sure && theirs.n + 1 == flow.n && flow.calls[theirs.n] == r)
			return r;
		strange = flow.n == 1 && progress_flow(flows, rank, kind, partner).n > 0 &&
			  is_stuck(ctx, r->peer);
		if (sure && theirs.n < flow.n &&
		    (strange || is_off_plan(ctx, flows, rank, r, partner)))
			return r;
	}
	return NULL;
}

static void report_wrong_peer(const struct rule_ctx *ctx, struct finding *f, int rank,
			      const struct record *wrong, const struct record *lacking, int partner)
{
	struct record right = *wrong;

	right.peer = partner;
	if (f->culprits.n == 0) {
		place_mismatch(ctx, f, wrong, lacking, true);
		finding_differ(f, "peer", call_words(ctx->evidence, wrong),
			       call_words(ctx->evidence, &right));
		name_pair(ctx, f, rank, wrong->kind, partner);
	}
	if (f->culprits.in[rank])
		return;
	rank_set_add(&f->culprits, rank);
	note(f,
	     "Rank %d made call %lu (%s), of which rank %d has no part; rank %d's call %lu (%s) "
	     "lacks its counterpart.",
	     rank_number(ctx->evidence, rank), wrong->seq, call_words(ctx->evidence, wrong),
	     rank_number(ctx->evidence, wrong->peer), rank_number(ctx->evidence, partner),
	     lacking->seq, call_words(ctx->evidence, lacking));
}

/* The first call that has no counterpart, and the rank that made it; NULL: there is none that can be told. */
static const struct record *first_lacking(const struct rule_ctx *ctx, const struct link *link,
					  int *who)
{
	const struct flow *sent = &link->sent, *received = &link->received;

	if (sent->n == received->n || !progress_knows_all(ctx->comm, link->from) ||
	    !progress_knows_all(ctx->comm, link->to))
		return NULL;
	*who = sent->n > received->n ? link->from : link->to;
	return sent->n > received->n ? sent->calls[received->n] : received->calls[sent->n];
}

/* Reports wrong-peer calls of this kind (0: any, where they are sure). Returns how many ranks made them; of a kind 0
 * unless they account for all calls that lack a counterpart of it. */
static size_t find_wrong_peers(const struct rule_ctx *ctx, struct finding *f,
			       const struct flows *flows, int kind)
{
	struct link link = { .rank = 0 };

	finding_reset(f);
	while (flows_next(flows, &link)) {
		int who;
		const struct record *own = first_lacking(ctx, &link, &who), *wrong;

		if (!own || own->kind == kind)
			continue;
		wrong = find_wrong_peer(ctx, flows, own->peer, own, who, kind == 0);
		if (wrong)
			report_wrong_peer(ctx, f, own->peer, wrong, own, who);
		else if (kind)
			return 0;
	}
	return f->culprits.n;
}

/* A call lacks its counterpart, which a rank made with another partner. Where sends of that kind
 * account for all that is open, and receives do not, or the other way round, these may be the wrong ones. */
static bool find_peers(const struct rule_ctx *ctx, struct finding *f, const struct flows *flows)
{
	bool hang = ctx->outcome == OUTCOME_HANG;
	size_t sure = find_wrong_peers(ctx, f, flows, 0), n;
	size_t sends = hang ? find_wrong_peers(ctx, f, flows, CALL_SEND) : 0;
	size_t receives = hang ? find_wrong_peers(ctx, f, flows, CALL_RECV) : 0;
	bool open = (sends == 0) != (receives == 0) && sends + receives > sure;

	n = find_wrong_peers(ctx, f, flows, open ? sends ? CALL_SEND : CALL_RECV : 0);
	if (n == 0 || (open && ctx->comm->any_program && !ctx->plan->followed))
		return false; /* the call that would be missing may stand behind another one */
	if (open)
		note(f, "Another rank's call that never came would leave these open, too.");
	f->reasons |= reason_if(open, REASON_OTHER_CAUSE) |
		      reason_if(!ctx->plan->followed &&
					(ctx->comm->any_program || f->answer.seq_high < PLAN_LONG),
				REASON_OWN_PLANS) |
		      reason_if(2 * n > (size_t)ctx->comm->nranks, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_PAIR_PEER, CONFIDENCE_MAJORITY);
	return true;
}

static void report_mismatch(const struct rule_ctx *ctx, struct finding *f,
			    const struct mismatch *mismatch)
{
	struct judgement j = judge(ctx, mismatch);
	bool from = j.culprit == mismatch->link.from;
	const struct record *odd = from ? mismatch->send : mismatch->recv;
	int rank = rank_number(ctx->evidence, j.culprit >= 0 ? j.culprit : mismatch->link.to);

	place_mismatch(ctx, f, odd, from ? mismatch->recv : mismatch->send, j.culprit >= 0);
	note_open_pair(ctx, f, from ? mismatch->link.from : mismatch->link.to, odd,
		       from ? mismatch->recv : mismatch->send);
	if (j.culprit >= 0)
		rank_set_add(&f->culprits, j.culprit);
	if (j.moved)
		snprintf(f->answer.field, sizeof(f->answer.field), "call");
	if (j.step == STEP_AHEAD)
		note(f, "By the calls before it rank %d left one out.", rank);
	else if (j.step == STEP_AGAIN)
		note(f, "Rank %d made the call before it once more.", rank);
	else if (j.culprit < 0)
		note(f,
		     "Nothing speaks for one or the other: either may be the one that is wrong.");
	f->reasons |= reason_if(j.culprit < 0, REASON_NO_MAJORITY) |
		      reason_if(!ctx->plan->followed && mismatch->at < PLAN_MIN, REASON_OWN_PLANS);
	finding_conclude(ctx, f, j.moved ? CLASS_UNMATCHED : CLASS_PAIR_SIZE, CONFIDENCE_MAJORITY);
}

bool rule_pairs(const struct rule_ctx *ctx, struct finding *f)
{
	struct flows flows;
	struct mismatch mismatch;
	bool found;

	flows_init(&flows, ctx->progress, ctx->members);
	found = ctx->comm->nranks <= PEER_RANKS_MAX && !any_absent(ctx) &&
		find_peers(ctx, f, &flows);
	if (!found)
		finding_reset(f);
	if (!found && first_mismatch(ctx, &flows, &mismatch)) {
		report_mismatch(ctx, f, &mismatch);
		found = true;
	}
	flows_release(&flows);
	return found;
}

bool remark_open_pairs(const struct rule_ctx *ctx, struct finding *f)
{
	note_open_pairs(ctx, f);
	return f->answer.nnotes > 0;
}

/* Counts, for each rank, the pairs that disagree in alltoallv `nth`, and notes each pair; the first is the
 * finding's. Returns how many pairs. */
static int find_unequal(const struct rule_ctx *ctx, struct finding *f, uint64_t nth, int *pairs)
{
	int n = 0;

	for (int from = 0; from < ctx->comm->nranks; from++)
		for (int to = 0; to < ctx->comm->nranks; to++) {
			const struct record_counts *out = progress_counts(ctx->comm, from, nth);
			const struct record_counts *in = progress_counts(ctx->comm, to, nth);

			if (!out || !in || out->send[to] == in->recv[from])
				continue;
			if (n++ == 0) {
				f->answer.seq_low = f->answer.seq_high = (int64_t)out->seq;
				name_pair(ctx, f, from, CALL_SEND, to);
				snprintf(f->answer.theirs, sizeof(f->answer.theirs), "%u sent",
					 out->send[to]);
				snprintf(f->answer.majority, sizeof(f->answer.majority),
					 "%u expected", in->recv[from]);
			}
			note(f,
			     "AlltoAllv %lu: rank %d sends rank %d %u elements, which expects %u.",
			     (uint64_t)out->seq, rank_number(ctx->evidence, from),
			     rank_number(ctx->evidence, to), out->send[to], in->recv[from]);
			pairs[from]++;
			pairs[to]++;
		}
	return n;
}

/* A rank that disagrees with several is the culprit by majority; of one pair either may be. */
bool rule_counts(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	int pairs[RECORD_PEERS] = { 0 }, n = 0;
	uint64_t nth = 0;

	if (a->nranks > RECORD_PEERS)
		return false;
	while (n == 0 && (nth = progress_next_counts(ctx->comm, nth)) != 0)
		n = find_unequal(ctx, f, nth, pairs);
	if (n == 0)
		return false;
	for (int i = 0; i < a->nranks && n > 1; i++)
		if (pairs[i] == n)
			rank_set_add(&f->culprits, i);
	if (f->culprits.n != 1)
		rank_set_clear(&f->culprits);
	f->answer.comm = a->comm;
	f->answer.hang_seq = ctx->outcome == OUTCOME_HANG ? progress_hang_point(ctx->comm) : -1;
	snprintf(f->answer.field, sizeof(f->answer.field), "count");
	f->reasons |= reason_if(f->culprits.n == 0, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_MISMATCH, CONFIDENCE_MAJORITY);
	if (f->culprits.n == 0)
		note(f, "Either side of the pair may be the one that is wrong.");
	return true;
}
