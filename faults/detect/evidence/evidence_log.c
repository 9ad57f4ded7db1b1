/* evidence_log.c: what logs say of a run's calls, as evidence: what nccl_log read goes to log_calls.py, whose answer is played. */
#include "evidence/evidence.h"

#include <jansson.h>

#include "base/built_in.h"
#include "nccl_check/nccl_check.h"

/* The script, which is given to python3 as it is. */
BUILT_IN(log_calls, "faults/detect/evidence/log_calls.py");

/* A log's text, of any bytes, as JSON. */
static json_t *text_json(const char *text)
{
	char *copy = must(strdup(text ? text : ""));
	json_t *j;

	for (char *c = copy; *c; c++)
		*c = (*c < ' ' || *c > '~') && *c != '\n' ? '?' : *c;
	j = must(json_string(copy));
	free(copy);
	return j;
}

static json_t *waits_json(const struct nccl_log *log)
{
	json_t *waits = must(json_array());

	for (int i = 0; i < log->n_waits; i++) {
		const struct nccl_wait *w = &log->waits[i];

		json_array_append_new(waits,
				      json_pack("[oiiIbIIoIIf]", text_json(w->group), w->rank,
						w->place, (json_int_t)nccl_wait_at(w),
						nccl_wait_made(w), (json_int_t)w->enqueued,
						(json_int_t)w->seq, text_json(w->op),
						(json_int_t)w->numel_in, (json_int_t)w->numel_out,
						w->waited));
	}
	return waits;
}

static json_t *calls_json(const struct nccl_member *member)
{
	json_t *calls = must(json_array());

	for (int64_t n = member->last - NCCL_CALLS + 1; n <= member->last; n++) {
		const struct nccl_call *call = nccl_member_call(member, n);

		if (call)
			json_array_append_new(calls, json_pack("[IiIii]", (json_int_t)n, call->kind,
							       (json_int_t)call->count, call->dtype,
							       call->root));
	}
	return calls;
}

static json_t *comms_json(const struct nccl_log *log)
{
	json_t *comms = must(json_array());

	for (int i = 0; i < log->n_comms; i++) {
		const struct nccl_comm *comm = &log->comms[i];
		json_t *members = must(json_array());

		for (int m = 0; m < comm->n_members; m++) {
			const struct nccl_member *member = comm->members[m];

			if (member->calls)
				json_array_append_new(members, json_pack("[ibIIo]", member->rank,
									 member->grouped,
									 (json_int_t)member->first,
									 (json_int_t)member->last,
									 calls_json(member)));
		}
		json_array_append_new(comms, json_pack("[io]", comm->nranks, members));
	}
	return comms;
}

/* In a child: python3 with the facts as its standard input. */
static void run_script(int fd, const void *facts)
{
	int in = memfd_create("facts", 0);
	FILE *file = in < 0 ? NULL : fdopen(in, "w");

	if (file && json_dumpf(facts, file, JSON_COMPACT) == 0 && fflush(file) == 0 &&
	    lseek(in, 0, SEEK_SET) == 0 && dup2(in, STDIN_FILENO) == 0)
		evidence_run_python(fd, log_calls, NULL);
}

/* The rank whose program ended with an error of its own, by traceback or a CUDA error in PyTorch's line (*fault); -1: none. */
static int ended_rank(const struct nccl_log *log, const struct nccl_warning **fault)
{
	*fault = NULL;
	if (log->traceback_ended && !log->traceback_after)
		return log->traceback_rank;
	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];

		if (nccl_warning_class(w) != NCCL_CAUSE || *w->where || w->rank < 0 ||
		    (!strstr(w->text, "CUDA error") && !strstr(w->text, "HIP error")))
			continue;
		if (*fault && (*fault)->rank != w->rank)
			return -1; /* which was first is not sure: clocks of hosts differ */
		*fault = w;
	}
	return *fault ? (*fault)->rank : -1;
}

static void take_end(struct evidence_rank *rank, const char *error,
		     const struct nccl_warning *fault)
{
	rank->present = true;
	rank->view.process = PROCESS_EXITED;
	rank->view.status = -1; /* no line says it */
	rank->view.waiting = rank->view.overdue = 0;
	if (!fault) {
		snprintf(rank->said, sizeof(rank->said), "%.190s", error);
		return;
	}
	rank->view.status = rank->view.outcome = OUTCOME_ERROR; /* PyTorch ended it */
	rank->view.error_code = strstr(fault->text, "out of memory") ? -ENOMEM : -EFAULT;
	snprintf(rank->view.error, sizeof(rank->view.error), "%s", fault->cause->what);
}

/* The failure or hang, or else the calls, as nccl_log prints them, where the ranks' calls can't be compared. */
static char *say(const struct nccl_log *log, bool json)
{
	char *text = NULL;
	size_t len;
	FILE *out = must(open_memstream(&text, &len));

	if (json) {
		nccl_log_print_json(out, log);
	} else {
		nccl_log_print_failure(out, log);
		nccl_log_print_hang(out, log);
		nccl_log_print_traceback(out, log);
		if (!nccl_log_failed(log)) {
			nccl_log_print_calls(out, log);
			fprintf(out, "No hang is in these lines: the calls of the ranks that are "
				     "here are alike up to the last, which may be over.\n");
		}
	}
	fclose(out);
	return text;
}

/* A cause in the logs that explains waits, and that the calls do not show. */
static void remark_failure(struct evidence *evidence, const struct nccl_log *log)
{
	const struct nccl_warning *first = nccl_log_failure(log);
	char *text, *end;

	if (!first || nccl_warning_class(first) > NCCL_PEER)
		return;
	text = say(log, false);
	end = strchr(text, '\n');
	*end = '\0';
	text_add(evidence->remarks, sizeof(evidence->remarks),
		 " The logs hold a %.400s: it may be the cause, and nccl_log says more of it.",
		 text);
	free(text);
}

static void load(struct evidence *evidence, const struct nccl_log *log, bool json,
		 struct error *err)
{
	const struct nccl_warning *fault;
	int rank = ended_rank(log, &fault);
	json_t *facts = must(json_pack("{s:o s:i s:i s:o s:i s:o s:o}", "version",
				       text_json(log->version), "ended", rank, "traceback_rank",
				       log->traceback ? log->traceback_rank : -1, "traceback",
				       text_json(log->traceback), "kept", NCCL_CALLS, "waits",
				       waits_json(log), "comms", comms_json(log)));

	if (evidence_play(evidence, run_script, facts, "the logs", err) >= 0) {
		if (rank >= 0 && rank < evidence->nranks)
			take_end(&evidence->ranks[rank], log->error, fault);
		if (!fault)
			remark_failure(evidence, log);
		evidence->logs = true;
		if (evidence->calm)
			evidence->said = say(log, json);
		evidence->calm &= !nccl_log_failed(log);
	} else if (err->outcome == OUTCOME_USAGE && nccl_log_failed(log)) {
		evidence->said = say(log, json);
	}
	json_decref(facts);
}

int evidence_load_logs(struct evidence *evidence, const char *const *paths, size_t n, bool json,
		       struct error *err)
{
	struct nccl_log log;

	memset(evidence, 0, sizeof(*evidence));
	nccl_log_init(&log);
	for (size_t i = 0; i < n && err->code == 0; i++)
		nccl_log_read_file(&log, paths[i], -1, err);
	nccl_log_finish(&log);
	if (err->code == 0)
		load(evidence, &log, json, err);
	nccl_log_release(&log);
	return err->code;
}
