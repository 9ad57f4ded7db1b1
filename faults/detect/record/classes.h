/* classes.h: what a verdict says of a run beside its outcome. An enum in code; the names are for
 * verdict lines, verdict.json and --expect. */
#pragma once

#include "base/outcome.h"

/* The names of enum and verdict. The last two are the monitor's, for runs whose calls were not
 * looked at. */
/* clang-format off */
#define CLASSES(row) \
	row(MISSING, "missing-call") /* alive, idle, never made the call */ \
	row(BLOCKED, "host-blocked") /* in a lock or read of host code */ \
	row(BUSY, "host-busy") /* in a loop of its own */ \
	row(KILLED, "rank-killed") /* by SIGKILL, or by an unknown signal */ \
	row(CRASHED, "rank-crashed") /* by a signal of its own making */ \
	row(EXITED, "rank-exited") /* without telling the others */ \
	row(STOPPED, "rank-stopped") /* SIGSTOP, a terminal */ \
	row(FROZEN, "rank-frozen") /* with its cgroup: a paused container, a suspended job */ \
	row(TRACED, "rank-traced") /* a debugger holds it */ \
	row(SKIPPED, "skipped-call") /* left a call out */ \
	row(EXTRA, "extra-call") /* made one too many */ \
	row(EARLY, "early-exit") /* left the loop of calls before the others */ \
	row(SKIPPED_OR_EARLY, "skipped-or-early-exit") /* the last that anyone made, or all from it */ \
	row(SWAPPED, "swapped-calls") /* made two in the other order */ \
	row(MISMATCH, "mismatch") /* same place, other arguments */ \
	row(OOM, "rank-oom") /* killed for its cgroup's limit */ \
	row(GPU_OOM, "rank-gpu-oom") /* gave up: no device memory left */ \
	row(INIT_MISSING, "init-missing-rank") /* never called communicator init */ \
	row(INIT_MISMATCH, "init-mismatch") /* called it with other arguments */ \
	row(INIT_UNREACHABLE, "init-unreachable") /* lives in another network than the others */ \
	row(ABORTED, "aborted") /* aborted its communicator by itself */ \
	row(SETTINGS, "settings-mismatch") /* has other settings, or another library, than most */ \
	row(UNMATCHED, "p2p-unmatched") /* left out a send or receive, or made one too many */ \
	row(PAIR_SIZE, "p2p-size") /* sent another amount or type than is received */ \
	row(PAIR_PEER, "p2p-peer") /* made one with another partner */ \
	row(PAIR_DEADLOCK, "p2p-deadlock") /* all send, or all receive, first; in no group */ \
	row(REPLAY, "graph-replay") /* launched a captured graph less often, or another one */ \
	row(CYCLE, "order-cycle") /* in calls of several communicators */ \
	row(GPU_STUCK, "gpu-stuck") /* something stands on its stream ahead of the call */ \
	row(INSIDE, "stuck-in-call") /* the library, in a call that all ranks made */ \
	row(GPU_FAULT, "gpu-fault") /* a kernel of its broke its CUDA context */ \
	row(CORRUPT, "corrupt-data") /* calls were alike, data were not what they must be */ \
	row(UNSEEN, "rank-unseen") /* all wait for it, and nothing is known of it */ \
	row(HOST_SILENT, "host-silent") /* nothing is heard of a host */ \
	row(PARTITION, "partition") /* hosts live on both sides, and do not reach each other */ \
	row(WATCHER_HELD, "watcher-held") /* stopped, frozen or traced */ \
	row(MONITOR_GONE, "monitor-gone") /* a host's monitor was killed */ \
	row(LAUNCHER_GONE, "launcher-gone") /* mpirun, or orted: killed */ \
	row(UNEXPLAINED, "unexplained") /* a hang for which no cause was found */ \
	row(DIED, "rank-died") \
	row(ERROR, "error") /* a rank left with an error, whichever outcome that makes */
/* clang-format on */

#define CLASS_ENTRY(name, text) CLASS_##name,
enum diagnosis_class {
	CLASS_OUTCOME, /* no more than the outcome says: it has the outcome's name */
	CLASSES(CLASS_ENTRY) CLASS_COUNT
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

/* How much speaks for a verdict, from the least on. */
enum confidence {
	CONFIDENCE_INCONCLUSIVE, /* another rank may be the one */
	CONFIDENCE_MAJORITY,	 /* most ranks' calls or values speak for it */
	CONFIDENCE_PROVED	 /* it was seen */
};

/* "inconclusive" "majority" "proved". */
const char *confidence_name(enum confidence confidence);

/* Where a fault lies. */
enum fault_side {
	SIDE_NOT_SHOWN, /* the evidence does not show it */
	SIDE_HOST,
	SIDE_GPU,
	SIDE_FABRIC,
	SIDE_UNKNOWN
};

/* "host" "gpu" "fabric" "unknown"; NULL for SIDE_NOT_SHOWN. */
const char *side_name(enum fault_side side);
