/* probe.c: stacks of all local ranks, NCCL RAS and counters, as tasks that run side by side. */
#include "probe/probe.h"

#include "settings/backend_kind.h"
#include "process/task.h"
#include "base/rank_list.h"

#define PER_CPU 4 /* unwinders at once: they wait for files and for threads to stop */

struct probe {
	struct task *tasks;
	struct stacks_order *orders; /* of tasks[i] */
	int *ranks;		     /* of tasks[i] */
	size_t n;
};

/* The culprits first. */
static void add_ranks(struct probe *h, const struct evidence *e, const bool *local,
		      const char *culprits)
{
	for (int k = 0; k < 2 * e->nranks; k++) {
		const int i = k % e->nranks;
		const struct evidence_rank *rank = &e->ranks[i];

		if (!local[i] || !rank->present || rank->view.pid <= 0 ||
		    rank->view.process > PROCESS_STOPPED || rank_list_has(culprits, i) != (k == i))
			continue;
		h->orders[h->n] =
			(struct stacks_order){ .pid = rank->view.pid, .seconds = PROBE_EACH * 0.7 };
		stacks_order(&h->tasks[h->n], &h->orders[h->n]);
		h->ranks[h->n++] = i;
	}
}

static char *ras_result(struct task *task)
{
	char *text = task->text;

	if (task->end != TASK_DONE &&
	    asprintf(&text, "%s\n[cut: %zu bytes after %.1f s]\n", task->text ? task->text : "",
		     task->bytes, task->seconds) < 0)
		text = NULL;
	if (text != task->text)
		free(task->text);
	return text;
}

/* Keeps this host's counters with its first rank. */
static void take_counters(struct evidence *e, const bool *local, struct task *before,
			  struct task *after)
{
	int first = 0;

	task_end(before);
	while (first < e->nranks && !local[first])
		first++;
	if (first < e->nranks)
		counter_delta_take(&e->ranks[first], before->text, after->text,
				   *(const bool *)before->arg);
	free(after->text);
}

void probe_ranks(struct evidence *evidence, const bool *local, const char *culprits,
		 struct task *before)
{
	size_t room = (size_t)evidence->nranks + 2;
	struct probe h = { .tasks = must(calloc(room, sizeof(*h.tasks))),
			   .orders = must(calloc(room, sizeof(*h.orders))),
			   .ranks = must(calloc(room, sizeof(*h.ranks))) };
	const char *address = getenv("NCCL_RAS_ADDR");
	struct ras_order ras = { address ? address : RAS_ADDRESS, PROBE_EACH * 0.9 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t nras = backend_has(evidence->backend, BACKEND_RAS), nfirst = nras + (before != NULL);

	h.tasks[0] = (struct task){ .run = ras_ask, .arg = &ras, .limit = EVIDENCE_RAS_BYTES };
	if (before)
		h.tasks[nras] = counter_delta_task(before->arg);
	h.tasks += nfirst; /* RAS and counters first */
	add_ranks(&h, evidence, local, culprits);
	h.tasks -= nfirst;
	tasks_run(h.tasks, h.n + nfirst, (size_t)(cpus > 0 ? cpus : 1) * PER_CPU, PROBE_EACH,
		  PROBE_SECONDS);
	if (nras) {
		free(evidence->ras);
		evidence->ras = ras_result(&h.tasks[0]);
	}
	if (before)
		take_counters(evidence, local, before, &h.tasks[nras]);
	for (size_t i = 0; i < h.n; i++) {
		struct evidence_rank *rank = &evidence->ranks[h.ranks[i]];

		free(rank->stack);
		rank->stack = stacks_result(&h.tasks[i + nfirst]);
		if (rank->stack)
			evidence_clean(rank->stack);
	}
	if (evidence->ras)
		evidence_clean(evidence->ras);
	free(h.tasks);
	free(h.orders);
	free(h.ranks);
}

/* Notes whether the library reports an asynchronous error. */
static void note_async(const struct evidence *e, struct diagnosis *d)
{
	size_t asked = 0;
	int failed = -1;

	if (d->outcome != OUTCOME_HANG)
		return;
	for (int i = e->nranks - 1; i >= 0; i--) {
		const struct rank_view *v = &e->ranks[i].view;

		if (!e->ranks[i].present)
			continue;
		/* it asks while it waits for its device, and nowhere else */
		asked += v->asked > 0 && v->device_wait != RECORD_DEVICE_LEFT;
		failed = v->asked > 1 ? i : failed;
	}
	if (failed >= 0)
		diagnosis_note(d, "ncclCommGetAsyncError says error %d on rank %d.",
			       e->ranks[failed].view.asked - 1, failed);
	else if (asked > 0)
		diagnosis_note(d,
			       "ncclCommGetAsyncError says success on the %zu of %d ranks that ask "
			       "it while they wait.",
			       asked, e->nranks);
}

void probe_note(const struct evidence *evidence, struct diagnosis *diagnosis)
{
	char line[sizeof(diagnosis->lines[0])];

	counter_delta_note(evidence, diagnosis);
	note_async(evidence, diagnosis);
	if (ras_agrees(evidence->ras, evidence, diagnosis, line, sizeof(line)) == RAS_NOT_ASKED)
		return;
	diagnosis->nlines -= diagnosis->nlines == DIAGNOSIS_LINES;
	diagnosis_note(diagnosis, "%s", line);
}
