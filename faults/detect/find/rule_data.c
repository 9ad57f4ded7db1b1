/* rule_data.c: the rule about data that are wrong although all made the same calls: the rank that they come from. */

#include "base/call_value.h"
#include "base/element.h"
#include "finding/rule.h"

/* Returns true if it is of the communicator at hand, and later code can rely on it. */
static bool is_sound(const struct rule_ctx *ctx, const struct record_wrong *w)
{
	return w->dtype < DT_COUNT && w->sent <= 1 && w->comm == ctx->comm->comm && w->from >= -1 &&
	       w->from < ctx->evidence->nranks && w->culprit >= -1 &&
	       w->culprit < ctx->evidence->nranks && w->seq <= w->seq_last;
}

static bool is_nan(const struct record_wrong *w)
{
	enum dtype dtype = (enum dtype)w->dtype;

	return check_is_float(dtype) && isnan(check_decode(dtype, w->got));
}

#define LOOKS_MAX 8192 /* wrong elements that all ranks are asked about */

/* The notes of all ranks about an element. */
struct witnesses {
	int alike;	  /* ranks that received it with the same wrong value */
	int otherwise;	  /* with another wrong value */
	bool sender;	  /* the one that it comes from is among them */
	bool contributed; /* the send buffer that it comes from, or any for a reduction, is wrong */
};

/* in[i]: rank i noted the same as `w`, of what it sent or of what it received. */
static struct witnesses ask_all(const struct rule_ctx *ctx, const struct record_wrong *w, bool *in)
{
	struct witnesses all = { 0 };

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		bool received = false;
		uint32_t n;
		const struct record_wrong *own = evidence_wrongs(&ctx->evidence->ranks[i], &n);

		in[i] = false;
		for (uint32_t k = 0; k < n; k++) {
			bool same = is_sound(ctx, &own[k]) && own[k].seq == w->seq &&
				    own[k].from == w->from && own[k].index == w->index;

			in[i] |= same && own[k].sent == w->sent && /* NaN's bits may differ */
				 (own[k].got == w->got || (is_nan(&own[k]) && is_nan(w)));
			received |= same && !own[k].sent;
			if (is_sound(ctx, &own[k]) && own[k].seq == w->seq && own[k].sent)
				all.contributed |= w->from < 0 || w->from == i;
		}
		all.alike += in[i];
		all.otherwise += received && !in[i];
		all.sender |= in[i] && i == w->from;
	}
	return all;
}

/* Ranks that receive the same element in the call: the vote is among them. */
static int receivers_of(const struct rule_ctx *ctx, int rank, const struct record_wrong *w)
{
	const struct evidence_rank *r = &ctx->evidence->ranks[rank];

	for (size_t k = r->ncalls; k-- > 0;)
		if (r->calls[k].comm == w->comm && r->calls[k].seq == w->seq)
			return r->calls[k].kind == CALL_ALL_REDUCE ||
					       r->calls[k].kind == CALL_ALL_GATHER ||
					       r->calls[k].kind == CALL_BROADCAST
				       ? ctx->evidence->nranks
				       : 1;
	return ctx->evidence->nranks;
}

/* How the value is wrong: no number, or right but for one bit. */
static const char *oddity(const struct record_wrong *w, char *buf, size_t len)
{
	uint64_t differ = w->expected ^ w->got;

	buf[0] = '\0';
	if (is_nan(w))
		snprintf(buf, len, " (NaN)");
	else if (differ && !(differ & (differ - 1)))
		snprintf(buf, len, " (bit %d flipped)", __builtin_ctzll(differ));
	return buf;
}

/* `in`: the ranks that say so. */
static void note_element(const struct rule_ctx *ctx, struct finding *f, const bool *in,
			 const struct record_wrong *w)
{
	char *who = ranks_words(ctx->evidence, in, 64), expected[48], got[48], odd[32],
	     from[48] = "", call[64] = "";

	who[0] = 'R';
	dtype_format((enum dtype)w->dtype, &w->expected, expected, sizeof(expected));
	dtype_format((enum dtype)w->dtype, &w->got, got, sizeof(got));
	if (!w->sent && w->from >= 0)
		snprintf(from, sizeof(from), ", sent by rank %d,",
			 rank_number(ctx->evidence, w->from));
	if (w->seq > 0)
		snprintf(call, sizeof(call), " in call %lu of communicator %u", w->seq, w->comm);
	note(f, "%s: %s%s: element %lu%s is %s%s, not %s; %lu wrong.", who,
	     w->sent ? "own send buffer wrong" : "receive buffer wrong", call, w->index, from, got,
	     oddity(w, odd, sizeof(odd)), expected, w->count);
}

/* Places the finding at the first of the calls with wrong data: of several with the same buffers those of one way. */
static void place_wrong(const struct rule_ctx *ctx, struct finding *f, int rank,
			const struct record_wrong *w)
{
	const struct evidence_rank *r = &ctx->evidence->ranks[rank];
	int64_t low = (int64_t)w->seq, high = (int64_t)w->seq_last;

	for (size_t k = 0; k < r->ncalls && w->seq < w->seq_last; k++) {
		const struct record *c = &r->calls[k];

		if (c->comm != w->comm || c->kind != (w->sent ? CALL_RECV : CALL_SEND))
			continue;
		low += (int64_t)c->seq == low;
		high -= (int64_t)c->seq == (int64_t)w->seq_last;
	}
	if (w->seq == 0 || (f->answer.comm >= 0 && f->answer.seq_low <= low))
		return;
	f->answer.comm = w->comm;
	f->answer.seq_low = low;
	f->answer.seq_high = high;
}

/* The wrong elements, held against all ranks' notes. */
struct inquiry {
	bool own;  /* some send buffer is wrong: proved */
	bool vote; /* a rank is named because others' data are right */
	bool open; /* some element names no rank, or as many are wrong as right */
	int looked;
	bool in[]; /* the ranks that say the same of the element at hand */
};

/* Returns true if a rank before this one said the same: `in` is as ask_all left it. */
static bool is_told(const struct inquiry *inquiry, int rank)
{
	return memchr(inquiry->in, true, (size_t)rank);
}

/* No send buffer shows the element that `rank` received wrong: it is the receiver's doing if most receivers have it
 * right, the sender's if all have it wrong alike. Several ranks with the same wrong value may have it from one
 * place between them, which cannot be told. */
static void judge_received(const struct rule_ctx *ctx, struct finding *f, int rank,
			   const struct record_wrong *w, struct inquiry *inquiry)
{
	struct witnesses all = ask_all(ctx, w, inquiry->in);
	int receivers = receivers_of(ctx, rank, w), nranks = ctx->evidence->nranks;
	bool few = 2 * all.alike < receivers, sole = !few && all.alike == 1;
	int who = w->from >= 0 ? w->from : w->culprit;

	if (is_told(inquiry, rank) || (all.contributed && all.otherwise <= all.alike))
		return; /* that explains it */
	for (int i = 0; i < nranks && (few || sole); i++)
		if (inquiry->in[i])
			rank_set_add(&f->culprits, i);
	/* what several hold of one send was handed on, and the sender's own is right */
	if (!few && !sole && !all.sender &&
	    (receivers == 1 || all.alike < receivers - (w->from >= 0)))
		who = -1;
	if (!few && !sole && all.sender && all.alike < receivers)
		who = -1;
	if (!few && !sole && who >= 0)
		rank_set_add(&f->culprits, who);
	inquiry->open |= sole || (!few && who < 0) || (few && all.alike > 1);
	inquiry->vote |= few || sole || who >= 0;
}

static void judge_rank(const struct rule_ctx *ctx, struct finding *f, int rank,
		       struct inquiry *inquiry)
{
	uint32_t n;
	const struct record_wrong *wrong = evidence_wrongs(&ctx->evidence->ranks[rank], &n);

	for (uint32_t k = 0; k < n; k++) {
		if (!is_sound(ctx, &wrong[k]))
			continue;
		place_wrong(ctx, f, rank, &wrong[k]);
		if (wrong[k].sent) {
			inquiry->own = true;
			rank_set_add(&f->culprits, rank);
		} else if (inquiry->looked++ == LOOKS_MAX) {
			inquiry->open = true;
			return;
		} else {
			judge_received(ctx, f, rank, &wrong[k], inquiry);
		}
	}
}

/* Those about send buffers first: they prove. Each element once. */
static void note_wrongs(const struct rule_ctx *ctx, struct finding *f, struct inquiry *inquiry)
{
	const int nranks = ctx->evidence->nranks;

	inquiry->looked = 0;
	for (int i = 0; i < 2 * nranks; i++) {
		uint32_t n;
		const struct record_wrong *wrong =
			evidence_wrongs(&ctx->evidence->ranks[i % nranks], &n);

		for (uint32_t k = 0; k < n && finding_has_room(f); k++)
			if (is_sound(ctx, &wrong[k]) && wrong[k].sent == (i < nranks) &&
			    inquiry->looked++ < LOOKS_MAX) {
				ask_all(ctx, &wrong[k], inquiry->in);
				if (!is_told(inquiry, i % nranks))
					note_element(ctx, f, inquiry->in, &wrong[k]);
			}
	}
}

static enum confidence seen_by(const struct rule_ctx *ctx, const struct finding *f,
			       const struct inquiry *inquiry)
{
	bool most = !inquiry->own && 2 * (int)f->culprits.n >= ctx->evidence->nranks;

	return inquiry->open || most ? CONFIDENCE_INCONCLUSIVE
	       : inquiry->vote	     ? CONFIDENCE_MAJORITY
				     : CONFIDENCE_PROVED;
}

/* `own`: only if a send buffer is wrong. */
static bool judge(const struct rule_ctx *ctx, struct finding *f, bool own)
{
	struct inquiry *inquiry = must(calloc(1, sizeof(*inquiry) + (size_t)ctx->evidence->nranks));
	bool found;

	for (int i = 0; i < ctx->evidence->nranks; i++)
		judge_rank(ctx, f, i, inquiry);
	found = own ? inquiry->own : inquiry->vote || inquiry->open;
	if (found) {
		note_wrongs(ctx, f, inquiry);
		f->answer.class = CLASS_CORRUPT;
		f->answer.confidence = seen_by(ctx, f, inquiry);
		note(f, inquiry->own ? "What a rank sends is its own: nobody else's data or calls "
				       "explain it."
				     : "All send buffers hold what they must: the data were "
				       "damaged on their way, or where they arrived.");
	}
	free(inquiry);
	return found;
}

bool rule_own_data(const struct rule_ctx *ctx, struct finding *f)
{
	return judge(ctx, f, true);
}

bool rule_data(const struct rule_ctx *ctx, struct finding *f)
{
	return judge(ctx, f, false);
}
