/* reading.h: what one host showed at one moment, as a list of (part, name, value): counters, and
 * states in numbers or words. */
#pragma once

#include <jansson.h>

/* The readers of read.h fill it; the causes of a slow run, the counter lines of a hang and the
 * files observation.json and rank-N.counters.json are made from it. What could not be read is not
 * in the list, and never 0.
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
	char why[96]; /* why nothing of GPUs is here; "": it is, or nobody asked for it */
	struct reading_entry *list; /* owned; the entries of a part stand together */
	size_t n;
};

void reading_release(struct reading *reading);

/* Add an entry or change it; a negative value, or too long a name, is none. */
void reading_count(struct reading *reading, const char *part, const char *name, int64_t value);
void reading_state(struct reading *reading, const char *part, const char *name, int64_t value);
void reading_say(struct reading *reading, const char *part, const char *name, const char *text);

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

/* Returns how far a counter went between two readings; -1: not seen in both, or it ran
 * backwards. */
int64_t reading_step(const struct reading *earlier, const struct reading *later, const char *part,
		     const char *name);

/* Fills `delta` with what happened between two readings of one host: counters that both have, the
 * later one's less the earlier one's, without those that ran backwards; and states as they were
 * later, but of a PCIe link the better of both: it falls when nobody uses it. A GPU or RDMA port that counts nothing any more, though it was asked, has the state "gone"
 * 1: interfaces of containers come and go, so theirs say nothing. `earlier` may be empty. The
 * caller releases what is in `delta`. */
void counter_delta(const struct reading *earlier, const struct reading *later,
		   struct reading *delta);

/* As JSON, version 2: the one form that it has in files and on its way between hosts. The caller
 * frees or decrefs. */
json_t *reading_json(const struct reading *reading);
char *reading_dump(const struct reading *reading, bool indent);

/* Add what stands in such a value, or in one or several such texts. Nothing in them is trusted:
 * 0; -EINVAL: cut off, or no such text; what stood before that has been added. */
int reading_take(struct reading *reading, const json_t *from);
int reading_parse(struct reading *reading, const char *text);
