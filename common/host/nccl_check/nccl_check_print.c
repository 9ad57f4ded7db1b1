/* nccl_check_print.c: the log as readable text: summary, rings, tuning, verdict on rings, warnings. */

#include "base/call_value.h"
#include "base/rank_list.h"
#include "nccl_check/nccl_check_parts.h"

/* "0-3,7" of n ascending numbers of at least `width` digits. */
static void print_list(FILE *out, const int *numbers, int n, int width)
{
	for (int i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && numbers[end] == numbers[end - 1] + 1; end++)
			;
		fprintf(out, "%s%0*d", i ? "," : "", width, numbers[i]);
		if (end - i > 1)
			fprintf(out, "%s%0*d", end - i > 2 ? "-" : ",", width, numbers[end - 1]);
	}
}

void nccl_print_ranks(FILE *out, const char *lead, int *ranks, int n)
{
	int kept = 0;

	nccl_sort(ranks, n, sizeof(*ranks), nccl_by_number);
	for (int i = 0; i < n; i++)
		if (kept == 0 || ranks[kept - 1] != ranks[i])
			ranks[kept++] = ranks[i];
	if (n > 0)
		fprintf(out, "%srank%s ", lead, kept == 1 ? "" : "s");
	print_list(out, ranks, kept, 1);
}

static void print_title(FILE *out, const struct nccl_log *log, const struct nccl_comm *comm)
{
	fprintf(out, "communicator %d (%s): ", (int)(comm - log->comms), comm->id);
	if (comm->nranks)
		fprintf(out, "%d ranks", comm->nranks);
	else
		fprintf(out, "number of ranks unknown");
	if (comm->nnodes)
		fprintf(out, ", %d node%s", comm->nnodes, comm->nnodes == 1 ? "" : "s");
	fprintf(out, ", lines of %s%d of them here\n",
		log->strangers && comm->n_members != comm->nranks ? "at least " : "",
		comm->n_members);
}

/* ---- summary ------------------------------------------------------------------------------ */

static void print_states(FILE *out, const struct nccl_comm *comm)
{
	static const char *const names[] = {
		"seen, no Init line", "initialising",  "ready", "aborted",
		"destroyed",	      "failed in init"
	};
	int *ranks = must(malloc(((size_t)comm->n_members + 1) * sizeof(*ranks)));

	for (int s = 0; s < (int)LENGTH(names); s++) {
		int n = 0, nameless = 0;

		for (int m = 0; m < comm->n_members; m++) {
			const struct nccl_member *member = comm->members[m];
			bool failed = member->state == NCCL_STATE_STARTED && member->failed;

			if ((failed ? (int)LENGTH(names) - 1 : (int)member->state) != s)
				continue;
			nameless += comm->members[m]->rank < 0;
			if (comm->members[m]->rank >= 0)
				ranks[n++] = comm->members[m]->rank;
		}
		if (n == 0 && nameless == 0)
			continue;
		fprintf(out, "  %s: ", names[s]);
		nccl_print_ranks(out, "", ranks, n);
		if (nameless)
			fprintf(out, "%s%d of which no line says the rank", n ? ", and " : "",
				nameless);
		fprintf(out, "\n");
	}
	free(ranks);
}

/* Ranks of which no line is here: what others wait for may be in theirs. */
static void print_absent(FILE *out, const struct nccl_comm *comm)
{
	bool *absent;
	char words[160];

	if (comm->nranks <= comm->n_members || comm->nranks > NCCL_LOG_RANKS)
		return;
	absent = must(calloc((size_t)comm->nranks, sizeof(*absent)));
	for (int i = 0; i < comm->nranks; i++)
		absent[i] = !nccl_comm_member(comm, i);
	fprintf(out, "  no line of %s is here: bring the logs of all hosts\n",
		rank_list_words(absent, comm->nranks, words, sizeof(words)));
	free(absent);
}

#define ENDS 4

/* How many collectives the ranks have enqueued, by lines of calls, the fewest first. Returns true if there are such lines. */
static bool print_calls(FILE *out, const struct nccl_comm *comm)
{
	int *ranks = must(malloc(((size_t)comm->n_members + 1) * sizeof(*ranks)));
	int64_t at = -1, next = 0;

	for (int shown = 0; shown < ENDS; shown++, at = next) {
		const struct nccl_call *call = NULL, *own;
		bool differs = false;
		int n = 0;

		next = INT64_MAX;
		for (int m = 0; m < comm->n_members; m++)
			if (comm->members[m]->calls && comm->members[m]->last > at &&
			    comm->members[m]->last < next)
				next = comm->members[m]->last;
		if (next == INT64_MAX)
			break;
		for (int m = 0; m < comm->n_members; m++) {
			if (!comm->members[m]->calls || comm->members[m]->last != next)
				continue;
			own = nccl_member_call(comm->members[m], next);
			differs |= own && call &&
				   (own->kind != call->kind || own->count != call->count);
			call = call ? call : own;
			ranks[n++] = comm->members[m]->rank;
		}
		fprintf(out, "  %scalls end with collective %ld of this communicator",
			shown ? "others' " : "", next);
		if (differs)
			fprintf(out, ", which is not the same on all");
		else if (call)
			fprintf(out, ", %s of %lu elements",
				call_kind_name((enum call_kind)call->kind), call->count);
		nccl_print_ranks(out, ", on ", ranks, n);
		fprintf(out, "\n");
	}
	if (at >= 0)
		print_absent(out, comm);
	free(ranks);
	return at >= 0;
}

void nccl_log_print_calls(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_comms; i++) {
		print_title(out, log, &log->comms[i]);
		print_calls(out, &log->comms[i]);
	}
}

/* PXN and GDR stand in this line. */
static bool is_connected(const char *text)
{
	return strncmp(text, "Connected all rings, use", 24) == 0;
}

static void print_comm(FILE *out, const struct nccl_log *log, const struct nccl_comm *comm)
{
	print_title(out, log, comm);
	print_states(out, comm);
	for (int i = 0; i < comm->n_says; i++)
		if (is_connected(comm->says[i]))
			fprintf(out, "  %s\n", comm->says[i]);
	if (print_calls(out, comm))
		fprintf(out, COMPARES);
}

static void print_details(FILE *out, const struct nccl_log *log, const struct nccl_comm *comm)
{
	const struct nccl_member *slowest = NULL;

	fprintf(out, "communicator %d\n", (int)(comm - log->comms));
	for (int i = 0; i < comm->n_says; i++)
		if (!is_connected(comm->says[i]))
			fprintf(out, "  %s\n", comm->says[i]);
	for (int m = 0; m < comm->n_members; m++)
		if (isfinite(comm->members[m]->init) &&
		    (!slowest || comm->members[m]->init > slowest->init))
			slowest = comm->members[m];
	if (slowest)
		fprintf(out, "  init: %.2f s, slowest rank %d\n", slowest->init, slowest->rank);
}

static void print_head(FILE *out, const struct nccl_log *log)
{
	const char *library = log->rccl ? "RCCL" : "NCCL";

	fprintf(out, "%s %s, network %s, %ld of %ld lines are %s's\n", library,
		log->version ? log->version : "(version not said)",
		log->network ? log->network : "(not said)", log->nccl_lines, log->lines, library);
	for (int i = 0; i < log->n_hosts && (log->n_hosts > 1 || *log->hosts[0] != '?'); i++)
		fprintf(out, "%s %s%s", i ? "" : "hosts:", log->hosts[i],
			i == log->n_hosts - 1 ? "\n" : "");
	if (log->twins)
		fprintf(out, "Two hosts are named %s: what is said of it is of both.\n",
			log->twins);
	if (log->rccl)
		fprintf(out, "This is RCCL, AMD's library: advice about NVIDIA's drivers does not "
			     "fit it.\n");
	if (log->old_form)
		fprintf(out, "The lines have the form of NCCL 2.4 and 2.5, which say less than "
			     "later ones.\n");
	else if (log->version && strncmp(log->version, "2.", 2) == 0 && atoi(log->version + 2) < 4)
		fprintf(out, "NCCL %s is too old: lines of 2.4 and later are read.\n",
			log->version);
	if (log->folded)
		fprintf(out,
			"Ray left out %ld lines that other processes wrote alike: what they said "
			"of their ranks is not known.\n",
			log->folded);
	if (log->forgotten)
		fprintf(out,
			"%ld older communicators are left out: memory is kept for those with the "
			"newest lines.\n",
			log->forgotten);
	if (log->unplaced)
		fprintf(out, "%ld lines about a communicator that can't be told\n", log->unplaced);
}

/* ---- rings -------------------------------------------------------------------------------- */

/* "0 -P2P/CUMEM-> 1 -...": a new line, with the host's name, for each host that is reached. */
static void print_ring(FILE *out, const struct nccl_comm *comm, const struct nccl_ring *ring)
{
	const char *host = NULL, *next, *transport;

	for (int i = 0; i < ring->n; i++) {
		next = nccl_comm_host(comm, ring->order[i]);
		if (comm->nnodes > 1 && next && next != host)
			fprintf(out, "\n    %s: ", next);
		host = next ? next : host;
		fprintf(out, "%d", ring->order[i]);
		if (i == ring->n - 1 && !ring->closed)
			break;
		transport = nccl_comm_transport(comm, ring->channel, ring->order[i],
						ring->order[(i + 1) % ring->n]);
		fprintf(out, " -%s-> ", transport ? transport : "?");
	}
	if (ring->closed)
		fprintf(out, "%d", ring->order[0]);
	else
		fprintf(out, " ... (not complete)");
	if (ring->differs)
		fprintf(out, " (lines contradict each other)");
}

#define STEPS 16

/* Steps of which lines tell, where no ring is known. */
static void print_steps(FILE *out, const struct nccl_comm *comm)
{
	int n = 0;

	for (int i = 0; i < comm->n_links && comm->n_rings == 0; i++) {
		const struct nccl_link *link = &comm->links[i];

		if (i > 0 && link[-1].channel == link->channel && link[-1].from == link->from &&
		    link[-1].to == link->to)
			continue; /* the receiver's line */
		if (n++ < STEPS)
			fprintf(out, "  channel %02d: %d -%s-> %d\n", link->channel, link->from,
				link->transport, link->to);
	}
	if (n > STEPS)
		fprintf(out, "  and %d more steps\n", n - STEPS);
}

/* Prints the rings of each channel, equal texts once with all their channels. */
static void print_channels(FILE *out, const struct nccl_comm *comm)
{
	char *texts[NCCL_LOG_CHANNELS];
	int channels[NCCL_LOG_CHANNELS], n;
	size_t size;

	for (int i = 0; i < NCCL_LOG_CHANNELS; i++) {
		FILE *text = must(open_memstream(&texts[i], &size));

		for (int r = 0; r < comm->n_rings; r++)
			if (comm->rings[r].channel == i)
				print_ring(text, comm, &comm->rings[r]);
		fclose(text);
	}
	for (int i = 0; i < NCCL_LOG_CHANNELS; i++) {
		n = 0;
		for (int k = i; k < NCCL_LOG_CHANNELS && texts[i][0]; k++)
			if (strcmp(texts[k], texts[i]) == 0)
				channels[n++] = k;
		if (n > 0) {
			fprintf(out, "  channel%s ", n == 1 ? "" : "s");
			print_list(out, channels, n, 2);
			fprintf(out, ":%s%s\n", texts[i][0] == '\n' ? "" : " ", texts[i]);
		}
		for (int k = 1; k < n; k++)
			texts[channels[k]][0] = '\0';
		free(texts[i]);
	}
}

void nccl_log_print_rings(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_comms; i++) {
		fprintf(out, "communicator %d%s\n", i, log->comms[i].n_rings ? "" : ": none here");
		print_channels(out, &log->comms[i]);
	}
}

/* ---- verdict, warnings -------------------------------------------------------------------- */

static void print_findings(FILE *out, const struct nccl_lint *lint, enum nccl_finding_kind kind)
{
	const char *name = kind == NCCL_FOUND		      ? "irrational"
			   : kind == NCCL_NOTE		      ? "note"
			   : lint->verdict == NCCL_IRRATIONAL ? "missing"
							      : "cannot say";

	for (int i = 0; i < lint->n_findings; i++) {
		const struct nccl_finding *finding = &lint->findings[i];

		if (finding->kind != kind)
			continue;
		fprintf(out, "  %s: ", name);
		if (kind == NCCL_FOUND && finding->channel >= 0)
			fprintf(out, "channel %02d%s: ", finding->channel,
				finding->channels > 1 ? " and others" : "");
		fprintf(out, "%s\n", finding->reason);
	}
}

static void print_lint(FILE *out, const struct nccl_log *log, const struct topo_system *topo, int i)
{
	struct nccl_lint lint;

	nccl_log_lint(log, &log->comms[i], topo, &lint);
	fprintf(out, "communicator %d: is this ring rational? %s\n", i,
		nccl_verdict_names[lint.verdict]);
	for (int kind = NCCL_FOUND; kind <= NCCL_NOTE; kind++)
		print_findings(out, &lint, (enum nccl_finding_kind)kind);
	nccl_lint_release(&lint);
}

void nccl_log_print_lints(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_comms; i++)
		print_lint(out, log, NULL, i);
}

#define NAMELESS 4

/* The ranks that wrote it, and the processes of which no line says the rank. */
static void print_writers(FILE *out, const struct nccl_warning *warning)
{
	int nameless = 0;

	nccl_print_ranks(out, ", ", warning->ranks, warning->n_ranks);
	for (int i = 0; i < warning->n_origins && warning->n_origins > 1; i++) {
		if (warning->origins[i].rank >= 0 || nameless++ >= NAMELESS)
			continue;
		fprintf(out, ", ");
		nccl_print_origin(out, &warning->origins[i]);
	}
	if (nameless > NAMELESS)
		fprintf(out, " and %d more without a rank", nameless - NAMELESS);
}

void nccl_log_print_warnings(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *warning = &log->warnings[i];

		fprintf(out, "%s %s%s%s (%d time%s",
			warning->trace	  ? "trace"
			: *warning->where ? "WARN"
					  : "line",
			warning->where, *warning->where ? " " : "", warning->text, warning->count,
			warning->count == 1 ? "" : "s");
		print_writers(out, warning);
		fprintf(out, ")\n");
	}
}

void nccl_log_print(FILE *out, const struct nccl_log *log, const struct topo_system *topo)
{
	const struct nccl_warning *first = nccl_log_failure(log);
	bool own;

	print_head(out, log);
	/* a program's own error comes before what NCCL says of its end */
	own = log->traceback_ended && !log->traceback_after &&
	      (!first || nccl_warning_class(first) >= NCCL_SYMPTOM);
	if (own)
		nccl_log_print_traceback(out, log);
	nccl_log_print_failure(out, log);
	nccl_log_print_hang(out, log);
	if (!own)
		nccl_log_print_traceback(out, log);
	nccl_log_print_slow(out, log);
	for (int i = 0; i < log->n_comms; i++) {
		print_comm(out, log, &log->comms[i]);
		print_lint(out, log, topo, i);
		print_channels(out, &log->comms[i]);
		print_steps(out, &log->comms[i]);
	}
	if (log->n_comms || log->n_nics || log->n_facts || log->n_settings)
		fprintf(out, "\ndetails\n");
	nccl_log_print_node(out, log);
	for (int i = 0; i < log->n_settings; i++)
		fprintf(out, "set: %s=%s\n", log->settings[i].name, log->settings[i].value);
	for (int i = 0; i < log->n_comms; i++)
		print_details(out, log, &log->comms[i]);
	if (log->n_warnings)
		fprintf(out, "\nwarnings\n");
	nccl_log_print_warnings(out, log);
}
