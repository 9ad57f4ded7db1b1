/* monitor_rendezvous.c: from how the ranks meet at communicator init to who is overdue there. */
#include "watch/monitor_rendezvous.h"

#include <stdlib.h>
#include <string.h>

#include "watch/monitor_members.h"
#include "watch/monitor_nodes.h"
#include "watch/monitor_deadline.h"

#define EARLY                                                                                      \
	0.2 /* the roll is first called after this share of the time in which all come:
                              * who lacks is watched from then on */
#define ANSWER_NS (300 * MS) /* the others answer in this time, or it is called again */
#define AGAIN_NS  (100 * MS) /* from one roll to the next, at least */
#define SELDOM_NS                                                                                  \
	(1000 * MS) /* who lacks is kept by its host for long: thousands of hosts need not be
                              * asked all the time */

/* Since how many seconds somebody is held up by how they meet, at most: 0 for nobody. Not counting the
 * time in which its leader did not run: the whole job may have been stopped. */
static double longest_hold(const struct rank_view *views, size_t n, enum rendezvous how)
{
	double longest = 0;

	for (size_t i = 0; i < n; i++)
		if (rendezvous_holds(&views[i], how) && views[i].waited - views[i].grace > longest)
			longest = views[i].waited - views[i].grace;
	return longest;
}

/* The same on this host. */
static double longest_here(const struct monitor *m)
{
	double longest = 0;

	for (size_t i = 0; i < m->npeers; i++) {
		const struct monitor_peer *peer = &m->peers[i];
		double own = peer->memory ? longest_hold(&peer->view, 1, RENDEZVOUS_MISMATCH) : 0;

		longest = own > longest ? own : longest;
	}
	return longest;
}

/* How the ranks meet whom this leader knows: all, at the root. */
static enum rendezvous how_they_meet(const struct monitor *m, double *longest)
{
	struct rank_view *views;
	size_t n = monitor_all_views(m, &views);
	enum rendezvous how = n > 0 ? rendezvous_of(views, n, members_nranks(m)) : RENDEZVOUS_OPEN;

	*longest = longest_hold(views, n, how);
	free(views);
	return how;
}

static void mark(struct monitor *m, enum rendezvous how)
{
	for (size_t i = 0; i < m->npeers; i++) {
		struct rank_view *view = &m->peers[i].view;

		if (!m->peers[i].memory || !rendezvous_holds(view, how))
			continue;
		m->rendezvous.marked = true;
		view->overdue = 1;
	}
}

static bool is_wanted(const struct monitor *m)
{
	return m->config.rendezvous_seconds > 0 && !m->rendezvous.met && members_nnodes(m) >= 1;
}

void rendezvous_look(struct monitor *m, uint64_t now)
{
	enum rendezvous how = m->rendezvous.found;
	double longest;

	m->rendezvous.marked = m->rendezvous.late = false;
	if (!is_wanted(m))
		return;
	longest = longest_here(m);
	if (members_nnodes(m) > 1)
		m->rendezvous.late = longest > EARLY * m->config.rendezvous_seconds;
	else if (longest > m->config.rendezvous_seconds)
		how = how_they_meet(m, &longest);
	if ((how == RENDEZVOUS_MISSING || how == RENDEZVOUS_MISMATCH) && deadline_quiet(m, now))
		mark(m, how);
}

/* All ranks meet, or are known not to: everybody acts on it. */
static void settle(struct monitor *m, enum rendezvous how)
{
	uint32_t word = how;

	m->rendezvous.rolled = m->rendezvous.rolling = false;
	m->rendezvous.found = how == RENDEZVOUS_COMPLETE ? RENDEZVOUS_OPEN : how;
	m->rendezvous.met = how == RENDEZVOUS_COMPLETE;
	nodes_send_all(m, MESSAGE_RENDEZVOUS, &word, sizeof(word));
}

static bool is_due(const struct monitor *m)
{
	bool late = m->rendezvous.late;

	for (size_t i = 0; i < m->nnodes; i++)
		late |= m->nodes[i].late;
	return late;
}

static bool all_present(const struct monitor *m)
{
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].known && !m->nodes[i].present)
			return false;
	return true;
}

static void call_roll(struct monitor *m, uint64_t now)
{
	for (size_t i = 0; i < m->nnodes; i++)
		m->nodes[i].present = false;
	nodes_send_all(m, MESSAGE_CENSUS, NULL, 0);
	m->rendezvous.rolled = m->rendezvous.rolling = true;
	m->rendezvous.roll_ns = now + ANSWER_NS;
}

/* The verdict may be said in so many seconds, or could have been: how long until the next roll? */
static uint64_t pause_for(double left, double rendezvous_seconds)
{
	if (left < -rendezvous_seconds)
		return SELDOM_NS;
	return left * 1e9 > AGAIN_NS ? (uint64_t)(left * 1e9) : AGAIN_NS;
}

void rendezvous_lead(struct monitor *m, uint64_t now)
{
	enum rendezvous how = RENDEZVOUS_OPEN;
	double longest = 0, left;

	if (!is_wanted(m) || members_nnodes(m) < 2 || m->rendezvous.found != RENDEZVOUS_OPEN ||
	    !is_due(m))
		return;
	if (!m->rendezvous.rolling) {
		if (now >= m->rendezvous.roll_ns)
			call_roll(m, now);
		return;
	}
	if (all_present(m))
		how = how_they_meet(m, &longest);
	else if (now < m->rendezvous.roll_ns)
		return;
	left = m->config.rendezvous_seconds - longest;
	m->rendezvous.rolling = false;
	m->rendezvous.roll_ns = now + pause_for(left, m->config.rendezvous_seconds);
	if (how == RENDEZVOUS_COMPLETE || (how != RENDEZVOUS_OPEN && left < 0))
		settle(m, how);
}

void rendezvous_follow(struct monitor *m)
{
	if (m->rendezvous.late && !m->rendezvous.told)
		m->rendezvous.told = link_send(&m->up, MESSAGE_INIT_OVERDUE, NULL, 0, -1) == 0;
}

void rendezvous_handle_message(struct monitor *m, const struct link_message *message)
{
	uint32_t how;

	if (message->type == MESSAGE_CENSUS) {
		m->rendezvous.rolled = true;
		nodes_report(m, MESSAGE_PRESENT);
		return;
	}
	if (message->bytes != sizeof(how))
		return;
	memcpy(&how, message->payload, sizeof(how));
	settle(m, how <= RENDEZVOUS_MISMATCH ? (enum rendezvous)how : RENDEZVOUS_COMPLETE);
}

bool rendezvous_dismiss(struct monitor *m)
{
	if (!m->rendezvous.marked && m->rendezvous.found == RENDEZVOUS_OPEN)
		return false;
	settle(m, RENDEZVOUS_COMPLETE);
	return true;
}
