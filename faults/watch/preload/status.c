/* status.c: which ranks have come to which call, and which wait for which. */
#include "preload/status.h"

#include "answer/describe.h"
#include "base/call_value.h"
#include "base/error.h"
#include "base/json_value.h"
#include "base/rank_list.h"

#define RANKS_MOST (1 << 18)

void status_count(struct status_counts *counts, const struct progress *p, double seconds)
{
	for (int i = 0; i < p->nranks; i++) {
		bool waits = false, awaited = false;

		for (int k = 0; k < p->nranks; k++) {
			waits |= progress_waits_for(p, i, k) == PROGRESS_YES;
			awaited |= progress_waits_for(p, k, i) == PROGRESS_YES;
		}
		counts[i].waits = waits;
		counts[i].is_awaited = awaited;
		counts[i].waited += waits ? seconds : 0;
		counts[i].awaited += awaited ? seconds : 0;
	}
}

double status_bytes(const struct record_memory *memory, uint32_t comm)
{
	double bytes = 0;

	for (int k = 0; k < RECORD_KINDS; k++)
		bytes += (double)record_get(&memory->totals[comm][k].bytes);
	return bytes;
}

/* The printed run: ranks by number, and communicators, by the numbers of the lowest. */
struct scene {
	const struct status_rank *ranks;
	size_t n;
	struct progress progress; /* of these */
	uint64_t *ids;
	size_t nids;
	bool *marks; /* by rank */
	int most;    /* the highest of them */
	double seconds;
	bool moving;  /* a communicator has a call that has begun lately */
	double still; /* the least time for which calls of the others stand, 0: there are none */
};

/* A line, in pieces that fit: the first ends behind a semicolon, where there is one. */
static void print_folded(FILE *out, const char *line)
{
	size_t fits = STATUS_WIDTH;

	for (size_t n; (n = strlen(line)) > fits; line += n, fits = STATUS_WIDTH - 4) {
		size_t space = 0, part = 0;

		for (size_t i = 1; i < fits; i++) {
			space = line[i] == ' ' ? i : space;
			part = line[i] == ' ' && line[i - 1] == ';' ? i : part;
		}
		n = part ? part : space ? space : fits;
		fprintf(out, "%.*s\n#   ", (int)n, line);
		n += line[n] == ' ';
	}
	fprintf(out, "%s\n", line);
}

/* The ranks that are marked, in words, and no mark is left. */
static const char *take_marks(const struct scene *s, char *buf, size_t len)
{
	rank_list_words(s->marks, s->most + 1, buf, len);
	memset(s->marks, 0, (size_t)s->most + 1);
	return buf;
}

/* Marks the members that have come to the call, or (`not_yet`) that have not. Returns true if there are any. */
static bool mark(const struct scene *s, const struct awaited *call, bool not_yet)
{
	bool any = false;

	for (size_t i = 0; i < s->n; i++) {
		enum presence presence = progress_presence(call, (int)i);

		if (presence != PRESENCE_APART && not_yet == (presence >= PRESENCE_OPEN))
			any = s->marks[s->ranks[i].view->rank] = true;
	}
	return any;
}

/* The call of this number, if a rank has it open or made it last. */
static const struct record *find_call(const struct scene *s, uint64_t id, uint64_t seq)
{
	for (size_t i = 0; i < 2 * s->n; i++) {
		const struct rank_view *v = s->ranks[i / 2].view;
		const struct record *r = i % 2 ? &v->last : &v->oldest;

		if (r->ticket && r->seq == seq && r->comm < VIEW_COMMS &&
		    v->comms[r->comm].id == id)
			return r;
	}
	return NULL;
}

/* Prints which ranks have come to the first call that not all have completed, and which not. */
static void print_next(FILE *out, const struct scene *s, const struct awaited *next)
{
	const struct record *call = find_call(s, next->id, next->n);
	char words[160];

	fprintf(out, ", came to call %lu", next->n);
	if (call)
		fprintf(out, " (%s)", view_call(call, words, sizeof(words)));
	mark(s, next, false);
	fprintf(out, ": %s", take_marks(s, words, sizeof(words)));
	if (mark(s, next, true))
		fprintf(out, ", not yet: %s", take_marks(s, words, sizeof(words)));
}

/* For how long no call of the communicator that has begun has been over: the shortest wait of its members; 0: none waits. */
static double still_for(const struct scene *s, uint64_t id)
{
	double still = INFINITY;

	for (size_t i = 0; i < s->n; i++) {
		const struct rank_view *v = s->ranks[i].view;
		const struct view_comm *c = progress_open_comm(v);

		if (v->oldest.ticket && c && c->id == id)
			still = fmin(still, v->waited);
	}
	return isfinite(still) ? still : 0;
}

/* Calls and bytes since the last look, or for how long no call has been over. */
static void print_pace(FILE *out, struct scene *s, uint64_t id, double calls, double bytes)
{
	double still = still_for(s, id);

	if (still >= STATUS_STILL)
		s->still = s->still > 0 ? fmin(s->still, still) : still;
	s->moving |= still > 0 && still < STATUS_STILL;
	if (still >= STATUS_STILL)
		fprintf(out, "; no call over for %.1f s", still);
	else if (s->seconds > 0)
		fprintf(out, "; %.4g calls/s, %.3g %cB/s", calls / s->seconds,
			bytes / s->seconds * (bytes < 1e9 * s->seconds ? 1e-6 : 1e-9),
			bytes < 1e9 * s->seconds ? 'M' : 'G');
}

static void print_comm(FILE *out, struct scene *s, size_t number)
{
	struct awaited call = { .progress = &s->progress, .id = s->ids[number] };
	uint64_t done = UINT64_MAX, least = UINT64_MAX, most = 0, pairs = 0;
	double bytes = 0, calls = 0;
	char words[160];

	for (size_t i = 0; i < s->n; i++) {
		const struct view_comm *c = progress_member(s->ranks[i].view, call.id);
		const struct status_counts *counts = s->ranks[i].counts;
		size_t place = c ? (size_t)(c - s->ranks[i].view->comms) : 0;

		if (!c)
			continue;
		done = c->done < done ? c->done : done;
		least = c->seq < least ? c->seq : least;
		most = c->seq > most ? c->seq : most;
		pairs += c->seq - c->calls;
		bytes = counts ? fmax(bytes, counts->bytes[place]) : bytes;
		calls = counts ? fmax(calls, (double)(c->done - counts->done[place])) : calls;
	}
	mark(s, &call, false);
	fprintf(out, "# communicator %zu of %s: ", number, take_marks(s, words, sizeof(words)));
	if (pairs)
		fprintf(out, "%lu to %lu calls made, sends and receives among them", least, most);
	else
		fprintf(out, "all completed call %lu at least", done);
	call.n = least < most ? least + 1 : least;
	if (!pairs && most > done)
		print_next(out, s, &call);
	print_pace(out, s, call.id, calls, bytes);
}

static void list_comms(struct scene *s)
{
	for (size_t i = 0; i < s->n * VIEW_COMMS; i++) {
		const struct view_comm *c = &s->ranks[i % s->n].view->comms[i / s->n];
		size_t k = 0;

		while (k < s->nids && s->ids[k] != c->id)
			k++;
		if (k == s->nids && c->id &&
		    (c->state == RECORD_COMM_INIT || c->state == RECORD_COMM_READY))
			s->ids[s->nids++] = c->id;
	}
}

static void print_site(FILE *out, const struct rank_view *v)
{
	char site[sizeof(v->site)];

	if (view_site(v, false, site, sizeof(site))[0])
		fprintf(out, " at %s", site);
}

static void print_open(FILE *out, const struct scene *s, size_t rank)
{
	const struct rank_view *v = s->ranks[rank].view;
	const struct view_comm *comm = progress_open_comm(v);
	char words[160];
	size_t number = 0;
	bool any = false;

	fprintf(out, " on its GPU behind %s", view_call(&v->oldest, words, sizeof(words)));
	print_site(out, v);
	fprintf(out, ", call %lu", v->oldest.seq);
	if (v->open_seq > v->oldest.seq)
		fprintf(out, " to %lu", v->open_seq);
	while (comm && number < s->nids && s->ids[number] != comm->id)
		number++;
	if (comm)
		fprintf(out, " of communicator %zu", number);
	for (size_t i = 0; i < s->n; i++)
		if (progress_waits_for(&s->progress, (int)rank, (int)i) == PROGRESS_YES)
			any = s->marks[s->ranks[i].view->rank] = true;
	if (any)
		fprintf(out, ", for %s", take_marks(s, words, sizeof(words)));
}

/* A rank's state is that of its process. */
static bool is_process(const struct rank_view *v)
{
	const struct rank_doing d = rank_doing(v, false);

	return d.doing <= DOING_STOPPED && d.doing != DOING_HIDDEN;
}

static bool is_timed(const struct rank_view *v)
{
	return !is_process(v) && (v->oldest.ticket || v->waiting);
}

/* The rank's call or wait, without the seconds for which it waits; the caller frees it. */
static char *state_of(const struct scene *s, size_t rank)
{
	const struct rank_view *v = s->ranks[rank].view;
	const uint64_t made = v->last.returned_ns ? v->last.returned_ns : v->last.enqueued_ns;
	char words[160], *text = NULL;
	size_t bytes;
	FILE *out = must(open_memstream(&text, &bytes));

	if (is_process(v))
		fprintf(out, "%s", view_process(v, words, sizeof(words)));
	else if (v->oldest.ticket)
		print_open(out, s, rank);
	else if (v->waiting)
		fprintf(out, " in %s", v->what);
	else if (v->last.ticket && v->seen_ns > made) {
		fprintf(out, "in no call; made its last, %s",
			view_call(&v->last, words, sizeof(words)));
		print_site(out, v);
		fprintf(out, ", %.1f s ago", (double)(v->seen_ns - made) * 1e-9);
	} else
		fprintf(out, "in no call");
	fclose(out);
	return text;
}

/* Ranks in one line, and the ranges of their figures. */
struct alike {
	size_t first, n;
	const char *host;
	double waited[2], waits[2], awaited[2];
};

static void widen(double range[2], double value)
{
	range[0] = fmin(range[0], value);
	range[1] = fmax(range[1], value);
}

static void take_alike(const struct scene *s, struct alike *a, size_t rank)
{
	const struct status_counts *counts = s->ranks[rank].counts;

	if (strcmp(a->host, s->ranks[rank].view->host) != 0)
		a->host = "several hosts";
	a->n++;
	s->marks[s->ranks[rank].view->rank] = true;
	widen(a->waited, s->ranks[rank].view->waited);
	if (!counts || s->seconds <= 0)
		return;
	widen(a->waits, 100 * fmin(1, counts->waited / s->seconds));
	widen(a->awaited, 100 * fmin(1, counts->awaited / s->seconds));
}

/* "4.2 to 4.3", or "4.3" of both. */
static void print_range(FILE *out, const double range[2], int digits)
{
	char low[32], high[32];

	snprintf(low, sizeof(low), "%.*f", digits, range[0]);
	snprintf(high, sizeof(high), "%.*f", digits, range[1]);
	fprintf(out, "%s%s%s", low, strcmp(low, high) ? " to " : "", strcmp(low, high) ? high : "");
}

static void print_alike(FILE *out, const struct scene *s, const struct alike *a, const char *state)
{
	const struct status_rank *r = &s->ranks[a->first];
	char words[160];

	fprintf(out, "# %s (%s", take_marks(s, words, sizeof(words)), a->host);
	if (a->n == 1)
		fprintf(out, " pid %d", r->view->pid);
	fprintf(out, "): %s", a->n > 1 ? "each " : "");
	if (is_timed(r->view)) {
		print_range(out, a->waited, 1);
		fprintf(out, " s");
	}
	fprintf(out, "%s", state);
	if (isfinite(a->waits[0])) {
		fprintf(out, "; waited for others ");
		print_range(out, a->waits, 0);
		fprintf(out, " %% of the time, others for it ");
		print_range(out, a->awaited, 0);
		fprintf(out, " %%");
	}
	if (r->doing && r->doing[0])
		fprintf(out, "; in %s", r->doing);
}

static bool same_doing(const struct status_rank *a, const struct status_rank *b)
{
	return strcmp(a->doing ? a->doing : "", b->doing ? b->doing : "") == 0;
}

/* The line of a rank and of those that wait alike, whose states are taken. */
static void print_line(FILE *out, const struct scene *s, char **states, size_t first)
{
	struct alike a = { .first = first,
			   .host = s->ranks[first].view->host,
			   .waited = { INFINITY, -INFINITY },
			   .waits = { INFINITY, -INFINITY },
			   .awaited = { INFINITY, -INFINITY } };
	char *state = states[first], *line = NULL;
	size_t bytes;
	FILE *text = must(open_memstream(&line, &bytes));

	for (size_t k = first; k < s->n; k++) {
		if (!states[k] ||
		    (k > first &&
		     (!is_timed(s->ranks[first].view) || strcmp(state, states[k]) != 0 ||
		      !is_timed(s->ranks[k].view) || !same_doing(&s->ranks[first], &s->ranks[k]))))
			continue;
		take_alike(s, &a, k);
		if (k > first)
			free(states[k]);
		states[k] = NULL;
	}
	print_alike(text, s, &a, state);
	fclose(text);
	print_folded(out, line);
	free(line);
	free(state);
}

static void print_ranks(FILE *out, const struct scene *s)
{
	char **states = must(calloc(s->n + 1, sizeof(*states)));

	for (size_t i = 0; i < s->n; i++)
		states[i] = state_of(s, i);
	for (size_t i = 0; i < s->n; i++)
		if (states[i])
			print_line(out, s, states, i);
	free(states);
}

static int by_rank(const void *a, const void *b)
{
	const struct rank_view *x = ((const struct status_rank *)a)->view;
	const struct rank_view *y = ((const struct status_rank *)b)->view;

	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Sorts the ranks by their numbers. */
static void open_scene(struct scene *s, struct status_rank *ranks, size_t n, double seconds)
{
	*s = (struct scene){ .ranks = ranks, .seconds = seconds };
	for (size_t i = 0; i < n; i++)
		if (ranks[i].view->rank >= 0 && ranks[i].view->rank < RANKS_MOST)
			ranks[s->n++] = ranks[i];
	qsort(ranks, s->n, sizeof(*ranks), by_rank);
	s->most = s->n ? ranks[s->n - 1].view->rank : 0;
	s->marks = must(calloc((size_t)s->most + 1, sizeof(*s->marks)));
	s->ids = must(calloc(s->n * VIEW_COMMS + 1, sizeof(*s->ids)));
	s->progress =
		(struct progress){ .ranks = must(calloc(s->n + 1, sizeof(*s->progress.ranks))),
				   .nranks = (int)s->n };
	for (size_t i = 0; i < s->n; i++)
		s->progress.ranks[i].view = ranks[i].view;
	list_comms(s);
}

static void close_scene(struct scene *s)
{
	free(s->progress.ranks);
	free(s->marks);
	free(s->ids);
}

double status_print(FILE *out, struct status_rank *ranks, size_t n, double seconds)
{
	struct scene s;
	char *line = NULL;
	size_t bytes;

	open_scene(&s, ranks, n, seconds);
	for (size_t k = 0; k < s.nids; k++) {
		FILE *text = must(open_memstream(&line, &bytes));

		print_comm(text, &s, k);
		fclose(text);
		print_folded(out, line);
		free(line);
	}
	print_ranks(out, &s);
	close_scene(&s);
	return s.moving ? 0 : s.still;
}

/* ---- JSON ---- */

/* The ranks that are marked, and no mark is left. */
static json_t *marked_json(const struct scene *s)
{
	json_t *list = json_array();

	for (int rank = 0; rank <= s->most; rank++)
		if (s->marks[rank])
			json_array_append_new(list, json_integer(rank));
	memset(s->marks, 0, (size_t)s->most + 1);
	return list;
}

/* Ranks that have come to the first call that not all have made, and that have not. */
static json_t *comm_json(const struct scene *s, size_t number)
{
	struct awaited call = { .progress = &s->progress, .id = s->ids[number] };
	uint64_t done = UINT64_MAX, least = UINT64_MAX, most = 0;
	json_t *ranks, *came, *missing;

	for (size_t i = 0; i < s->n; i++) {
		const struct view_comm *c = progress_member(s->ranks[i].view, call.id);

		if (!c)
			continue;
		done = c->done < done ? c->done : done;
		least = c->seq < least ? c->seq : least;
		most = c->seq > most ? c->seq : most;
	}
	mark(s, &call, false);
	ranks = marked_json(s);
	call.n = least < most ? least + 1 : least;
	mark(s, &call, false);
	came = marked_json(s);
	mark(s, &call, true);
	missing = marked_json(s);
	return json_pack("{s:I s:o s:I s:I s:o s:o}", "comm", (json_int_t)number, "ranks", ranks,
			 "completed", (json_int_t)done, "seq", (json_int_t)call.n, "came", came,
			 "missing", missing);
}

/* "call" is null where it is in none; "waits_for": ranks that have not come to it. */
static json_t *rank_json(const struct scene *s, size_t rank)
{
	const struct status_rank *r = &s->ranks[rank];
	const struct rank_view *v = r->view;
	const struct view_comm *comm = progress_open_comm(v);
	bool open = v->oldest.ticket;
	char call[160] = "", state[160] = "", site[sizeof(v->site)] = "";
	json_t *waits_for;
	size_t number = 0;

	if (open)
		view_call(&v->oldest, call, sizeof(call));
	if (open)
		view_site(v, false, site, sizeof(site));
	if (rank_doing(v, false).doing <= DOING_STOPPED)
		view_process(v, state, sizeof(state));
	while (comm && number < s->nids && s->ids[number] != comm->id)
		number++;
	for (size_t i = 0; i < s->n; i++)
		if (progress_waits_for(&s->progress, (int)rank, (int)i) == PROGRESS_YES)
			s->marks[s->ranks[i].view->rank] = true;
	waits_for = marked_json(s);
	return json_pack("{s:i s:s s:i s:o s:o s:I s:I s:f s:o s:o s:o s:o s:o}", "rank", v->rank,
			 "host", v->host, "pid", (int)v->pid, "process", json_value_text(state),
			 "call", open ? json_value_text(call) : json_null(), "seq",
			 open ? (json_int_t)v->oldest.seq : -1, "comm",
			 open && comm ? (json_int_t)number : -1, "seconds",
			 open || v->waiting ? v->waited : 0, "waits_for", waits_for, "site",
			 json_value_text(site), "doing", json_value_text(r->doing ? r->doing : ""),
			 "waited_percent",
			 json_value_real(r->counts && s->seconds > 0
						 ? 100 * fmin(1, r->counts->waited / s->seconds)
						 : (double)NAN),
			 "awaited_percent",
			 json_value_real(r->counts && s->seconds > 0
						 ? 100 * fmin(1, r->counts->awaited / s->seconds)
						 : (double)NAN));
}

json_t *status_json(const char *title, struct status_rank *ranks, size_t n, double seconds)
{
	json_t *comms = json_array(), *list = json_array();
	struct scene s;

	open_scene(&s, ranks, n, seconds);
	for (size_t k = 0; k < s.nids; k++)
		json_array_append_new(comms, comm_json(&s, k));
	for (size_t i = 0; i < s.n; i++)
		json_array_append_new(list, rank_json(&s, i));
	close_scene(&s);
	return json_pack("{s:i s:o s:f s:o s:o}", "version", 1, "run", json_value_text(title),
			 "seconds", seconds, "communicators", comms, "ranks", list);
}
