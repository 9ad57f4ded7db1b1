/* nccl_log_json.c: the log as one JSON object, for scripts. */
#include <jansson.h>

#include "base/json_value.h"
#include "nccl_log/nccl_log.h"

static json_t *numbers(const int *values, int n)
{
	json_t *array = json_array();

	for (int i = 0; i < n && array; i++)
		json_array_append_new(array, json_integer(values[i]));
	return array;
}

static json_t *unless_negative(int64_t value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *true_false(int value)
{
	return value < 0 ? json_null() : json_boolean(value);
}

static json_t *ring_json(const struct nccl_comm *comm, const struct nccl_ring *ring)
{
	json_t *transports = json_array();
	int steps = ring->closed ? ring->n : ring->n - 1;

	for (int i = 0; i < steps; i++)
		json_array_append_new(transports, json_value_text(nccl_comm_transport(
							  comm, ring->channel, ring->order[i],
							  ring->order[(i + 1) % ring->n])));
	return json_pack("{s:i, s:o, s:o, s:b, s:b}", "channel", ring->channel, "order",
			 numbers(ring->order, ring->n), "transports", transports, "complete",
			 ring->closed, "contradictory", ring->differs);
}

static json_t *tree_json(const struct nccl_tree *tree)
{
	return json_pack("{s:i, s:i, s:i, s:o}", "channel", tree->channel, "rank", tree->rank, "up",
			 tree->up, "down", numbers(tree->down, 3));
}

static json_t *member_json(const struct nccl_member *member)
{
	static const char *const states[] = { "seen", "initialising", "ready", "aborted",
					      "destroyed" };

	return json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:s, s:o, s:I}", "rank",
			 unless_negative(member->rank), "host", json_value_text(member->host),
			 "pid", (json_int_t)member->pid, "device", unless_negative(member->dev),
			 "bus", json_sprintf("%lx", member->bus), "comm",
			 json_sprintf("0x%lx", member->address), "state", states[member->state],
			 "init_seconds", json_value_real(member->init), "calls",
			 (json_int_t)member->made);
}

static json_t *tuning_json(const struct nccl_tuning *tuning)
{
	return json_pack("{s:o, s:I, s:o, s:o, s:i, s:i, s:i}", "function",
			 json_value_text(tuning->function), "bytes", (json_int_t)tuning->bytes,
			 "algorithm", json_value_text(tuning->algorithm), "protocol",
			 json_value_text(tuning->protocol), "first_channel", tuning->low,
			 "last_channel", tuning->high, "count", tuning->count);
}

static json_t *lint_json(const struct nccl_lint *lint)
{
	json_t *findings = json_array(),
	       *lists[] = { [NCCL_MISSING] = json_array(), [NCCL_NOTE] = json_array() };

	for (int i = 0; i < lint->n_findings; i++) {
		const struct nccl_finding *finding = &lint->findings[i];
		json_t *reason = json_value_text(finding->reason);

		if (finding->kind != NCCL_FOUND)
			json_array_append_new(lists[finding->kind], reason);
		else
			json_array_append_new(findings,
					      json_pack("{s:i, s:i, s:o, s:o, s:o}", "channel",
							finding->channel, "channels",
							finding->channels, "from",
							unless_negative(finding->from), "to",
							unless_negative(finding->to), "reason",
							reason));
	}
	return json_pack("{s:s, s:o, s:o, s:o}", "verdict", nccl_verdict_name(lint->verdict),
			 "irrational", findings, "missing", lists[NCCL_MISSING], "notes",
			 lists[NCCL_NOTE]);
}

static json_t *calls_json(const struct nccl_log_calls *calls)
{
	static const char *const verdicts[] = { "none", "unknown", "same", "fewer", "differ" };
	static const char *const hows[] = { "other", "left-out", "extra", "swapped", "ended" };
	json_t *odd = json_array();
	char text[160];

	for (int i = 0; i < calls->n_odd; i++) {
		const struct nccl_odd *one = &calls->odd[i];
		const struct nccl_call *call = one->call;
		const char *made = one->how == NCCL_ODD_ENDED
					   ? NULL
					   : nccl_call_text(call, text, sizeof(text));

		json_array_append_new(
			odd, json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "rank",
				       unless_negative(one->member->rank), "how", hows[one->how],
				       "call", json_value_text(made), "file",
				       json_value_text(call ? call->file : NULL), "line",
				       call ? json_integer(call->line) : json_null(), "opcount",
				       call ? json_sprintf("%lx", call->op_count) : json_null()));
	}
	return json_pack("{s:s, s:o, s:i, s:i, s:o, s:o}", "verdict", verdicts[calls->verdict],
			 "index", unless_negative(calls->index), "fewest", calls->fewest, "most",
			 calls->most, "majority",
			 json_value_text(calls->majority ? nccl_call_text(calls->majority, text,
									  sizeof(text))
							 : NULL),
			 "odd", odd);
}

static json_t *facts_json(const struct nccl_comm *comm)
{
	return json_pack("{s:o, s:b, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
			 json_value_text(comm->id), "guessed", comm->guessed, "ranks", comm->nranks,
			 "nodes", comm->nnodes, "pxn", true_false(comm->pxn), "gdr",
			 true_false(comm->gdr), "nvls",
			 true_false(comm->nvls_channels == 0 ? 0 : comm->nvls), "coll_channels",
			 unless_negative(comm->coll_channels), "nvls_channels",
			 unless_negative(comm->nvls_channels), "says",
			 json_value_texts((char *const *)comm->says, comm->n_says));
}

static void put_lists(json_t *object, const struct nccl_comm *comm)
{
	json_t *members = json_array(), *rings = json_array(), *trees = json_array();
	json_t *tunings = json_array();

	for (int i = 0; i < comm->n_members; i++)
		json_array_append_new(members, member_json(comm->members[i]));
	for (int i = 0; i < comm->n_rings; i++)
		json_array_append_new(rings, ring_json(comm, &comm->rings[i]));
	for (int i = 0; i < comm->n_trees; i++)
		json_array_append_new(trees, tree_json(&comm->trees[i]));
	for (int i = 0; i < comm->n_tunings; i++)
		json_array_append_new(tunings, tuning_json(&comm->tunings[i]));
	json_object_set_new(object, "members", members);
	json_object_set_new(object, "rings", rings);
	json_object_set_new(object, "trees", trees);
	json_object_set_new(object, "tunings", tunings);
}

static json_t *comm_json(const struct nccl_log *log, const struct nccl_comm *comm,
			 const struct topo_system *topo)
{
	json_t *object = facts_json(comm);
	struct nccl_lint lint;
	struct nccl_log_calls calls;

	put_lists(object, comm);
	nccl_log_lint(log, comm, topo, &lint);
	json_object_set_new(object, "rational", lint_json(&lint));
	nccl_lint_release(&lint);
	nccl_log_calls_compare(comm, &calls);
	json_object_set_new(object, "calls", calls_json(&calls));
	nccl_log_calls_release(&calls);
	return object;
}

static json_t *warning_json(const struct nccl_warning *warning)
{
	return json_pack("{s:s, s:o, s:o, s:i, s:o}", "kind", warning->trace ? "trace" : "warning",
			 "where", json_value_text(warning->where), "text",
			 json_value_text(warning->text), "count", warning->count, "ranks",
			 numbers(warning->ranks, warning->n_ranks));
}

int nccl_log_print_json(FILE *out, const struct nccl_log *log, const struct topo_system *topo)
{
	json_t *comms = json_array(), *warnings = json_array(), *settings = json_object();
	json_t *root;
	int rc;

	for (int i = 0; i < log->n_comms; i++)
		json_array_append_new(comms, comm_json(log, &log->comms[i], topo));
	for (int i = 0; i < log->n_warnings; i++)
		json_array_append_new(warnings, warning_json(&log->warnings[i]));
	for (int i = 0; i < log->n_settings; i++)
		if (json_object_set_new(settings, log->settings[i].name,
					json_value_text(log->settings[i].value)) < 0)
			json_object_set_new(settings, "(name is no UTF-8)", json_null());
	root = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I}", "version",
			 json_value_text(log->version), "network", json_value_text(log->network),
			 "hosts", json_value_texts((char *const *)log->hosts, log->n_hosts),
			 "settings", settings, "communicators", comms, "warnings", warnings,
			 "lines", log->lines, "nccl_lines", log->nccl_lines, "unplaced_lines",
			 log->unplaced);
	rc = json_dumpf(must(root), out, JSON_INDENT(1)) < 0 || fputc('\n', out) == EOF ? -EIO : 0;
	json_decref(root);
	return rc;
}
