/* monitor_watchers.c: the watchers of a host are watched: by its leader the other supervisors
 * and the launcher, by these the leader, from what the kernel reports of them. */
#include "watch/monitor_members.h"

#include "base/clock.h"
#include "decide/decide_times.h"
#include "watch/monitor_nodes.h"

/* Prints a line once, when a watcher has not run for a while. */
static void say(struct decide_watcher *w, pid_t pid, const char *what, uint64_t now)
{
	if (w->printed || !proc_hold_hint(w->hold) || now - w->since_ns < decide_times.watcher_ns)
		return;
	w->printed = true;
	printf("# %s (pid %d) %s; the run goes on\n", what, (int)pid, proc_hold_hint(w->hold));
	fflush(stdout);
}

/* A watcher that ran since the last look, as one that is stopped and continued by turns, is held from now on at most. */
static void note(struct decide_watcher *w, enum proc_hold hold, pid_t pid, uint64_t now)
{
	struct proc_account used = { 0 };
	bool ran;

	proc_account_read(&used, pid);
	ran = used.ran_ns != w->ran_ns;
	if (hold != w->hold || (ran && proc_hold_hint(hold)))
		*w = (struct decide_watcher){ .hold = hold, .since_ns = now, .pid = (int)pid };
	w->ran_ns = used.ran_ns;
}

static bool is_due(struct monitor *m, uint64_t now)
{
	if (now - m->watchers_ns < decide_times.watchers_look_ns)
		return false;
	m->watchers_ns = now;
	return true;
}

void watchers_look(struct monitor *m, uint64_t now)
{
	char what[64];

	if (m->config.preloaded)
		return;
	if (proc_gone(m->launcher_pid))
		note(&m->input.launcher, HOLD_GONE, m->launcher_pid, now);
	if (!is_due(m, now) || m->input.launcher.hold == HOLD_GONE)
		return;
	note(&m->input.launcher, proc_hold_read(m->launcher_pid), m->launcher_pid, now);
	say(&m->input.launcher, m->launcher_pid, "the launcher of this host", now);
	for (size_t i = 0; i < m->npeers; i++) {
		struct monitor_peer *peer = &m->peers[i];
		struct decide_rank *rank = peer->rank >= 0 ? &m->ranks[peer->rank] : NULL;

		if (!rank || peer->link.fd < 0)
			continue;
		note(&rank->supervisor, proc_hold_read(peer->pid), peer->pid, now);
		snprintf(what, sizeof(what), "the supervisor of rank %d", rank->view.rank);
		say(&rank->supervisor, peer->pid, what, now);
	}
}

/* The kernel decides which member forks the second leader: the one that binds the second address. A first leader that is
 * held is killed once that is done: its members leave it for one that knows how it was held. */
static bool replace_leader(struct monitor *m)
{
	pid_t pid = members_peer_pid(m->up.fd);
	int rc;

	link_send(&m->up, MESSAGE_END, NULL, 0, -1); /* should it run again before that */
	link_release(&m->up);
	m->replacing = true;
	rc = members_join(m);
	if (pid > 0 && m->input.leader.hold != HOLD_GONE)
		kill(pid, SIGKILL);
	return rc == 0;
}

/* On other hosts than rank 0's the root says that a leader is held, once no rank makes a step.
 * The members, who see their own rank alone, wait longer. */
static bool awaits_root(struct monitor *m, uint64_t now)
{
	uint64_t beat = atomic_load(&m->memory->header.heartbeat);
	double limit = m->config.decide.partition_seconds * 1e9;

	if (beat != m->own_beat) {
		m->own_beat = beat;
		m->own_beat_ns = now;
	}
	return m->memory->header.node > 0 &&
	       (double)(now - m->own_beat_ns) < limit + (double)decide_times.root_first_ns;
}

bool watchers_replace_leader(struct monitor *m, bool gone, uint64_t now)
{
	struct decide_watcher *leader = &m->input.leader;
	double limit = m->config.decide.partition_seconds;
	pid_t pid = members_peer_pid(m->up.fd);
	bool held;

	if (m->replacing)
		return !gone;
	if (gone)
		note(leader, HOLD_GONE, pid, now);
	else if (is_due(m, now))
		note(leader, proc_hold_read(pid), pid, now);
	if (m->memory->header.local_rank < 1) /* one line is enough, and an unknown number is -1 */
		say(leader, pid, "the monitor of this host", now);
	held = leader->hold != HOLD_NONE && limit > 0 && !awaits_root(m, now) &&
	       (double)(now - leader->since_ns) >= limit * 1e9;
	return (!gone && !held) || replace_leader(m);
}
