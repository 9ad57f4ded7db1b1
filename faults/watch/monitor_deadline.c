/* monitor_deadline.c: who is not overdue although its deadline has passed. */
#include "watch/monitor_deadline.h"

#include "watch/monitor_rendezvous.h"
#include "watch/monitor_members.h"
#include "watch/monitor_nodes.h"
#include "base/rank_list.h"
#include "process/watch.h"

#define QUIET_NS       (500 * MS)  /* nobody is overdue while some rank of the node still moves */
#define STARVED_NS     (5000 * MS) /* nor for so long while the host keeps one from running */
#define WAITED_SECONDS 0.1	   /* from then on it is looked at whom the host lets run */
#define LATELY_NS      (300 * MS)  /* a few of the windows in which that is looked at */

static bool moved_lately(const struct monitor_peer *peer, uint64_t now)
{
	return now - peer->progress.moved_ns < QUIET_NS;
}

/* How each rank gets on. Returns whether one moved lately, and says whether somebody waits, or
 * waits too long. */
static bool take_progress(struct monitor *m, uint64_t now, bool *waiting, bool *overdue)
{
	bool moving = false;

	*waiting = *overdue = false;
	for (size_t i = 0; i < m->npeers; i++) {
		struct monitor_peer *peer = &m->peers[i];

		if (!peer->memory || peer->view.process >= PROCESS_EXITED)
			continue;
		progress_note(&peer->progress, peer->view.heartbeat, now);
		*waiting |= peer->view.waited > WAITED_SECONDS;
		*overdue |= peer->view.overdue != 0;
		moving |= moved_lately(peer, now);
	}
	return moving;
}

/* Does the host keep a rank from running? Accounts are read while somebody waits, before they
 * are needed: a window must have passed, and lie within the wait. Of several hosts none knows whether
 * somebody waits elsewhere. */
static bool any_starved(struct monitor *m, bool waiting, uint64_t now)
{
	bool starved = false, always = members_nnodes(m) > 1;

	for (size_t i = 0; i < m->npeers; i++) {
		struct monitor_peer *peer = &m->peers[i];

		if (!peer->memory || peer->view.process != PROCESS_ALIVE)
			continue;
		if (waiting || always)
			progress_sample(&peer->progress, peer->view.pid, now);
		else
			progress_forget(&peer->progress);
		if (!waiting)
			progress_restart(&peer->progress);
		starved |= peer->progress.starved;
	}
	return starved;
}

static bool is_kept(const struct monitor_peer *peer)
{
	return peer->view.process == PROCESS_ALIVE && progress_is_kept(&peer->progress);
}

/* Is there a rank that has made fewer calls than another, is in none, and could run? The others may
 * wait for just that one, and the host is no excuse for it. Of several hosts none knows whom the
 * others keep. */
static bool any_suspect(const struct monitor *m)
{
	uint64_t most = 0;

	if (members_nnodes(m) > 1)
		return false;
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && m->peers[i].view.issued > most)
			most = m->peers[i].view.issued;
	for (size_t i = 0; i < m->npeers; i++) {
		const struct rank_view *view = &m->peers[i].view;
		bool calling = view->phase == PHASE_WARMUP || view->phase == PHASE_TIMED;

		if (m->peers[i].memory && view->process < PROCESS_EXITED && calling &&
		    view->issued > 0 && view->issued < most && view->completed == view->issued &&
		    view->last.state != RECORD_ISSUING && !is_kept(&m->peers[i]))
			return true;
	}
	return false;
}

/* A deadline that passed is no hang while a rank of this node has made a step lately, or is kept
 * from making one by the host, which is an excuse for so long only: on a crowded host somebody
 * is always kept. With a suspect it is the diagnoser who says for whom they wait. */
static void forgive(struct monitor *m, uint64_t now)
{
	bool waiting, overdue, moving = take_progress(m, now, &waiting, &overdue);
	bool starved = any_starved(m, waiting || m->rendezvous.rolled, now);

	if (!overdue || moving)
		m->overdue_ns = now;
	if (starved)
		m->starved_ns = now;
	if (!moving && (!starved || now - m->overdue_ns > STARVED_NS || any_suspect(m)))
		return;
	for (size_t i = 0; i < m->npeers; i++)
		m->peers[i].view.overdue = 0;
}

/* Of other hosts what they said when asked. */
static bool starves_elsewhere(const struct monitor *m, const char *ranks)
{
	for (size_t i = 0; i < m->nnodes; i++)
		for (size_t k = 0; k < m->nodes[i].nviews; k++)
			if (m->nodes[i].views[k].starved &&
			    m->nodes[i].views[k].process == PROCESS_ALIVE &&
			    rank_list_has(ranks, m->nodes[i].views[k].rank))
				return true;
	return false;
}

/* Is it one of these, or is nobody named, and does it move? */
static bool moves(const struct rank_view *view, const char *ranks)
{
	return view->progressed && view->process < PROCESS_EXITED &&
	       (rank_list_count(ranks) == 0 || rank_list_has(ranks, view->rank));
}

static bool any_moves(const struct monitor *m, const char *ranks)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && moves(&m->peers[i].view, ranks))
			return true;
	for (size_t i = 0; i < m->nnodes; i++)
		for (size_t k = 0; k < m->nodes[i].nviews; k++)
			if (m->nodes[i].answered && moves(&m->nodes[i].views[k], ranks))
				return true;
	return false;
}

uint64_t deadline_excuse(const struct monitor *m, const char *ranks, uint64_t now)
{
	bool kept = rank_list_count(ranks) == 0;

	/* one host by itself has asked that already */
	if (members_nnodes(m) > 1 && any_moves(m, ranks))
		return now + QUIET_NS;
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && rank_list_has(ranks, m->peers[i].view.rank))
			kept |= is_kept(&m->peers[i]);
	/* who is as good as never run gets its turn now and then */
	if (!(kept && now - m->starved_ns < LATELY_NS) && !starves_elsewhere(m, ranks))
		return 0;
	/* since somebody here is overdue; where only others wait, since they were first judged */
	if (m->extension.since_ns && m->extension.since_ns < m->overdue_ns)
		return m->extension.since_ns + STARVED_NS;
	return m->overdue_ns + STARVED_NS;
}

/* Who is as good as never run gets its turn now and then. */
static bool was_starved_lately(const struct monitor_peer *peer, uint64_t now)
{
	return peer->progress.starved_ns && now - peer->progress.starved_ns < LATELY_NS;
}

bool deadline_quiet(const struct monitor *m, uint64_t now)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && m->peers[i].view.process < PROCESS_EXITED &&
		    moved_lately(&m->peers[i], now))
			return false;
	return true;
}

bool deadline_waits_since(const struct monitor *m, uint64_t since)
{
	return m->overdue_ns < since;
}

/* For those who judge from views alone, on whatever host. */
static void note_kept(struct monitor *m, uint64_t now)
{
	for (size_t i = 0; i < m->npeers; i++) {
		struct monitor_peer *peer = &m->peers[i];

		peer->view.progressed = moved_lately(peer, now);
		peer->view.descheduled = is_kept(peer) || peer->view.progressed;
		peer->view.starved = was_starved_lately(peer, now);
	}
}

void deadline_apply(struct monitor *m, uint64_t now)
{
	forgive(m, now);
	note_kept(m, now);
	rendezvous_look(m, now);
}
