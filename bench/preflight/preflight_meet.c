/* preflight_meet.c: hellos, rounds and the end of a pre-flight, over the monitors' kind of link. */
#include "preflight/preflight_meet.h"

#include <ifaddrs.h>
#include <netdb.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "process/task.h"
#include "settings/rank_groups.h"
#include "net/hosts.h"
#include "net/uplink.h"

#define RING_FROM     64 /* hosts: a ring and its doublings */
#define ROUND_SECONDS 30.0
#define CLOCK_SECONDS 1.0
#define VERBS	      (1 << 20) /* added to the number of a host: with perftest */
#define WAIT_SECONDS  600.0	/* for the next word of the leader: calls take their time */

enum { HELLO = 1, CLOCK, TIME, TABLE, ROUND, RESULT, GO, BYE };

/* ---- where the others are ---- */

const char *preflight_members(char *const *environment)
{
	static const char *const names[] = { "OMPI_MCA_orte_node_regex", "SLURM_STEP_NODELIST",
					     "SLURM_JOB_NODELIST" };
	const char *list = NULL;

	for (size_t i = 0; i < LENGTH(names) && !list; i++)
		list = environment_get(environment, names[i]);
	return list;
}

int preflight_count_hosts(const struct launch *launch)
{
	int given = launch->local > 0 && launch->announced > 0
			    ? (launch->announced + launch->local - 1) / launch->local
			    : 1;

	/* under mpirun Slurm's variables are those of its daemons, whose step lacks the first node */
	return launch->launched
		       ? environment_number(environ,
					    launch->local > 0 ? "OMPI_MCA_orte_num_nodes"
							      : "SLURM_STEP_NUM_NODES "
								"SLURM_JOB_NUM_NODES SLURM_NNODES",
					    given)
		       : 1;
}

static bool is_own(const struct ifaddrs *own, const char *host)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char mine[64], theirs[64];
	struct addrinfo *list;
	bool found = false;

	if (getaddrinfo(host, NULL, &hints, &list) != 0)
		return false;
	for (; own && !found; own = own->ifa_next) {
		int family = own->ifa_addr ? own->ifa_addr->sa_family : 0;
		socklen_t len = family == AF_INET ? sizeof(struct sockaddr_in)
						  : sizeof(struct sockaddr_in6);

		if ((family != AF_INET && family != AF_INET6) ||
		    getnameinfo(own->ifa_addr, len, mine, sizeof(mine), NULL, 0, NI_NUMERICHOST))
			continue;
		for (struct addrinfo *i = list; i && !found; i = i->ai_next)
			found = getnameinfo(i->ai_addr, i->ai_addrlen, theirs, sizeof(theirs), NULL,
					    0, NI_NUMERICHOST) == 0 &&
				strcmp(mine, theirs) == 0;
	}
	freeaddrinfo(list);
	return found;
}

static void set_number(const char *name, int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", number);
	setenv(name, text, 1);
}

int preflight_place(const char *hosts)
{
	char *copy = must(strdup(hosts)), *rest = copy, *word;
	struct ifaddrs *own = NULL;
	int n = 0, place = -1;

	if (getifaddrs(&own) < 0)
		own = NULL;
	for (; (word = strsep(&rest, ",")); n++)
		if (place < 0 && is_own(own, word))
			place = n;
	if (own)
		freeifaddrs(own);
	free(copy);
	set_number("SLURM_JOB_ID", (int)(rank_groups_value(hosts) % 1000000000));
	set_number("SLURM_STEP_ID", 0);
	set_number("SLURM_STEP_NUM_NODES", n);
	set_number("SLURM_STEP_NUM_TASKS", n);
	set_number("SLURM_PROCID", place);
	set_number("SLURM_NODEID", place);
	unsetenv("SLURM_STEP_TASKS_PER_NODE");
	setenv("SLURM_STEP_NODELIST", hosts, 1);
	return place < 0 ? -ENOENT : 0;
}

/* Tasks, by Slurm's "2(x3),1", of node `node`; 0: not known. */
static int slurm_tasks(const char *text, int node)
{
	int tasks, times, n;

	while (text && node >= 0 && sscanf(text, "%d%n", &tasks, &n) == 1) {
		text += n;
		n = 0;
		if (sscanf(text, "(x%d)%n", &times, &n) != 1 || n == 0)
			times = 1;
		if (node < times)
			return tasks;
		node -= times;
		text += n + (text[n] == ',');
	}
	return 0;
}

int preflight_count_local(const struct launch *launch, int nhosts)
{
	int each = nhosts > 0 ? (launch->announced + nhosts - 1) / nhosts : 1,
	    own = slurm_tasks(environment_get(environ, "SLURM_STEP_TASKS_PER_NODE"),
			      environment_number(environ, "SLURM_NODEID", -1));

	each = own > 0 ? own : each;
	return environment_number(environ, "OMPI_COMM_WORLD_LOCAL_SIZE LOCAL_WORLD_SIZE",
				  each > 0 ? each : 1);
}

static int meeting_port(const struct launch *launch)
{
	return hosts_port(launch->key);
}

/* ---- messages ---- */

/* The next message of this kind, others are dropped. False: the time or the link is over. */
static bool await(struct link *link, uint32_t type, struct link_message *message, uint64_t until)
{
	for (;;) {
		struct pollfd p = { .fd = link->fd, .events = POLLIN };
		int rc = link->fd < 0 ? -EPIPE : link_receive(link, message);

		if (rc < 0)
			link_release(link);
		if (rc < 0 || (rc == 0 && clock_ns() >= until))
			return false;
		if (rc > 0 && (message->type == type || type == 0))
			return true;
		if (rc == 0)
			poll(&p, 1, clock_ms_until(until));
	}
}

static char *copy_text(const struct link_message *message)
{
	char *text = must(calloc(1, message->bytes + 1));

	return memcpy(text, message->payload, message->bytes);
}

static void send_text(struct link *link, uint32_t type, const char *text)
{
	if (link->fd >= 0 && link_send(link, type, text, (uint32_t)strlen(text), -1) < 0)
		link_release(link);
}

static void send_number(struct link *link, uint32_t type, int32_t number)
{
	if (link->fd >= 0 && link_send(link, type, &number, sizeof(number), -1) < 0)
		link_release(link);
}

/* ---- hellos ---- */

/* Takes from a hello how others reach its host. */
static void take_peer(const struct reading *m, struct preflight_peer *peer)
{
	int64_t port, meeting = reading_value(m, "job", "meeting_ports");
	char name[16];

	*peer = (struct preflight_peer){ .mtu = (int)reading_value(m, "job", "mtu"),
					 .mbps = (int)reading_value(m, "job", "mbps") };
	snprintf(peer->host, sizeof(peer->host), "%s", m->host);
	snprintf(peer->address, sizeof(peer->address), "%s", reading_text(m, "job", "address"));
	for (int i = 0; i < PREFLIGHT_PORTS + PREFLIGHT_MEETING; i++) {
		snprintf(name, sizeof(name), "port%d", i);
		port = reading_value(m, "job", name);
		if (port > 0 && port < 65536)
			peer->ports[peer->nports++] = (int)port;
	}
	peer->nmeeting = meeting > 0 && meeting < peer->nports ? (int)meeting : 0;
	peer->nports -= peer->nmeeting;
}

static int64_t wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* How far the guest's clock is from this one, as a state of its part "clock". */
static void compare_clock(struct preflight_guest *guest)
{
	uint64_t until = clock_ns() + (uint64_t)(CLOCK_SECONDS * 1e9);
	int64_t began = wall_ms(), theirs, apart;
	struct link_message message;

	send_text(&guest->link, CLOCK, "");
	if (!await(&guest->link, TIME, &message, until) || message.bytes != sizeof(theirs))
		return;
	memcpy(&theirs, message.payload, sizeof(theirs));
	apart = theirs - (began + wall_ms()) / 2;
	reading_state(&guest->reading, "clock", "apart_ms", apart < 0 ? -apart : apart);
	reading_say(&guest->reading, "clock", "way", apart < 0 ? "behind" : "ahead of");
}

/* A connection that says hello with this run's key becomes a guest. */
static void admit(struct preflight_meeting *m, int fd, uint64_t until)
{
	struct preflight_guest guest = { .first_rank = 0 };
	struct link_message message;
	uint64_t soon = clock_ns() + (uint64_t)(CLOCK_SECONDS * 1e9);
	char *text = NULL;

	link_init(&guest.link, fd);
	if (await(&guest.link, HELLO, &message, soon < until ? soon : until))
		text = copy_text(&message);
	if (!text || reading_parse(&guest.reading, text) < 0 ||
	    strcmp(reading_text(&guest.reading, "job", "key"), m->launch.key) != 0) {
		free(text);
		reading_release(&guest.reading);
		link_release(&guest.link);
		return;
	}
	free(text);
	take_peer(&guest.reading, &guest.peer);
	guest.first_rank = (int)reading_value(&guest.reading, "job", "first_rank");
	compare_clock(&guest);
	m->guests = must(realloc(m->guests, ((size_t)m->nhosts + 1) * sizeof(*m->guests)));
	m->guests[m->nhosts++] = guest;
}

static int by_rank(const void *a, const void *b)
{
	return ((const struct preflight_guest *)a)->first_rank -
	       ((const struct preflight_guest *)b)->first_rank;
}

/* Puts the words of a list that are no guest's name, address or name in Slurm into `missing`; returns their number. */
static int name_missing(struct preflight_meeting *m, const char *members)
{
	char list[8192] = "", *rest = list, *word;
	int n = 0;

	m->missing[0] = '\0';
	hosts_add(list, sizeof(list), members);
	if (strchr(members, '@'))
		strsep(&rest, " ");
	while (*list && (word = strsep(&rest, " "))) {
		bool came = false;

		for (int i = 0; i < m->nhosts && !came; i++) {
			const struct preflight_peer *p = &m->guests[i].peer;
			size_t len = strcspn(p->host, ".");

			came = strcmp(word, p->address) == 0 || strcmp(word, p->host) == 0 ||
			       strcmp(word, reading_text(&m->guests[i].reading, "job", "node")) ==
				       0 ||
			       (strncmp(word, p->host, len) == 0 && strchr(".", word[len]));
		}
		n += !came;
		if (!came)
			text_add(m->missing, sizeof(m->missing), "%s%s", *m->missing ? ", " : "",
				 word);
	}
	return n;
}

/* Ranks of no guest; "" where a host has several, since these need not stand one after the other. */
static void number_missing(struct preflight_meeting *m)
{
	int nranks = m->launch.announced;
	uint64_t *missing = must(calloc((size_t)nranks + 1, sizeof(*missing)));
	struct rank_groups groups;
	bool single = true;

	for (int rank = 0; rank < nranks; rank++)
		missing[rank] = 1;
	for (int i = 0; i < m->nhosts; i++) {
		int first = m->guests[i].first_rank;

		single = single && reading_value(&m->guests[i].reading, "job", "local_ranks") == 1;
		if (first >= 0 && first < nranks)
			missing[first] = 0;
	}
	rank_groups(&groups, missing, nranks);
	if (single && groups.ngroups > 0)
		snprintf(m->missing_ranks, sizeof(m->missing_ranks), "%s", groups.groups[0].words);
	free(missing);
}

/* Where hosts have ranks in turn (mpirun --map-by node) each is known by its first rank alone. */
static void look_for_turns(struct preflight_meeting *m)
{
	bool turns = false;
	char words[64];

	for (int i = 1; i < m->nhosts; i++)
		turns = turns ||
			m->guests[i].first_rank < m->guests[i - 1].first_rank +
							  reading_value(&m->guests[i - 1].reading,
									"job", "local_ranks");
	for (int i = 0; turns && i < m->nhosts; i++) {
		struct reading *of = &m->guests[i].reading;

		snprintf(words, sizeof(words), "rank %d and %d more", m->guests[i].first_rank,
			 (int)reading_value(of, "job", "local_ranks") - 1);
		reading_say(of, "job", "ranks", words);
		reading_state(of, "job", "local_ranks", 1);
	}
}

/* By the first guest's list that lacks as many hosts as the meeting. */
static void look_for_missing(struct preflight_meeting *m)
{
	int found = 0, absent = m->expected - m->nhosts;

	for (int i = 0; i < m->nhosts && found != absent; i++)
		found = name_missing(m, reading_text(&m->guests[i].reading, "launch", "hosts"));
	if (found != absent)
		m->missing[0] = '\0';
	number_missing(m);
}

static int lead(struct preflight_meeting *m, const struct preflight_peer *mine, const char *hello,
		uint64_t until)
{
	int port = meeting_port(&m->launch), fd = m->expected > 1 ? uplink_listen(&port) : -1;

	if (fd >= 0)
		hosts_send_small(fd);
	m->guests = must(calloc(1, sizeof(*m->guests)));
	m->guests[0].link.fd = m->guests[0].link.passed_fd = -1;
	m->guests[0].peer = *mine;
	reading_parse(&m->guests[0].reading, hello);
	reading_state(&m->guests[0].reading, "clock", "apart_ms", 0);
	m->nhosts = 1;
	if (m->expected > 1 && fd < 0) {
		snprintf(m->tried, sizeof(m->tried), "port %d: %s", port, strerror(-fd));
		return fd;
	}
	while (m->nhosts < m->expected && clock_ns() < until) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int one = poll(&p, 1, clock_ms_until(until)) == 1
				  ? accept4(fd, NULL, NULL, SOCK_CLOEXEC)
				  : -1;

		if (one >= 0)
			admit(m, one, until);
	}
	if (fd >= 0)
		close(fd);
	qsort(m->guests, (size_t)m->nhosts, sizeof(*m->guests), by_rank);
	look_for_turns(m);
	if (m->nhosts < m->expected)
		look_for_missing(m);
	return 0;
}

/* Looks for the leader at all hosts of the list, again and again; it answers a hello with CLOCK. */
static int join(struct preflight_meeting *m, const char *hello, uint64_t until)
{
	char list[8192], copy[8192], *rest, *word;
	int port = meeting_port(&m->launch);
	struct link_message message;
	int64_t now;

	hosts_listed(environ, list, sizeof(list));
	do {
		m->tried[0] = '\0';
		rest = strcpy(copy, list);
		while ((word = strsep(&rest, " ")) && clock_ns() < until) {
			int fd = hosts_connect(word, port, true);

			if (fd < 0) {
				text_add(m->tried, sizeof(m->tried), "%s%s port %d: %s",
					 *m->tried ? "; " : "", word, port, strerror(-fd));
				continue;
			}
			link_init(&m->leader, fd);
			send_text(&m->leader, HELLO, hello);
			if (await(&m->leader, CLOCK, &message,
				  clock_ns() + (uint64_t)(2 * CLOCK_SECONDS * 1e9))) {
				now = wall_ms();
				link_send(&m->leader, TIME, &now, sizeof(now), -1);
				return 0;
			}
			link_release(&m->leader);
		}
		clock_sleep(0.1);
	} while (clock_ns() < until);
	return -ETIMEDOUT;
}

int preflight_meet(struct preflight_meeting *m, const struct preflight_peer *mine,
		   const char *hello, double seconds)
{
	uint64_t until = clock_ns() + (uint64_t)(seconds * 1e9);

	m->expected = preflight_count_hosts(&m->launch);
	m->leader.fd = m->leader.passed_fd = -1;
	return m->launch.rank == 0 ? lead(m, mine, hello, until) : join(m, hello, until);
}

/* ---- rounds ---- */

/* The part "job" of each hello, a line each. */
static char *table_text(const struct preflight_meeting *m)
{
	size_t len, all = 0;
	char *text = NULL;

	for (int i = 0; i < m->nhosts; i++) {
		const struct reading *of = &m->guests[i].reading;
		struct reading job = { .list = NULL };
		char *line;

		strcpy(job.host, m->guests[i].peer.host);
		reading_append(&job, of, "job");
		line = must(reading_dump(&job, false));
		len = strlen(line);
		text = must(realloc(text, all + len + 2));
		all += (size_t)sprintf(text + all, "%s\n", line);
		free(line);
		reading_release(&job);
	}
	return text;
}

static void take_table(struct preflight_meeting *m, char *text)
{
	char *line;

	m->nhosts = 0;
	while ((line = strsep(&text, "\n")) && *line) {
		struct reading job = { .list = NULL };

		m->guests = must(realloc(m->guests, ((size_t)m->nhosts + 1) * sizeof(*m->guests)));
		m->guests[m->nhosts] = (struct preflight_guest){ .link.fd = -1 };
		if (reading_parse(&job, line) == 0)
			take_peer(&job, &m->guests[m->nhosts].peer);
		m->nhosts++;
		reading_release(&job);
	}
}

struct probe {
	const struct preflight_peer *mine, *to;
	double seconds;
	bool verbs;
};

static void run_probe(int fd, const void *arg)
{
	const struct probe *probe = arg;

	preflight_probe(fd, probe->mine, probe->to, probe->seconds, probe->verbs);
}

/* From here to one host; "": it did not come to an end. The caller frees it. */
static char *probe_in_time(const struct preflight_meeting *m, const struct preflight_peer *mine,
			   int to, bool verbs)
{
	struct probe probe = { mine, &m->guests[to].peer, m->nhosts > 16 ? 0.05 : 0.15, verbs };
	struct task task = { .run = run_probe, .arg = &probe, .limit = READING_BYTES };

	tasks_run(&task, 1, 1, ROUND_SECONDS, ROUND_SECONDS);
	return task.text ? task.text : must(strdup(""));
}

/* A host's answer to a round, as one more pair. */
static int take_pair(struct preflight_guest *guest, const char *text, struct reading **pairs, int n)
{
	struct reading *m;

	*pairs = must(realloc(*pairs, ((size_t)n + 1) * sizeof(**pairs)));
	m = &(*pairs)[n];
	*m = (struct reading){ .list = NULL };
	if (reading_parse(m, text) == 0)
		return n + 1;
	reading_state(&guest->reading, "pre-flight", "hung", 1);
	reading_release(m);
	return n;
}

static int one_round(struct preflight_meeting *m, int shift, struct reading **pairs, int n)
{
	uint64_t until = clock_ns() + (uint64_t)((ROUND_SECONDS + 2) * 1e9);
	bool verbs = (shift & (shift - 1)) == 0; /* a ring and its doublings */
	char *text;

	for (int i = 0; i < m->nhosts; i++)
		verbs = verbs && reading_value(&m->guests[i].reading, "job", "verbs") > 0;
	for (int i = 1; i < m->nhosts; i++)
		send_number(&m->guests[i].link, ROUND,
			    (i + shift) % m->nhosts + (verbs ? VERBS : 0));
	text = probe_in_time(m, &m->guests[0].peer, shift, verbs);
	n = take_pair(&m->guests[0], text, pairs, n);
	free(text);
	for (int i = 1; i < m->nhosts; i++) {
		struct link_message message;

		if (m->guests[i].link.fd < 0)
			continue;
		if (await(&m->guests[i].link, RESULT, &message, until)) {
			text = copy_text(&message);
			n = take_pair(&m->guests[i], text, pairs, n);
			free(text);
		} else {
			reading_state(&m->guests[i].reading, "pre-flight", "hung", 1);
			link_release(&m->guests[i].link);
		}
	}
	return n;
}

int preflight_rounds(struct preflight_meeting *m, struct reading **pairs)
{
	char *text = table_text(m);
	int n = 0;

	*pairs = NULL;
	for (int i = 1; i < m->nhosts; i++)
		send_text(&m->guests[i].link, TABLE, text);
	free(text);
	for (int i = 0; i < m->nhosts; i++)
		reading_state(&m->guests[i].reading, "pre-flight", "hung", 0);
	for (int shift = 1; shift < m->nhosts;
	     shift = m->nhosts < RING_FROM ? shift + 1 : 2 * shift)
		n = one_round(m, shift, pairs, n);
	return n;
}

/* ---- the end ---- */

void preflight_tell(struct preflight_meeting *m, bool go)
{
	for (int i = 1; i < m->nhosts; i++)
		send_number(&m->guests[i].link, GO, go);
}

void preflight_dismiss(struct preflight_meeting *m, int code)
{
	for (int i = 1; i < m->nhosts; i++)
		send_number(&m->guests[i].link, BYE, code);
}

int preflight_serve(struct preflight_meeting *m, const struct preflight_peer *mine)
{
	struct link_message message;
	int32_t number = 0;

	while (await(&m->leader, 0, &message, clock_ns() + (uint64_t)(WAIT_SECONDS * 1e9))) {
		char *text = copy_text(&message);

		if (message.bytes == sizeof(number))
			memcpy(&number, text, sizeof(number));
		if (message.type == TABLE)
			take_table(m, text);
		free(text);
		if (message.type == GO)
			return number;
		if (message.type == ROUND && number >= 0 && number % VERBS < m->nhosts) {
			text = probe_in_time(m, mine, number % VERBS, number >= VERBS);
			send_text(&m->leader, RESULT, text);
			free(text);
		}
	}
	return -EPIPE;
}

int preflight_await(struct preflight_meeting *m)
{
	struct link_message message;
	int32_t code = OUTCOME_OK;

	if (await(&m->leader, BYE, &message, clock_ns() + (uint64_t)(WAIT_SECONDS * 1e9)) &&
	    message.bytes == sizeof(code))
		memcpy(&code, message.payload, sizeof(code));
	return code;
}

void preflight_part(struct preflight_meeting *m)
{
	for (int i = 0; m->guests && i < m->nhosts; i++) {
		if (m->guests[i].link.fd >= 0)
			link_release(&m->guests[i].link);
		reading_release(&m->guests[i].reading);
	}
	if (m->leader.fd >= 0)
		link_release(&m->leader);
	free(m->guests);
}
