/* unison.c: ranks' calls side by side, in passing. */
#include "watch/unison.h"

#include "base/call_value.h"
#include "base/dtype.h"
#include "base/error.h"

#define LEAST_MEMBERS 3 /* of whom two can agree against one */

/* What is compared of a rank at one number of collectives. */
struct part {
	const struct unison_member *member;
	uint64_t ticket, sign; /* of that call; `sign` is equal for equal calls */
	struct record record;  /* the call, where it is one and no mark */
};

/* The members of one communicator. */
struct team {
	uint32_t comm;
	struct part *parts;
	size_t n;
};

enum answer { UNKNOWN, ALIKE, DIFFERENT };

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
	return r->comm == comm && r->kind != CALL_SEND && r->kind != CALL_RECV;
}

/* The next collective after the ticket that stands in the part. */
static bool take_next(struct part *part, uint32_t comm)
{
	const struct record_memory *memory = part->member->memory;
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
	const struct record_mark *mark = record_mark_of(part->member->memory, comm, calls);

	if (atomic_load_explicit(&mark->calls, memory_order_acquire) != calls)
		return false;
	part->ticket = mark->ticket;
	part->sign = mark->hash;
	atomic_thread_fence(memory_order_acquire);
	return mark->calls == calls;
}

/* ---- a team's calls ---- */

static enum answer compare(const struct team *team)
{
	for (size_t i = 1; i < team->n; i++)
		if (team->parts[i].sign != team->parts[0].sign)
			return DIFFERENT;
	return ALIKE;
}

static enum answer compare_marks(struct team *team, uint64_t calls)
{
	for (size_t i = 0; i < team->n; i++)
		if (!take_mark(&team->parts[i], team->comm, calls))
			return UNKNOWN;
	return compare(team);
}

static enum answer compare_next(struct team *team)
{
	for (size_t i = 0; i < team->n; i++) {
		struct part *part = &team->parts[i];

		part->ticket = part->member->state->ticket[team->comm];
		if (!take_next(part, team->comm))
			return UNKNOWN;
	}
	return compare(team);
}

/* All are alike up to here. */
static void advance(const struct team *team, uint64_t calls)
{
	for (size_t i = 0; i < team->n; i++) {
		struct unison_rank *state = team->parts[i].member->state;

		state->alike[team->comm] = calls;
		state->ticket[team->comm] = team->parts[i].ticket;
	}
}

/* From mark to mark: the first that differs, or the last one up to `most`. *at: of how many calls. */
static enum answer pass_marks(struct team *team, uint64_t most, uint64_t *at)
{
	uint64_t last = most / RECORD_STRIDE * RECORD_STRIDE;
	uint64_t alike = team->parts[0].member->state->alike[team->comm];
	enum answer answer = last > alike ? compare_marks(team, last) : UNKNOWN;

	if (answer == ALIKE)
		advance(team, last);
	if (answer != DIFFERENT)
		return answer;
	for (*at = (alike / RECORD_STRIDE + 1) * RECORD_STRIDE; *at < last; *at += RECORD_STRIDE) {
		answer = compare_marks(team, *at);
		if (answer == DIFFERENT)
			return answer;
		if (answer == ALIKE)
			advance(team, *at);
	}
	return compare_marks(team, last);
}

/* Call by call, up to number `most` or to one that differs, which is in the parts then. */
static enum answer pass_calls(struct team *team, uint64_t most)
{
	const struct unison_rank *state = team->parts[0].member->state;
	enum answer answer = ALIKE;

	while (state->alike[team->comm] < most && answer == ALIKE) {
		answer = compare_next(team);
		if (answer == ALIKE)
			advance(team, state->alike[team->comm] + 1);
	}
	return answer;
}

/* ---- in words ---- */

/* Of all the communicator's ranks: some may be on other hosts. */
static const struct part *majority_of(const struct team *team)
{
	int32_t nranks = team->parts[0].member->memory->header.inits[team->comm].nranks;
	size_t all = nranks > 0 && (size_t)nranks > team->n ? (size_t)nranks : team->n;

	for (size_t i = 0; i < team->n; i++) {
		size_t same = 0;

		for (size_t k = 0; k < team->n; k++)
			same += team->parts[k].sign == team->parts[i].sign;
		if (2 * same > all)
			return &team->parts[i];
	}
	return NULL;
}

/* Its number in the run, of a member's in the communicator. */
static int rank_of(const struct team *team, int place)
{
	for (size_t i = 0; i < team->n; i++)
		if (team->parts[i].member->view->comms[team->comm].rank == place)
			return team->parts[i].member->view->rank;
	return place;
}

/* "AllReduce 1024 float sum", "Broadcast 7 half root 2". */
static void append_call(char *text, size_t len, const struct team *team, const struct record *r)
{
	text_add(text, len, "%s %" PRIu64 " %s", call_kind_name((enum call_kind)r->kind), r->count,
		 r->dtype < DT_COUNT ? dtype_name((enum dtype)r->dtype) : "?");
	if (r->op >= 0 && r->op < OP_COUNT)
		text_add(text, len, " %s", redop_name((enum redop)r->op));
	if (r->peer >= 0)
		text_add(text, len, " root %d", rank_of(team, r->peer));
}

/* Those whose sign this is, or (`others`) is not, as far as there is room: "1,3". */
static void append_ranks(char *text, size_t len, const struct team *team, uint64_t sign,
			 bool others)
{
	const char *comma = "";

	for (size_t i = 0; i < team->n; i++)
		if ((team->parts[i].sign == sign) != others && strlen(text) + 13 < len) {
			text_add(text, len, "%s%d", comma, team->parts[i].member->view->rank);
			comma = ",";
		}
}

static bool is_first(const struct team *team, const struct part *part)
{
	for (const struct part *p = team->parts; p < part; p++)
		if (p->sign == part->sign)
			return false;
	return true;
}

/* Each side's call, the majority's last. */
static void append_sides(char *text, size_t len, const struct team *team, const struct part *most)
{
	const char *between = ": ";

	for (size_t i = 0; i < team->n; i++) {
		const struct part *part = &team->parts[i];
		char ranks[sizeof(((struct unison_found *)0)->ranks)] = "";

		if (part->sign == most->sign || !is_first(team, part))
			continue;
		append_ranks(ranks, sizeof(ranks), team, part->sign, false);
		text_add(text, len, "%srank%s %s: ", between, strchr(ranks, ',') ? "s" : "", ranks);
		append_call(text, len, team, &part->record);
		between = ", ";
	}
	text_add(text, len, ", the others: ");
	append_call(text, len, team, &most->record);
}

/* Of what stands in the parts. Returns false for a tie, of which no more is said. */
static bool part_ways(const struct team *team, struct unison_found *found)
{
	const struct part *most = majority_of(team);

	for (size_t i = 0; i < team->n; i++)
		team->parts[i].member->state->parted |= 1u << team->comm;
	if (!most)
		return false;
	*found = (struct unison_found){ .comm = team->comm };
	append_ranks(found->ranks, sizeof(found->ranks), team, most->sign, true);
	return true;
}

/* The calls are in the parts. */
static bool report_call(const struct team *team, struct unison_found *found)
{
	const struct part *most = majority_of(team);

	if (!part_ways(team, found))
		return false;
	found->low = found->high = most->record.seq;
	text_add(found->text, sizeof(found->text),
		 "ranks made different calls at call %" PRIu64 " of communicator %u", found->low,
		 found->comm);
	append_sides(found->text, sizeof(found->text), team, most);
	return true;
}

/* The calls have left the rings: two marks are in the parts. */
static bool report_marks(const struct team *team, uint64_t low, uint64_t high,
			 struct unison_found *found)
{
	if (!part_ways(team, found))
		return false;
	found->low = low;
	found->high = high;
	text_add(found->text, sizeof(found->text),
		 "ranks made different calls, the first from collective %" PRIu64 " to %" PRIu64
		 " of communicator %u: rank%s %s others than the rest",
		 low, high, found->comm, strchr(found->ranks, ',') ? "s" : "", found->ranks);
	return true;
}

/* ---- all teams ---- */

/* Members of whom one has only just been seen begin anew. */
static void begin(const struct team *team)
{
	uint64_t alike = team->parts[0].member->state->alike[team->comm];
	bool same = true;

	for (size_t i = 1; i < team->n; i++)
		same &= team->parts[i].member->state->alike[team->comm] == alike;
	for (size_t i = 0; i < team->n && !same; i++) {
		team->parts[i].member->state->alike[team->comm] = 0;
		team->parts[i].member->state->ticket[team->comm] = 0;
	}
}

/* What the team has made since the last time. */
static bool look(struct team *team, struct unison_found *found)
{
	const struct unison_rank *state = team->parts[0].member->state;
	uint64_t most = UINT64_MAX, mark;

	begin(team);
	for (size_t i = 0; i < team->n; i++) {
		uint64_t calls = team->parts[i].member->view->comms[team->comm].calls;

		most = calls < most ? calls : most;
	}
	if (pass_marks(team, most, &mark) == DIFFERENT) {
		if (pass_calls(team, mark) == DIFFERENT)
			return report_call(team, found);
		return compare_marks(team, mark) == DIFFERENT &&
		       report_marks(team, state->alike[team->comm] + 1, mark, found);
	}
	if (most > state->alike[team->comm] + RECORD_STRIDE)
		return false; /* the next mark is waited for */
	return pass_calls(team, most) == DIFFERENT && report_call(team, found);
}

/* The members of this one's communicator, to `team`, if it is the first of them. */
static void gather(struct team *team, const struct unison_member *members, size_t n, size_t first)
{
	uint64_t id = members[first].view->comms[team->comm].id;

	team->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (members[i].view->comms[team->comm].id != id)
			continue;
		if (i < first)
			return;
		team->parts[team->n++].member = &members[i];
	}
}

bool unison_look(const struct unison_member *members, size_t n, struct unison_found *found)
{
	struct team team = { .parts = must(calloc(n + 1, sizeof(*team.parts))) };
	bool any = false;

	for (team.comm = 0; team.comm < VIEW_COMMS && !any; team.comm++)
		for (size_t i = 0; i < n && !any; i++) {
			const struct view_comm *comm = &members[i].view->comms[team.comm];

			if (comm->id == 0 || comm->calls == 0 ||
			    members[i].state->parted & 1u << team.comm)
				continue;
			gather(&team, members, n, i);
			any = team.n >= LEAST_MEMBERS && look(&team, found);
		}
	free(team.parts);
	return any;
}
