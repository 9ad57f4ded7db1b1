/* progress.c: heartbeats over time, and the scheduler's account of a process. */
#include "watch/progress.h"

#include "base/proc_stat.h"

#define WINDOW_NS 100000000ull
#define ENOUGH_NS 400000000ull

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

/* Takes one window into account. */
static void add_window(struct progress *p, const struct proc_account *account, uint64_t window,
		       bool ready)
{
	uint64_t ran = account->ran_ns - p->ran_ns, waited = account->waited_ns - p->waited_ns;

	p->starved = progress_is_starved(ran, waited, window, ready);
	/* what is accounted at the end of a long wait lies in part before the window */
	p->queued_ns += p->starved || waited > window ? window : waited;
	p->watched_ns += window;
}

void progress_sample(struct progress *p, pid_t pid, uint64_t now)
{
	struct proc_account account;

	if (p->sampled_ns != 0 && now - p->sampled_ns < WINDOW_NS)
		return;
	if (!proc_account_read(&account, pid))
		return;
	if (p->sampled_ns != 0)
		add_window(p, &account, now - p->sampled_ns, is_ready(pid));
	if (p->starved)
		p->starved_ns = now;
	p->sampled_ns = now;
	p->ran_ns = account.ran_ns;
	p->waited_ns = account.waited_ns;
}

bool progress_is_kept(const struct progress *p)
{
	return p->starved || p->watched_ns - p->queued_ns < ENOUGH_NS;
}

void progress_forget(struct progress *p)
{
	p->sampled_ns = 0;
	p->starved = false;
	progress_restart(p);
}

void progress_restart(struct progress *p)
{
	p->watched_ns = p->queued_ns = 0;
}
