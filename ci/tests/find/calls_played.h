/* calls_played.h: synthetic evidence for tests of the diagnoser: ranks that make calls on
 * communicator 0, and what is found of them. */
#pragma once

#include "answer/meaning.h"
#include "backend/call.h"
#include "find/find.h"
#include "rig/unit.h"
#include "process/watch.h"

#define CALLS 40
#define OP    20 /* the call in question */

extern struct evidence evidence;
extern struct answer found;

struct record make_call(uint64_t ticket, uint64_t count);

/* Counts that differ from call to call, with no regularity within the test's length. */
uint64_t odd_count(uint64_t seq);

uint64_t step_count(uint64_t seq);

void calls_set_up(int nranks);

/* The rank makes calls with counts(1..n); `inside`: it stands in the last. */
void play(int rank, int n, uint64_t (*counts)(uint64_t), bool inside);

/* All ranks of a new job do. */
void all_play(int nranks, int n, uint64_t (*counts)(uint64_t), bool inside);

/* All but one, which makes `odd` calls and has come out of its last. */
void all_but(int nranks, int rank, int odd, int n, uint64_t (*counts)(uint64_t), bool inside);

extern const int job_sizes[4];

/* Culprits as bits: first, middle, last, and two, which needs four ranks for a majority. */
size_t culprit_sets(int nranks, uint32_t *sets);

/* As a verdict names them, "0,3". */
void name_set(uint32_t set, char *buf);

/* Makes the index of all calls that were written. */
void calls_index(void);

void judge(void);

void finish(void);

/* "OUTCOME CLASS RANKS CONFIDENCE", each of which may be "*". */
void finds(const char *wanted);

/* `class` may have the confidence behind it: "p2p-size majority". */
void expect(enum outcome outcome, const char *class, const char *ranks, int64_t low, int64_t high,
	    int64_t hang);

/* The words of its class, until the next call. */
const struct meaning *meaning_of(const struct answer *answer);

/* Is this, from its beginning, a line of what was found? */
bool said(const char *text);
