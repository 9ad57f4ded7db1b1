/* diagnoser.c: evidence from memory, /proc, other hosts to a sharper verdict and a folder. */
#include "diagnoser/diagnoser.h"

#include "base/clock.h"
#include "base/json_value.h"
#include "base/output.h"
#include "base/rank_list.h"
#include "process/command.h"
#include "process/leftovers.h"
#include "diagnoser/folder.h"
#include "answer/postmortem.h"
#include "evidence/saved.h"
#include "answer/counter_delta.h"
#include "probe/probe.h"

#define REMOTE_RANKS (1 << 18) /* ranks */
#define TEXT_MAX     (64 << 10)
#define TAIL_CALLS   256 /* newest calls that another host tells of a rank; of large runs: */
#define TAIL_SHORT   64
#define TAIL_RANKS   1024

/* A rank on another host is known by its view alone, which holds its newest call. */
static void take_last(struct evidence_rank *rank)
{
	static const uint64_t before[RECORD_COMMS];

	if (!evidence_sound(&rank->view.last, rank->view.issued, before))
		return;
	rank->calls = must(malloc(sizeof(*rank->calls)));
	memcpy(rank->calls, &rank->view.last, sizeof(*rank->calls));
	rank->ncalls = 1;
	rank->wrapped = rank->view.issued > 1;
	evidence_index(rank);
}

/* A rank on another host, as its own diagnoser described it; the view came with the same answer. */
static void take_remote(struct diagnoser *self, struct evidence_rank *rank,
			const struct rank_view *view)
{
	const struct remote_evidence *remote =
		view->rank < self->nremote ? &self->remote[view->rank] : NULL;
	bool taken = remote && remote->kinds[EVIDENCE_TAIL].data &&
		     evidence_take_saved(rank, view->rank, remote->kinds[EVIDENCE_TAIL].data,
					 remote->kinds[EVIDENCE_TAIL].bytes) == 0;

	rank->remote = true;
	rank->view = *view;
	if (!taken)
		take_last(rank);
}

static void take_rank(struct diagnoser *self, const struct rank_view *view,
		      const struct record_memory *memory)
{
	struct evidence_rank *rank = &self->evidence.ranks[view->rank];

	rank->present = true;
	rank->view = *view;
	rank->cpu_share = -1;
	if (!memory) {
		take_remote(self, rank, view);
		return;
	}
	evidence_identify(&self->evidence, &memory->header);
	evidence_take_calls(rank, memory);
	evidence_take_program(rank, memory);
}

static void collect(struct diagnoser *self, const struct rank_view *views,
		    const struct record_memory *const *memories, size_t n)
{
	struct evidence *e = &self->evidence;
	double detect_ms = e->detect_ms; /* of a verdict that is out */
	bool whole = self->site.preloaded && n > 0;

	evidence_release(e);
	e->detect_ms = detect_ms;
	for (size_t i = 0; i < n; i++) {
		int nranks = memories[i] ? memories[i]->header.nranks : 0;

		whole = whole && memories[i] && memories[i]->header.nnodes <= 1;
		nranks = nranks > views[i].rank && nranks <= REMOTE_RANKS ? nranks
									  : views[i].rank + 1;
		e->nranks = nranks > e->nranks ? nranks : e->nranks;
	}
	snprintf(e->whole, sizeof(e->whole), whole ? "yes" : "");
	e->ranks = evidence_ranks_alloc(e->nranks);
	for (size_t i = 0; i < n; i++)
		if (views[i].rank >= 0 && views[i].rank < REMOTE_RANKS)
			take_rank(self, &views[i], memories[i]);
	if (self->site.preloaded)
		evidence_find_starters(e);
	if (e->whole[0])
		evidence_find_absent(e);
	self->site.describe(self->site.arg, e);
}

static void on_begin(void *ctx, const struct rank_view *views, size_t n)
{
	struct diagnoser *self = ctx;

	evidence_probe_release(&self->probe);
	for (size_t i = 0; i < n; i++)
		evidence_probe_add(&self->probe, views[i].pid);
}

static void on_collect(void *ctx, const struct rank_view *views,
		       const struct record_memory *const *memories, size_t n,
		       struct monitor *monitor)
{
	struct diagnoser *self = ctx;
	size_t newest;

	collect(self, views, memories, n);
	evidence_probe(self->evidence.ranks, (size_t)self->evidence.nranks, &self->probe);
	newest = self->evidence.nranks > TAIL_RANKS ? TAIL_SHORT : TAIL_CALLS;
	for (int i = 0; i < self->evidence.nranks; i++) {
		const struct evidence_rank *rank = &self->evidence.ranks[i];
		size_t bytes = saved_bytes(rank, newest);
		void *image;

		if (!rank->present)
			continue;
		image = saved_alloc(bytes);
		saved_pack(rank, i, newest, image);
		monitor_send_evidence(monitor, i, EVIDENCE_TAIL, image, bytes);
		free(image);
	}
}

static struct remote_evidence *remote_of(struct diagnoser *self, int rank)
{
	if (rank < 0 || rank >= REMOTE_RANKS)
		return NULL;
	if (rank >= self->nremote)
		self->remote =
			must(realloc(self->remote, ((size_t)rank + 1) * sizeof(*self->remote)));
	for (; self->nremote <= rank; self->nremote++)
		self->remote[self->nremote] = (struct remote_evidence){ 0 };
	return &self->remote[rank];
}

static void on_evidence(void *ctx, int32_t rank, enum evidence_kind kind, const void *data,
			size_t bytes)
{
	struct remote_evidence *remote = remote_of(ctx, rank);
	char *copy;

	if (!remote)
		return;
	if (kind != EVIDENCE_TAIL && bytes > TEXT_MAX)
		bytes = TEXT_MAX;
	copy = must(malloc(bytes + 1));
	memcpy(copy, data, bytes);
	copy[bytes] = '\0';
	free(remote->kinds[kind].data);
	remote->kinds[kind].data = copy;
	remote->kinds[kind].bytes = bytes;
}

/* Returns true if the rank has made the call that it was late to, or a later one, before that time, or that call is not
 * known. */
static bool came_since(const struct diagnoser *self, int rank, uint64_t before)
{
	const struct evidence_rank *r =
		rank < self->evidence.nranks ? &self->evidence.ranks[rank] : NULL;
	const struct answer *late = &self->late;
	bool came = !r || late->seq_low < 0;

	for (size_t i = r ? r->ncalls : 0; !came && i-- > 0;)
		came = r->calls[i].comm == late->comm &&
		       r->calls[i].seq >= (uint64_t)late->seq_low &&
		       r->calls[i].enqueued_ns < before;
	return came;
}

/* When the first rank left that was not late, UINT64_MAX: none has, or that is not known. */
static uint64_t first_left(const struct diagnoser *self)
{
	uint64_t first = UINT64_MAX;

	for (int i = 0; i < self->evidence.nranks; i++) {
		uint64_t left = self->evidence.ranks[i].left_ns;

		if (left && left < first && !rank_list_has(self->late.ranks, i))
			first = left;
	}
	return first;
}

/* Returns true if the rank failed by itself, before the first one left that was not late. */
static bool failed_before(const struct diagnoser *self, const struct rank_view *v, uint64_t first)
{
	uint64_t left = v->rank < self->evidence.nranks ? self->evidence.ranks[v->rank].left_ns : 0;

	return (v->process == PROCESS_EXITED || view_failed(v) ||
		(v->process == PROCESS_KILLED && v->status != SIGTERM)) &&
	       (first == UINT64_MAX || left <= first);
}

/* A program's own time-out ends it: its ranks abort, or are ended, because one was late. That stands, unless the late
 * one has come since, or is among those that failed by themselves. */
static bool was_late(const struct diagnoser *self, const struct answer *seen,
		     const struct rank_view *views, size_t n)
{
	const struct answer *late = &self->late;
	uint64_t first = first_left(self);

	if (late->class == CLASS_OUTCOME || late->class == CLASS_UNEXPLAINED ||
	    (seen->outcome != OUTCOME_DIED && seen->outcome != OUTCOME_ERROR))
		return false;
	for (size_t i = 0; i < n; i++)
		if (rank_list_has(late->ranks, views[i].rank) &&
		    (came_since(self, views[i].rank, first) ||
		     failed_before(self, &views[i], first)))
			return false;
	return rank_list_count(late->ranks) > 0;
}

/* A late rank's answer, of a program that ended itself for it. */
static void take_late(const struct diagnoser *self, const struct answer *seen,
		      struct answer *answer)
{
	*answer = self->late;
	answer_note(answer, "The program ended itself after that: %s.",
		    outcome_name(seen->outcome));
	answer->detect_ms = seen->detect_ms;
	answer->last_comm = seen->last_comm;
	answer->last_seq = seen->last_seq;
}

/* Ranks' first calls that differed, of a run that ended: they have left the rings since. */
static void take_differed(const struct diagnoser *self, struct answer *answer)
{
	enum outcome outcome = outcome_worse(answer->outcome, self->differed.outcome);

	if (!self->differed.class || strcmp(answer->ranks, "-") != 0)
		return;
	*answer = self->differed;
	answer->outcome = outcome;
}

static enum diagnosis_result on_refine(void *ctx, const struct rank_view *views,
				       const struct record_memory *const *memories, size_t n,
				       struct answer *answer)
{
	struct diagnoser *self = ctx;
	const struct answer seen = *answer;
	bool ended = seen.outcome == OUTCOME_OK || seen.outcome == OUTCOME_WRONG_DATA ||
		     seen.outcome == OUTCOME_DIVERGED;

	collect(self, views, memories, n);
	if (self->site.preloaded)
		evidence_number_comms(&self->evidence);
	if (!ended) /* else there are no processes to look at */
		evidence_probe(self->evidence.ranks, (size_t)self->evidence.nranks, &self->probe);
	clock_local(self->evidence.when, sizeof(self->evidence.when), CLOCK_ISO);
	if (was_late(self, &seen, views, n))
		take_late(self, &seen, answer);
	else
		find_answer(&self->evidence, &seen, answer);
	if (ended)
		take_differed(self, answer);
	return answer_explains(answer) ? DIAGNOSIS_NAMED : DIAGNOSIS_UNEXPLAINED;
}

static void on_compare(void *ctx, const struct rank_view *views,
		       const struct record_memory *const *memories, size_t n)
{
	lines_compare(ctx, views, memories, n);
}

/* In the evidence's own words: what is printed and what is saved say the same of a rank. */
static void on_describe(void *ctx, struct answer *answer)
{
	const struct diagnoser *self = ctx;

	report_describe(answer, &self->evidence);
}

static void on_late(void *ctx, const struct answer *answer)
{
	struct diagnoser *self = ctx;

	self->late = *answer;
	self->late.said_ns = clock_ns();
}

static void on_came(void *ctx)
{
	struct diagnoser *self = ctx;

	self->late.class = CLASS_OUTCOME;
}

static void on_reserve_folder(void *ctx, struct answer *answer, const char *side)
{
	struct diagnoser *self = ctx;

	if (side && !strchr(side, '/'))
		snprintf(self->side, sizeof(self->side), "%s", side);
	self->evidence.detect_ms = answer->detect_ms;
	if (folder_make(self))
		snprintf(answer->evidence, sizeof(answer->evidence), "%s", self->folder);
}

/* Asks for stacks and NCCL's own account of the ranks here, and for this host's counters. */
static void run_probe(struct diagnoser *self, const char *culprits)
{
	bool *local = must(calloc((size_t)self->evidence.nranks + 1, sizeof(*local)));

	for (int i = 0; i < self->evidence.nranks; i++)
		local[i] = self->evidence.ranks[i].present && !self->evidence.ranks[i].remote;
	probe_ranks(&self->evidence, local, culprits, self->counters.arg ? &self->counters : NULL);
	free(local);
}

static void on_save_local(void *ctx, const struct rank_view *views,
			  const struct record_memory *const *memories, size_t n, const char *folder,
			  struct monitor *monitor)
{
	struct diagnoser *self = ctx;
	struct error err = { .rank = -1 };
	bool saved;

	if (!self->evidence.ranks)
		collect(self, views, memories, n);
	saved = folder_make_told(self, folder) &&
		evidence_save(&self->evidence, self->folder, &err) == 0;
	run_probe(self, "-");
	for (int i = 0; i < self->evidence.nranks; i++) {
		const char *stack = self->evidence.ranks[i].stack;
		char *counters = evidence_counters_text(&self->evidence.ranks[i]);

		if (stack)
			monitor_send_evidence(monitor, i, EVIDENCE_STACK, stack,
					      strnlen(stack, TEXT_MAX));
		if (counters)
			monitor_send_evidence(monitor, i, EVIDENCE_COUNTERS, counters,
					      strlen(counters));
		free(counters);
	}
	if (saved)
		evidence_save_texts(&self->evidence, self->folder, &err);
	if (err.code)
		error_print(&err, self->site.name);
}

/* Stacks of ranks on other hosts, and those hosts' counters, which came after the verdict. */
static void take_texts(struct diagnoser *self)
{
	for (int i = 0; i < self->evidence.nranks && i < self->nremote; i++) {
		struct evidence_rank *rank = &self->evidence.ranks[i];
		struct remote_evidence *remote = &self->remote[i];
		const char *counters = remote->kinds[EVIDENCE_COUNTERS].data;

		if (rank->remote && counters && !evidence_parse_counters(rank, counters))
			evidence_remark(&self->evidence, "Counters sent with rank %d are unsound.",
					i);
		if (!rank->remote || !remote->kinds[EVIDENCE_STACK].data)
			continue;
		free(rank->stack);
		rank->stack = remote->kinds[EVIDENCE_STACK].data;
		remote->kinds[EVIDENCE_STACK].data = NULL;
	}
}

static void save_command(const struct diagnoser *self)
{
	char path[sizeof(self->folder) + 16], command[COMMAND_MAX + 1];

	snprintf(path, sizeof(path), "%s/command.txt", self->folder);
	self->site.again(self->site.arg, command, COMMAND_MAX, self->evidence.nranks);
	strcat(command, "\n");
	output_whole(path, command, strlen(command)); /* without it the report says: unknown */
}

/* Runs after the verdict line. All that is there is saved first, since this process may be ended at any time: the
 * report before the records, which may be too large for the disk. */
static void on_collect_slow(void *ctx, struct answer *answer)
{
	struct diagnoser *self = ctx;
	struct error err = { .rank = -1 };

	answer->said_ns = clock_ns(); /* the line has just been printed */
	if (!self->evidence.ranks)
		return;
	if (self->folder[0]) {
		if (self->side[0])
			folder_name_run(self);
		save_command(self);
		self->short_of_room =
			answer_save_report(answer, &self->evidence, self->folder, &err) < 0 ||
			evidence_save(&self->evidence, self->folder, &err) < 0;
		if (self->short_of_room)
			error_print(&err, self->site.name);
	}
	run_probe(self, answer->ranks);
}

/* Saves what the probe found, here and on other hosts. */
static void on_save(void *ctx, struct answer *answer)
{
	struct diagnoser *self = ctx;
	struct error err = { .rank = -1 };
	int drawable;

	if (!self->evidence.ranks)
		return;
	take_texts(self);
	probe_note(&self->evidence, answer);
	report_where(stdout, "# ", answer, &self->evidence);
	fflush(stdout);
	if (!self->folder[0])
		return;
	drawable = answer_save(answer, &self->evidence, self->folder, &err);
	if ((drawable < 0 || evidence_save_texts(&self->evidence, self->folder, &err) < 0) &&
	    !self->short_of_room)
		error_print(&err, self->site.name);
	folder_say(self->folder, drawable > 0, !self->short_of_room);
	for (int i = 0; i < self->evidence.nranks; i++)
		if (self->evidence.ranks[i].remote && answer->hosts[0]) {
			folder_say_sides(self, answer->hosts);
			break;
		}
}

void diagnoser_start(struct diagnoser *self)
{
	folder_find_root(self);
	self->counters = counter_delta_task(&self->site.gpus);
	task_begin(&self->counters); /* without it there is one reading only */
}

void diagnoser_forget(struct diagnoser *self)
{
	self->late.class = CLASS_OUTCOME;
	self->differed.class = CLASS_OUTCOME;
}

void diagnoser_withdraw(struct diagnoser *self, const char *sentence)
{
	char path[sizeof(self->folder) + 16];
	json_t *verdict;
	FILE *f;

	self->late.class = CLASS_OUTCOME;
	if (!self->folder[0])
		return;
	snprintf(path, sizeof(path), "%s/verdict.json", self->folder);
	verdict = json_load_file(path, 0, NULL);
	if (verdict && json_object_set_new(verdict, "withdrawn", json_string(sentence)) == 0)
		json_value_save(verdict, path, JSON_INDENT(1));
	json_decref(verdict);
	snprintf(path, sizeof(path), "%s/postmortem.md", self->folder);
	f = fopen(path, "a");
	if (!f)
		return;
	fprintf(f, "\n## Afterwards\n\n%c%s.\n", toupper((unsigned char)sentence[0]), sentence + 1);
	fclose(f);
}

void diagnoser_release(struct diagnoser *self)
{
	task_end(&self->counters);
	free(self->counters.text);
	evidence_release(&self->evidence);
	evidence_probe_release(&self->probe);
	for (int i = 0; i < self->nremote; i++)
		for (int kind = 0; kind < EVIDENCE_KINDS; kind++)
			free(self->remote[i].kinds[kind].data);
	free(self->remote);
	self->remote = NULL;
	self->nremote = 0;
}

void diagnoser_watch(void *arg, struct monitor *monitor)
{
	struct diagnoser *self = arg;
	struct error err = { .rank = -1 };
	struct run_folder folder;

	if (run_folder_open(&folder, self->site.key, &err) < 0)
		error_print(&err, self->site.name);
	diagnoser_start(self);
	while (monitor_tick(monitor))
		;
	monitor_close(monitor);
	diagnoser_release(self);
	run_folder_release(&folder);
}

struct monitor_client diagnoser_client(struct diagnoser *self)
{
	return (struct monitor_client){ .ctx = self,
					.late = on_late,
					.came = on_came,
					.begin = on_begin,
					.collect = on_collect,
					.on_evidence = on_evidence,
					.refine = on_refine,
					.compare = self->site.preloaded ? on_compare : NULL,
					.describe = on_describe,
					.reserve_folder = on_reserve_folder,
					.save_local = on_save_local,
					.collect_slow = on_collect_slow,
					.save = on_save };
}
