/* job_hub.c: takes ranks in, and carries their exchanges. Each rank has one call open at a time. */
#include "backend/job_hub.h"

#include <sys/epoll.h>
#include <sys/prctl.h>

#include "backend/job.h"
#include "backend/job_words.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rank_list.h"
#include "net/link.h"
#include "process/child.h"
#include "settings/rank_groups.h"

#define EVENTS	   256
#define AHEAD_NS   60000u /* from a barrier's last rank to the start of all here: the slowest wakes */
#define AHEAD_EACH 4000u
#define COMMS_MOST 65536
#define STRANGERS  64 /* connections that are no rank */

struct guest {
	struct link link;
	int rank; /* -1: not known yet */
	bool here;
};

struct hub_comm {
	int *members, n; /* ranks; owned */
	int came;
	bool *in; /* by member: has come to this call; owned */
	struct job_call_word call;
	char *data; /* of a call: each member's bytes, or those of one; owned */
};

struct hub {
	struct job_hub_config config;
	int epoll;
	struct guest **ranks; /* by rank; NULL: not come, or gone */
	int came, gone, strangers;
	bool open; /* all have come */
	uint64_t host;
	struct hub_comm *comms;
	uint32_t ncomms;
};

uint64_t job_host_id(void)
{
	char boot[64] = "", net[64] = "", both[160];
	ssize_t n = readlink("/proc/self/ns/net", net, sizeof(net) - 1);

	file_text("", boot, sizeof(boot), "/proc/sys/kernel/random/boot_id");
	snprintf(both, sizeof(both), "%s %.*s", boot, n > 0 ? (int)n : 0, net);
	return rank_groups_value(both);
}

/* ---- guests ---- */

static void drop(struct hub *h, struct guest *g)
{
	if (g->rank >= 0)
		h->ranks[g->rank] = NULL;
	h->gone += g->rank >= 0 && h->open;
	h->came -= g->rank >= 0 && !h->open;
	h->strangers -= g->rank < 0;
	link_release(&g->link);
	free(g);
}

static void add_guest(struct hub *h, int fd)
{
	struct guest *g = must(calloc(1, sizeof(*g)));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = g };

	link_init(&g->link, fd);
	g->rank = -1;
	h->strangers++;
	if (h->strangers > STRANGERS + h->config.nranks ||
	    epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &event) < 0)
		drop(h, g);
}

static void say(struct guest *g, enum job_word word, const void *data, size_t bytes)
{
	if (g)
		link_send(&g->link, word, data, (uint32_t)bytes, -1);
}

static void refuse(struct guest *g, const char *text)
{
	say(g, JOB_REFUSED, text, strlen(text));
}

static struct hub_comm *add_comm(struct hub *h, int n)
{
	struct hub_comm *c;

	h->comms = must(realloc(h->comms, (h->ncomms + 1) * sizeof(*h->comms)));
	c = &h->comms[h->ncomms++];
	*c = (struct hub_comm){ .n = n,
				.members = must(calloc((size_t)n, sizeof(int))),
				.in = must(calloc((size_t)n, sizeof(bool))) };
	return c;
}

/* Communicator 0 is that of all. */
static void open_hub(struct hub *h)
{
	struct hub_comm *all = add_comm(h, h->config.nranks);

	for (int i = 0; i < all->n; i++)
		all->members[i] = i;
	h->open = true;
	for (int i = 0; i < all->n; i++)
		say(h->ranks[i], JOB_WELCOME, NULL, 0);
}

/* Returns why a rank is not taken in, NULL: it is. */
static const char *refusal(const struct hub *h, const struct job_join_word *join, char *text,
			   size_t len)
{
	if (join->token != h->config.token)
		snprintf(text, len,
			 "the ranks at %s are of another run: MASTER_PORT, WORLD_SIZE, "
			 "TORCHELASTIC_RUN_ID or HANGAR_TOKEN differ",
			 h->config.place);
	else if (join->nranks != h->config.nranks || join->rank < 0 || join->rank >= join->nranks)
		snprintf(text, len, "rank %d of %d: rank 0 at %s has %d ranks", join->rank,
			 join->nranks, h->config.place, h->config.nranks);
	else if (h->ranks[join->rank])
		snprintf(text, len, "rank %d is taken: another process has come as that",
			 join->rank);
	else
		return NULL;
	return text;
}

/* Returns false where the guest is dropped. */
static bool admit(struct hub *h, struct guest *g, const struct link_message *m)
{
	struct job_join_word join;
	char text[300];

	if (m->bytes != sizeof(join) || h->open)
		return false;
	memcpy(&join, m->payload, sizeof(join));
	if (refusal(h, &join, text, sizeof(text))) {
		refuse(g, text);
		return false;
	}
	g->rank = join.rank;
	g->here = join.host == h->host;
	h->ranks[g->rank] = g;
	h->strangers--;
	h->came++;
	if (h->came == h->config.nranks)
		open_hub(h);
	return true;
}

/* ---- calls ---- */

/* Adds what a member gives to what others gave. */
static void add_up(const struct hub_comm *c, const char *more)
{
	size_t width = c->call.kind == JOB_MAX_INT ? sizeof(int) : sizeof(double);

	for (size_t at = 0; at + width <= c->call.bytes; at += width) {
		void *sum = c->data + at;
		long long whole;
		double real;
		int number;

		memcpy(&number, more + at, sizeof(number));
		if (c->call.kind == JOB_MAX_INT && number > *(int *)sum)
			*(int *)sum = number;
		if (width == sizeof(int))
			continue;
		memcpy(&real, more + at, sizeof(real));
		memcpy(&whole, more + at, sizeof(whole));
		if (c->call.kind == JOB_MAX_DOUBLE)
			*(double *)sum = fmax(*(double *)sum, real);
		else
			*(long long *)sum += whole;
	}
}

/* Ranks of this host leave a barrier at one time of its clock, which is ahead; others when its end has come. */
static void end_barrier(struct hub *h, struct hub_comm *c)
{
	uint64_t start = clock_ns() + AHEAD_NS + (uint64_t)c->n * AHEAD_EACH, none = 0;

	for (int i = 0; i < c->n; i++) {
		struct guest *g = h->ranks[c->members[i]];

		say(g, JOB_ANSWER, g && g->here ? &start : &none, sizeof(start));
	}
}

/* Members of one color, of those from `first` on, become a communicator. */
static void split_color(struct hub *h, uint32_t from, int first)
{
	struct hub_comm *to = add_comm(h, h->comms[from].n), *c = &h->comms[from];
	const int64_t *colors = (const int64_t *)c->data;
	int64_t color = colors[first];
	struct job_split_word word = { .comm = h->ncomms - 1 };

	to->n = 0;
	for (int i = first; i < c->n; i++)
		if (colors[i] == color) {
			c->in[i] = true;
			to->members[to->n++] = c->members[i];
		}
	word.size = to->n;
	for (int i = 0; i < to->n; i++) {
		word.rank = i;
		say(h->ranks[to->members[i]], JOB_ANSWER, &word, sizeof(word));
	}
}

static void end_split(struct hub *h, uint32_t number)
{
	struct hub_comm *c = &h->comms[number];
	int n = c->n;

	memset(c->in, 0, (size_t)n * sizeof(*c->in));
	for (int i = 0; i < n; i++) {
		const struct job_split_word none = { .size = 0 };

		c = &h->comms[number];
		if (((const int64_t *)c->data)[i] < 0)
			say(h->ranks[c->members[i]], JOB_ANSWER, &none, sizeof(none));
		else if (!c->in[i])
			split_color(h, number, i);
	}
}

/* Bytes that member `i` gets of a call. */
static size_t answer_bytes(const struct hub_comm *c, int i)
{
	const struct job_call_word *call = &c->call;

	if (call->op == WORD_COLLECT_ALL || (call->op == WORD_COLLECT && i == call->root))
		return (size_t)c->n * call->bytes;
	return call->op == WORD_SUM || (call->op == WORD_SHARE && i != call->root) ? call->bytes
										   : 0;
}

static void end_call(struct hub *h, uint32_t number)
{
	struct hub_comm *c = &h->comms[number];

	if (c->call.op == WORD_BARRIER)
		end_barrier(h, c);
	else if (c->call.op == WORD_SPLIT)
		end_split(h, number);
	else
		for (int i = 0; i < c->n; i++)
			say(h->ranks[c->members[i]], JOB_ANSWER, c->data, answer_bytes(c, i));
	c = &h->comms[number]; /* a split has made others */
	memset(c->in, 0, (size_t)c->n * sizeof(*c->in));
	c->came = 0;
	free(c->data);
	c->data = NULL;
}

/* A call of which one slot is kept. */
static bool is_joint(uint32_t op)
{
	return op == WORD_SUM || op == WORD_SHARE;
}

static bool is_sound(const struct hub_comm *c, const struct job_call_word *call, int member,
		     size_t payload)
{
	size_t slots = is_joint(call->op) ? 1 : (size_t)c->n;
	bool silent = call->op == WORD_SHARE && member != call->root;

	return call->op <= WORD_SPLIT && call->root >= 0 && call->root < c->n &&
	       call->bytes <= LINK_MAX / slots && payload == (silent ? 0 : call->bytes) &&
	       (call->op != WORD_SPLIT || payload == sizeof(int64_t));
}

static void take_payload(struct hub_comm *c, int member, const char *payload, size_t bytes)
{
	if (c->came == 0)
		c->data = must(calloc(is_joint(c->call.op) ? 1 : (size_t)c->n, c->call.bytes + 8));
	if (c->call.op == WORD_SUM && c->came)
		add_up(c, payload);
	else if (bytes)
		memcpy(c->data + (is_joint(c->call.op) ? 0 : (size_t)member * bytes), payload,
		       bytes);
}

static int compare_ranks(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Returns false for a call that no rank makes. */
static bool take_call(struct hub *h, struct guest *g, const struct link_message *m)
{
	struct job_call_word call;
	struct hub_comm *c;
	const int *found;
	int member;

	if (m->bytes < sizeof(call))
		return false;
	memcpy(&call, m->payload, sizeof(call));
	if (call.comm >= h->ncomms || h->ncomms >= COMMS_MOST)
		return false;
	c = &h->comms[call.comm];
	/* members stand in the order of their ranks */
	found = bsearch(&g->rank, c->members, (size_t)c->n, sizeof(int), compare_ranks);
	member = found ? (int)(found - c->members) : -1;
	if (member < 0 || c->in[member] || !is_sound(c, &call, member, m->bytes - sizeof(call)) ||
	    (c->came && memcmp(&call, &c->call, sizeof(call)) != 0))
		return false;
	c->call = call;
	take_payload(c, member, (const char *)m->payload + sizeof(call), m->bytes - sizeof(call));
	c->in[member] = true;
	if (++c->came == c->n)
		end_call(h, call.comm);
	return true;
}

static void hear(struct hub *h, struct guest *g)
{
	struct link_message m;
	int rc;

	while ((rc = link_receive(&g->link, &m)) == 1) {
		bool fine = g->rank < 0 ? m.type == JOB_JOIN && admit(h, g, &m)
					: m.type == JOB_CALL && take_call(h, g, &m);

		if (!fine) {
			if (g->rank >= 0)
				refuse(g, "ranks of this run make different exchanges");
			drop(h, g);
			return;
		}
	}
	if (rc < 0)
		drop(h, g);
}

/* ---- the process ---- */

/* Time is over: those that came are told which ranks did not. */
static void give_up(struct hub *h)
{
	bool *missing = must(calloc((size_t)h->config.nranks, sizeof(*missing)));
	char words[128], list[64] = "", text[600];

	for (int i = 0; i < h->config.nranks; i++) {
		missing[i] = !h->ranks[i];
		if (missing[i])
			rank_list_add(list, sizeof(list), i);
	}
	rank_list_words(missing, h->config.nranks, words, sizeof(words));
	snprintf(text, sizeof(text), "%s %s of %d did not come to %s within %.0f s", list, words,
		 h->config.nranks, h->config.place, h->config.seconds);
	for (int i = 0; i < h->config.nranks; i++)
		say(h->ranks[i], JOB_ABSENT, text, strlen(text));
	free(missing);
	_exit(0);
}

static void take_one(struct hub *h)
{
	int fd = accept4(h->config.listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		add_guest(h, fd);
}

static _Noreturn void run_hub(struct hub *h)
{
	uint64_t until = clock_ns() + (uint64_t)(h->config.seconds * 1e9);
	struct epoll_event events[EVENTS], event = { .events = EPOLLIN, .data.ptr = NULL };

	h->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (h->config.listener >= 0)
		epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->config.listener, &event);
	add_guest(h, h->config.first);
	while (h->gone < h->config.nranks) {
		int n = epoll_wait(h->epoll, events, EVENTS, h->open ? -1 : clock_ms_until(until));

		for (int i = 0; i < n; i++)
			if (events[i].data.ptr)
				hear(h, events[i].data.ptr);
			else
				take_one(h);
		if (!h->open && clock_ns() >= until)
			give_up(h);
		if (h->open && h->config.listener >= 0) {
			close(h->config.listener);
			h->config.listener = -1;
		}
	}
	_exit(0);
}

int job_hub_start(const struct job_hub_config *config)
{
	struct hub h = { .config = *config, .host = job_host_id() };
	pid_t parent = getpid(), pid = fork();
	int null;

	if (pid != 0) {
		close(config->first);
		if (config->listener >= 0)
			close(config->listener);
		return pid < 0 ? -errno : 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "hangar-ranks");
	if (getppid() != parent)
		_exit(0);
	/* the rank's pipes end with it */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	h.ranks = must(calloc((size_t)config->nranks, sizeof(struct guest *)));
	run_hub(&h);
}
