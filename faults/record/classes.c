/* classes.c: the names of the classes. */
#include "record/classes.h"

#include "record/view.h"

static const char *const names[CLASS_COUNT] = {
	[CLASS_MISSING] = "missing-call",
	[CLASS_BLOCKED] = "host-blocked",
	[CLASS_BUSY] = "host-busy",
	[CLASS_KILLED] = "rank-killed",
	[CLASS_CRASHED] = "rank-crashed",
	[CLASS_EXITED] = "rank-exited",
	[CLASS_STOPPED] = "rank-stopped",
	[CLASS_FROZEN] = "rank-frozen",
	[CLASS_TRACED] = "rank-traced",
	[CLASS_SKIPPED] = "skipped-call",
	[CLASS_EXTRA] = "extra-call",
	[CLASS_EARLY] = "early-exit",
	[CLASS_SKIPPED_OR_EARLY] = "skipped-or-early-exit",
	[CLASS_SWAPPED] = "swapped-calls",
	[CLASS_MISMATCH] = "mismatch",
	[CLASS_OOM] = "rank-oom",
	[CLASS_GPU_OOM] = "rank-gpu-oom",
	[CLASS_INIT_MISSING] = "init-missing-rank",
	[CLASS_INIT_MISMATCH] = "init-mismatch",
	[CLASS_INIT_UNREACHABLE] = "init-unreachable",
	[CLASS_ABORTED] = "aborted",
	[CLASS_SETTINGS] = "settings-mismatch",
	[CLASS_UNMATCHED] = "p2p-unmatched",
	[CLASS_PAIR_SIZE] = "p2p-size",
	[CLASS_PAIR_PEER] = "p2p-peer",
	[CLASS_PAIR_DEADLOCK] = "p2p-deadlock",
	[CLASS_REPLAY] = "graph-replay",
	[CLASS_CYCLE] = "order-cycle",
	[CLASS_GPU_STUCK] = "gpu-stuck",
	[CLASS_INSIDE] = "stuck-in-call",
	[CLASS_GPU_FAULT] = "gpu-fault",
	[CLASS_CORRUPT] = "corrupt-data",
	[CLASS_UNSEEN] = "rank-unseen",
	[CLASS_HOST_SILENT] = "host-silent",
	[CLASS_PARTITION] = "partition",
	[CLASS_WATCHER_HELD] = "watcher-held",
	[CLASS_MONITOR_GONE] = "monitor-gone",
	[CLASS_LAUNCHER_GONE] = "launcher-gone",
	[CLASS_UNEXPLAINED] = "unexplained",
	[CLASS_DIED] = "rank-died",
	[CLASS_ERROR] = "error",
};

enum diagnosis_class class_of_lost(uint32_t lost)
{
	static const enum diagnosis_class classes[LOST_KINDS] = {
		[LOST_SILENT] = CLASS_HOST_SILENT,     [LOST_UNPLUGGED] = CLASS_PARTITION,
		[LOST_ONE_WAY] = CLASS_PARTITION,      [LOST_LARGE] = CLASS_PARTITION,
		[LOST_PARTED] = CLASS_PARTITION,       [LOST_STALLED] = CLASS_WATCHER_HELD,
		[LOST_HELD] = CLASS_WATCHER_HELD,      [LOST_MONITOR] = CLASS_MONITOR_GONE,
		[LOST_LAUNCHER] = CLASS_LAUNCHER_GONE,
	};

	return lost < LOST_KINDS ? classes[lost] : CLASS_HOST_SILENT;
}

bool class_is_lost(enum diagnosis_class class)
{
	return class >= CLASS_HOST_SILENT && class <= CLASS_LAUNCHER_GONE;
}

const char *class_name(enum diagnosis_class class, enum outcome outcome)
{
	return class > CLASS_OUTCOME && class < CLASS_COUNT ? names[class] : outcome_name(outcome);
}

bool class_known(const char *name)
{
	for (int i = CLASS_OUTCOME + 1; i < CLASS_COUNT; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return outcome_parse(name) >= 0;
}

char *class_list(char *buf, size_t len)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int i = CLASS_OUTCOME + 1; i < CLASS_COUNT && n < len; i++)
		if (outcome_parse(names[i]) < 0)
			n += (size_t)snprintf(buf + n, len - n, "%s%s", n ? " " : "", names[i]);
	return buf;
}
