/* tool_synthetic.c: saved evidence of many ranks, of which one does something.
 * usage: tool_synthetic DIR RANKS CALLS [GUILTY [CLASS]]
 *
 * Counts differ from call to call; rank GUILTY (default: the middle one) leaves out the call in the
 * middle, or is what CLASS says; everyone else waits in the last call, or in communicator init. For
 * measuring hang_diagnose at a size that no test machine runs. */

#include "backend/call.h"
#include "base/dtype.h"
#include "evidence/evidence.h"
#include "base/outcome.h"
#include "record/recorder.h"
#include "process/watch.h"

/* The culprit's deed with its calls. */
enum deed { LEAVES_OUT, REPEATS, OTHER_TYPE, STOPS_SHORT, ALIKE, NO_INIT, OTHER_INIT, OTHER_NET };

/* How its process is when it is looked at. */
static const struct part {
	const char *class;
	enum deed deed;
	int process, status;
	char state;
	const char *syscall;
	double share;
	enum phase phase;
	uint32_t oom_kills;
	int outcome, error_code;
	uint32_t comm_state;
} parts[] = {
	{ "skipped-call", LEAVES_OUT, .state = 'S', .phase = PHASE_TIMED, .outcome = -1 },
	{ "extra-call", REPEATS, .state = 'S', .phase = PHASE_TIMED, .outcome = -1 },
	{ "mismatch", OTHER_TYPE, .state = 'S', .phase = PHASE_TIMED, .outcome = -1 },
	{ "missing-call", STOPS_SHORT, .state = 'S', .syscall = "clock_nanosleep",
	  .phase = PHASE_TIMED, .outcome = -1 },
	{ "host-blocked", STOPS_SHORT, .state = 'S', .syscall = "futex", .phase = PHASE_TIMED,
	  .outcome = -1 },
	{ "host-busy", STOPS_SHORT, .state = 'R', .share = 1, .phase = PHASE_TIMED, .outcome = -1 },
	{ "skipped-or-early-exit", STOPS_SHORT, .state = 'S', .phase = PHASE_FINALISE,
	  .outcome = -1 },
	{ "rank-stopped", STOPS_SHORT, .process = PROCESS_STOPPED, .status = SIGSTOP, .state = 'T',
	  .phase = PHASE_TIMED, .outcome = -1 },
	{ "rank-killed", STOPS_SHORT, .process = PROCESS_KILLED, .status = SIGKILL,
	  .phase = PHASE_TIMED, .outcome = -1 },
	{ "rank-crashed", STOPS_SHORT, .process = PROCESS_KILLED, .status = SIGSEGV,
	  .phase = PHASE_TIMED, .outcome = -1 },
	{ "rank-exited", STOPS_SHORT, .process = PROCESS_EXITED, .phase = PHASE_TIMED,
	  .outcome = -1 },
	{ "rank-oom", STOPS_SHORT, .process = PROCESS_KILLED, .status = SIGKILL,
	  .phase = PHASE_TIMED, .oom_kills = 1, .outcome = -1 },
	{ "rank-gpu-oom", STOPS_SHORT, .process = PROCESS_EXITED, .status = OUTCOME_ERROR,
	  .phase = PHASE_TIMED, .outcome = OUTCOME_ERROR, .error_code = -ENOMEM },
	{ "aborted", STOPS_SHORT, .state = 'S', .phase = PHASE_TIMED, .outcome = -1,
	  .comm_state = RECORD_COMM_ABORTED },
	{ "init-missing-rank", NO_INIT, .state = 'S', .phase = PHASE_INIT, .outcome = -1 },
	{ "init-mismatch", OTHER_INIT, .state = 'S', .phase = PHASE_INIT, .outcome = -1 },
	{ "init-unreachable", OTHER_NET, .state = 'S', .phase = PHASE_INIT, .outcome = -1 },
	{ "unexplained", ALIKE, .state = 'S', .phase = PHASE_TIMED, .outcome = -1 },
};

static void make_call(const struct watch *watch, int k, enum dtype dtype, bool returns)
{
	struct call call = { .kind = CALL_ALL_REDUCE,
			     .count = 1000 + ((size_t)k * (size_t)k * 7919) % 1009,
			     .dtype = dtype,
			     .op = OP_SUM,
			     .peer = -1 };
	uint64_t ticket = watch->call(watch->ctx, &call);

	if (returns)
		watch->returned(watch->ctx, ticket, 0);
}

/* Without a part: what all others do. */
static void play(struct record_memory *memory, int calls, const struct part *part)
{
	enum deed deed = part ? part->deed : ALIKE;
	struct recorder recorder;
	struct watch watch;

	recorder_init(&recorder, memory, true, 0);
	watch = recorder_watch(&recorder);
	watch_phase(&watch, part ? part->phase : PHASE_TIMED);
	for (int k = 1; k <= calls; k++) {
		enum dtype dtype = deed == OTHER_TYPE && k == calls / 2 ? DT_INT32 : DT_FLOAT;

		if ((deed == LEAVES_OUT && k == calls / 2) || (deed == STOPS_SHORT && k == calls))
			continue;
		if (deed == REPEATS && k == calls / 2)
			make_call(&watch, k, dtype, true);
		make_call(&watch, k, dtype, k < calls);
	}
	watch_enter(&watch,
		    part && part->phase == PHASE_FINALISE ? "the other ranks' end" : "timed calls",
		    1);
}

static void look(struct evidence_rank *r, int ranks, const struct part *part, bool init)
{
	static const struct part other = { .state = 'S', .outcome = -1 };
	const struct part *p = part ? part : &other;

	r->present = true;
	r->view.process = p->process;
	r->view.status = p->status;
	r->view.outcome = p->outcome;
	r->view.error_code = p->error_code;
	r->view.oom_kills = p->oom_kills;
	r->view.overdue = r->view.process < PROCESS_EXITED;
	r->view.waited = 1;
	r->view.comm_state = p->comm_state ? p->comm_state
			     : init	   ? RECORD_COMM_INIT
					   : RECORD_COMM_READY;
	r->view.aborted_after = p->comm_state ? r->view.issued : 0;
	r->view.init_nranks = ranks - (p->deed == OTHER_INIT);
	r->view.init_id = 7;
	r->netns = 4 + (p->deed == OTHER_NET);
	r->state = p->state;
	r->cpu_share = p->share;
	snprintf(r->syscall, sizeof(r->syscall), "%s", p->syscall ? p->syscall : "");
	if (p->deed == NO_INIT) {
		r->view.comm_state = RECORD_COMM_NONE;
		r->view.init_id = 0;
	}
}

static int make_rank(const char *dir, int rank, int ranks, int calls, const struct part *part)
{
	struct evidence_rank r = { 0 };
	struct error err = { .rank = -1 };
	struct record_memory *memory;
	int fd, rc;

	if (recorder_create("synthetic", &memory, &fd, &err) < 0)
		return -1;
	memory->header.rank = rank;
	play(memory, calls, part);
	view_read(&r.view, memory, 0);
	look(&r, ranks, part, calls == 0);
	evidence_take_calls(&r, memory);
	rc = evidence_save_rank(&r, rank, dir);
	evidence_rank_release(&r);
	munmap(memory, sizeof(*memory));
	close(fd);
	return rc;
}

/* run.json: how many ranks there are. */
static int save_count(const char *dir, int ranks)
{
	struct error err = { .rank = -1 };
	struct evidence e = { .nranks = ranks, .ranks = calloc((size_t)ranks, sizeof(*e.ranks)) };
	int rc = e.ranks ? evidence_save(&e, dir, &err) : -ENOMEM;

	evidence_release(&e);
	return rc;
}

static const struct part *find_part(const char *class)
{
	for (size_t i = 0; i < LENGTH(parts); i++)
		if (strcmp(parts[i].class, class) == 0)
			return &parts[i];
	return NULL;
}

int main(int argc, char **argv)
{
	int ranks = argc > 3 ? atoi(argv[2]) : 0, calls = argc > 3 ? atoi(argv[3]) : 0;
	int culprit = argc > 4 ? atoi(argv[4]) : ranks / 2;
	const struct part *part = find_part(argc > 5 ? argv[5] : "skipped-call");

	if (ranks < 2 || calls < 4 || calls > RECORD_RING || !part) {
		fprintf(stderr, "usage: tool_synthetic DIR RANKS CALLS [GUILTY [CLASS]]; classes:");
		for (size_t i = 0; i < LENGTH(parts); i++)
			fprintf(stderr, " %s", parts[i].class);
		fprintf(stderr, "\n");
		return 2;
	}
	mkdir(argv[1], 0777);
	if (part->deed >= NO_INIT)
		calls = 0;
	for (int i = 0; i < ranks; i++)
		if (make_rank(argv[1], i, ranks, calls, i == culprit ? part : NULL) < 0) {
			fprintf(stderr, "tool_synthetic: cannot write rank %d to %s\n", i, argv[1]);
			return 1;
		}
	return save_count(argv[1], ranks) < 0;
}
