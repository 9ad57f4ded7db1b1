/* counter_delta.c: counters of the run's hosts: read before and after, and what of them says something. */
#include "probe/counter_delta.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/read.h"
#include "evidence/evidence_text.h"

#define HOSTS_SAID    4
#define HOSTS_SHOWN   32
#define ROWS_SHOWN    40   /* of a host */
#define HELD_FRACTION 0.01 /* of the run, with clocks held down: less is every GPU's */
#define HELD_LEAST    1e-3 /* s */
/* Of the segments sent; healthy hosts' loopback sends 0.06 to 0.51 % again (twelve runs on 4 H200),
 * none of them after a timeout. */
#define RESENT_FRACTION 0.01

/* ---- taken ---------------------------------------------------------------------------------- */

static void tell(int fd, const struct read_request *request)
{
	struct reading reading = { .list = NULL };
	char *text;

	read_host(request, &reading);
	text = reading_dump(&reading, false);
	if (text)
		dprintf(fd, "%s\n", text);
	free(text);
	reading_release(&reading);
}

/* The host's network first: a driver that is stuck keeps the rest. */
static void read_counters(int fd, const void *arg)
{
	struct read_request request = { .readers = READ_TCP | READ_TRAFFIC, .root = "" };
	struct nvml nvml;

	tell(fd, &request);
	if (!*(const bool *)arg)
		return;
	nvml_open(&nvml);
	request.readers = READ_NVML;
	request.nvml = &nvml;
	tell(fd, &request);
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
	if (later.n > 0 && counter_delta(&earlier, &later, &delta) == 0)
		evidence_take_counters(rank, &delta);
	reading_release(&earlier);
	reading_release(&later);
}

/* ---- said ----------------------------------------------------------------------------------- */

/* "3 segments sent again"; what is not here is shown in tables only. */
static const struct phrase {
	const char *name, *before, *noun, *after;
	/* healthy parts count it, too: said where this one, of the same part, moved */
	const char *beside;
} phrases[] = {
	{ "gone", "no longer answers", NULL, "", NULL },
	{ "resent", "", " segment", " sent again", NULL },
	{ "carrier_lost", "link lost ", " time", "", NULL },
	{ "link_downed", "link lost ", " time", "", NULL },
	{ "symbol_errors", "", " symbol error", "", NULL },
	{ "rx_errors", "", " incoming packet", " with errors", NULL },
	{ "tx_errors", "", " outgoing packet", " with errors", NULL },
	{ "rx_dropped", "", " incoming packet", " dropped", NULL },
	{ "tx_dropped", "", " outgoing packet", " dropped", NULL },
	{ "sequence_errors", "", " packet", " out of sequence", NULL },
	{ "timeouts", "", " timeout", "", NULL },
	{ "ecc_uncorrected", "", " uncorrected memory error", "", NULL },
	{ "remap_pending", "memory rows wait to be replaced (reset the GPU)", NULL, "", NULL },
	{ "remap_failed", "a memory row could not be replaced", NULL, "", NULL },
	{ "link_replays", "", " NVLink replay", "", NULL },
	{ "link_recoveries", "", " recovered NVLink error", "", NULL },
	/* 5 to 114 a run on healthy H200s, none of them replayed */
	{ "link_crc", "", " NVLink CRC error", "", "link_replays" },
	{ "pcie_replays", "", " PCIe replay", "", NULL },
};

/* For how long a GPU's clocks were held down; 0: not for long enough to say. */
static double held(const struct reading *c, const char *part, const char *name)
{
	double seconds = (double)reading_value(c, part, name) * 1e-9;

	return seconds > HELD_LEAST && seconds > HELD_FRACTION * c->seconds ? seconds : 0;
}

/* Now, at the end, is said where no counter says for how long. */
static void say_clocks(const struct reading *c, const struct reading_entry *counter, char *buf,
		       size_t len)
{
	double power = held(c, counter->part, "power_ns");
	double heat = held(c, counter->part, "thermal_ns");
	const char *by = nvml_held_by(counter->value);

	if (strcmp(counter->name, "power_ns") == 0 && power > 0)
		snprintf(buf, len, "clocks held down for power for %.2f s", power);
	else if (strcmp(counter->name, "thermal_ns") == 0 && heat > 0)
		snprintf(buf, len, "clocks held down for heat for %.2f s", heat);
	else if (strcmp(counter->name, "clock_reasons") == 0 && by && power + heat <= 0)
		snprintf(buf, len, "clocks held down by %s", by);
}

/* Healthy parts count it, too, and this is no more than that. */
static bool is_usual(const struct reading *c, const struct reading_entry *counter,
		     const struct phrase *phrase)
{
	int64_t sent = reading_value(c, counter->part, "sent");

	if (strcmp(counter->name, "resent") == 0)
		return reading_value(c, counter->part, "timeouts") <= 0 &&
		       (double)counter->value < RESENT_FRACTION * (double)sent;
	return phrase->beside && reading_value(c, counter->part, phrase->beside) <= 0;
}

/* Writes what a counter says of its part; "": nothing. */
static void say(const struct reading *c, const struct reading_entry *counter, char *buf, size_t len)
{
	buf[0] = '\0';
	say_clocks(c, counter, buf, len);
	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		const struct phrase *s = &phrases[i];

		if (counter->value <= 0 || strcmp(counter->name, s->name) != 0 ||
		    is_usual(c, counter, s))
			continue;
		if (s->noun)
			snprintf(buf, len, "%s%" PRId64 "%s%s%s", s->before, counter->value,
				 s->noun, counter->value == 1 ? "" : "s", s->after);
		else
			snprintf(buf, len, "%s", s->before);
	}
}

/* "TCP: 3 segments sent again; eth0: ..."; returns how many counters speak. What does not fit is
 * counted at the end. */
static size_t say_all(const struct reading *c, char *buf, size_t len)
{
	size_t at = 0, spoken = 0, left_out = 0;
	const char *part = NULL;

	buf[0] = '\0';
	for (size_t i = 0; i < c->n; i++) {
		char phrase[96], text[160];
		const struct reading_entry *counter = &c->list[i];
		bool same = part && strcmp(part, counter->part) == 0;

		say(c, counter, phrase, sizeof(phrase));
		if (!phrase[0])
			continue;
		spoken++;
		snprintf(text, sizeof(text), "%s%s%s%s",
			 !part	? ""
			 : same ? ", "
				: "; ",
			 same ? "" : counter->part, same ? "" : ": ", phrase);
		if (left_out || at + strlen(text) + 16 > len) {
			left_out++;
			continue;
		}
		at += (size_t)snprintf(buf + at, len - at, "%s", text);
		part = counter->part;
	}
	if (left_out)
		snprintf(buf + at, len - at, "; %zu more", left_out);
	return spoken;
}

void counter_delta_note(const struct evidence *e, struct diagnosis *d)
{
	int said = 0, more = 0;

	for (int i = 0; i < e->nranks; i++) {
		const struct reading *c = e->ranks[i].counters;
		char text[sizeof(d->lines[0]) - 96];

		if (!c || say_all(c, text, sizeof(text)) == 0)
			continue;
		if (said == HOSTS_SAID || d->nlines + 2 > DIAGNOSIS_LINES) {
			more++;
			continue;
		}
		said++;
		snprintf(d->lines[d->nlines++], sizeof(d->lines[0]), "Host %s, during the run: %s.",
			 c->host, text);
	}
	if (more && d->nlines + 1 < DIAGNOSIS_LINES)
		snprintf(d->lines[d->nlines++], sizeof(d->lines[0]),
			 "Counters of %d more host%s speak, too: see postmortem.md.", more,
			 more == 1 ? "" : "s");
}

/* ---- shown ---------------------------------------------------------------------------------- */

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

/* Rank by rank, those that a host's counters are saved with; *left_out: more than are shown. */
static const struct reading *next_host(const struct evidence *e, int *i, int *shown, int *left_out)
{
	while (*i < e->nranks) {
		const struct reading *c = e->ranks[(*i)++].counters;

		if (c && (*shown)++ < HOSTS_SHOWN)
			return c;
		*left_out += c != NULL;
	}
	return NULL;
}

void counter_delta_print(FILE *out, const struct evidence *e)
{
	int i = 0, shown = 0, left_out = 0;
	const struct reading *c;

	while ((c = next_host(e, &i, &shown, &left_out))) {
		fprintf(out, "counters    ");
		print_host(out, c);
		fprintf(out, "\n");
	}
	if (left_out)
		fprintf(out, "counters    of %d more hosts\n", left_out);
	if (shown == 0)
		fprintf(out, "counters    none were read\n");
}

/* A table's cell: no bars, no markup. */
static void put(FILE *out, const char *text)
{
	for (; *text; text++)
		putc(strchr("|`<>*", *text) ? '?' : *text, out);
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
		put(out, c->list[i].part);
		fprintf(out, " | ");
		put(out, c->list[i].name);
		fprintf(out, " | %" PRId64 " |\n", c->list[i].value);
		rows++;
	}
	if (moved > rows)
		fprintf(out, "\n%zu more are in the evidence.\n", moved - rows);
}

void counter_delta_table(FILE *out, const struct evidence *e)
{
	int i = 0, shown = 0, left_out = 0;
	const struct reading *c;

	fprintf(out, "\n### Counters\n");
	while ((c = next_host(e, &i, &shown, &left_out))) {
		fprintf(out, "\nHost ");
		print_host(out, c);
		fprintf(out, ".\n");
		print_rows(out, c);
	}
	if (left_out)
		fprintf(out, "\nThose of %d more hosts are in the evidence.\n", left_out);
	if (shown == 0)
		fprintf(out, "\nNo counters were read.\n");
}
