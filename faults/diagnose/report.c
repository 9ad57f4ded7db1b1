/* report.c: a diagnosis as text, as verdict.json and as a post-mortem page. */
#include "diagnose.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "call.h"
#include "json_value.h"
#include "watch.h"

#define RANKS_SHOWN 64 /* the guilty are always shown */

static void print_place(FILE *out, const struct diagnosis *d)
{
	if (d->seq_low < 0)
		fprintf(out, "nowhere in the recorded calls");
	else if (d->seq_low == 0)
		fprintf(out, "communicator %" PRId64 ", init", d->comm);
	else if (d->seq_low == d->seq_high)
		fprintf(out, "communicator %" PRId64 ", call %" PRId64, d->comm, d->seq_low);
	else
		fprintf(out, "communicator %" PRId64 ", between calls %" PRId64 " and %" PRId64,
			d->comm, d->seq_low, d->seq_high);
	if (d->field[0])
		fprintf(out, ", field %s: theirs %s, the others' %s", d->field, d->theirs,
			d->majority);
}

static void print_hang(FILE *out, const struct diagnosis *d)
{
	if (d->hang_seq < 0)
		fprintf(out, "none");
	else if (d->hang_seq == 0)
		fprintf(out, "communicator %" PRId64 ", init", d->comm);
	else
		fprintf(out, "communicator %" PRId64 ", call %" PRId64, d->comm, d->hang_seq);
}

void diagnosis_print(FILE *out, const struct diagnosis *d, const struct evidence *e)
{
	fprintf(out, "outcome     %s\nclass       %s\nranks       %s of %d\nconfidence  %s\n",
		outcome_name(d->outcome), d->class, d->ranks, e->nranks, d->confidence);
	fprintf(out, "divergence  ");
	print_place(out, d);
	fprintf(out, "\nhang point  ");
	print_hang(out, d);
	fprintf(out, "\n\n");
	for (size_t i = 0; i < d->nlines; i++)
		fprintf(out, "  %s\n", d->lines[i]);
	fprintf(out, "\ncause       %s\nfix         %s\nprevention  %s\n", d->cause, d->fix,
		d->prevention);
	if (e->remarks[0])
		fprintf(out, "evidence    %s\n", e->remarks);
}

/* Is `rank` in the list "1,3"? */
static bool is_named(const char *list, int rank)
{
	char name[16];
	size_t len;

	snprintf(name, sizeof(name), "%d", rank);
	len = strlen(name);
	while (*list) {
		size_t n = strcspn(list, ",");

		if (n == len && memcmp(list, name, len) == 0)
			return true;
		list += n + (list[n] == ',');
	}
	return false;
}

static void print_rank(FILE *out, int number, const struct evidence_rank *r)
{
	const struct record *last = r->ncalls ? &r->calls[r->ncalls - 1] : NULL;
	char how[48];

	fprintf(out, "| %d | ", number);
	if (!r->present) {
		fprintf(out, "nothing known | | | |\n");
		return;
	}
	fprintf(out, "%s", view_process(&r->view, how, sizeof(how)));
	if (r->syscall[0])
		fprintf(out, ", in %s", r->syscall);
	fprintf(out, " | %s | ", phase_name((enum phase)r->view.phase));
	if (r->view.waiting)
		fprintf(out, "%s, %.1f s", r->view.what, r->view.waited);
	fprintf(out, " | ");
	if (last)
		fprintf(out, "%u:%" PRIu64 " %s count %" PRIu64 "%s | ", last->comm, last->seq,
			call_kind_name((enum call_kind)last->kind), last->count,
			last->state == RECORD_ISSUING ? ", not returned" : "");
	else
		fprintf(out, "none | ");
	fprintf(out, "%" PRIu64 " of %" PRIu64 " |\n", r->view.completed, r->view.issued);
}

static void print_walk(FILE *out, const struct diagnosis *d, const struct evidence *e)
{
	int left_out = 0;

	fprintf(out, "| rank | process | phase | waits for | last call (comm:seq) | completed |\n"
		     "|---|---|---|---|---|---|\n");
	for (int i = 0; i < e->nranks; i++) {
		if (i < RANKS_SHOWN || is_named(d->ranks, i))
			print_rank(out, i, &e->ranks[i]);
		else
			left_out++;
	}
	if (left_out > 0)
		fprintf(out, "\n%d more ranks are in the evidence.\n", left_out);
}

static void print_postmortem(FILE *out, const struct diagnosis *d, const struct evidence *e)
{
	fprintf(out, "# Post-mortem: %s, %s\n\n## Run\n\n", outcome_name(d->outcome), d->class);
	fprintf(out, "%d ranks, backend %s. Reproduce with:\n\n    %s\n\n## Walk\n\n", e->nranks,
		e->backend[0] ? e->backend : "unknown",
		e->command[0] ? e->command : "(not recorded)");
	print_walk(out, d, e);
	fprintf(out, "\n- Last call that all made alike: ");
	if (d->seq_low > 0)
		fprintf(out, "call %" PRId64 " of communicator %" PRId64, d->seq_low - 1, d->comm);
	else if (d->seq_low == 0)
		fprintf(out, "none");
	else
		fprintf(out, "all that were recorded");
	fprintf(out, "\n- Divergence point: ");
	print_place(out, d);
	fprintf(out, "\n- Hang point: ");
	print_hang(out, d);
	fprintf(out, "\n\n## Evidence\n\n");
	for (size_t i = 0; i < d->nlines; i++)
		fprintf(out, "- %s\n", d->lines[i]);
	if (e->remarks[0])
		fprintf(out, "- %s\n", e->remarks);
	fprintf(out,
		"\n## Cause\n\nRanks %s (confidence: %s). %s\n\n## Fix\n\n%s\n\n## "
		"Prevention\n\n%s\n",
		d->ranks, d->confidence, d->cause, d->fix, d->prevention);
}

static json_t *verdict_json(const struct diagnosis *d, const struct evidence *e)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < d->nlines; i++)
		json_array_append_new(lines, json_value_text(d->lines[i]));
	return json_pack(
		"{s:i s:s s:s s:s s:s s:i s:I s:I s:I s:s s:o s:o s:I s:o s:s s:s s:s s:o s:o s:o}",
		"version", 1, "outcome", outcome_name(d->outcome), "class", d->class, "ranks",
		d->ranks, "confidence", d->confidence, "nranks", e->nranks, "comm",
		(json_int_t)d->comm, "seq_low", (json_int_t)d->seq_low, "seq_high",
		(json_int_t)d->seq_high, "field", d->field, "theirs", json_value_text(d->theirs),
		"majority", json_value_text(d->majority), "hang_seq", (json_int_t)d->hang_seq,
		"lines", lines, "cause", d->cause, "fix", d->fix, "prevention", d->prevention,
		"backend", json_value_text(e->backend), "command", json_value_text(e->command),
		"remarks", json_value_text(e->remarks));
}

static int save_text(const struct diagnosis *d, const struct evidence *e, const char *path,
		     void (*print)(FILE *, const struct diagnosis *, const struct evidence *))
{
	FILE *f = fopen(path, "we");
	int failed;

	if (!f)
		return -errno;
	print(f, d, e);
	failed = ferror(f);
	return fclose(f) == 0 && !failed ? 0 : -EIO;
}

int diagnosis_save(const struct diagnosis *d, const struct evidence *e, const char *dir,
		   struct error *err)
{
	json_t *verdict = verdict_json(d, e);
	char path[4096];
	int rc = verdict ? 0 : -ENOMEM;

	snprintf(path, sizeof(path), "%s/verdict.json", dir);
	if (rc == 0 && json_dump_file(verdict, path, JSON_INDENT(1)) < 0)
		rc = -EIO;
	json_decref(verdict);
	if (rc == 0) {
		snprintf(path, sizeof(path), "%s/report.txt", dir);
		rc = save_text(d, e, path, diagnosis_print);
	}
	if (rc == 0) {
		snprintf(path, sizeof(path), "%s/postmortem.md", dir);
		rc = save_text(d, e, path, print_postmortem);
	}
	if (rc < 0)
		return error_set(err, OUTCOME_INTERNAL, rc, "cannot write %s: %s", path,
				 strerror(-rc));
	return 0;
}
