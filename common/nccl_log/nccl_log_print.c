/* nccl_log_print.c: the log as readable text: summary, tuning, verdict on rings, warnings. */
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log_raw.h"

static const char *name_of(const char *const *names, int n, int number)
{
	return number >= 0 && number < n ? names[number] : NULL;
}

void nccl_log_print_list(FILE *out, const int *numbers, int n, int width)
{
	for (int i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && numbers[end] == numbers[end - 1] + 1; end++)
			;
		fprintf(out, "%s%0*d", i ? "," : "", width, numbers[i]);
		if (end - i > 1)
			fprintf(out, "%s%0*d", end - i > 2 ? "-" : ",", width, numbers[end - 1]);
	}
}

void nccl_log_print_title(FILE *out, const struct nccl_log *log, const struct nccl_comm *comm)
{
	fprintf(out, "communicator %d (%s): ", (int)(comm - log->comms), comm->id);
	if (comm->nranks)
		fprintf(out, "%d ranks", comm->nranks);
	else
		fprintf(out, "number of ranks unknown");
	if (comm->nnodes)
		fprintf(out, ", %d node%s", comm->nnodes, comm->nnodes == 1 ? "" : "s");
	fprintf(out, ", lines of %d here\n", comm->n_members);
}

static const char *yes_no(int value)
{
	return value < 0 ? "not said" : value ? "yes" : "no";
}

static void print_states(FILE *out, const struct nccl_comm *comm)
{
	static const char *const names[] = { "seen, no Init line", "initialising", "ready",
					     "aborted", "destroyed" };
	int *ranks = malloc(((size_t)comm->n_members + 1) * sizeof(*ranks));

	for (int s = 0; s < 5 && ranks; s++) {
		int n = 0;

		for (int m = 0; m < comm->n_members; m++)
			if ((int)comm->members[m]->state == s)
				ranks[n++] = comm->members[m]->rank;
		if (n == 0)
			continue;
		fprintf(out, "  %s: ranks ", names[s]);
		nccl_log_print_list(out, ranks, n, 1);
		fprintf(out, "\n");
	}
	free(ranks);
}

static void print_times(FILE *out, const struct nccl_comm *comm)
{
	static const char *const names[NCCL_TIMES] = { "total",	    "kernels",	   "alloc",
						       "bootstrap", "allgathers",  "topo",
						       "graphs",    "connections", "rest" };
	const struct nccl_member *slowest = NULL;

	for (int m = 0; m < comm->n_members; m++)
		if (comm->members[m]->timed &&
		    (!slowest || comm->members[m]->times[0] > slowest->times[0]))
			slowest = comm->members[m];
	if (!slowest)
		return;
	fprintf(out, "  init, slowest rank %d:", slowest->rank);
	for (int t = 0; t < NCCL_TIMES; t++)
		fprintf(out, " %s %.2f s%s", names[t], slowest->times[t],
			t + 1 < NCCL_TIMES ? "," : "\n");
}

static void print_graphs(FILE *out, const struct nccl_comm *comm)
{
	/* topo.h: NCCL_TOPO_PATTERN_*. */
	static const char *const patterns[] = { NULL,	"balanced tree", "split tree",	  "tree",
						"ring", "NVLS",		 "collnet direct" };

	for (int i = 0; i < comm->n_graphs; i++) {
		const struct nccl_graph *graph = &comm->graphs[i];
		const char *name = name_of(patterns, 7, graph->pattern);

		fprintf(out,
			"  search: pattern %d%s%s%s: %d channels of %.1f GB/s inside (%s), %.1f "
			"between (%s)\n",
			graph->pattern, name ? " (" : "", name ? name : "", name ? ")" : "",
			graph->channels, graph->bw_intra, graph->type_intra, graph->bw_inter,
			graph->type_inter);
	}
}

void nccl_log_print_summary(FILE *out, const struct nccl_log *log)
{
	fprintf(out, "NCCL %s, network %s, %lld of %lld lines are NCCL's\nhosts:",
		log->version ? log->version : "(version not said)",
		log->network ? log->network : "(not said)", (long long)log->nccl_lines,
		(long long)log->lines);
	for (int i = 0; i < log->n_hosts; i++)
		fprintf(out, " %s", log->hosts[i]);
	fprintf(out, "\n");
	for (int i = 0; i < log->n_settings; i++)
		fprintf(out, "set: %s=%s\n", log->settings[i].name, log->settings[i].value);
	for (int i = 0; i < log->n_comms; i++) {
		const struct nccl_comm *comm = &log->comms[i];

		nccl_log_print_title(out, log, comm);
		print_states(out, comm);
		if (comm->coll_channels >= 0)
			fprintf(out,
				"  channels: %d coll, %d collnet, %d nvls, %d p2p, %d p2p per "
				"peer\n",
				comm->coll_channels, comm->collnet_channels, comm->nvls_channels,
				comm->p2p_channels, comm->p2p_per_peer);
		fprintf(out, "  NVLS %s, ring PXN %s, ring GPUDirect RDMA %s, CollNet %s\n",
			yes_no(comm->nvls_channels == 0 ? 0 : comm->nvls), yes_no(comm->pxn),
			yes_no(comm->gdr), yes_no(comm->collnet));
		print_graphs(out, comm);
		print_times(out, comm);
	}
	if (log->unplaced)
		fprintf(out, "%lld lines about a communicator that can't be told\n",
			(long long)log->unplaced);
	if (log->cut)
		fprintf(out, "%lld lines longer than 64 KiB, the rest left out\n",
			(long long)log->cut);
}

/* ---- tuning ------------------------------------------------------------------------------- */

void nccl_log_print_tunings(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_comms; i++) {
		for (int t = 0; t < log->comms[i].n_tunings; t++) {
			const struct nccl_tuning *tuning = &log->comms[i].tunings[t];

			fprintf(out,
				"communicator %d: %s of %lld bytes: %s %s, channels %d-%d, %d "
				"time%s\n",
				i, tuning->function, (long long)tuning->bytes, tuning->algorithm,
				tuning->protocol, tuning->low, tuning->high, tuning->count,
				tuning->count == 1 ? "" : "s");
		}
	}
}

/* ---- verdict and warnings ----------------------------------------------------------------- */

static void print_lint(FILE *out, const struct nccl_lint *lint)
{
	for (int i = 0; i < lint->n_findings; i++) {
		const struct nccl_finding *finding = &lint->findings[i];

		fprintf(out, "  irrational: channel %02d%s: %s\n", finding->channel,
			finding->channels > 1 ? " and others" : "", finding->reason);
	}
	for (int i = 0; i < lint->n_missing; i++)
		fprintf(out, "  %s: %s\n", lint->n_findings ? "missing" : "cannot say",
			lint->missing[i]);
	for (int i = 0; i < lint->n_notes; i++)
		fprintf(out, "  note: %s\n", lint->notes[i]);
}

int nccl_log_print_lints(FILE *out, const struct nccl_log *log, const struct topo_system *topo)
{
	struct nccl_lint lint;

	for (int i = 0; i < log->n_comms; i++) {
		if (nccl_log_lint(log, &log->comms[i], topo, &lint) < 0)
			return -1;
		fprintf(out, "communicator %d: is this ring rational? %s\n", i,
			nccl_verdict_name(lint.verdict));
		print_lint(out, &lint);
		nccl_lint_release(&lint);
	}
	return 0;
}

void nccl_log_print_warnings(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *warning = &log->warnings[i];

		fprintf(out, "%s %s %s (%d time%s", warning->trace ? "trace" : "WARN",
			warning->where, warning->text, warning->count,
			warning->count == 1 ? "" : "s");
		if (warning->n_ranks)
			fprintf(out, ", ranks ");
		nccl_log_print_list(out, warning->ranks, warning->n_ranks, 1);
		fprintf(out, ")\n");
	}
}

int nccl_log_print(FILE *out, const struct nccl_log *log, const struct topo_system *topo)
{
	nccl_log_print_summary(out, log);
	fprintf(out, "\nrings\n");
	if (nccl_log_print_rings(out, log) < 0)
		return -1;
	fprintf(out, "\ntrees\n");
	if (nccl_log_print_trees(out, log) < 0)
		return -1;
	fprintf(out, "\nverdict\n");
	if (nccl_log_print_lints(out, log, topo) < 0)
		return -1;
	fprintf(out, "\nalgorithm and protocol\n");
	nccl_log_print_tunings(out, log);
	fprintf(out, "\ncalls\n");
	if (nccl_log_print_calls(out, log) < 0)
		return -1;
	fprintf(out, "\nwarnings\n");
	nccl_log_print_warnings(out, log);
	return ferror(out) ? -1 : 0;
}
