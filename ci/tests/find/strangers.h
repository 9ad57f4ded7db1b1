/* strangers.h: generated programs of kinds that were not written for the diagnoser: pipelines, halos, actors, servers,
 * experts, several communicators. Each rank has a plan of its own; one goes wrong, or the run is looked at while it is well.
 *
 * The model. A call returns at once and is put on its rank's stream of its communicator, where calls start one after the
 * other, those of a group together. At a wait the rank stays until all that it has called is over. Ranks take their steps in
 * an order that the seed gives. */
#pragma once

#include "calls_played.h"

#define FOLK_MAX  8 /* ranks of a program */
#define COMMS_MAX 12
#define OPS_MAX	  900

struct op {
	uint8_t kind; /* enum call_kind; OP_WAIT */
	uint8_t comm, dtype, site;
	int8_t peer; /* rank of the communicator; -1 */
	bool grouped;
	int count, group;
};
#define OP_WAIT 255

/* The deed of one rank in place of, or before, one of its calls. */
enum deed {
	DEED_SKIP,
	DEED_TWICE,
	DEED_OTHER, /* a collective of its own line before it: the path that one rank takes */
	DEED_PEER,
	DEED_COUNT,
	DEED_DTYPE,
	DEED_EXIT, /* ends with 0 */
	DEED_IDLE,
	DEED_BUSY,
	DEED_BLOCK,
	DEEDS,
	DEED_NONE = DEEDS
};

struct stranger {
	unsigned seed;
	const char *name;
	int nranks, ncomms, nops[FOLK_MAX];
	int members[COMMS_MAX][FOLK_MAX], nmembers[COMMS_MAX];
	struct op ops[FOLK_MAX][OPS_MAX + 4];
	bool sites, alternates; /* amounts go by turns */
	/* what goes wrong: at ops[rank][at] */
	enum deed deed;
	int rank, at;
	bool lax; /* calls whose counts or types do not fit end all the same */
};

/* A healthy program. */
void stranger_make(struct stranger *s, unsigned seed);
/* Plants a deed of some rank; false: that rank has no such call. */
bool stranger_plant(struct stranger *s);

/* Plays until no rank can go on, or so many steps (-1: any number). True: a rank waits in a call. */
bool stranger_play(const struct stranger *s, int steps);

/* Makes evidence of what was played, as a monitor sees it when a wait has been too long. */
void stranger_show(const struct stranger *s);

/* Returns true if the rank stands outside of calls and another one's call waits for it. */
bool stranger_is_late(const struct stranger *s, int rank);

const char *deed_name(enum deed deed);
