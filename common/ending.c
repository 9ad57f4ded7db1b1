/* ending.c: flags and exit status of a process that ends. */
#include "ending.h"

#include "proc_stat.h"

#define EXITING 0x4 /* PF_EXITING of the kernel's sched.h */

bool ending_seen(pid_t pid, bool *again, int *wait_status)
{
	struct proc_stat stat;

	if (!proc_stat_read(&stat, pid, 0) || !(stat.flags & EXITING))
		return false;
	if (stat.exit_code == 0 && !*again) {
		*again = true;
		return false;
	}
	*wait_status = stat.exit_code;
	return true;
}
