/* nccl_check_ras.c: what ncclras says of ranks, in words. */
#include "nccl_check/nccl_check_parts.h"

/* ", ranks 12,13 (process 323032 on 192.0.2.124)" of those that the entry names; a process of
 * several is the first one's. */
static void print_named(FILE *out, const struct nccl_ras *ras)
{
	nccl_print_ranks(out, ras->n_ranks ? ", " : "", ras->ranks, ras->n_ranks);
	if (ras->host)
		fprintf(out, "%s%sprocess %ld on %s%s", ras->n_ranks ? " (" : ", ",
			ras->n_ranks > 1 ? "the first: " : "", ras->pid, ras->host,
			ras->n_ranks ? ")" : "");
}

/* Ranks or processes that gave no answer, or report an error or another state than most. */
static void print_state(FILE *out, const struct nccl_ras *ras)
{
	static const char *const says[] = {
		[NCCL_RAS_STATES] = "in the state",
		[NCCL_RAS_ERRORS] = "with the error",
		[NCCL_RAS_SILENT] = "without an answer",
		[NCCL_RAS_DEAD] = "not reached any more",
	};
	const bool process = strncmp(ras->text, "job", 3) == 0, several = ras->count > 1;
	const bool silent = ras->kind >= NCCL_RAS_SILENT;

	fprintf(out, "%s: by ncclras, %d %s%s %s%s%s", silent ? "hang" : "error", ras->count,
		process ? "process" : "rank",
		!several  ? ""
		: process ? "es"
			  : "s",
		says[ras->kind], silent ? "" : " ", silent ? "" : ras->text);
	print_named(out, ras);
	fprintf(out, "\n");
	if (silent)
		fprintf(out, "  %s process%s ended or %s held, or the network does not reach %s.\n",
			several ? "Their" : "Its", several ? "es have" : " has",
			several ? "are" : "is", several ? "them" : "it");
}

/* The n counts of one kind of call, which ncclras calls a mismatch. Those that have launched the fewest lag, however many
 * they are. */
static void print_counts(FILE *out, const struct nccl_ras *ras, int n)
{
	const struct nccl_ras *least = ras;
	int all = 0, named = 0;

	for (int i = 0; i < n; i++) {
		least = ras[i].at < least->at ? &ras[i] : least;
		all += ras[i].count;
		named += ras[i].n_ranks;
	}
	fprintf(out, "mismatch: %s, by ncclras: %d of %d ranks lag%s\n", ras->text, least->count,
		all, least->count == 1 ? "s" : "");
	for (int i = 0; i < n; i++) {
		fprintf(out, "  %d rank%s ha%s ", ras[i].count, ras[i].count == 1 ? "" : "s",
			ras[i].count == 1 ? "s" : "ve");
		if (ras[i].at > 0)
			fprintf(out, "come to operation %ld", ras[i].at);
		else
			fprintf(out, "launched none");
		fprintf(out, "%s", &ras[i] == least ? ": behind" : "");
		print_named(out, &ras[i]);
		fprintf(out, "\n");
	}
	if (named > 0 && named < all && !least->n_ranks)
		fprintf(out, "  ncclras names the fewer ranks, which are not to blame for being "
			     "ahead.\n");
	fprintf(out,
		"  What holds the %d that lag%s is in %s stack%s and log%s. It is a hang if the "
		"counts stay so when ncclras is asked again.\n",
		least->count, least->count == 1 ? "s" : "", least->count == 1 ? "its" : "their",
		least->count == 1 ? "" : "s", least->count == 1 ? "" : "s");
}

void nccl_print_ras(FILE *out, const struct nccl_log *log)
{
	for (int kind = NCCL_RAS_DEAD; kind > NCCL_RAS_CALLS; kind--)
		for (int i = 0; i < log->n_ras; i++)
			if ((int)log->ras[i].kind == kind &&
			    strcmp(log->ras[i].text, "RUNNING") != 0)
				print_state(out, &log->ras[i]);
	for (int i = 0, end; i < log->n_ras; i = end) {
		const struct nccl_ras *ras = &log->ras[i];

		for (end = i + 1;
		     end < log->n_ras && log->ras[end].block == ras->block &&
		     log->ras[end].kind == ras->kind && log->ras[end].text == ras->text;
		     end++)
			;
		if (ras->kind == NCCL_RAS_CALLS)
			print_counts(out, ras, end - i);
	}
}
