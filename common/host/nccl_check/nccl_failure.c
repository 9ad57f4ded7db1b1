/* nccl_failure.c: the failure that explains the others, and what follows from it. */
#include "nccl_check/nccl_check_parts.h"

/* ---- the verdict --------------------------------------------------------------------------- */

enum nccl_class nccl_warning_class(const struct nccl_warning *warning)
{
	if (warning->overcome && (warning->trace || !warning->cause))
		return NCCL_QUIET;
	if (warning->cause && warning->cause->class <= NCCL_PEER && warning->overcome)
		return NCCL_SLOW;
	if (warning->cause)
		return warning->cause->class;
	return warning->failed && !warning->trace ? NCCL_UNKNOWN : NCCL_QUIET;
}

/* Before: in time where both have one a second apart, for clocks of NCCL's have no more, else in the log. */
static bool is_before(const struct nccl_warning *a, const struct nccl_warning *b)
{
	return fabs(a->time - b->time) > 1 ? a->time < b->time : a->line < b->line;
}

const struct nccl_warning *nccl_log_failure(const struct nccl_log *log)
{
	const struct nccl_warning *first = NULL;
	bool fallback = false;

	for (int i = 0; i < log->n_warnings; i++)
		fallback |= nccl_warning_class(&log->warnings[i]) == NCCL_FALLBACK;
	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];
		enum nccl_class class = nccl_warning_class(w);

		if (class > NCCL_TRACE || (class == NCCL_TRACE && fallback))
			continue;
		if (!first || class < nccl_warning_class(first) ||
		    (class == nccl_warning_class(first) && is_before(w, first)))
			first = w;
	}
	return first;
}

bool nccl_log_failed(const struct nccl_log *log)
{
	return nccl_log_failure(log) || log->n_waits || log->n_ras || log->traceback_ended;
}

/* A build's folders stand before the file. */
static const char *short_where(const char *where)
{
	const char *file = strrchr(where, '/');

	return file && strlen(where) > 40 ? file + 1 : where;
}

/* A process without a name: lines of NCCL 2.30 may have the GPU alone. */
void nccl_print_origin(FILE *out, const struct nccl_origin *origin)
{
	bool named = *origin->host && strcmp(origin->host, "?") != 0;

	if (origin->rank >= 0)
		fprintf(out, "rank %d", origin->rank);
	else if (origin->pid > 0)
		fprintf(out, "process %ld", origin->pid);
	else if (origin->pid == 0)
		fprintf(out, origin->dev >= 0 ? "a rank" : "a rank that its line does not name");
	else
		fprintf(out, "a line of the program");
	if (named)
		fprintf(out, " on %s", origin->host);
	if (origin->dev >= 0)
		fprintf(out, " (GPU %d)", origin->dev);
}

/* ", 3 times on 3 ranks", ", 2 times in 2 processes". */
static void print_times(FILE *out, const struct nccl_warning *w)
{
	int nameless = 0;

	for (int i = 0; i < w->n_origins; i++)
		nameless += w->origins[i].rank < 0;
	if (w->count > 1)
		fprintf(out, ", %d times", w->count);
	if (nameless == 0 && w->n_ranks > 1)
		fprintf(out, " on %d ranks", w->n_ranks);
	else if (nameless && w->processes > 1)
		fprintf(out, " in %d processes", w->processes);
	else if (nameless && w->n_origins > 1)
		fprintf(out, " on %d GPUs", w->n_origins);
}

/* "rank 1 on nodea (GPU 0) in init: WHAT, device mlx5_5:1, peer 192.0.2.7<41109> (nvls.cc:254, 2025-07-21 19:05:29)". */
static void print_sentence(FILE *out, const struct nccl_warning *w)
{
	nccl_print_origin(out, &(struct nccl_origin){ w->host, w->pid, w->dev, w->rank, 1 });
	fprintf(out, "%s: %s", w->in_init ? " in init" : "", w->cause ? w->what : w->text);
	if (*w->device)
		fprintf(out, ", device %s", w->device);
	if (*w->peer)
		fprintf(out, ", peer %s", w->peer);
	if (*w->where || *w->stamp)
		fprintf(out, " (%s%s%s)", short_where(w->where), *w->where && *w->stamp ? ", " : "",
			w->stamp);
	print_times(out, w);
	fprintf(out, "\n");
}

#define SHOWN 4

/* Returns true if rows of the table call both the same. */
static bool is_alike(const struct nccl_warning *a, const struct nccl_warning *b)
{
	return a->cause && b->cause && strcmp(a->cause->what, b->cause->what) == 0;
}

#define HOSTS 8

/* The other hosts on which a process failed so, where no line says a rank. */
static void print_hosts_alike(FILE *out, const struct nccl_log *log,
			      const struct nccl_warning *first)
{
	const char *hosts[HOSTS];
	int n = 0, k;

	for (int i = 0; i < log->n_warnings && n < HOSTS; i++) {
		const struct nccl_warning *w = &log->warnings[i];

		if (!is_alike(w, first) || w->host == first->host || !*w->host || *w->host == '?')
			continue;
		for (k = 0; k < n && hosts[k] != w->host; k++)
			;
		if (k == n)
			hosts[n++] = w->host;
	}
	for (k = 0; k < n; k++)
		fprintf(out, "%s%s%s", k ? ", " : "  the same on ", hosts[k],
			k == n - 1 ? "\n" : "");
}

/* Beside ranks: the processes and GPUs that failed so too, of which no line says the rank. */
static void print_nameless_alike(FILE *out, const struct nccl_log *log,
				 const struct nccl_warning *first)
{
	int n = 0;

	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];

		for (int k = 0; is_alike(w, first) && k < w->n_origins && n < SHOWN; k++) {
			const struct nccl_origin *o = &w->origins[k];

			if (o->rank >= 0 || o->pid <= 0 ||
			    (o->host == first->host && o->pid == first->pid &&
			     o->dev == first->dev))
				continue;
			fprintf(out, ", ");
			nccl_print_origin(out, o);
			n++;
		}
	}
}

/* The other ranks that failed as this one did. */
static void print_alike(FILE *out, const struct nccl_log *log, const struct nccl_warning *first)
{
	int *ranks = NULL, n = 0;

	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];

		if (w != first && !is_alike(w, first))
			continue;
		for (int k = 0; k < w->n_ranks; k++)
			if (w->ranks[k] != first->rank)
				raw_add(ranks, n, w->ranks[k]);
		if (w->rank >= 0 && w->rank != first->rank)
			raw_add(ranks, n, w->rank);
	}
	nccl_print_ranks(out, "  the same on ", ranks, n);
	if (n > 0)
		print_nameless_alike(out, log, first);
	else
		print_hosts_alike(out, log, first);
	fputs(n > 0 ? "\n" : "", out);
	free(ranks);
}

/* Returns true if the warning is the first one of its row, and of none that `first` is of. */
static bool is_new(const struct nccl_log *log, const struct nccl_warning *w,
		   const struct nccl_warning *first)
{
	if (w == first || (first && is_alike(w, first)))
		return false;
	for (const struct nccl_warning *before = log->warnings; before < w; before++)
		if (is_alike(before, w))
			return false;
	return true;
}

/* The failures of these classes of which none is `first`'s, one for each row of the table, SHOWN of them. */
static void print_others(FILE *out, const struct nccl_log *log, const struct nccl_warning *first,
			 const char *lead, enum nccl_class from, enum nccl_class to)
{
	int n = 0;

	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];
		enum nccl_class class = nccl_warning_class(w);

		if (class == NCCL_TRACE || class < from || class > to || !is_new(log, w, first) ||
		    n++ >= SHOWN)
			continue;
		fprintf(out, "  %s: ", lead);
		print_sentence(out, w);
	}
	if (n > SHOWN)
		fprintf(out, "  %s: %d more, see the warnings below\n", lead, n - SHOWN);
}

/* The first trace of the process before the warning: an error that NCCL handed up without a WARN. */
static const struct nccl_warning *trace_before(const struct nccl_log *log,
					       const struct nccl_warning *first)
{
	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];

		if (nccl_warning_class(w) == NCCL_TRACE && w->line < first->line &&
		    w->host == first->host && w->pid == first->pid)
			return w;
	}
	return NULL;
}

void nccl_log_print_failure(FILE *out, const struct nccl_log *log)
{
	const struct nccl_warning *first = nccl_log_failure(log);
	const struct nccl_warning *trace;
	enum nccl_class class;

	if (!first)
		return;
	class = nccl_warning_class(first);
	fprintf(out, "failure: ");
	print_sentence(out, first);
	if (first->cause && *first->cause->means)
		fprintf(out, "  means: %s\n", first->cause->means);
	if (*first->fix)
		fprintf(out, "  try: %s\n", first->fix);
	print_alike(out, log, first);
	if (class == NCCL_FOLLOWS)
		fprintf(out, "  Such a failure follows from another one%s.\n",
			log->traceback_ended && !log->traceback_after
				? ", perhaps from what the traceback tells"
				: ", of which no WARN line is here");
	if (class == NCCL_FOLLOWS && (trace = trace_before(log, first))) {
		fprintf(out, "  before: ");
		print_sentence(out, trace);
	}
	if (class <= NCCL_UNKNOWN) {
		print_others(out, log, first, "also", NCCL_CAUSE, class);
		print_others(out, log, first, "follows", class + 1, NCCL_FOLLOWS);
	} else {
		print_others(out, log, first, "also", class, NCCL_FOLLOWS);
	}
}

void nccl_log_print_slow(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];
		enum nccl_class class = nccl_warning_class(w);
		if (class < NCCL_FALLBACK || class > NCCL_SLOW || !is_new(log, w, NULL))
			continue;
		fprintf(out, class == NCCL_FALLBACK ? "fallback: " : "slower: ");
		print_sentence(out, w);
		print_alike(out, log, w);
		fprintf(out, "  means: %s\n", w->cause->means);
		if (*w->fix)
			fprintf(out, "  try: %s\n", w->fix);
	}
}
