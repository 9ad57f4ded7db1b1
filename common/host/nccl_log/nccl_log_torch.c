/* nccl_log_torch.c: lines of PyTorch's watchdog, which say how far a rank came in a process group, and Python's tracebacks. */

#include "nccl_log/nccl_log_raw.h"

/* ---- watchdog ------------------------------------------------------------------------------ */

/* A line's rank: the group or "", the number in it; the rank in the job is that of the files, else of what a
 * launcher or PyTorch puts before the line, else the number in the group. */
static struct nccl_wait wait_said(struct nccl_log *log, const struct found *found, const char *line)
{
	struct span stamp;
	struct nccl_wait wait = { .group = found_text(log, found, FIELD_group),
				  .place = (int)found_number(found, FIELD_place, 10, 0),
				  .seq = -1,
				  .op = "",
				  .line = log->lines,
				  .enqueued = -1,
				  .started = -1,
				  .completed = -1 };
	const char *bracket = line + found->at[2 * found->row->group[FIELD_place]];

	wait.time = nccl_log_time(log, line, strlen(line), &stamp);
	wait.stamp = stamp.at ? nccl_log_text(log, stamp.at, stamp.len) : "";
	wait.rank = log->raw->rank_hint;
	if (wait.rank < 0) /* without the "Rank " of the bracket itself */
		wait.rank = nccl_log_prefix_rank(log, line, bracket - strlen("Rank "));
	if (wait.rank < 0 || wait.rank >= NCCL_LOG_RANKS)
		wait.rank = wait.place;
	return wait;
}

/* All that is known of the rank in the group, made if new. Lines without a group are told apart by their call. */
static struct nccl_wait *wait_of(struct nccl_log *log, const struct nccl_wait *from)
{
	struct place *place = nccl_place(log, from->group, from->rank, PLACE_WAIT,
					 *from->group ? 0 : (uint64_t)from->seq);

	if (place->number == 0) {
		raw_add(log->waits, log->n_waits, *from);
		place->number = log->n_waits;
		log->waits[place->number - 1].seq = -1;
	}
	return &log->waits[place->number - 1];
}

static void take_call(struct nccl_wait *to, const struct nccl_wait *from)
{
	to->seq = from->seq;
	to->op = from->op;
	to->numel_in = from->numel_in;
	to->numel_out = from->numel_out;
	to->waited = from->waited;
}

/* The call that timed out: a group's first one. */
void nccl_torch_timeout(struct nccl_log *log, const struct found *found, const char *line)
{
	struct nccl_wait from = wait_said(log, found, line), *wait;

	from.seq = found_number(found, FIELD_seq, 10, -1);
	from.op = found_text(log, found, FIELD_op);
	from.numel_in = found_number(found, FIELD_numel_in, 10, -1);
	from.numel_out = found_number(found, FIELD_numel_out, 10, -1);
	from.waited = (double)found_number(found, FIELD_waited, 10, -1) * 1e-3;
	wait = wait_of(log, &from);
	if (wait->seq < 0 || from.seq < wait->seq)
		take_call(wait, &from);
}

/* How far the rank came, perhaps in a group without a name. */
void nccl_torch_progress(struct nccl_log *log, const struct found *found, const char *line)
{
	int64_t at = found_number(found, FIELD_at, 10, -1);
	struct nccl_wait from = wait_said(log, found, line), *wait, *unnamed;
	struct place *place;

	from.seq = at;
	wait = wait_of(log, &from);
	wait->enqueued = found_number(found, FIELD_enqueued, 10, -1);
	wait->started = found_number(found, FIELD_started, 10, -1);
	wait->completed = found_number(found, FIELD_completed, 10, -1);
	if (at < 0 || !*from.group)
		return;
	place = nccl_place(log, nccl_log_text(log, "", 0), from.rank, PLACE_WAIT, (uint64_t)at);
	if (place->number == 0)
		return;
	unnamed = &log->waits[place->number - 1];
	wait = wait_of(log, &from);
	if (unnamed->seq >= 0 && wait->seq < 0)
		take_call(wait, unnamed);
	unnamed->seq = -1;
}

/* ---- Python's tracebacks --------------------------------------------------------------------- */

#define TRACEBACK_BYTES 4096

/* A traceback whose last line has not come yet. */
struct nccl_open_trace {
	char *prefix; /* what the launcher puts before its lines; NULL: the place is free */
	size_t len, used;
	char text[TRACEBACK_BYTES];
	int rank;
	bool ended; /* PyTorch's prefix: the error ended its program */
};

/* The last line, which names the error. The first traceback counts, of those first that no other rank brought about. */
static void close_trace(struct nccl_log *log, struct nccl_open_trace *trace, const char *error)
{
	struct found found;
	bool after = rows_find(log->rows, ROWS_aftermath, error, strlen(error), 0, &found);

	log->tracebacks++;
	if (!log->traceback || (log->traceback_after && !after)) {
		log->traceback = nccl_log_text(log, trace->text, trace->used);
		log->error = nccl_log_text(log, error, strlen(error));
		log->traceback_rank = trace->rank;
		log->traceback_after = after;
		log->traceback_ended = trace->ended;
	}
	free(trace->prefix);
	trace->prefix = NULL;
}

void nccl_torch_open(struct nccl_log *log, const struct found *found, const char *line)
{
	struct span lead = found_span(found, FIELD_text);
	struct nccl_open_trace *traces = log->raw->traces;
	size_t i = 0;

	traces = log->raw->traces = traces ?: must(calloc(NCCL_OPEN_TRACES, sizeof(*traces)));
	while (i < NCCL_OPEN_TRACES && traces[i].prefix)
		i++;
	if (i == NCCL_OPEN_TRACES)
		return;
	traces[i].len = lead.len;
	traces[i].prefix = must(strndup(line, lead.len));
	traces[i].used = 0;
	traces[i].rank = nccl_log_prefix_rank(log, line, line + lead.len);
	traces[i].ended = found_span(found, FIELD_ended).at;
	traces[i].rank = traces[i].rank < 0 ? log->raw->rank_hint : traces[i].rank;
}

bool nccl_torch_traceback(struct nccl_log *log, const char *line)
{
	for (size_t i = 0; log->raw->traces && i < NCCL_OPEN_TRACES; i++) {
		struct nccl_open_trace *trace = &log->raw->traces[i];
		const char *text = line + trace->len;

		if (!trace->prefix || strncmp(line, trace->prefix, trace->len) != 0)
			continue;
		if (*text != ' ') {
			close_trace(log, trace, text);
			return false; /* the error may be a failure of the table's */
		}
		if (trace->used + strlen(text) + 2 < sizeof(trace->text))
			trace->used += (size_t)sprintf(trace->text + trace->used, "%s\n", text);
		return true;
	}
	return false;
}

void nccl_torch_release(struct nccl_log_raw *raw)
{
	for (size_t i = 0; raw->traces && i < NCCL_OPEN_TRACES; i++)
		free(raw->traces[i].prefix);
	free(raw->traces);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The call that is not over, those that have not made it first, those that a line tells of before others. */
int nccl_wait_by_call(const struct nccl_wait *x, const struct nccl_wait *y)
{
	int64_t a = nccl_wait_at(x), b = nccl_wait_at(y);

	return BY(a, b) ?: nccl_wait_made(x) - nccl_wait_made(y) ?: nccl_wait_told(y) - nccl_wait_told(x);
}

static int by_group(const void *a, const void *b)
{
	const struct nccl_wait *x = a, *y = b;

	return strcmp(x->group, y->group) ?: nccl_wait_by_call(x, y) ?: BY(x->rank, y->rank);
}

/* The one group that lines name; NULL: there are none or several. */
static const char *only_group(const struct nccl_log *log)
{
	const char *only = NULL;

	for (int i = 0; i < log->n_waits; i++) {
		const char *group = log->waits[i].group;

		if (*group && only && group != only)
			return NULL;
		only = *group ? group : only;
	}
	return only;
}

/* Returns true if a rank of that group waits in the same call, and the rank itself has no line of the group. */
static bool belongs(const struct nccl_log *log, const struct nccl_wait *wait, const char *group)
{
	bool same = false;

	for (int i = 0; i < log->n_waits; i++) {
		const struct nccl_wait *other = &log->waits[i];

		if (other->group != group)
			continue;
		if (other->rank == wait->rank)
			return false;
		same |= other->seq == wait->seq && other->op == wait->op &&
			other->numel_in == wait->numel_in && other->numel_out == wait->numel_out;
	}
	return same;
}

void nccl_torch_join(struct nccl_log *log)
{
	const char *group = only_group(log);
	int kept = 0;

	for (int i = 0; group && i < log->n_waits; i++)
		if (!*log->waits[i].group && log->waits[i].seq >= 0 &&
		    belongs(log, &log->waits[i], group))
			log->waits[i].group = group;
	for (int i = 0; i < log->n_waits;
	     i++) /* a time-out that found its group says nothing any more */
		if (*log->waits[i].group || log->waits[i].seq >= 0 || log->waits[i].enqueued >= 0)
			log->waits[kept++] = log->waits[i];
	log->n_waits = kept;
	nccl_sort(log->waits, kept, sizeof(*log->waits), by_group);
}

/* The first call that is not over: the one that timed out, else the one behind the last that is over. -1: not known. */
int64_t nccl_wait_at(const struct nccl_wait *wait)
{
	return wait->completed >= 0 ? wait->completed + 1 : wait->seq;
}
