/* reading.h: one host at one moment, as a list of (part, name, value): counters and states. */
#pragma once

#include <jansson.h>

/* The readers of read.h fill it. Causes of a slow run, counter lines of a hang and the files
 * observation.json and rank-N.counters.json are made from it. A value that could not be read is
 * absent, and never 0.
 *
 * Parts: "CPU", "TCP"; an interface by its name, "eth0"; "RDMA mlx5_0:1", a port of a device;
 * "NVML"; "GPU 2" in the order of nvidia-smi, or "GPU 0000:18:00.0", one of a job's; "kernel";
 * "environment". Names end in their unit, as "power_ns" or "sm_mhz". */

enum {
	READING_MOST = 4096,	   /* entries; more are left out */
	READING_BYTES = 128 << 10, /* of one as JSON; longer texts are not ours */
};

enum reading_kind {
	READING_COUNTER, /* counts from a moment before: only differences mean something */
	READING_STATE,	 /* as it is now */
	READING_TEXT,	 /* a state in words */
};

struct reading_entry {
	char part[40], name[48];
	enum reading_kind kind;
	int64_t value; /* from 0 on; a text's is -1 */
	char *text;    /* of a text, owned; else NULL */
};

struct reading {
	char host[64];
	/* of a reading: CLOCK_MONOTONIC; of a difference: between the two, 0: there was but one */
	double seconds;
	char why[96]; /* the reason for which GPUs are absent; "": they are not, or were not requested */
	struct reading_entry *list; /* owned; the entries of a part stand together */
	size_t n;
};

void reading_release(struct reading *reading);

/* Add an entry or change it; a negative value, or too long a name, is none. */
void reading_set(struct reading *reading, const char *part, const char *name,
		 enum reading_kind kind, int64_t value, const char *text);
/* Adds the entries of `from`, of one part alone (NULL: all). */
void reading_append(struct reading *to, const struct reading *from, const char *part);

#define reading_count(m, part, name, value) reading_set(m, part, name, READING_COUNTER, value, NULL)
#define reading_state(m, part, name, value) reading_set(m, part, name, READING_STATE, value, NULL)
#define reading_say(m, part, name, text)    reading_set(m, part, name, READING_TEXT, -1, text)

/* A name that a kernel or a driver gave, as a part: what is not printable becomes "?". */
void reading_part(char *part, size_t len, const char *name);

/* The entry, with `name` NULL any of the part; NULL: not in the list. */
struct reading_entry *reading_find(const struct reading *reading, const char *part,
				   const char *name);

/* The number, or -1; the text, or "". */
int64_t reading_value(const struct reading *reading, const char *part, const char *name);
const char *reading_text(const struct reading *reading, const char *part, const char *name);

/* The next part that has an entry of this name, from *at (0 at first) on; NULL: no more. */
const char *reading_next(const struct reading *reading, const char *name, size_t *at);

/* Returns how far a counter went between two readings; -1: not in both, or it ran backwards. */
int64_t reading_step(const struct reading *earlier, const struct reading *later, const char *part,
		     const char *name);

/* Fills `delta` with the changes between two readings of one host. Counters of both are subtracted,
 * but those that ran backwards. States are the later ones; a PCIe link's are the better of both, as
 * it falls when idle. A GPU or RDMA port that stopped counting has the state "gone" 1; interfaces
 * come and go. `earlier` may be empty. The caller releases `delta`. */
void counter_delta(const struct reading *earlier, const struct reading *later,
		   struct reading *delta);

/* As JSON, version 2, in files and between hosts. The caller frees or decrefs. */
json_t *reading_json(const struct reading *reading);
char *reading_dump(const struct reading *reading, bool indent);

/* Adds the entries of such a value, or of one or several such texts, which are not trusted. Returns
 * 0, or -EINVAL for a torn or wrong text; the entries before the mistake stay. */
int reading_take(struct reading *reading, const json_t *from);
int reading_parse(struct reading *reading, const char *text);
