/* timeline_scene.h: ranks' calls on a made-up clock, and the timeline of them. */
#pragma once

#include <jansson.h>

#include "backend/call.h"
#include "answer/timeline.h"
#include "rig/unit.h"
#include "process/watch.h"

#define MS    1000000ull
#define START (5000 * MS) /* of the made-up clock */

extern struct evidence timeline_evidence;
extern struct answer timeline_diagnosis;
extern struct timeline timeline;
extern char timeline_dir[UNIT_TEMP];

/* Ranks of one host that were looked at 100 ms after START, none with calls. */
void timeline_set_up(int nranks);

/* The rank's next call: entered and left so many milliseconds after START; left 0: it is in it. */
struct record *timeline_call(int rank, uint64_t enter, uint64_t leave);

const char *timeline_path(const char *name);

void timeline_build(void);

void timeline_tear_down(void);

/* Rank 0 makes two calls and stands in the second, rank 1 one, 10 ms late, and none after. */
void timeline_play_two(void);

/* Saved and read again; the caller drops the reference. */
json_t *timeline_trace(void);

/* Saved and read again, until the next time. */
const char *timeline_table(void);
