/* nccl_log_torch.c: lines of PyTorch's watchdog, which say how far a rank came in a process group, and Python's tracebacks. */

#include "nccl_log/nccl_log_raw.h"

/* ---- watchdog ------------------------------------------------------------------------------ */

/* The number behind the first of two leads, -1: none. */
static int64_t number_behind(const char *line, const char *lead, const char *other)
{
	const char *at = strcasestr(line, lead);
	int64_t value;
	size_t len = strlen(lead);

	if (!at && other) {
		at = strcasestr(line, other);
		len = strlen(other);
	}
	return at && sscanf(at + len, "%18ld", &value) == 1 && value >= 0 ? value : -1;
}

/* "[PG ID 1 PG GUID 1(default_pg) Rank 0]", "[PG 1 Rank 0]", "[Rank 0]": the group or "", and the number in it. */
static bool take_bracket(struct nccl_log *log, const char *line, struct nccl_wait *wait)
{
	const char *at = line, *open, *group;
	int end;

	for (; (at = strstr(at, "Rank ")); at++) {
		end = 0;
		if (sscanf(at, "Rank %7d]%n", &wait->place, &end) != 1 || !end || wait->place < 0)
			continue;
		open = memrchr(line, '[', (size_t)(at - line));
		if (!open)
			continue;
		group = memmem(open, (size_t)(at - open), "PG GUID ", 8);
		group = group ? group + 8 : strncmp(open, "[PG ", 4) == 0 ? open + 4 : at;
		wait->group = nccl_log_text(log, group,
					    (size_t)(at - group) - (at > group && at[-1] == ' '));
		return true;
	}
	return false;
}

/* The rank in the job: PyTorch's own prefix, else a launcher's, else the number in the group. */
static int rank_of(const struct nccl_log *log, const char *line, const char *bracket, int place)
{
	const char *own = strstr(line, "[rank");
	int rank, end = 0;

	if (own && sscanf(own, "[rank%7d]%n", &rank, &end) == 1 && end)
		return rank;
	rank = log->raw->rank_hint;
	rank = rank >= 0 ? rank : nccl_log_prefix_rank(line, bracket);
	return rank >= 0 && rank < NCCL_LOG_RANKS ? rank : place;
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

/* The call, "WorkNCCL(SeqNum=78, OpType=BROADCAST, NumelIn=8, ...) ran for 600038 milliseconds": a group's first one. */
static void on_timeout(struct nccl_log *log, const char *line, struct nccl_wait *from)
{
	const char *op = strstr(line, "OpType=");
	struct nccl_wait *wait;

	from->seq = number_behind(line, "SeqNum=", NULL);
	if (from->seq < 0 || !op)
		return;
	from->op =
		nccl_log_text(log, op + 7, strspn(op + 7, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789"));
	from->numel_in = number_behind(line, "NumelIn=", NULL);
	from->numel_out = number_behind(line, "NumelOut=", NULL);
	from->waited = (double)number_behind(line, "ran for ", NULL) * 1e-3;
	wait = wait_of(log, from);
	if (wait->seq < 0 || from->seq < wait->seq)
		take_call(wait, from);
}

/* How far the rank came: "... at work: 78, last enqueued NCCL work: 79, last completed NCCL work: 77", perhaps groupless. */
static void on_progress(struct nccl_log *log, const char *line, struct nccl_wait *from)
{
	int64_t at = number_behind(line, "at work: ", "sequence id: ");
	struct nccl_wait *wait, *unnamed;
	struct place *place;

	at = at >= 0 ? at : number_behind(line, "imeout at NCCL work: ", NULL);
	from->seq = at;
	wait = wait_of(log, from);
	wait->enqueued = number_behind(line, "enqueued NCCL work: ", "enqueued work: ");
	wait->started = number_behind(line, "started NCCL work: ", "started work: ");
	wait->completed = number_behind(line, "completed NCCL work: ", "completed work: ");
	if (at < 0 || !*from->group)
		return;
	place = nccl_place(log, nccl_log_text(log, "", 0), from->rank, PLACE_WAIT, (uint64_t)at);
	if (place->number == 0)
		return;
	unnamed = &log->waits[place->number - 1];
	wait = wait_of(log, from);
	if (unnamed->seq >= 0 && wait->seq < 0)
		take_call(wait, unnamed);
	unnamed->seq = -1;
}

static bool on_watchdog(struct nccl_log *log, const char *line)
{
	struct nccl_wait from = { .seq = -1,
				  .op = "",
				  .line = log->lines,
				  .enqueued = -1,
				  .started = -1,
				  .completed = -1 };
	bool call = strstr(line, "Watchdog caught collective operation timeout") != NULL;
	const char *end = line + strlen(line), *open, *close;

	if ((!call && !strcasestr(line, "last enqueued")) || !take_bracket(log, line, &from))
		return false;
	from.rank = rank_of(log, line, strstr(line, "Rank "), from.place);
	from.time = nccl_log_time(line, end);
	open = strstr(line, "[E");
	close = open ? strpbrk(open, "P]") : NULL;
	from.stamp = close && isfinite(from.time)
			     ? nccl_log_text(log, open + 2, (size_t)(close - open) - 3)
			     : "";
	if (call)
		on_timeout(log, line, &from);
	else
		on_progress(log, line, &from);
	return true;
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

/* Errors that another rank's end brings about, and launchers' summaries. */
#define AFTERMATH                                                                                  \
	"NCCL|nccl|DistBackendError|DistNetworkError|DistStoreError|Connection|ChildFailedError|"  \
	"Broken pipe|BrokenPipe|KeyboardInterrupt|SystemExit|SignalException|ActorDied|"           \
	"WorkerCrashed|EngineDead|Engine core"

/* The last line, which names the error. The first traceback counts, of those first that no other rank brought about. */
static void close_trace(struct nccl_log *log, struct nccl_open_trace *trace, const char *error)
{
	bool after = nccl_has(error, AFTERMATH);

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

static void open_trace(struct nccl_log *log, const char *line, const char *at)
{
	struct nccl_open_trace *traces = log->raw->traces;
	size_t i = 0;

	while (i < NCCL_OPEN_TRACES && traces[i].prefix)
		i++;
	if (i == NCCL_OPEN_TRACES)
		return;
	traces[i].len = (size_t)(at - line);
	traces[i].prefix = must(strndup(line, traces[i].len));
	traces[i].used = 0;
	traces[i].rank = nccl_log_prefix_rank(line, at);
	traces[i].ended = memmem(line, traces[i].len, "[rank", 5) != NULL;
	traces[i].rank = traces[i].rank < 0 ? log->raw->rank_hint : traces[i].rank;
}

static bool on_traceback(struct nccl_log *log, const char *line)
{
	const char *at = strstr(line, "Traceback (most recent call last):");

	log->raw->traces = log->raw->traces
				   ? log->raw->traces
				   : must(calloc(NCCL_OPEN_TRACES, sizeof(*log->raw->traces)));
	for (size_t i = 0; !at && i < NCCL_OPEN_TRACES; i++) {
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
	if (at)
		open_trace(log, line, at);
	return at != NULL;
}

void nccl_torch_release(struct nccl_log_raw *raw)
{
	for (size_t i = 0; raw->traces && i < NCCL_OPEN_TRACES; i++)
		free(raw->traces[i].prefix);
	free(raw->traces);
}

bool nccl_log_torch(struct nccl_log *log, const char *line)
{
	return on_traceback(log, line) || on_watchdog(log, line);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* The call that is not over, those that have not made it first. */
int nccl_wait_by_call(const struct nccl_wait *x, const struct nccl_wait *y)
{
	int64_t a = nccl_wait_at(x), b = nccl_wait_at(y);

	return BY(a, b) ?: nccl_wait_made(x) - nccl_wait_made(y);
}

static int by_group(const void *a, const void *b)
{
	const struct nccl_wait *x = a, *y = b;

	return strcmp(x->group, y->group) ?: nccl_wait_by_call(x, y) ?: BY(x->rank, y->rank);
}

void nccl_torch_join(struct nccl_log *log)
{
	int kept = 0;

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
