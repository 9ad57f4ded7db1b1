/* nccl_check_json.c: what a log comes to, as a verdict of the schema that verdict.json has. */
#include "base/json_value.h"
#include "base/outcome.h"
#include "nccl_check/nccl_check.h"

/* The sentences of the text output, a line each. */
static json_t *sentences(const struct nccl_log *log)
{
	char *text = NULL;
	size_t len;
	FILE *out = must(open_memstream(&text, &len));
	json_t *lines;

	nccl_log_print_failure(out, log);
	nccl_log_print_hang(out, log);
	nccl_log_print_traceback(out, log);
	nccl_log_print_slow(out, log);
	fclose(out);
	lines = json_value_lines(text);
	free(text);
	return lines;
}

/* The errors of ranks that the log names, the first failure's before others. */
static json_t *reported(const struct nccl_log *log, const struct nccl_warning *first)
{
	json_t *list = json_array();

	for (int i = -1; i < log->n_warnings; i++) {
		const struct nccl_warning *w = i < 0 ? first : &log->warnings[i];

		if (w && (i < 0 || w != first) && w->rank >= 0 &&
		    nccl_warning_class(w) <= NCCL_FOLLOWS)
			json_array_append_new(list, json_pack("{s:i s:o}", "rank", w->rank, "text",
							      json_value_text(w->text)));
	}
	return list;
}

static json_t *hosts(const struct nccl_log *log)
{
	char text[4096] = "";

	for (int i = 0; i < log->n_hosts; i++)
		text_add(text, sizeof(text), "%s%s", i ? "; " : "", log->hosts[i]);
	return json_value_text(text);
}

void nccl_log_print_json(FILE *out, const struct nccl_log *log)
{
	const struct nccl_warning *first = nccl_log_failure(log);
	bool failed = nccl_log_failed(log);
	char rank[16] = "-", library[64];
	int nranks = log->n_comms ? log->comms[0].nranks : 0;
	json_t *all, *lines = sentences(log);

	if (first && first->rank >= 0)
		snprintf(rank, sizeof(rank), "%d", first->rank);
	snprintf(library, sizeof(library), "%s %.40s", log->rccl ? "RCCL" : "NCCL",
		 log->version ? log->version : "");
	all = json_pack("{s:i s:s s:s s:s s:s s:s s:i s:i s:i s:i s:s s:s s:s s:s s:i s:i s:i s:n "
			"s:O s:o s:o s:o s:s s:s s:s s:o s:s s:s s:s s:o s:s}",
			"version", 1, "outcome", outcome_name(failed ? OUTCOME_ERROR : OUTCOME_OK),
			"class", failed ? "error" : "none", "ranks", rank, "confidence",
			"inconclusive", "hosts_lost", "", "nranks", nranks > 0 ? nranks : 0, "comm",
			-1, "seq_low", -1, "seq_high", -1, "field", "", "pair", "", "theirs", "",
			"majority", "", "hang_seq", -1, "wrong_seq", -1, "said_ns", 0, "detect_ms",
			"lines", lines, "reported", reported(log, first), "cause",
			json_value_text(first && first->cause ? first->cause->means : ""), "fix",
			json_value_text(first ? first->fix : ""), "prevention", "", "backend",
			"nccl", "library", library, "hosts", hosts(log), "when",
			first ? first->stamp : "", "command", "", "remarks", "", "summary", lines,
			"culprit_hosts",
			first && first->host && *first->host != '?' ? first->host : "");
	json_value_print(out, must(all));
	json_decref(all);
}
