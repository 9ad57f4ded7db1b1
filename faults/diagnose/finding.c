/* finding.c: where the guilty and the others stand, in words and numbers. */
#include "diagnose/rule.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/call_value.h"
#include "base/dtype.h"
#include "base/rank_list.h"
#include "record/verdict.h"

void inquiry_say(struct diagnosis *d, const char *fmt, ...)
{
	va_list args;

	if (d->nlines == DIAGNOSIS_LINES)
		return;
	va_start(args, fmt);
	vsnprintf(d->lines[d->nlines++], sizeof(d->lines[0]), fmt, args);
	va_end(args);
}

void inquiry_accuse(struct inquiry *q, int rank)
{
	q->nguilty += !q->guilty[rank];
	q->guilty[rank] = true;
}

int inquiry_number(const struct inquiry *q, int rank)
{
	return q->evidence->numbers ? q->evidence->numbers[rank] : rank;
}

const char *inquiry_words(const struct inquiry *q, const bool *in, char *buf, size_t len)
{
	int n = q->evidence->nranks, most = 0;
	bool *marks;

	if (!q->evidence->numbers)
		return rank_list_words(in, n, buf, len);
	for (int i = 0; i < n; i++)
		most = inquiry_number(q, i) > most ? inquiry_number(q, i) : most;
	marks = calloc((size_t)most + 1, sizeof(*marks));
	for (int i = 0; marks && i < n; i++)
		marks[inquiry_number(q, i)] = in[i];
	rank_list_words(marks, marks ? most + 1 : 0, buf, len);
	free(marks);
	return buf;
}

void inquiry_name_guilty(struct inquiry *q)
{
	size_t at = 0, len = sizeof(q->d->ranks);

	for (int i = 0; i < q->evidence->nranks; i++) {
		int step;

		if (!q->guilty[i])
			continue;
		step = snprintf(q->d->ranks + at, len - at, "%s%d", at ? "," : "",
				inquiry_number(q, i));
		if (step < 0 || (size_t)step >= len - at) {
			q->d->ranks[at] = '\0'; /* no room: the list stays whole numbers */
			inquiry_say(q->d, "%zu ranks are guilty; the list is cut.", q->nguilty);
			break;
		}
		at += (size_t)step;
	}
	if (at == 0)
		snprintf(q->d->ranks, len, "-");
}

const char *inquiry_call(const struct record *r, char *buf, size_t len)
{
	if (!r) {
		snprintf(buf, len, "no call");
		return buf;
	}
	snprintf(buf, len, "%s count %" PRIu64 " %s", call_kind_name((enum call_kind)r->kind),
		 r->count, r->dtype < DT_COUNT ? dtype_name((enum dtype)r->dtype) : "?");
	if (r->op >= 0 && r->op < OP_COUNT && strlen(buf) + 12 < len)
		sprintf(buf + strlen(buf), " %s", redop_name((enum redop)r->op));
	if (r->peer >= 0 && strlen(buf) + 20 < len)
		sprintf(buf + strlen(buf), " %s %d",
			r->kind == CALL_SEND   ? "to"
			: r->kind == CALL_RECV ? "from"
					       : "root",
			r->peer);
	return buf;
}

bool inquiry_died(const struct rank_view *v)
{
	return v->process >= PROCESS_EXITED && !view_finished(v);
}

uint64_t inquiry_completed(const struct inquiry *q, int which)
{
	const struct evidence_rank *rank = &q->evidence->ranks[which];
	const struct track *t = &q->align.tracks[which];
	uint32_t comm = q->align.comm;
	const struct evidence_index *x = &rank->index;
	const struct record *r = t->final;

	if (t->plain) { /* as below, by arithmetic */
		uint64_t done = rank->view.completed;

		done = done < x->last_ticket ? done : x->last_ticket;
		return done < x->first_ticket ? t->first - 1 : t->first + (done - x->first_ticket);
	}
	while (r && r->ticket > rank->view.completed) {
		if (r == t->oldest)
			return t->first - 1;
		r--;
		while (r > t->oldest && r->comm != comm)
			r--;
	}
	return r ? (r->comm == comm ? r->seq : t->first - 1) : 0;
}

/* The first call that not all ranks completed, -1 when nobody waits for one. */
int64_t inquiry_hang_point(const struct inquiry *q)
{
	const struct align *a = &q->align;
	uint64_t least = UINT64_MAX, done = UINT64_MAX;

	for (int i = 0; i < a->nranks; i++) {
		const struct track *t = &a->tracks[i];
		uint64_t at = t->last + !t->inside;

		if (!t->known)
			continue;
		if (at <= a->top && at < least)
			least = at;
		at = inquiry_completed(q, i) + 1;
		done = at < done ? at : done;
	}
	if (least != UINT64_MAX)
		return (int64_t)least;
	return done <= a->top ? (int64_t)done : -1;
}

/* "is stopped", "was killed by SIGKILL", "exited with 3". */
static const char *process_words(const struct rank_view *v, char *buf, size_t len)
{
	const char *verb = v->process == PROCESS_EXITED	  ? ""
			   : v->process == PROCESS_KILLED ? "was "
							  : "is ";
	char how[48];

	snprintf(buf, len, "%s%s", verb, view_process(v, how, sizeof(how)));
	return buf;
}

void inquiry_say_rank(struct inquiry *q, int rank, const char *tail)
{
	const struct evidence_rank *r = &q->evidence->ranks[rank];
	const struct track *t = &q->align.tracks[rank];
	int number = inquiry_number(q, rank);
	char how[64], doing[64] = "";

	if (r->view.process == PROCESS_ALIVE && r->syscall[0])
		snprintf(doing, sizeof(doing), " in system call %s", r->syscall);
	else if (r->view.process == PROCESS_ALIVE && r->cpu_share >= 0)
		snprintf(doing, sizeof(doing), ", running or ready to run %.0f %% of the time",
			 r->cpu_share * 100);
	process_words(&r->view, how, sizeof(how));
	if (!t->known)
		inquiry_say(q->d, "Rank %d %s%s; its calls are not known here%s.", number, how,
			    doing, tail);
	else if (t->last == 0)
		inquiry_say(q->d, "Rank %d %s%s: no calls made on communicator %u%s.", number, how,
			    doing, q->align.comm, tail);
	else
		inquiry_say(q->d,
			    "Rank %d %s%s: %" PRIu64
			    " call%s made on communicator %u, the last one %s%s.",
			    number, how, doing, t->last, t->last == 1 ? "" : "s", q->align.comm,
			    t->inside ? "not returned" : "returned", tail);
}

/* Not guilty, and made call `seq` as the reference has it. Who made another one in its place is not
 * among them. */
static bool made_ours(const struct inquiry *q, int rank, uint64_t seq, const struct record *ours)
{
	const struct track *t = &q->align.tracks[rank];
	uint64_t sig = align_sig(&q->align, rank, seq);

	return t->known && !q->guilty[rank] && t->last >= seq &&
	       (!sig || sig == align_signed(&q->align, ours));
}

/* What all that made_ours() have in common, in words; *n: how many they are. Of sends and receives
 * partner, amount and direction may be each rank's own. */
static const char *common_call(const struct inquiry *q, uint64_t seq, size_t *n, char *buf,
			       size_t len)
{
	const struct record *ours = align_reference(&q->align, seq), *first = NULL;
	bool pairs = ours && call_in_pairs(ours), alike = pairs, kinds = pairs, peers = pairs;

	*n = 0;
	for (int i = 0; ours && i < q->align.nranks; i++) {
		/* of large runs records are on disk: none is looked at without need */
		const struct record *r = pairs ? align_record(&q->align, i, seq) : NULL;

		if (!made_ours(q, i, seq, ours))
			continue;
		++*n;
		first = first ? first : r;
		kinds = kinds && r && r->kind == first->kind;
		alike = alike && kinds && r->count == first->count && r->dtype == first->dtype;
		peers = peers && alike && r->peer == first->peer;
	}
	if (!pairs)
		return inquiry_call(ours, buf, len);
	if (alike && first) {
		struct record shared = *first;

		shared.peer = peers ? first->peer : -1;
		return inquiry_call(&shared, buf, len);
	}
	snprintf(buf, len, "%s",
		 kinds && first ? call_kind_name((enum call_kind)first->kind)
				: "a send or receive");
	return buf;
}

/* Without a majority they are nobody. */
static void say_others(struct inquiry *q)
{
	const struct align *a = &q->align;
	uint64_t seq = (uint64_t)q->d->hang_seq;
	char call[160];
	size_t n;

	if (q->d->hang_seq < 1)
		return;
	common_call(q, seq, &n, call, sizeof(call));
	if (n > 0)
		inquiry_say(q->d,
			    "%zu of %d ranks made call %" PRIu64
			    " of communicator %u (%s) and wait%s in it or behind it.",
			    n, a->nranks, seq, a->comm, call, n == 1 ? "s" : "");
}

static void say_guilty(struct inquiry *q)
{
	for (int i = 0; i < q->evidence->nranks && q->d->nlines < DIAGNOSIS_LINES / 2; i++)
		if (q->guilty[i])
			inquiry_say_rank(q, i, "");
}

/* The first call that one of the guilty did not complete, whether it made it or not. 0: their
 * calls are not known. */
static uint64_t own_end(const struct inquiry *q)
{
	const struct align *a = &q->align;
	uint64_t end = UINT64_MAX;

	for (int i = 0; i < a->nranks; i++) {
		uint64_t done;

		if (!q->guilty[i] || !a->tracks[i].known)
			continue;
		done = inquiry_completed(q, i);
		end = done + 1 < end ? done + 1 : end;
	}
	return end == UINT64_MAX ? 0 : end;
}

/* The guilty made all calls that the others made: what parts them is where their own calls end.
 * That may be behind the call that the others wait in: a rank is done with a call when its own
 * data is there, and what it owes the others may still be on its way in a thread that ended with
 * it. */
static void place_end(struct inquiry *q)
{
	struct diagnosis *d = q->d;
	uint64_t end = own_end(q);
	bool made = end <= q->align.top;

	if (d->hang_seq < 1 || end == 0)
		return;
	d->seq_low = d->seq_high = (int64_t)end;
	snprintf(d->field, sizeof(d->field), made ? "completion" : "call");
	snprintf(d->theirs, sizeof(d->theirs), made ? "made, cannot complete" : "no call");
	if (made)
		inquiry_call(align_reference(&q->align, end), d->majority, sizeof(d->majority));
	else
		snprintf(d->majority, sizeof(d->majority), "not made yet");
}

void inquiry_place_missing(struct inquiry *q)
{
	struct diagnosis *d = q->d;
	uint64_t least = UINT64_MAX;
	size_t makers;

	for (int i = 0; i < q->evidence->nranks; i++)
		if (q->guilty[i] && q->align.tracks[i].known && q->align.tracks[i].last < least)
			least = q->align.tracks[i].last;
	d->comm = q->align.comm;
	d->hang_seq = inquiry_hang_point(q);
	if (inquiry_place_init(q) || least == UINT64_MAX)
		return;
	if (least >= q->align.top) {
		place_end(q);
		return;
	}
	d->seq_low = d->seq_high = (int64_t)least + 1;
	snprintf(d->field, sizeof(d->field), "call");
	snprintf(d->theirs, sizeof(d->theirs), "no call");
	common_call(q, least + 1, &makers, d->majority, sizeof(d->majority));
}

void inquiry_conclude(struct inquiry *q, enum diagnosis_class class, const char *confidence)
{
	q->d->class = class;
	q->d->confidence = confidence;
	inquiry_name_guilty(q);
	say_guilty(q);
	say_others(q);
}

static bool one_of(const char *name, const char *const *list)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

enum diagnosis_class inquiry_host_class(const struct evidence_rank *rank, enum diagnosis_class idle)
{
	static const char *const blocking[] = {
		"futex",  "read",     "readv",	    "recvfrom",	   "recvmsg", "poll",	 "ppoll",
		"select", "pselect6", "epoll_wait", "epoll_pwait", "wait4",   "waitid",	 "flock",
		"fcntl",  "accept",   "connect",    "write",	   "sendto",  "sendmsg", NULL
	};

	if (rank->state == 'R' && rank->cpu_share > 0.5)
		return CLASS_BUSY;
	return one_of(rank->syscall, blocking) ? CLASS_BLOCKED : idle;
}
