/* exit.c: flags and exit status of a process that ends. */
#include "process/exit.h"

#include "base/proc_stat.h"

/* PF_* of the kernel's sched.h: it ends; it writes a core file, in another thread of its or in this
 * one; after a signal. */
enum { EXITING = 0x4, DUMPED_BY_ANOTHER = 0x8, DUMPS = 0x200, SIGNALLED = 0x400 };

bool exit_seen(pid_t pid, bool *again, int *wait_status)
{
	struct proc_stat stat;

	if (!proc_stat_read(&stat, pid, 0))
		return false;
	if (!(stat.flags & EXITING)) {
		*wait_status = stat.exit_code; /* nothing but the signal, as yet */
		return stat.exit_code != 0 &&
		       (stat.flags & (DUMPED_BY_ANOTHER | DUMPS | SIGNALLED));
	}
	if (stat.exit_code == 0 && !*again) {
		*again = true;
		return false;
	}
	*wait_status = stat.exit_code;
	return true;
}
