/* nccl_log_json.c: the log as one JSON object, for scripts. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/json_value.h"
#include "nccl_log/nccl_log.h"

/* jansson takes NULL for an object or a value as a failure that it reports and survives: on lack of
 * memory an entry is missing, and printing then fails as well. */
static int put(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value);
}

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
	json_t *object = json_object(), *transports = json_array();
	int steps = ring->closed ? ring->n : ring->n - 1;

	for (int i = 0; i < steps; i++)
		json_array_append_new(transports, json_value_text(nccl_comm_transport(
							  comm, ring->channel, ring->order[i],
							  ring->order[(i + 1) % ring->n])));
	put(object, "channel", json_integer(ring->channel));
	put(object, "order", numbers(ring->order, ring->n));
	put(object, "transports", transports);
	put(object, "complete", json_boolean(ring->closed));
	put(object, "contradictory", json_boolean(ring->differs));
	return object;
}

static json_t *tree_json(const struct nccl_tree *tree)
{
	json_t *object = json_object();

	put(object, "channel", json_integer(tree->channel));
	put(object, "rank", json_integer(tree->rank));
	put(object, "up", json_integer(tree->up));
	put(object, "down", numbers(tree->down, 3));
	return object;
}

static json_t *member_json(const struct nccl_member *member)
{
	static const char *const states[] = { "seen", "initialising", "ready", "aborted",
					      "destroyed" };
	json_t *object = json_object();

	put(object, "rank", unless_negative(member->rank));
	put(object, "host", json_value_text(member->host));
	put(object, "pid", json_integer(member->pid));
	put(object, "device", unless_negative(member->dev));
	put(object, "bus", json_sprintf("%llx", (unsigned long long)member->bus));
	put(object, "comm", json_sprintf("0x%llx", (unsigned long long)member->address));
	put(object, "state", json_string(states[member->state]));
	put(object, "init_seconds",
	    member->timed ? json_value_real(member->times[0]) : json_null());
	put(object, "calls", json_integer(member->made));
	return object;
}

static json_t *tuning_json(const struct nccl_tuning *tuning)
{
	json_t *object = json_object();

	put(object, "function", json_value_text(tuning->function));
	put(object, "bytes", json_integer(tuning->bytes));
	put(object, "algorithm", json_value_text(tuning->algorithm));
	put(object, "protocol", json_value_text(tuning->protocol));
	put(object, "first_channel", json_integer(tuning->low));
	put(object, "last_channel", json_integer(tuning->high));
	put(object, "count", json_integer(tuning->count));
	return object;
}

static json_t *graph_json(const struct nccl_graph *graph)
{
	json_t *object = json_object();

	put(object, "pattern", json_integer(graph->pattern));
	put(object, "channels", json_integer(graph->channels));
	put(object, "bw_intra", json_value_real(graph->bw_intra));
	put(object, "bw_inter", json_value_real(graph->bw_inter));
	put(object, "type_intra", json_value_text(graph->type_intra));
	put(object, "type_inter", json_value_text(graph->type_inter));
	return object;
}

static json_t *verdict_json(const struct nccl_lint *lint)
{
	json_t *object = json_object(), *findings = json_array();

	for (int i = 0; i < lint->n_findings; i++) {
		const struct nccl_finding *finding = &lint->findings[i];
		json_t *one = json_object();

		put(one, "channel", json_integer(finding->channel));
		put(one, "channels", json_integer(finding->channels));
		put(one, "from", unless_negative(finding->from));
		put(one, "to", unless_negative(finding->to));
		put(one, "reason", json_value_text(finding->reason));
		json_array_append_new(findings, one);
	}
	put(object, "verdict", json_string(nccl_verdict_name(lint->verdict)));
	put(object, "irrational", findings);
	put(object, "missing", json_value_texts(lint->missing, lint->n_missing));
	put(object, "notes", json_value_texts(lint->notes, lint->n_notes));
	return object;
}

static json_t *calls_json(const struct nccl_comm *comm, const struct nccl_log_calls *calls)
{
	static const char *const verdicts[] = { "none",	 "unknown", "same",
						"fewer", "differ",  "before" };
	static const char *const hows[] = { "other", "left-out", "extra", "swapped", "ended" };
	json_t *object = json_object(), *odd = json_array();
	char text[160];

	for (int i = 0; i < calls->n_odd; i++) {
		const struct nccl_odd *one = &calls->odd[i];
		json_t *entry = json_object();

		put(entry, "rank", unless_negative(comm->members[one->member]->rank));
		put(entry, "how", json_string(hows[one->how]));
		put(entry, "call",
		    json_value_text(one->how != NCCL_ODD_ENDED
					    ? nccl_call_text(one->call, text, sizeof(text))
					    : NULL));
		put(entry, "file", json_value_text(one->call ? one->call->file : NULL));
		put(entry, "line", one->call ? json_integer(one->call->line) : json_null());
		put(entry, "opcount",
		    one->call ? json_sprintf("%llx", (unsigned long long)one->call->op_count)
			      : json_null());
		json_array_append_new(odd, entry);
	}
	put(object, "verdict", json_string(verdicts[calls->verdict]));
	put(object, "index", unless_negative(calls->index));
	put(object, "fewest", json_integer(calls->fewest));
	put(object, "most", json_integer(calls->most));
	put(object, "majority",
	    json_value_text(calls->majority ? nccl_call_text(calls->majority, text, sizeof(text))
					    : NULL));
	put(object, "odd", odd);
	return object;
}

static void put_facts(json_t *object, const struct nccl_comm *comm)
{
	put(object, "id", json_value_text(comm->id));
	put(object, "guessed", json_boolean(comm->guessed));
	put(object, "ranks", json_integer(comm->nranks));
	put(object, "nodes", json_integer(comm->nnodes));
	put(object, "pxn", true_false(comm->pxn));
	put(object, "gdr", true_false(comm->gdr));
	put(object, "nvls", true_false(comm->nvls_channels == 0 ? 0 : comm->nvls));
	put(object, "coll_channels", unless_negative(comm->coll_channels));
	put(object, "collnet_channels", unless_negative(comm->collnet_channels));
	put(object, "nvls_channels", unless_negative(comm->nvls_channels));
	put(object, "p2p_channels", unless_negative(comm->p2p_channels));
	put(object, "p2p_channels_per_peer", unless_negative(comm->p2p_per_peer));
}

static void put_lists(json_t *object, const struct nccl_comm *comm)
{
	json_t *members = json_array(), *rings = json_array(), *trees = json_array();
	json_t *tunings = json_array(), *graphs = json_array();

	for (int i = 0; i < comm->n_members; i++)
		json_array_append_new(members, member_json(comm->members[i]));
	for (int i = 0; i < comm->n_rings; i++)
		json_array_append_new(rings, ring_json(comm, &comm->rings[i]));
	for (int i = 0; i < comm->n_trees; i++)
		json_array_append_new(trees, tree_json(&comm->trees[i]));
	for (int i = 0; i < comm->n_tunings; i++)
		json_array_append_new(tunings, tuning_json(&comm->tunings[i]));
	for (int i = 0; i < comm->n_graphs; i++)
		json_array_append_new(graphs, graph_json(&comm->graphs[i]));
	put(object, "members", members);
	put(object, "rings", rings);
	put(object, "trees", trees);
	put(object, "tunings", tunings);
	put(object, "searches", graphs);
}

/* NULL on lack of memory. */
static json_t *comm_json(const struct nccl_log *log, const struct nccl_comm *comm,
			 const struct topo_system *topo)
{
	json_t *object = json_object();
	struct nccl_lint lint;
	struct nccl_log_calls calls;

	put_facts(object, comm);
	put_lists(object, comm);
	if (nccl_log_lint(log, comm, topo, &lint) < 0)
		goto no_memory;
	put(object, "rational", verdict_json(&lint));
	nccl_lint_release(&lint);
	if (nccl_log_calls_compare(comm, &calls) < 0)
		goto no_memory;
	put(object, "calls", calls_json(comm, &calls));
	nccl_log_calls_release(&calls);
	return object;
no_memory:
	json_decref(object);
	return NULL;
}

static json_t *warning_json(const struct nccl_warning *warning)
{
	json_t *object = json_object();

	put(object, "kind", json_string(warning->trace ? "trace" : "warning"));
	put(object, "where", json_value_text(warning->where));
	put(object, "text", json_value_text(warning->text));
	put(object, "count", json_integer(warning->count));
	put(object, "ranks", numbers(warning->ranks, warning->n_ranks));
	return object;
}

int nccl_log_print_json(FILE *out, const struct nccl_log *log, const struct topo_system *topo)
{
	json_t *root = json_object(), *comms = json_array(), *warnings = json_array();
	json_t *settings = json_object(), *hosts = json_array();
	bool whole = root && comms && warnings && settings && hosts;
	int rc = -ENOMEM;

	for (int i = 0; i < log->n_comms && whole; i++)
		whole = json_array_append_new(comms, comm_json(log, &log->comms[i], topo)) == 0;
	for (int i = 0; i < log->n_warnings; i++)
		json_array_append_new(warnings, warning_json(&log->warnings[i]));
	for (int i = 0; i < log->n_hosts; i++)
		json_array_append_new(hosts, json_value_text(log->hosts[i]));
	for (int i = 0; i < log->n_settings; i++)
		if (json_object_set_new(settings, log->settings[i].name,
					json_value_text(log->settings[i].value)) < 0)
			json_object_set_new(settings, "(name is no UTF-8)", json_null());
	put(root, "version", json_value_text(log->version));
	put(root, "network", json_value_text(log->network));
	put(root, "hosts", hosts);
	put(root, "settings", settings);
	put(root, "communicators", comms);
	put(root, "warnings", warnings);
	put(root, "lines", json_integer(log->lines));
	put(root, "nccl_lines", json_integer(log->nccl_lines));
	put(root, "unplaced_lines", json_integer(log->unplaced));
	if (whole)
		rc = json_dumpf(root, out, JSON_INDENT(1)) < 0 || fputc('\n', out) == EOF ? -EIO
											  : 0;
	json_decref(root);
	return rc;
}
