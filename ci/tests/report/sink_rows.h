/* sink_rows.h: a run of two ranks with rows for sinks, and a folder for their files. */
#pragma once

#include "report/sink.h"
#include "rig/unit.h"

#define RANKS  2
#define FIELDS 64 /* more than a line has */

extern char sink_folder[UNIT_TEMP];
extern struct options sink_options;
extern struct rank_facts ranks[RANKS];
extern struct run_facts facts;
extern struct error sink_err; /* of sinks that could not be made */

void sink_set_up(void);

struct row sink_row(uint64_t size, bool in_place);
struct row sink_wrong_row(uint64_t size, bool in_place);

struct run_summary sink_summary(void);

const char *sink_path(const char *name);

struct sink *sink_begun(struct sink *sink);

void sink_put(struct sink *sink, struct row row);

/* A point of one or two rows; `in` may be NULL. */
void sink_put_point(struct sink *sink, struct row out, const struct row *in);
