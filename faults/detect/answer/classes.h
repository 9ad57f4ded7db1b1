/* classes.h: what a verdict says of a run beside its outcome. An enum in code; the names are for
 * verdict lines, verdict.json and --expect. */
#pragma once

#include "base/outcome.h"

/* The names of enum and verdict, and whether it is final: a rank is gone, or calls cannot meet. The
 * last two are the monitor's, for runs whose calls were not looked at. */
/* clang-format off */
#define CLASSES(row) \
	row(MISSING, "missing-call", false) /* alive, idle, never made the call */ \
	row(BLOCKED, "host-blocked", false) /* in a lock or read of host code */ \
	row(BUSY, "host-busy", false) /* in a loop of its own */ \
	row(KILLED, "rank-killed", true) /* by SIGKILL, or by an unknown signal */ \
	row(CRASHED, "rank-crashed", true) /* by a signal of its own making */ \
	row(EXITED, "rank-exited", true) /* without telling the others */ \
	row(STOPPED, "rank-stopped", true) /* SIGSTOP, a terminal */ \
	row(FROZEN, "rank-frozen", true) /* with its cgroup: a paused container, a suspended job */ \
	row(TRACED, "rank-traced", false) /* a debugger holds it */ \
	row(SKIPPED, "skipped-call", true) /* left a call out */ \
	row(EXTRA, "extra-call", true) /* made one too many */ \
	row(EARLY, "early-exit", false) /* left the loop of calls before the others */ \
	row(SKIPPED_OR_EARLY, "skipped-or-early-exit", false) /* the last that anyone made, or all from it */ \
	row(SWAPPED, "swapped-calls", true) /* made two in the other order */ \
	row(MISMATCH, "mismatch", true) /* same place, other arguments */ \
	row(OOM, "rank-oom", true) /* killed for its cgroup's limit */ \
	row(GPU_OOM, "rank-gpu-oom", true) /* gave up: no device memory left */ \
	row(INIT_MISSING, "init-missing-rank", false) /* never called communicator init */ \
	row(INIT_MISMATCH, "init-mismatch", true) /* called it with other arguments */ \
	row(INIT_UNREACHABLE, "init-unreachable", false) /* lives in another network than the others */ \
	row(ABORTED, "aborted", true) /* aborted its communicator by itself */ \
	row(SETTINGS, "settings-mismatch", false) /* has other settings, or another library, than most */ \
	row(UNMATCHED, "p2p-unmatched", false) /* left out a send or receive, or made one too many */ \
	row(PAIR_SIZE, "p2p-size", true) /* sent another amount or type than is received */ \
	row(PAIR_PEER, "p2p-peer", true) /* made one with another partner */ \
	row(PAIR_DEADLOCK, "p2p-deadlock", true) /* all send, or all receive, first; in no group */ \
	row(REPLAY, "graph-replay", false) /* launched a captured graph less often, or another one */ \
	row(CYCLE, "order-cycle", true) /* in calls of several communicators */ \
	row(GPU_STUCK, "gpu-stuck", false) /* something stands on its stream ahead of the call */ \
	row(INSIDE, "stuck-in-call", false) /* the library, in a call that all ranks made */ \
	row(GPU_FAULT, "gpu-fault", true) /* a kernel of its broke its CUDA context */ \
	row(CORRUPT, "corrupt-data", false) /* calls were alike, data were not what they must be */ \
	row(UNSEEN, "rank-unseen", false) /* all wait for it, and nothing is known of it */ \
	row(OTHER_WAIT, "other-wait", true) /* all stand outside of calls, in unlike places */ \
	row(BEHIND, "rank-behind", false) /* waits in a call that is over on the others */ \
	row(HOST_SILENT, "host-silent", false) /* nothing is heard of a host */ \
	row(PARTITION, "partition", false) /* hosts live on both sides, and do not reach each other */ \
	row(WATCHER_HELD, "watcher-held", false) /* stopped, frozen or traced */ \
	row(MONITOR_GONE, "monitor-gone", false) /* a host's monitor was killed */ \
	row(LAUNCHER_GONE, "launcher-gone", false) /* mpirun, or orted: killed */ \
	row(SLOW_RANK, "slow-rank", false) /* alive, and the others wait for it all the time */ \
	row(SLOW_HOST, "slow-host", false) /* all ranks of a host are */ \
	row(SLOW_JOB, "slow-job", false) /* all ranks alike, since some call */ \
	row(UNEXPLAINED, "unexplained", false) /* a hang for which no cause was found */ \
	row(DIED, "rank-died", true) \
	row(ERROR, "error", true) /* a rank left with an error, whichever outcome that makes */
/* clang-format on */

#define CLASS_ENTRY(name, text, final) CLASS_##name,
enum answer_class {
	CLASS_OUTCOME, /* no more than the outcome says: it has the outcome's name */
	CLASSES(CLASS_ENTRY) CLASS_COUNT
};

/* "missing-call" "rank-died"...; of CLASS_OUTCOME the outcome's name. */
const char *class_name(enum answer_class class, enum outcome outcome);

bool class_is_final(enum answer_class class);

/* Returns true if the calls that ranks make are the cause: no process, setting, GPU or wire. */
bool class_of_calls(enum answer_class class);

/* The class of what is lost (enum view_lost, not LOST_NOT). */
enum answer_class class_of_lost(uint32_t lost);

/* Returns true if it is one of those: about hosts and watchers, and no rank. */
bool class_is_lost(enum answer_class class);

/* Returns true if a verdict can have this class: one of those above or an outcome's name. */
bool class_known(const char *name);

/* The classes that are no outcome's name, with blanks between them. Returns buf. */
char *class_list(char *buf, size_t len);

/* How much speaks for a verdict, from the least on. */
enum confidence {
	CONFIDENCE_INCONCLUSIVE, /* another rank may be the one */
	CONFIDENCE_MAJORITY,	 /* most ranks' calls or values speak for it */
	CONFIDENCE_PROVED	 /* it was seen */
};

/* "inconclusive" "majority" "proved". */
const char *confidence_name(enum confidence confidence);

enum fault_side {
	SIDE_NOT_SHOWN, /* the evidence does not show it */
	SIDE_HOST,
	SIDE_GPU,
	SIDE_FABRIC,
	SIDE_UNKNOWN
};

/* "host" "gpu" "fabric" "unknown"; NULL for SIDE_NOT_SHOWN. */
const char *side_name(enum fault_side side);
