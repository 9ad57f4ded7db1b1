/* evidence_log.c: what logs say of a run's calls, as evidence: PyTorch's watchdog, else NCCL's own lines of calls. */
#include "evidence/evidence.h"

#include <jansson.h>

#include "base/call_value.h"
#include "nccl_log/nccl_log.h"

#define NOW	  1000000000000000000 /* ns; lines have clocks without a year */
#define KEPT	  64		      /* calls of a rank from the slowest rank's on */
#define MOST_RANK (1 << 16)

/* A process group: its lines, and the calls that they name. */
struct group {
	const struct nccl_wait *waits;
	int n, comm;
	int members;   /* 1 + the highest number in it */
	int64_t first; /* the slowest rank's call */
};

struct writer {
	const struct nccl_log *log;
	struct evidence *evidence;
	struct group *groups;
	int n, nranks;
};

/* The kind of c10d's OpType, as "_REDUCE_SCATTER_BASE": the longest name with which its letters begin; -1: none. */
static int kind_of(const char *op)
{
	int kind = strcmp(op, "BARRIER") == 0 ? CALL_ALL_REDUCE : -1;
	char letters[48] = "";
	size_t best = 0, len;

	for (; *op; op++)
		text_add(letters, sizeof(letters), "%.*s", *op != '_', op);
	for (int k = 0; k < CALL_SEND; k++) {
		len = strlen(call_kind_name((enum call_kind)k));
		if (len <= best ||
		    strncasecmp(letters, call_kind_name((enum call_kind)k), len) != 0)
			continue;
		kind = k == CALL_ALLTOALL ? CALL_ALLTOALLV : k;
		best = len;
	}
	return kind;
}

/* The line about call `seq`, of this rank, else of any; NULL: none says what call it is. */
static const struct nccl_wait *line_of(const struct group *g, const struct nccl_wait *own,
				       int64_t seq)
{
	if (own->seq == seq && kind_of(own->op) >= 0)
		return own;
	for (int i = 0; i < g->n; i++)
		if (g->waits[i].seq == seq && kind_of(g->waits[i].op) >= 0)
			return &g->waits[i];
	return NULL;
}

/* The count as records have it, in elements. */
static int64_t count_of(const struct nccl_wait *line, int kind)
{
	int64_t count = kind == CALL_REDUCE_SCATTER || kind == CALL_SCATTER ? line->numel_out
									    : line->numel_in;

	return kind == CALL_ALLTOALLV || count < 0 ? 0 : count;
}

/* Why a group can't be compared; NULL: it can. */
static const char *wrong_with(const struct group *g)
{
	int64_t most = -1;

	for (int i = 0; i < g->n; i++) {
		const struct nccl_wait *w = &g->waits[i];
		int64_t at = nccl_wait_at(w);

		if (w->rank >= MOST_RANK || w->place >= MOST_RANK)
			return "has ranks with numbers that can't be";
		for (int k = 0; k < i; k++)
			if (g->waits[k].place == w->place)
				return "has two ranks of one number: there are several of that "
				       "name";
		most = at > most ? at : most;
	}
	if (g->first < 1 || !line_of(g, g->waits, g->first))
		return "has no line that names the call its slowest rank is in";
	if (!*g->waits[0].group && most != g->first)
		return "is not named, so that it may be several";
	return most - g->first >= KEPT ? "has ranks too far apart" : NULL;
}

static void find_groups(struct writer *w)
{
	const struct nccl_log *log = w->log;
	int number = 1;

	for (int i = 0, end; i < log->n_waits; i = end) {
		struct group g = { .waits = &log->waits[i], .first = INT64_MAX };
		const char *wrong;

		for (end = i; end < log->n_waits && log->waits[end].group == g.waits->group;
		     end++) {
			const struct nccl_wait *wait = &log->waits[end];
			int64_t at = nccl_wait_at(wait);

			g.first = at >= 0 && at < g.first ? at : g.first;
			g.members = wait->place + 1 > g.members ? wait->place + 1 : g.members;
		}
		g.n = end - i;
		wrong = number < RECORD_COMMS ? wrong_with(&g) : "is one too many";
		if (wrong) {
			evidence_remark(w->evidence, "Process group \"%.40s\" %s: it is left out.",
					g.waits->group, wrong);
			continue;
		}
		for (int k = 0; k < g.n; k++)
			w->nranks =
				g.waits[k].rank + 1 > w->nranks ? g.waits[k].rank + 1 : w->nranks;
		g.comm = number++;
		w->groups = must_room(w->groups, w->n, sizeof(g));
		w->groups[w->n++] = g;
	}
	for (int i = 0; i < w->n; i++) /* the first one of all ranks is communicator 0 */
		if (w->groups[i].members == w->nranks && w->groups[i].n > 0) {
			w->groups[i].comm = 0;
			break;
		}
}

static const struct nccl_wait *wait_of(const struct group *g, int rank)
{
	for (int i = 0; i < g->n; i++)
		if (g->waits[i].rank == rank)
			return &g->waits[i];
	return NULL;
}

/* A call as torch_dumps.py writes it, on a stream of its communicator. */
static void add_call(json_t *calls, int comm, int64_t number, int kind, int64_t count, int dtype,
		     int root, bool over, int64_t since)
{
	json_array_append_new(calls, json_pack("[iIiIiiiiiIII]", comm, (json_int_t)number, kind,
					       (json_int_t)count, dtype, root, comm, over, 1,
					       (json_int_t)since, (json_int_t)since,
					       over ? (json_int_t)since : (json_int_t)0));
}

/* A rank as it writes it. */
static void write_line(FILE *out, int rank, bool present, bool cut, int64_t before, int undated,
		       const char *stack, json_t *comms, json_t *calls)
{
	json_t *line =
		json_pack("{s:i s:i s:I s:I s:i s:i s:s s:o s:o}", "rank", rank, "present", present,
			  "before", (json_int_t)before, "newest", (json_int_t)NOW, "cut", cut,
			  "undated", undated, "stack", stack, "comms", comms, "calls", calls);

	json_dumpf(must(line), out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(line);
}

/* The job, in front of its ranks, with all remarks so far. */
static void write_job(FILE *out, const struct writer *w, int nranks, bool counted)
{
	json_t *line =
		json_pack("{s:i s:i s:s s:s}", "ranks", nranks, "counted", counted, "library",
			  w->log->version ? w->log->version : "", "remarks", w->evidence->remarks);

	json_dumpf(must(line), out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(line);
}

/* The calls of a rank in the group, from the slowest rank's on, up to the first that no line names: no rank has that one. */
static void add_calls(json_t *calls, const struct group *g, const struct nccl_wait *own,
		      int64_t *before)
{
	int64_t at = nccl_wait_at(own), last;
	double waited = 0;

	if (at < 0)
		return;
	last = nccl_wait_made(own) ? at : at - 1;
	last = own->enqueued > last ? own->enqueued : last;
	for (int i = 0; i < g->n; i++)
		waited = fmax(waited, g->waits[i].waited);
	/* the call before stands for all that are over everywhere: its kind is not known, and alike for all */
	for (int64_t seq = g->first > 1 ? g->first - 1 : 1; seq <= last; seq++) {
		const struct nccl_wait *line = line_of(g, seq < g->first ? g->waits : own,
						       seq < g->first ? g->first : seq);
		int64_t since = NOW - (int64_t)((own->waited > 0 ? own->waited : waited) * 1e9);
		bool over = seq < at;
		int kind;

		if (!line)
			return;
		kind = kind_of(line->op);
		if (json_array_size(calls) == 0)
			*before = seq - 1;
		add_call(calls, g->comm, seq, kind, count_of(line, kind), DT_COUNT, -1, over,
			 since);
	}
}

static void write_rank(FILE *out, const struct writer *w, int rank)
{
	json_t *comms = must(json_array()), *calls = must(json_array());
	bool present = false;
	int64_t before = 0;

	for (int i = 0; i < w->n; i++) {
		const struct group *g = &w->groups[i];
		const struct nccl_wait *own = wait_of(g, rank);

		if (!own)
			continue;
		present = true;
		json_array_append_new(comms, json_pack("[iiiI]", g->comm, own->place, g->members,
						       (json_int_t)(i + 1)));
		add_calls(calls, g, own, &before);
	}
	write_line(out, rank, present, !present && w->log->traceback_rank == rank, before, 0,
		   w->log->traceback && w->log->traceback_rank == rank ? w->log->traceback : "",
		   comms, calls);
}

/* ---- NCCL's own lines of calls ---- */

/* Returns true if members made other calls of this number: it can't be over. */
static bool differs(const struct nccl_comm *comm, int64_t number)
{
	const struct nccl_call *first = NULL;

	for (int m = 0; m < comm->n_members; m++) {
		const struct nccl_call *call = nccl_member_call(comm->members[m], number);

		if (call && first &&
		    (call->kind != first->kind || call->count != first->count ||
		     call->dtype != first->dtype))
			return true;
		first = first ? first : call;
	}
	return false;
}

/* So many calls did all members with lines make, and alike; -1: their numbers can't be compared. */
static int64_t common_calls(const struct nccl_comm *comm)
{
	int64_t over = INT64_MAX, first = 0;
	bool grouped = false, cut = false;

	for (int m = 0; m < comm->n_members; m++) {
		const struct nccl_member *member = comm->members[m];

		if (!member->calls)
			continue;
		cut |= first && member->first != first;
		first = member->first;
		grouped |= member->grouped;
		over = member->last < over ? member->last : over;
	}
	if (!first || (grouped && cut))
		return -1;
	for (int64_t n = over - NCCL_CALLS; n <= over; n++)
		if (differs(comm, n))
			over = n - 1;
	return over;
}

static void write_member(FILE *out, const struct nccl_comm *comm, const struct nccl_member *member,
			 int rank, int64_t over)
{
	json_t *comms = must(json_array()), *calls = must(json_array());
	int64_t before = 0, n;

	if (member)
		json_array_append_new(comms,
				      json_pack("[iiiI]", 0, rank, comm->nranks, (json_int_t)1));
	for (n = member && member->last > NCCL_CALLS ? member->last - NCCL_CALLS + 1 : 1;
	     member && n <= member->last; n++) {
		const struct nccl_call *call = nccl_member_call(member, n);
		bool rooted;

		if (!call)
			continue;
		rooted = call->kind == CALL_BROADCAST || call->kind == CALL_REDUCE ||
			 call->kind == CALL_GATHER || call->kind == CALL_SCATTER;
		if (json_array_size(calls) == 0)
			before = n - 1;
		add_call(calls, 0, n, call->kind, (int64_t)call->count, call->dtype,
			 rooted ? call->root : -1, n <= over, NOW);
	}
	write_line(out, rank, member != NULL, false, before, RECORD_LINES, "", comms, calls);
}

/* The largest communicator with calls. Several are not compared with each other: their order is not in the numbers. */
static bool write_calls(FILE *out, const struct writer *w)
{
	const struct nccl_comm *comm = NULL;
	int64_t over = 0, own;
	int largest = 0;

	for (int i = 0; i < w->log->n_comms; i++) {
		const struct nccl_comm *one = &w->log->comms[i];

		largest = one->nranks > largest ? one->nranks : largest;
		if (one->nranks > MOST_RANK || one->nranks < 2 ||
		    (comm && comm->nranks >= one->nranks) || (own = common_calls(one)) < 0)
			continue;
		comm = one;
		over = own;
	}
	if (!comm)
		return false;
	evidence_remark(w->evidence, "From NCCL's lines of calls, which say what was enqueued and "
				     "not what is over: calls that all ranks made alike count as "
				     "over. Reduction operators and streams are not compared.");
	if (comm->nranks < largest)
		evidence_remark(w->evidence, "Ranks have their numbers in communicator %d.",
				(int)(comm - w->log->comms));
	write_job(out, w, comm->nranks, true);
	for (int rank = 0; rank < comm->nranks; rank++) {
		const struct nccl_member *member = nccl_comm_member(comm, rank);

		write_member(out, comm, member && member->calls ? member : NULL, rank, over);
	}
	return true;
}

/* Writes the run as torch_dumps.py does: a line for the job, then one for each rank. */
static void write_run(FILE *out, const struct writer *w)
{
	int nranks = w->nranks;

	if (w->nranks == 0) {
		if (!write_calls(out, w))
			fputs("{\"error\": \"hold no line of PyTorch's watchdog that says where a "
			      "rank is, and no calls (NCCL_DEBUG_SUBSYS=COLL)\"}\n",
			      out);
		return;
	}
	evidence_remark(w->evidence,
			"From lines of PyTorch's watchdog: types, reduction operators, roots and "
			"streams are not in them, nor what ranks without a line did.");
	if (w->log->traceback_ended && w->log->traceback_rank < MOST_RANK &&
	    w->log->traceback_rank >= nranks)
		nranks = w->log->traceback_rank + 1;
	write_job(out, w, nranks, false);
	for (int rank = 0; rank < nranks; rank++)
		write_rank(out, w, rank);
}

/* A rank that ended with an error of its own, by its traceback. */
static void take_end(struct evidence_rank *rank, const char *error)
{
	rank->present = true;
	rank->view.process = PROCESS_EXITED;
	rank->view.status = -1; /* no line says it */
	rank->view.waiting = rank->view.overdue = 0;
	snprintf(rank->said, sizeof(rank->said), "%.190s", error);
}

static int load(struct evidence *evidence, const struct nccl_log *log, struct error *err)
{
	struct evidence said = { .nranks = 0 };
	struct writer w = { .log = log, .evidence = &said };
	char *text = NULL;
	size_t size;
	FILE *out;
	int rc;

	find_groups(&w);
	out = must(open_memstream(&text, &size));
	write_run(out, &w);
	fclose(out);
	rc = evidence_play(evidence, text, "the logs", err);
	if (rc >= 0 && log->traceback_ended && !log->traceback_after && log->traceback_rank >= 0 &&
	    log->traceback_rank < evidence->nranks)
		take_end(&evidence->ranks[log->traceback_rank], log->error);
	free(text);
	free(w.groups);
	return rc;
}

int evidence_load_logs(struct evidence *evidence, const char *const *paths, size_t n,
		       struct error *err)
{
	struct nccl_log log;

	memset(evidence, 0, sizeof(*evidence));
	nccl_log_init(&log);
	for (size_t i = 0; i < n && err->code == 0; i++)
		nccl_log_read_file(&log, paths[i], -1, err);
	nccl_log_finish(&log);
	if (err->code == 0)
		load(evidence, &log, err);
	nccl_log_release(&log);
	return err->code;
}
