/* programs_played.h: a small model of ranks that follow programs of sends, receives and
 * collectives, one of which goes wrong; what it leaves behind becomes evidence.
 *
 * The model. A call returns at once; at a wait step a rank stays until all that it has called has
 * met its counterpart, and after its last step likewise, before it ends. No send is eager: it is
 * met when its receive is called. Between two ranks the nth send meets the nth receive, and they
 * end if their counts are the same, else never. Collectives meet by their number, whatever their
 * counts. All ranks poll, waiting or ended, so that each looks busy; only what the fault itself
 * does in host code looks otherwise. Times do not exist. */
#pragma once

#include <assert.h>

#include "calls_played.h"

#define PLAYERS_MAX 5
#define STEPS_MAX   64

enum step_kind { STEP_SEND, STEP_RECV, STEP_COLLECTIVE, STEP_WAIT };

struct step {
	enum step_kind kind;
	int peer, count;
};

/* The steps of each rank in a healthy run. */
struct program {
	int nranks, nsteps[PLAYERS_MAX];
	struct step steps[PLAYERS_MAX][STEPS_MAX];
};

/* The culprit's deed in place of its next call: it stays in host code (in a loop, asleep, in
 * a read), leaves that call out, or ends. FAULT_EXTRA: it makes its next call twice. */
enum fault_played {
	FAULT_BUSY,
	FAULT_IDLE,
	FAULT_BLOCK,
	FAULT_SKIP,
	FAULT_EARLY,
	FAULT_EXTRA,
	FAULTS_PLAYED,
	FAULT_NONE = FAULTS_PLAYED
};

/* `at`: after so many calls of the rank. */
struct fault_at {
	enum fault_played fault;
	int rank, at;
};

struct call_played {
	struct step step;
	bool met;
};

struct player {
	int next, ncalls; /* steps gone, calls made */
	bool fired, stuck, ended;
	struct call_played calls[STEPS_MAX + 1];
};

void add_step(struct program *p, int rank, enum step_kind kind, int peer, int count);

void add_wait(struct program *p, int rank);

int count_calls(const struct program *p, int rank);

/* Plays until no rank can go on. Returns true if a rank is left behind. */
bool play_program(const struct program *program, const struct fault_at *t);

/* Turns the last play into evidence of a run whose deadlines have passed. */
void show_played(const struct program *program, const struct fault_at *t);

/* The same of a run in which every rank has come to its end with `outcome`. */
void show_ended(const struct program *program, const struct fault_at *t, enum outcome outcome);
