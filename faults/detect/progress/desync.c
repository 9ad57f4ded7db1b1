/* desync.c: members' calls side by side, while they are made. */
#include "progress/desync.h"

#include "base/call_value.h"
#include "base/dtype.h"
#include "base/error.h"
#include "base/stats.h"

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

	if (atomic_load_explicit(&slot->ticket, memory_order_acquire) != ticket)
		return false;
	memcpy(record, slot, sizeof(*record));
	atomic_thread_fence(memory_order_acquire);
	return slot->ticket == ticket;
}

static bool is_collective(const struct record *r, uint32_t comm)
{
	return r->comm == comm && !call_is_pair(r->kind);
}

/* The next collective after the ticket that stands in the part. */
static bool take_next(struct part *part, uint32_t comm)
{
	const struct record_memory *memory = part->rank->memory;
	uint64_t newest = atomic_load_explicit(&memory->header.issued_ticket, memory_order_acquire);

	while (part->ticket < newest) {
		if (!take_record(memory, part->ticket + 1, &part->record))
			return false;
		part->ticket++;
		if (is_collective(&part->record, comm)) {
			part->sign = record_hash(0, &part->record);
			return true;
		}
	}
	return false;
}

static bool take_mark(struct part *part, uint32_t comm, uint64_t calls)
{
	const struct record_mark *mark = record_mark_of(part->rank->memory, comm, calls);

	if (atomic_load_explicit(&mark->calls, memory_order_acquire) != calls)
		return false;
	part->ticket = mark->ticket;
	part->sign = mark->hash;
	atomic_thread_fence(memory_order_acquire);
	return mark->calls == calls;
}

/* ---- the members' calls ---- */

static enum progress_answer compare(const struct compared *m)
{
	for (size_t i = 1; i < m->n; i++)
		if (m->parts[i].sign != m->parts[0].sign)
			return PROGRESS_YES;
	return PROGRESS_NO;
}

static enum progress_answer compare_marks(struct compared *m, uint64_t calls)
{
	for (size_t i = 0; i < m->n; i++)
		if (!take_mark(&m->parts[i], m->comm, calls))
			return PROGRESS_UNKNOWN;
	return compare(m);
}

static enum progress_answer compare_next(struct compared *m)
{
	for (size_t i = 0; i < m->n; i++) {
		struct part *part = &m->parts[i];

		part->ticket = part->state->ticket[m->comm];
		if (!take_next(part, m->comm))
			return PROGRESS_UNKNOWN;
	}
	return compare(m);
}

/* All are alike up to here. */
static void advance(const struct compared *m, uint64_t calls)
{
	for (size_t i = 0; i < m->n; i++) {
		struct desync_state *state = m->parts[i].state;

		state->alike[m->comm] = calls;
		state->ticket[m->comm] = m->parts[i].ticket;
	}
}

/* From mark to mark: the first that differs, or the last one up to `most`. *at: of how many
 * calls. */
static enum progress_answer pass_marks(struct compared *m, uint64_t most, uint64_t *at)
{
	uint64_t last = most / RECORD_STRIDE * RECORD_STRIDE;
	uint64_t alike = m->parts[0].state->alike[m->comm];
	enum progress_answer answer = last > alike ? compare_marks(m, last) : PROGRESS_UNKNOWN;

	if (answer == PROGRESS_NO)
		advance(m, last);
	if (answer != PROGRESS_YES)
		return answer;
	for (*at = (alike / RECORD_STRIDE + 1) * RECORD_STRIDE; *at < last; *at += RECORD_STRIDE) {
		answer = compare_marks(m, *at);
		if (answer == PROGRESS_YES)
			return answer;
		if (answer == PROGRESS_NO)
			advance(m, *at);
	}
	return compare_marks(m, last);
}

/* Call by call, up to number `most` or to one that differs, which is in the parts then. */
static enum progress_answer pass_calls(struct compared *m, uint64_t most)
{
	const struct desync_state *state = m->parts[0].state;
	enum progress_answer answer = PROGRESS_NO;

	while (state->alike[m->comm] < most && answer == PROGRESS_NO) {
		answer = compare_next(m);
		if (answer == PROGRESS_NO)
			advance(m, state->alike[m->comm] + 1);
	}
	return answer;
}

/* ---- in words ---- */

/* A majority of all the communicator's ranks: some may be on other hosts. */
static const struct part *majority_of(const struct compared *m)
{
	int32_t nranks = m->parts[0].rank->memory->header.inits[m->comm].nranks;
	uint64_t *signs = must(malloc(m->n * sizeof(*signs)));
	const struct part *most = m->parts;
	struct vote vote;

	for (size_t i = 0; i < m->n; i++)
		signs[i] = m->parts[i].sign;
	vote = vote_words(signs, m->n);
	free(signs);
	if (2 * vote.votes <= (nranks > 0 && (size_t)nranks > m->n ? (size_t)nranks : m->n))
		return NULL;
	while (most->sign != vote.most)
		most++;
	return most;
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
	text_add(text, len, "%s %" PRIu64 " %s", call_kind_name((enum call_kind)r->kind), r->count,
		 dtype_name((enum dtype)r->dtype));
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

static bool is_first(const struct compared *m, const struct part *part)
{
	for (const struct part *p = m->parts; p < part; p++)
		if (p->sign == part->sign)
			return false;
	return true;
}

/* Each side's call, the majority's last. */
static void append_sides(char *text, size_t len, const struct compared *m, const struct part *most)
{
	const char *between = ": ";

	for (size_t i = 0; i < m->n; i++) {
		const struct part *part = &m->parts[i];
		char ranks[sizeof(((struct desync *)0)->ranks)] = "";

		if (part->sign == most->sign || !is_first(m, part))
			continue;
		append_ranks(ranks, sizeof(ranks), m, part->sign, false);
		text_add(text, len, "%srank%s %s: ", between, strchr(ranks, ',') ? "s" : "", ranks);
		append_call(text, len, m, &part->record);
		between = ", ";
	}
	text_add(text, len, ", the others: ");
	append_call(text, len, m, &most->record);
}

/* The parts differ. Returns false for a tie. */
static bool take_sides(const struct compared *m, struct desync *found)
{
	const struct part *most = majority_of(m);

	for (size_t i = 0; i < m->n; i++)
		m->parts[i].state->differs |= 1u << m->comm;
	if (!most)
		return false;
	*found = (struct desync){ .comm = m->comm };
	append_ranks(found->ranks, sizeof(found->ranks), m, most->sign, true);
	return true;
}

/* The calls are in the parts. */
static enum progress_answer report_call(const struct compared *m, struct desync *found)
{
	const struct part *most = majority_of(m);

	if (!take_sides(m, found))
		return PROGRESS_UNKNOWN;
	found->low = found->high = most->record.seq;
	text_add(found->text, sizeof(found->text),
		 "ranks made different calls at call %" PRIu64 " of communicator %u", found->low,
		 found->comm);
	append_sides(found->text, sizeof(found->text), m, most);
	return PROGRESS_YES;
}

/* The calls have left the rings: two marks are in the parts. */
static enum progress_answer report_marks(const struct compared *m, uint64_t low, uint64_t high,
					 struct desync *found)
{
	if (!take_sides(m, found))
		return PROGRESS_UNKNOWN;
	found->low = low;
	found->high = high;
	text_add(found->text, sizeof(found->text),
		 "ranks made different calls, the first from collective %" PRIu64 " to %" PRIu64
		 " of communicator %u: rank%s %s others than the rest",
		 low, high, found->comm, strchr(found->ranks, ',') ? "s" : "", found->ranks);
	return PROGRESS_YES;
}

/* ---- all communicators ---- */

/* If a member is new, the comparison of this communicator starts over. */
static void begin(const struct compared *m)
{
	uint64_t alike = m->parts[0].state->alike[m->comm];
	bool same = true;

	for (size_t i = 1; i < m->n; i++)
		same &= m->parts[i].state->alike[m->comm] == alike;
	for (size_t i = 0; i < m->n && !same; i++) {
		m->parts[i].state->alike[m->comm] = 0;
		m->parts[i].state->ticket[m->comm] = 0;
	}
}

/* Compares what the members have made since the last time. */
static enum progress_answer look(struct compared *m, struct desync *found)
{
	const struct desync_state *state = m->parts[0].state;
	uint64_t most = UINT64_MAX, mark;
	enum progress_answer answer;

	begin(m);
	for (size_t i = 0; i < m->n; i++) {
		uint64_t calls = m->parts[i].rank->view->comms[m->comm].calls;

		most = calls < most ? calls : most;
	}
	if (pass_marks(m, most, &mark) == PROGRESS_YES) {
		if (pass_calls(m, mark) == PROGRESS_YES)
			return report_call(m, found);
		answer = compare_marks(m, mark);
		return answer == PROGRESS_YES
			       ? report_marks(m, state->alike[m->comm] + 1, mark, found)
			       : answer;
	}
	if (most > state->alike[m->comm] + RECORD_STRIDE)
		return PROGRESS_UNKNOWN; /* the next mark will tell */
	answer = pass_calls(m, most);
	return answer == PROGRESS_YES ? report_call(m, found) : answer;
}

/* The members of this rank's communicator; none where a rank before it is one. */
static void gather(struct compared *m, const struct progress *p, struct desync_state *states,
		   int first)
{
	uint64_t id = p->ranks[first].view->comms[m->comm].id;

	m->n = 0;
	for (int i = 0; i < p->nranks; i++) {
		if (p->ranks[i].view->comms[m->comm].id != id || !p->ranks[i].memory)
			continue;
		if (i < first)
			return;
		m->parts[m->n].rank = &p->ranks[i];
		m->parts[m->n++].state = &states[i];
	}
}

enum progress_answer progress_desync(const struct progress *p, struct desync_state *states,
				     struct desync *found)
{
	struct compared m = { .parts = must(calloc((size_t)p->nranks + 1, sizeof(*m.parts))) };
	enum progress_answer any = PROGRESS_NO, one;

	for (m.comm = 0; m.comm < VIEW_COMMS && any != PROGRESS_YES; m.comm++)
		for (int i = 0; i < p->nranks && any != PROGRESS_YES; i++) {
			const struct view_comm *comm = &p->ranks[i].view->comms[m.comm];

			if (comm->id == 0 || comm->calls == 0 || states[i].differs & 1u << m.comm)
				continue;
			gather(&m, p, states, i);
			one = m.n >= LEAST_MEMBERS ? look(&m, found) : PROGRESS_NO;
			any = one == PROGRESS_NO ? any : one;
		}
	free(m.parts);
	return any;
}

/* ---- at the end ---- */

static int compare_ids(const void *a, const void *b)
{
	const struct view_comm *x = *(const struct view_comm *const *)a;
	const struct view_comm *y = *(const struct view_comm *const *)b;

	return (x->id > y->id) - (x->id < y->id);
}

/* Two members of one communicator: as many collectives cannot be others by right. */
static enum desync_counts compare_two(const struct view_comm *a, const struct view_comm *b)
{
	if (a->hash != b->hash && a->calls == b->calls)
		return COUNTS_DIFFERENT;
	return a->seq != b->seq || a->hash != b->hash ? COUNTS_UNEQUAL : COUNTS_ALIKE;
}

enum desync_counts progress_compare_counts(const struct progress *p)
{
	const struct view_comm **comms = must(malloc(((size_t)p->nranks + 1) * sizeof(*comms)));
	enum desync_counts worst = COUNTS_ALIKE, one;

	for (int c = 0; c < VIEW_COMMS; c++) {
		size_t known = 0;

		for (int i = 0; i < p->nranks; i++)
			if (p->ranks[i].view->rank >= 0)
				comms[known++] = &p->ranks[i].view->comms[c];
		qsort(comms, known, sizeof(*comms), compare_ids);
		for (size_t i = 1; i < known; i++) {
			if (comms[i]->id != comms[i - 1]->id)
				continue;
			one = compare_two(comms[i], comms[i - 1]);
			worst = one > worst ? one : worst;
		}
	}
	free(comms);
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
