/* probe.c: stacks of all local ranks, NCCL RAS and counters, as tasks that run side by side. */
#include "answer/counter_delta.h"
#include "probe/probe.h"

#include "settings/backend_kind.h"
#include "base/rank_list.h"

#define PER_CPU 4 /* unwinders at once: they wait for files and for threads to stop */

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

/* Adds the stacks of local ranks, the culprits' first; orders[i] is that of rank i. Returns how many. */
static size_t add_ranks(struct task *tasks, struct stacks_order *orders, const struct evidence *e,
			const bool *local, const char *culprits)
{
	size_t n = 0;

	for (int k = 0; k < 2 * e->nranks; k++) {
		const int i = k % e->nranks;
		const struct evidence_rank *rank = &e->ranks[i];
		bool shared = false;

		for (int other = 0; other < i && !shared;
		     other++) /* a process is held once at a time */
			shared = local[other] && e->ranks[other].view.pid == rank->view.pid;
		if (!local[i] || shared || !rank->present || rank->view.pid <= 0 ||
		    rank->view.process > PROCESS_STOPPED || rank_list_has(culprits, i) != (k == i))
			continue;
		orders[i] = (struct stacks_order){ .pid = rank->view.pid,
						   .python = rank->python,
						   .seconds = PROBE_EACH * 0.7 };
		stacks_order(&tasks[n++], &orders[i]);
	}
	return n;
}

void probe_ranks(struct evidence *evidence, const bool *local, const char *culprits,
		 struct task *before)
{
	size_t room = (size_t)evidence->nranks + 2, n;
	struct task *tasks = must(calloc(room, sizeof(*tasks))), *next = tasks;
	struct stacks_order *orders = must(calloc(room, sizeof(*orders)));
	const char *address = getenv("NCCL_RAS_ADDR");
	struct ras_order ras = { address ? address : RAS_ADDRESS, PROBE_EACH * 0.9 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	bool asks_ras = backend_has(evidence->backend, BACKEND_RAS);

	/* RAS and counters first */
	if (asks_ras)
		*next++ = (struct task){ .run = ras_ask, .arg = &ras, .limit = EVIDENCE_RAS_BYTES };
	if (before)
		*next++ = counter_delta_task(before->arg);
	n = add_ranks(next, orders, evidence, local, culprits);
	tasks_run(tasks, (size_t)(next - tasks) + n, (size_t)(cpus > 0 ? cpus : 1) * PER_CPU,
		  PROBE_EACH, PROBE_SECONDS);
	for (size_t i = 0; i < n; i++) {
		const struct stacks_order *order = next[i].arg;
		char **stack = &evidence->ranks[order - orders].stack;

		free(*stack);
		*stack = stacks_result(&next[i]);
		if (*stack)
			evidence_clean(*stack);
	}
	if (before)
		take_counters(evidence, local, before, --next);
	if (asks_ras) {
		free(evidence->ras);
		evidence->ras = ras_result(&tasks[0]);
	}
	if (evidence->ras)
		evidence_clean(evidence->ras);
	free(tasks);
	free(orders);
}
