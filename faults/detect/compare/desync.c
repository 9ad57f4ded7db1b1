/* desync.c: members' calls side by side, while they are made. */
#include "compare/desync.h"

#include "base/call_value.h"
#include "base/dtype.h"
#include "base/error.h"

#define LEAST_MEMBERS 3 /* two can agree against one */

/* One side of a comparison, at one number of collectives. */
struct part {
	const struct progress_rank *rank;
	struct desync_state *state;
	uint64_t ticket, sign; /* of that call; `sign` is equal for equal calls */
	struct record record;  /* the call, where it is one and no mark */
};

/* The members of one communicator. */
struct compared {
	uint32_t comm;
	struct part *parts;
	size_t n;
};

/* ---- what a memory holds ---- */

/* Takes the record with this ticket, unless it was overwritten. */
static bool take_record(const struct record_memory *memory, uint64_t ticket, struct record *record)
{
	const struct record *slot = &memory->ring[ticket & (RECORD_RING - 1)];

	if (record_get(&slot->ticket) != ticket)
		return false;
	memcpy(record, slot, sizeof(*record));
	atomic_thread_fence(memory_order_acquire);
	return slot->ticket == ticket;
}

/* The next collective after the ticket that stands in the part. */
static bool take_next(struct part *part, uint32_t comm)
{
	const struct record_memory *memory = part->rank->memory;
	uint64_t newest = record_get(&memory->header.issued_ticket);
	const struct record *r = &part->record;

	part->ticket = part->state->ticket[comm];
	while (part->ticket < newest && take_record(memory, part->ticket + 1, &part->record)) {
		part->ticket++;
		part->sign = record_hash(0, r);
		if (r->comm == comm && !call_is_pair(r->kind))
			return true;
	}
	return false;
}

static bool take_mark(struct part *part, uint32_t comm, uint64_t calls)
{
	const struct record_mark *mark = record_mark_of(part->rank->memory, comm, calls);

	if (record_get(&mark->calls) != calls)
		return false;
	part->ticket = mark->ticket;
	part->sign = mark->hash;
	atomic_thread_fence(memory_order_acquire);
	return mark->calls == calls;
}

/* Compares the members' marks of so many calls; 0: the next call of each. All are alike up to there then, or not. */
static enum progress_answer compare(struct compared *m, uint64_t mark)
{
	bool differ = false;

	for (size_t i = 0; i < m->n; i++) {
		struct part *part = &m->parts[i];

		if (!(mark ? take_mark(part, m->comm, mark) : take_next(part, m->comm)))
			return PROGRESS_UNKNOWN;
		differ |= part->sign != m->parts[0].sign;
	}
	for (size_t i = 0; i < m->n && !differ; i++) {
		struct desync_state *state = m->parts[i].state;

		state->alike[m->comm] = mark ? mark : state->alike[m->comm] + 1;
		state->ticket[m->comm] = m->parts[i].ticket;
	}
	return differ ? PROGRESS_YES : PROGRESS_NO;
}

/* From mark to mark: the first that differs, or the last up to `most`. *at: of how many calls. */
static enum progress_answer pass_marks(struct compared *m, uint64_t most, uint64_t *at)
{
	uint64_t last = most / RECORD_STRIDE * RECORD_STRIDE;
	uint64_t alike = m->parts[0].state->alike[m->comm];
	enum progress_answer answer = last > alike ? compare(m, last) : PROGRESS_UNKNOWN;

	if (answer != PROGRESS_YES)
		return answer;
	for (*at = (alike / RECORD_STRIDE + 1) * RECORD_STRIDE; *at < last; *at += RECORD_STRIDE)
		if (compare(m, *at) == PROGRESS_YES)
			return PROGRESS_YES;
	return compare(m, last);
}

/* Call by call, up to number `most` or to one that differs, which is in the parts then. */
static enum progress_answer pass_calls(struct compared *m, uint64_t most)
{
	enum progress_answer answer = PROGRESS_NO;

	while (m->parts[0].state->alike[m->comm] < most && answer == PROGRESS_NO)
		answer = compare(m, 0);
	return answer;
}

/* ---- in words ---- */

/* A part of the majority of all the communicator's ranks, which may be on other hosts; NULL: there is none. */
static const struct part *majority_of(const struct compared *m)
{
	int32_t nranks = m->parts[0].rank->memory->header.inits[m->comm].nranks;
	size_t all = nranks > 0 && (size_t)nranks > m->n ? (size_t)nranks : m->n;

	for (const struct part *most = m->parts; most < m->parts + m->n; most++) {
		size_t votes = 0;

		for (size_t i = 0; i < m->n; i++)
			votes += m->parts[i].sign == most->sign;
		if (2 * votes > all)
			return most;
	}
	return NULL;
}

/* The number in the run of the communicator's rank `place`. */
static int rank_of(const struct compared *m, int place)
{
	for (size_t i = 0; i < m->n; i++)
		if (m->parts[i].rank->view->comms[m->comm].rank == place)
			return m->parts[i].rank->view->rank;
	return place;
}

/* "AllReduce 1024 float sum", "Broadcast 7 half root 2". */
static void append_call(char *text, size_t len, const struct compared *m, const struct record *r)
{
	text_add(text, len, "%s", call_kind_name((enum call_kind)r->kind));
	if (r->dtype < DT_COUNT || r->count > 0) /* else its amounts are not recorded */
		text_add(text, len, " %lu %s", r->count,
			 r->dtype < DT_COUNT ? dtype_name((enum dtype)r->dtype) : "elements");
	if (r->op >= 0 && r->op < OP_COUNT)
		text_add(text, len, " %s", redop_name((enum redop)r->op));
	if (r->peer >= 0)
		text_add(text, len, " root %d", rank_of(m, r->peer));
}

/* The ranks with this sign, or (`others`) without it, as far as there is room: "1,3". */
static void append_ranks(char *text, size_t len, const struct compared *m, uint64_t sign,
			 bool others)
{
	const char *comma = "";

	for (size_t i = 0; i < m->n; i++)
		if ((m->parts[i].sign == sign) != others && strlen(text) + 13 < len) {
			text_add(text, len, "%s%d", comma, m->parts[i].rank->view->rank);
			comma = ",";
		}
}

/* Each side's call, the majority's last. */
static void append_sides(char *text, size_t len, const struct compared *m, const struct part *most)
{
	const char *between = ": ";

	for (const struct part *part = m->parts; part < m->parts + m->n; part++) {
		char ranks[sizeof(((struct desync *)0)->ranks)] = "";
		const struct part *first = m->parts;

		while (first->sign != part->sign)
			first++;
		if (part->sign == most->sign || part != first)
			continue;
		append_ranks(ranks, sizeof(ranks), m, part->sign, false);
		text_add(text, len, "%srank%s %s: ", between, strchr(ranks, ',') ? "s" : "", ranks);
		append_call(text, len, m, &part->record);
		between = ", ";
	}
	text_add(text, len, ", the others: ");
	append_call(text, len, m, &most->record);
}

/* The parts differ: in one call, or (`mark`) in one of those up to that mark, gone from the rings. UNKNOWN: a tie. */
static enum progress_answer report(const struct compared *m, uint64_t mark, struct desync *found)
{
	const struct part *most = majority_of(m);

	for (size_t i = 0; i < m->n; i++)
		m->parts[i].state->differs |= 1u << m->comm;
	if (!most)
		return PROGRESS_UNKNOWN;
	*found = (struct desync){ .comm = m->comm,
				  .low = mark ? most->state->alike[m->comm] + 1 : most->record.seq,
				  .high = mark ? mark : most->record.seq };
	append_ranks(found->ranks, sizeof(found->ranks), m, most->sign, true);
	text_add(found->text, sizeof(found->text), "ranks made different calls%s",
		 mark ? ", the first from collective" : " at call");
	text_add(found->text, sizeof(found->text), " %lu", found->low);
	if (mark)
		text_add(found->text, sizeof(found->text), " to %lu", mark);
	text_add(found->text, sizeof(found->text), " of communicator %u", found->comm);
	if (mark)
		text_add(found->text, sizeof(found->text), ": rank%s %s others than the rest",
			 strchr(found->ranks, ',') ? "s" : "", found->ranks);
	else
		append_sides(found->text, sizeof(found->text), m, most);
	return PROGRESS_YES;
}

/* ---- all communicators ---- */

/* The number of collectives that all members have made. If a member is new, the comparison starts over. */
static uint64_t begin(const struct compared *m)
{
	uint64_t alike = m->parts[0].state->alike[m->comm], most = UINT64_MAX;
	bool same = true;

	for (size_t i = 0; i < m->n; i++) {
		uint64_t calls = m->parts[i].rank->view->comms[m->comm].calls;

		same &= m->parts[i].state->alike[m->comm] == alike;
		most = calls < most ? calls : most;
	}
	for (size_t i = 0; i < m->n && !same; i++) {
		m->parts[i].state->alike[m->comm] = 0;
		m->parts[i].state->ticket[m->comm] = 0;
	}
	return most;
}

/* Compares what the members have made since the last time. */
static enum progress_answer look(struct compared *m, struct desync *found)
{
	const struct desync_state *state = m->parts[0].state;
	uint64_t most = begin(m), mark = 0;
	enum progress_answer answer;

	if (pass_marks(m, most, &mark) == PROGRESS_YES) {
		if (pass_calls(m, mark) == PROGRESS_YES)
			return report(m, 0, found);
		answer = compare(m, mark);
		return answer == PROGRESS_YES ? report(m, mark, found) : answer;
	}
	if (most > state->alike[m->comm] + RECORD_STRIDE)
		return PROGRESS_UNKNOWN; /* the next mark will tell */
	answer = pass_calls(m, most);
	return answer == PROGRESS_YES ? report(m, 0, found) : answer;
}

/* Takes the members whose claims these are, as far as they are compared. */
static void take_members(struct compared *m, const struct progress *p, struct desync_state *states,
			 const struct claim *claims, size_t n)
{
	m->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct progress_rank *rank = &p->ranks[claims[i].rank];

		if (rank->memory)
			m->parts[m->n++] =
				(struct part){ .rank = rank, .state = &states[claims[i].rank] };
	}
}

enum progress_answer progress_desync(const struct progress *p, struct desync_state *states,
				     struct desync *found)
{
	struct compared m = { .parts = must(calloc((size_t)p->nranks + 1, sizeof(*m.parts))) };
	enum progress_answer any = PROGRESS_NO, one;
	size_t n, end;

	for (m.comm = 0; m.comm < VIEW_COMMS && any != PROGRESS_YES; m.comm++) {
		const struct members all = { .comm = m.comm, .nranks = p->nranks };
		struct claim *claims;

		if (!members_called(&all, p))
			continue;
		claims = progress_claims(p, m.comm, &n);
		for (size_t i = 0; i < n && any != PROGRESS_YES; i = end) {
			end = claims_end(claims, n, i);
			take_members(&m, p, states, claims + i, end - i);
			if (!claims[i].id || m.n < LEAST_MEMBERS ||
			    m.parts[0].state->differs & 1u << m.comm)
				continue;
			one = look(&m, found);
			any = one == PROGRESS_NO ? any : one;
		}
		free(claims);
	}
	free(m.parts);
	return any;
}

enum desync_counts progress_compare_counts(const struct progress *p)
{
	enum desync_counts worst = COUNTS_ALIKE;
	const struct rank_view *view, *before = NULL;
	const struct view_comm *a, *b;
	size_t n;

	for (int c = 0; c < VIEW_COMMS; c++) {
		struct claim *claims = progress_claims(p, c, &n);

		for (size_t i = 0; i < n; i++) {
			view = p->ranks[claims[i].rank].view;
			if (view->rank < 0)
				continue;
			a = before ? &before->comms[c] : NULL;
			b = &view->comms[c];
			before = view;
			if (!a || a->id != claims[i].id)
				continue;
			if (a->hash != b->hash && a->calls == b->calls)
				worst = COUNTS_DIFFERENT; /* as many cannot be others by right */
			else if (worst < COUNTS_UNEQUAL && (a->seq != b->seq || a->hash != b->hash))
				worst = COUNTS_UNEQUAL;
		}
		free(claims);
	}
	return worst;
}

bool progress_any_pairs(const struct progress *p)
{
	for (int i = 0; i < p->nranks; i++)
		for (int c = 0; c < VIEW_COMMS; c++) {
			const struct rank_view *view = p->ranks[i].view;

			if (view->rank >= 0 && view->comms[c].seq > view->comms[c].calls)
				return true;
		}
	return false;
}
