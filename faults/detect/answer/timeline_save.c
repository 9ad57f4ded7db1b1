/* timeline_save.c: a timeline as Chrome trace and as a table. */
#include <jansson.h>

#include "base/call_value.h"
#include "base/dtype.h"
#include "base/json_value.h"
#include "answer/timeline.h"
#include "base/output.h"

enum { THREAD_CALLS, THREAD_DEVICE, THREAD_HOST, THREADS };

static void add(json_t *events, json_t *event)
{
	json_array_append_new(events, event);
}

static void add_names(json_t *events, const struct lane *lane)
{
	static const char *const threads[THREADS] = { "calls", "device", "host waits in" };
	char name[32];

	snprintf(name, sizeof(name), "rank %d%s", lane->rank, lane->culprit ? " (culprit)" : "");
	add(events, json_pack("{s:s s:s s:i s:{s:s}}", "ph", "M", "name", "process_name", "pid",
			      lane->rank, "args", "name", name));
	add(events, json_pack("{s:s s:s s:i s:{s:i}}", "ph", "M", "name", "process_sort_index",
			      "pid", lane->rank, "args", "sort_index", lane->rank));
	for (int i = 0; i < THREADS; i++)
		add(events, json_pack("{s:s s:s s:i s:i s:{s:s}}", "ph", "M", "name", "thread_name",
				      "pid", lane->rank, "tid", i, "args", "name", threads[i]));
}

/* A stretch of time, in microseconds as the format wants. `name` is handed over. */
static json_t *stretch(const char *cat, json_t *name, int rank, int thread, double from, double to)
{
	return json_pack("{s:s s:o s:i s:i s:f s:f s:s}", "ph", "X", "name", name, "pid", rank,
			 "tid", thread, "ts", from / 1e3, "dur", (to - from) / 1e3, "cat", cat);
}

static void add_call(json_t *events, const struct lane *lane, const struct span *s)
{
	const char *name = call_kind_name((enum call_kind)s->call->kind);
	json_t *event =
		stretch("call", json_string(name), lane->rank, THREAD_CALLS, s->enter, s->leave);

	json_object_set_new(event, "args",
			    json_pack("{s:I s:i s:s s:I s:s s:s s:i s:s s:b}", "seq",
				      (json_int_t)s->call->seq, "comm", (int)s->call->comm, "kind",
				      name, "count", (json_int_t)s->call->count, "dtype",
				      dtype_name((enum dtype)s->call->dtype), "op",
				      redop_name((enum redop)s->call->op), "peer",
				      (int)s->call->peer, "state", span_state_names[s->state],
				      "unfinished", s->state == SPAN_UNFINISHED));
	add(events, event);
	if (s->joined > s->enter)
		add(events, stretch("wait", json_string("waits for ranks"), lane->rank,
				    THREAD_CALLS, s->enter, s->joined));
	if (!isnan(s->device_end))
		add(events, stretch("device", json_string(name), lane->rank, THREAD_DEVICE,
				    s->device_start, s->device_end));
}

static void add_lane(json_t *events, const struct timeline *t, const struct lane *lane)
{
	const struct rank_view *view = &t->evidence->ranks[lane->rank].view;

	add_names(events, lane);
	for (size_t i = 0; i < lane->nspans; i++)
		add_call(events, lane, &lane->spans[i]);
	if (!isnan(lane->wait_since) && lane->wait_since < t->end)
		add(events, stretch("host", json_value_text(view->what), lane->rank, THREAD_HOST,
				    lane->wait_since, t->end));
}

static void add_instant(json_t *events, const char *name, double at)
{
	if (!isnan(at))
		add(events, json_pack("{s:s s:s s:s s:i s:i s:f}", "ph", "i", "s", "g", "name",
				      name, "pid", 0, "tid", 0, "ts", at / 1e3));
}

static void name_point(char *buf, size_t len, const char *what, int64_t comm, int64_t seq)
{
	snprintf(buf, len, "%s: call %ld of communicator %ld", what, seq, comm);
}

int timeline_save_trace(const struct timeline *t, const char *path)
{
	const struct answer *d = t->diagnosis;
	json_t *events = json_array(), *top;
	char name[96];
	int rc;

	for (size_t i = 0; i < t->nlanes; i++)
		add_lane(events, t, &t->lanes[i]);
	name_point(name, sizeof(name), "divergence", d->comm, d->seq_low);
	add_instant(events, name, t->divergence);
	name_point(name, sizeof(name), "hang", d->comm, d->hang_seq);
	add_instant(events, name, t->hang);
	add_instant(events, d->outcome == OUTCOME_OK ? "end of the run" : "verdict", t->end);
	top = json_pack("{s:o s:s s:{s:s s:s s:s s:i s:o}}", "traceEvents", events,
			"displayTimeUnit", "ms", "otherData", "outcome", outcome_name(d->outcome),
			"class", class_name(d->class, d->outcome), "ranks", d->ranks, "nranks",
			t->evidence->nranks, "notes", json_value_text(t->notes));
	rc = json_value_save(must(top), path, JSON_COMPACT);
	json_decref(top);
	return rc;
}

/* A cell of text: one line without commas (semicolons instead) and quotation marks. */
static void put_text(FILE *f, const char *text)
{
	putc('"', f);
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		putc(*c < ' ' || *c > '~' ? '?' : *c == '"' ? '\'' : *c == ',' ? ';' : *c, f);
	putc('"', f);
}

static void put_ms(FILE *f, double ns)
{
	if (isnan(ns))
		putc(',', f);
	else
		fprintf(f, ",%.6f", ns / 1e6);
}

#define COLUMNS                                                                                    \
	"row,rank,lane,guilty,text,comm,seq,kind,count,dtype,state,start_ms,joined_ms,end_ms,"     \
	"device_start_ms,device_end_ms\n"

/* A line that is no call: what it says, from when to when. */
static void put_line(FILE *f, const char *row, const char *text, double from, double to)
{
	fprintf(f, "%s,,,,", row);
	put_text(f, text);
	fprintf(f, ",,,,,,");
	put_ms(f, from);
	putc(',', f);
	put_ms(f, to);
	fprintf(f, ",,\n");
}

static void put_lane(FILE *f, const struct lane *lane, int at)
{
	fprintf(f, "lane,%d,%d,%d,", lane->rank, at, lane->culprit);
	put_text(f, lane->note);
	fprintf(f, ",,,,,,,,,,,\n");
	for (size_t i = 0; i < lane->nspans; i++) {
		const struct span *s = &lane->spans[i];

		fprintf(f, "call,%d,%d,%d,,%u,%lu,%s,%lu,%s,%s", lane->rank, at, lane->culprit,
			s->call->comm, s->call->seq, call_kind_name((enum call_kind)s->call->kind),
			s->call->count, dtype_name((enum dtype)s->call->dtype),
			span_state_names[s->state]);
		put_ms(f, s->enter);
		put_ms(f, s->joined);
		put_ms(f, s->leave);
		put_ms(f, s->device_start);
		put_ms(f, s->device_end);
		putc('\n', f);
	}
}

static void put_points(FILE *f, const struct timeline *t)
{
	const struct answer *d = t->diagnosis;
	char text[192];

	snprintf(text, sizeof(text), "%s: %s", outcome_name(d->outcome),
		 class_name(d->class, d->outcome));
	if (strcmp(d->ranks, "-") != 0)
		text_add(text, sizeof(text), " (rank%s %.100s)", strchr(d->ranks, ',') ? "s" : "",
			 d->ranks);
	if (t->evidence->detect_ms > 0)
		text_add(text, sizeof(text), ", named after %.0f ms", t->evidence->detect_ms);
	put_line(f, "title", text, NAN, NAN);
	name_point(text, sizeof(text), "divergence", d->comm, d->seq_low);
	if (!isnan(t->divergence))
		put_line(f, "divergence", text, t->divergence, NAN);
	name_point(text, sizeof(text), "hang", d->comm, d->hang_seq);
	if (!isnan(t->hang))
		put_line(f, "hang", text, t->hang, NAN);
	put_line(f, "verdict", "verdict", t->end, NAN);
	for (const char *notes = t->notes; *notes;) {
		const char *stop = strstr(notes, ". ");
		size_t n = stop ? (size_t)(stop - notes) + 1 : strlen(notes);
		char one[sizeof(t->notes)];

		snprintf(one, sizeof(one), "%.*s", (int)n, notes);
		put_line(f, "note", one, NAN, NAN);
		notes += n + strspn(notes + n, " ");
	}
	for (size_t i = 0; i < t->nbreaks; i++)
		put_line(f, "break", "", t->breaks[i].low, t->breaks[i].high);
}

int timeline_save_csv(const struct timeline *t, const char *path)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = must(open_memstream(&text, &bytes));
	int at = 0, rc;

	fputs(COLUMNS, f);
	put_points(f, t);
	for (size_t i = 0; i < t->nlanes; i++)
		if (t->lanes[i].drawn)
			put_lane(f, &t->lanes[i], at++);
	rc = output_close(f);
	rc = rc < 0 ? rc : output_whole(path, text, bytes);
	free(text);
	return rc;
}
