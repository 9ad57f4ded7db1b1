/* classes.h: what a verdict says of a run beside its outcome. An enum in code; the names are for
 * verdict lines, verdict.json and --expect. */
#pragma once

#include "base/outcome.h"

enum diagnosis_class {
	CLASS_OUTCOME, /* no more than the outcome says: it has the outcome's name */

	/* the diagnosis' own */
	CLASS_MISSING,		/* alive, idle, never made the call */
	CLASS_BLOCKED,		/* in a lock or read of host code */
	CLASS_BUSY,		/* in a loop of its own */
	CLASS_KILLED,		/* by SIGKILL, or by a signal that nobody saw */
	CLASS_CRASHED,		/* by a signal of its own making */
	CLASS_EXITED,		/* without telling the others */
	CLASS_STOPPED,		/* SIGSTOP, a terminal */
	CLASS_FROZEN,		/* with its cgroup: a paused container, a suspended job */
	CLASS_TRACED,		/* a debugger holds it */
	CLASS_SKIPPED,		/* left a call out */
	CLASS_EXTRA,		/* made one too many */
	CLASS_EARLY,		/* left the loop of calls before the others */
	CLASS_SKIPPED_OR_EARLY, /* left out the last call that anyone made, or all from it on */
	CLASS_SWAPPED,		/* made two in the other order */
	CLASS_MISMATCH,		/* same place, other arguments */
	CLASS_OOM,		/* killed for its cgroup's limit */
	CLASS_GPU_OOM,		/* gave up: no device memory left */
	CLASS_INIT_MISSING,	/* never called communicator init */
	CLASS_INIT_MISMATCH,	/* called it with other arguments */
	CLASS_INIT_UNREACHABLE, /* lives in another network than the others */
	CLASS_ABORTED,		/* aborted its communicator by itself */
	CLASS_SETTINGS,		/* has other settings, or another library, than most */
	CLASS_UNMATCHED,	/* left out a send or receive, or made one too many */
	CLASS_PAIR_SIZE,	/* sent another amount or type than is received */
	CLASS_PAIR_PEER,	/* made one with another partner */
	CLASS_PAIR_DEADLOCK,	/* all send first, or all receive first, none in a group */
	CLASS_REPLAY,		/* launched a captured graph less often, or another one */
	CLASS_CYCLE,		/* ranks wait for each other in calls of several communicators */
	CLASS_GPU_STUCK,	/* a kernel or a wait stands on its stream ahead of the call */
	CLASS_INSIDE,		/* the library does not come out of a call that all ranks made */
	CLASS_GPU_FAULT,	/* a kernel of its broke its CUDA context */
	CLASS_CORRUPT,		/* calls were alike, data were not what they must be */
	CLASS_UNSEEN,		/* all wait for it, and nothing is known of it */
	CLASS_HOST_SILENT,	/* nothing is heard of a host */
	CLASS_PARTITION,	/* hosts live on both sides, and do not reach each other */
	CLASS_WATCHER_HELD, /* supervisor, monitor or launcher does not run: stopped, frozen, traced */
	CLASS_MONITOR_GONE,  /* a host's monitor was killed */
	CLASS_LAUNCHER_GONE, /* mpirun, or orted on a host, was killed */
	CLASS_UNEXPLAINED,   /* a hang for which no cause was found */

	/* the monitor's, where nobody could look at the calls */
	CLASS_DIED,
	CLASS_ERROR, /* a rank left with an error, whichever outcome that makes */

	CLASS_COUNT
};

/* "missing-call" "rank-died"...; of CLASS_OUTCOME the outcome's name. */
const char *class_name(enum diagnosis_class class, enum outcome outcome);

/* The class of what is lost (enum view_lost, not LOST_NOT). */
enum diagnosis_class class_of_lost(uint32_t lost);

/* Returns true if it is one of those: about hosts and watchers, and no rank. */
bool class_is_lost(enum diagnosis_class class);

/* Returns true if a verdict can have this class: one of those above or an outcome's name. */
bool class_known(const char *name);

/* The classes that are no outcome's name, with blanks between them. Returns buf. */
char *class_list(char *buf, size_t len);
