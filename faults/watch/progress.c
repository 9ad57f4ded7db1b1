/* progress.c: heartbeats over time, and the scheduler's account of a process. */
#include "progress.h"

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
	/* the account of waiting is brought up to date when the process runs again: none, for
	 * one that never does */
	return ran_ns * 50 < window_ns && (waited_ns * 2 > window_ns || (ready && waited_ns == 0));
}

static bool is_ready(pid_t pid)
{
	struct proc_stat stat;

	return proc_stat_read(&stat, pid, 0) && stat.state == 'R';
}

void progress_sample(struct progress *p, pid_t pid, uint64_t now)
{
	struct proc_account account;

	if (p->sampled_ns != 0 && now - p->sampled_ns < WINDOW_NS)
		return;
	if (!proc_account_read(&account, pid))
		return;
	p->starved = p->sampled_ns != 0 &&
	             progress_is_starved(account.ran_ns - p->ran_ns, account.waited_ns - p->waited_ns,
	                                 now - p->sampled_ns, is_ready(pid));
	p->sampled_ns = now;
	p->ran_ns = account.ran_ns;
	p->waited_ns = account.waited_ns;
}

void progress_forget(struct progress *p)
{
	p->sampled_ns = 0;
	p->starved = false;
}
