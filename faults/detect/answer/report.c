/* report.c: a diagnosis on the screen and as verdict.json; all files of a diagnosed run. */
#include "answer/postmortem.h"

#include <jansson.h>

#include "base/json_value.h"
#include "base/rank_list.h"
#include "answer/counter_delta.h"
#include "answer/timeline.h"
#include "base/output.h"

#define RANKS_SHOWN 64 /* whose lines; the culprits are the first */
#define FOLD	    88 /* characters behind a name of 12 */
#define FILES	    4

struct rank_view report_view(const struct evidence_rank *r)
{
	struct rank_view view = r->view;

	if (r->undated) {
		view.waited = -1;
		view.seen_ns = 0;
	}
	return view;
}

void report_describe(struct answer *a, const struct evidence *e)
{
	struct rank_view *views = must(malloc(((size_t)e->nranks + 1) * sizeof(*views)));
	size_t n = 0;

	for (int i = 0; i < e->nranks; i++)
		if (e->ranks[i].present)
			views[n++] = report_view(&e->ranks[i]);
	answer_describe(a, views, n);
	free(views);
}

void report_folded(FILE *out, const char *name, const char *text)
{
	for (size_t n; *text; text += n + strspn(text + n, " "), name = "") {
		n = strlen(text);
		for (size_t fits = FOLD; n > FOLD; fits--)
			if (text[fits] == ' ' || fits == 0)
				n = fits ? fits : FOLD;
		fprintf(out, "%-12s%.*s\n", name, (int)n, text);
	}
}

/* "culprit     rank 3 (of 4)". */
static void report_culprits(FILE *out, const struct answer *d, const struct evidence *e)
{
	bool none = strcmp(d->ranks, "-") == 0, several = strchr(d->ranks, ',') != NULL;

	fprintf(out, "%-12s%s%s (of %s%d)\n", several ? "culprits" : "culprit",
		none	  ? "none is named"
		: several ? "ranks "
			  : "rank ",
		none ? "" : d->ranks, e->uncounted ? "at least " : "", e->nranks);
}

void answer_print_whole(FILE *out, const struct answer *d, const struct evidence *e,
			const char *page)
{
	struct meaning meaning;

	answer_print_lines(out, "", d);
	answer_meaning(d, &meaning);
	report_where(out, "", d, e);
	if (page[0])
		fprintf(out, "look further: %s\n", page);
	fprintf(out, "\noutcome     %s\nclass       %s\n", outcome_name(d->outcome),
		class_name(d->class, d->outcome));
	report_culprits(out, d, e);
	fprintf(out, "confidence  %s\n", confidence_name(d->confidence));
	if (d->side)
		fprintf(out, "side        %s\n", side_name(d->side));
	if (d->hosts[0])
		fprintf(out, "hosts       %s\n", d->hosts);
	fprintf(out, "divergence  ");
	report_place(out, d);
	fprintf(out, "\nhang point  ");
	report_hang(out, d);
	fprintf(out, "\n\n");
	for (size_t i = 0; i < d->nnotes; i++)
		fprintf(out, "  %s\n", d->notes[i]);
	putc('\n', out);
	report_folded(out, "cause", meaning.cause);
	report_folded(out, "fix", meaning.fix);
	report_folded(out, "prevention", meaning.prevention);
	report_errors(out, d, e, false);
	report_stuck(out, "stack       ", e, d->ranks, RANKS_SHOWN);
	counter_delta_print(out, e, false);
	if (e->remarks[0])
		fprintf(out, "evidence    %s\n", e->remarks);
}

static json_t *errors_json(const struct answer *d, const struct evidence *e)
{
	char text[sizeof(e->ranks->view.error) + 1];
	json_t *list = json_array();

	for (int n = 0, at = 0, rank; n < REPORT_ERRORS && (rank = report_error(d, e, &at)) >= 0;
	     n++)
		json_array_append_new(list, json_pack("{s:i s:s}", "rank", rank, "text",
						      view_error(&e->ranks[rank].view, text,
								 sizeof(text))));
	return list;
}

static json_t *lines_json(const struct answer *d)
{
	json_t *list = json_array();

	for (size_t i = 0; i < d->nlines; i++)
		json_array_append_new(list, json_value_text(d->lines[i]));
	return list;
}

static json_t *verdict_json(const struct answer *d, const struct evidence *e)
{
	json_t *lines = json_array();
	char hosts[1024], culprits[1024];
	struct meaning meaning;

	answer_meaning(d, &meaning);
	report_hosts(e, hosts, sizeof(hosts));
	report_hosts_of(e, d->ranks, d->hosts, culprits, sizeof(culprits));
	for (size_t i = 0; i < d->nnotes; i++)
		json_array_append_new(lines, json_value_text(d->notes[i]));
	return json_pack("{s:i s:s s:s s:s s:s s:s* s:s s:i s:I s:I s:I s:s s:s s:o s:o s:I s:I "
			 "s:I s:o s:o s:o s:s s:s s:s s:o s:o s:o s:o s:o s:o s:o s:o s:s*}",
			 "version", 1, "outcome", outcome_name(d->outcome), "class",
			 class_name(d->class, d->outcome), "ranks", d->ranks, "confidence",
			 confidence_name(d->confidence), "side", side_name(d->side), "hosts_lost",
			 d->hosts, "nranks", e->nranks, "comm", (json_int_t)d->comm, "seq_low",
			 (json_int_t)d->seq_low, "seq_high", (json_int_t)d->seq_high, "field",
			 d->field, "pair", d->pair, "theirs", json_value_text(d->theirs),
			 "majority", json_value_text(d->majority), "hang_seq",
			 (json_int_t)d->hang_seq, "wrong_seq", (json_int_t)d->wrong_seq, "said_ns",
			 (json_int_t)d->said_ns, "detect_ms",
			 e->detect_ms > 0 ? json_value_real(e->detect_ms) : json_null(), "lines",
			 lines, "reported", errors_json(d, e), "cause", meaning.cause, "fix",
			 meaning.fix, "prevention", meaning.prevention, "backend",
			 json_value_text(e->backend), "library", json_value_text(e->library),
			 "hosts", json_value_text(hosts), "when", json_value_text(e->when),
			 "command", json_value_text(e->command), "remarks",
			 json_value_text(e->remarks), "summary", lines_json(d), "culprit_hosts",
			 json_value_text(culprits), "job", d->job[0] ? d->job : NULL);
}

void answer_print_json(FILE *out, const struct answer *d, const struct evidence *e)
{
	json_t *verdict = must(verdict_json(d, e));

	json_value_print(out, verdict);
	json_decref(verdict);
}

static int save_verdict(const struct answer *d, const struct evidence *e, const char *path)
{
	json_t *verdict = verdict_json(d, e);
	int rc = json_value_save(must(verdict), path, JSON_INDENT(1));

	json_decref(verdict);
	return rc;
}

static int save_page(const struct answer *d, const struct evidence *e, const char *dir,
		     bool drawable, const char *path)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = must(open_memstream(&text, &bytes));
	int rc;

	postmortem_print(f, d, e, dir, drawable);
	rc = output_close(f);
	rc = rc < 0 ? rc : output_whole(path, text, bytes);
	free(text);
	return rc;
}

/* Saves the first `n` files, the most needed ones first: a disk may have no room for all. */
static int save_files(const struct answer *d, const struct evidence *e, const char *dir, size_t n,
		      struct error *err)
{
	static const char *const names[FILES] = { "verdict.json", "postmortem.md", "timeline.csv",
						  "timeline.json" };
	struct timeline timeline;
	char path[4096];
	struct stat st;
	bool drawable;
	int rc = 0;

	timeline_init(&timeline, d, e);
	drawable = timeline_drawable(&timeline);
	snprintf(path, sizeof(path), "%s", dir);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		rc = stat(path, &st) == 0 && !S_ISREG(st.st_mode) ? -EEXIST /* a FIFO would block */
		     : i == 0					  ? save_verdict(d, e, path)
		     : i == 1 ? save_page(d, e, dir, drawable, path)
		     : i == 2 ? timeline_save_csv(&timeline, path)
			      : timeline_save_trace(&timeline, path);
	}
	timeline_release(&timeline);
	if (rc < 0)
		return error_set(err, OUTCOME_INTERNAL, rc, "cannot write %s: %s", path,
				 rc == -EEXIST ? "it is not a regular file" : strerror(-rc));
	return drawable;
}

int answer_save(const struct answer *d, const struct evidence *e, const char *dir,
		struct error *err)
{
	return save_files(d, e, dir, FILES, err);
}

int answer_save_report(const struct answer *d, const struct evidence *e, const char *dir,
		       struct error *err)
{
	return save_files(d, e, dir, 2, err);
}
