/* progress.c: heartbeats over time, and the scheduler's account of a process. */
#include "progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "proc_stat.h"

#define WINDOW_NS 100000000ull

void progress_note(struct progress *p, uint64_t heartbeat, uint64_t now)
{
	if (p->moved_ns != 0 && heartbeat == p->heartbeat)
		return;
	p->heartbeat = heartbeat;
	p->moved_ns = now;
}

bool progress_is_starved(uint64_t ran_ns, uint64_t waited_ns, uint64_t window_ns, bool ready)
{
	/* the account of waiting is brought up to date when the process runs again: none, for one that never does */
	return ran_ns * 50 < window_ns && (waited_ns * 2 > window_ns || (ready && waited_ns == 0));
}

static bool is_ready(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, pid, 0) && stat.state == 'R';
}

/* Time on a processor, and time ready to run without one. */
static bool read_account(pid_t pid, uint64_t *ran_ns, uint64_t *waited_ns)
{
	char path[40];
	FILE *file;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fscanf(file, "%" SCNu64 " %" SCNu64, ran_ns, waited_ns);
	fclose(file);
	return n == 2;
}

void progress_sample(struct progress *p, pid_t pid, uint64_t now)
{
	uint64_t ran, waited;

	if (p->sampled_ns != 0 && now - p->sampled_ns < WINDOW_NS)
		return;
	if (!read_account(pid, &ran, &waited))
		return;
	p->starved = p->sampled_ns != 0 &&
	             progress_is_starved(ran - p->ran_ns, waited - p->waited_ns,
	                                 now - p->sampled_ns, is_ready(pid));
	p->sampled_ns = now;
	p->ran_ns = ran;
	p->waited_ns = waited;
}

void progress_forget(struct progress *p)
{
	p->sampled_ns = 0;
	p->starved = false;
}
