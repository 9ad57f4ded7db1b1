/* spinners.c: processes that want the first processor all the time. */
#include "rig/spinners.h"

pid_t spinner(int policy, double seconds)
{
	const struct sched_param param = { 0 };
	cpu_set_t first;
	double end;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid != 0)
		return pid;
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (sched_setaffinity(0, sizeof(first), &first) < 0 ||
	    sched_setscheduler(0, policy, &param) < 0)
		_exit(1);
	for (end = clock_seconds() + seconds; clock_seconds() < end;)
		;
	_exit(0);
}

void spinner_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
