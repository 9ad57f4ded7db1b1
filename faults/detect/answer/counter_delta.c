/* counter_delta.c: counters of hosts, before and after, and what of them says something. */
#include "answer/counter_delta.h"

#include "machine/health.h"
#include "machine/read.h"

#define HOSTS_SAID  4
#define HOSTS_SHOWN 32
#define ROWS_SHOWN  40 /* of a host */

/* The host's network first: a driver that is stuck keeps the rest. */
static void read_counters(int fd, const void *arg)
{
	struct read_request request = { .readers = READ_TCP | READ_TRAFFIC | READ_CPU, .root = "" };
	struct nvml nvml;

	reading_tell(fd, &request, 0);
	if (!*(const bool *)arg)
		return;
	nvml_open(&nvml);
	request.readers = READ_NVML;
	request.nvml = &nvml;
	reading_tell(fd, &request, 0);
	nvml_close(&nvml);
}

struct task counter_delta_task(const bool *gpus)
{
	return (struct task){ .run = read_counters, .arg = gpus, .limit = READING_BYTES };
}

void counter_delta_take(struct evidence_rank *rank, const char *before, const char *after,
			bool gpus)
{
	struct reading earlier = { .list = NULL }, later = { .list = NULL }, delta;

	if (before)
		reading_parse(&earlier, before); /* cut: what stood before that */
	if (after)
		reading_parse(&later, after);
	if (gpus && !later.why[0] && reading_value(&later, "NVML", "gpus") < 0)
		snprintf(later.why, sizeof(later.why), "NVML did not answer");
	if (later.n > 0) {
		counter_delta(&earlier, &later, &delta);
		evidence_take_counters(rank, &delta);
	}
	reading_release(&earlier);
	reading_release(&later);
}

void counter_delta_note(const struct evidence *e, struct answer *d)
{
	int said = 0, more = 0;

	for (int i = 0; i < e->nranks; i++) {
		const struct reading *c = e->ranks[i].counters;
		char text[sizeof(d->notes[0]) - 96];

		if (!c || !health_line(c, text, sizeof(text)))
			continue;
		if (said == HOSTS_SAID || d->nnotes + 2 > ANSWER_NOTES) {
			more++;
			continue;
		}
		said++;
		answer_note(d, "Host %s, during the run: %s.", c->host, text);
	}
	if (more && d->nnotes + 1 < ANSWER_NOTES)
		answer_note(d, "Counters of %d more host%s speak, too: see postmortem.md.", more,
			    more == 1 ? "" : "s");
}

static size_t count_moved(const struct reading *c)
{
	size_t moved = 0;

	for (size_t i = 0; i < c->n; i++)
		moved += c->list[i].value > 0;
	return moved;
}

/* "vm: 34 counters over 4.2 s, 29 of them 0" */
static void print_host(FILE *out, const struct reading *c)
{
	fprintf(out, "%s: %zu counter%s", c->host[0] ? c->host : "?", c->n, c->n == 1 ? "" : "s");
	if (c->seconds > 0)
		fprintf(out, " over %.1f s, %zu of them 0", c->seconds, c->n - count_moved(c));
	else
		fprintf(out, ", at the end only");
	if (c->why[0])
		fprintf(out, "; none of GPUs: %s", c->why);
}

void page_put(FILE *out, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		putc(*c < ' ' || *c == 0x7f || strchr("|`<>*", *c) ? '?' : *c, out);
}

static void print_rows(FILE *out, const struct reading *c)
{
	size_t rows = 0, moved = count_moved(c);

	if (moved == 0)
		return;
	fprintf(out, "\n| | | |\n|---|---|---|\n");
	for (size_t i = 0; i < c->n && rows < ROWS_SHOWN; i++) {
		if (c->list[i].value <= 0)
			continue;
		fprintf(out, "| ");
		page_put(out, c->list[i].part);
		fprintf(out, " | ");
		page_put(out, c->list[i].name);
		fprintf(out, " | %ld |\n", c->list[i].value);
		rows++;
	}
	if (moved > rows)
		fprintf(out, "\n%zu more are in the evidence.\n", moved - rows);
}

void counter_delta_print(FILE *out, const struct evidence *e, bool page)
{
	int hosts = 0;

	if (page)
		fprintf(out, "\n### Counters\n");
	for (int i = 0; i < e->nranks; i++) {
		const struct reading *c = e->ranks[i].counters;

		if (!c || hosts++ >= HOSTS_SHOWN)
			continue;
		fprintf(out, page ? "\nHost " : "counters    ");
		print_host(out, c);
		fprintf(out, page ? ".\n" : "\n");
		if (page)
			print_rows(out, c);
	}
	if (hosts > HOSTS_SHOWN)
		fprintf(out,
			page ? "\nThose of %d more hosts are in the evidence.\n"
			     : "counters    of %d more hosts\n",
			hosts - HOSTS_SHOWN);
	if (hosts == 0)
		fprintf(out, page ? "\nNo counters were read.\n" : "counters    none were read\n");
}

/* Notes whether the library reports an asynchronous error. */
static void note_async(const struct evidence *e, struct answer *d)
{
	size_t asked = 0;
	int failed = -1;

	if (d->outcome != OUTCOME_HANG)
		return;
	for (int i = e->nranks - 1; i >= 0; i--) {
		const struct rank_view *v = &e->ranks[i].view;

		if (!e->ranks[i].present)
			continue;
		/* it asks while it waits for its device, and nowhere else */
		asked += v->asked > 0 && v->device_wait != RECORD_DEVICE_LEFT;
		failed = v->asked > 1 ? i : failed;
	}
	if (failed >= 0)
		answer_note(d, "ncclCommGetAsyncError says error %d on rank %d.",
			    e->ranks[failed].view.asked - 1, failed);
	else if (asked > 0)
		answer_note(d,
			    "ncclCommGetAsyncError says success on the %zu of %d ranks that ask "
			    "it while they wait.",
			    asked, e->nranks);
}

void probe_note(const struct evidence *evidence, struct answer *answer)
{
	counter_delta_note(evidence, answer);
	note_async(evidence, answer);
	if (evidence->ras && evidence->ras[0] && evidence->ras[0] != '[')
		answer_note(answer, "NCCL RAS answered: ras.txt.");
}
