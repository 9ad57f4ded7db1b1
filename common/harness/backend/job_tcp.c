/* job_tcp.c: a rank's end of the meeting over TCP, and its exchanges. */
#include "backend/job_tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "backend/job.h"
#include "backend/job_hub.h"
#include "backend/job_words.h"
#include "base/clock.h"
#include "base/parse.h"
#include "net/hosts.h"
#include "net/link.h"
#include "net/uplink.h"
#include "settings/rank_groups.h"

#define MEET_SECONDS 60.0
#define RETRY_S	     0.1
#define ANSWER_NS    3000000000ull /* of rank 0's side to a rank that came, before all have */
#define LOST_S	     5.0	   /* for a verdict on the rank that ended */
#define PORT_BEHIND  2

struct job_comm {
	uint32_t number;
	int rank, size;
};

/* One connection a process. */
static struct link hub = { .fd = -1, .passed_fd = -1 };

double job_tcp_seconds(void)
{
	const char *text = getenv("HANGAR_RENDEZVOUS_SECONDS");
	double seconds;

	return text && parse_real(text, 0.1, 86400, &seconds) == 0 ? seconds : MEET_SECONDS;
}

/* ---- where ranks meet ---- */

/* "HOST:PORT". */
static bool take_given(struct job_place *p, const char *given)
{
	const char *colon = strrchr(given, ':');
	char *end;
	long port = colon ? strtol(colon + 1, &end, 10) : 0;

	if (!colon || colon == given || *end || port < 1 || port > 65535)
		return false;
	p->port = (int)port;
	snprintf(p->hosts, sizeof(p->hosts), "%.*s", (int)(colon - given), given);
	return true;
}

bool job_tcp_place(struct job_place *p, const struct launch *launch, char *const *e)
{
	const char *given = environment_get(e, "HANGAR_RENDEZVOUS"),
		   *address = environment_get(e, "MASTER_ADDR");
	int port = environment_number(e, "MASTER_PORT", -1);

	memset(p, 0, sizeof(*p));
	if (given && *given) {
		if (!take_given(p, given))
			return false;
	} else if (launch->local > 0 && launch->local == launch->announced) {
		snprintf(p->words, sizeof(p->words), "a socket of this host");
		return true;
	} else if (address && port > 0 && port + PORT_BEHIND < 65536) {
		snprintf(p->hosts, sizeof(p->hosts), "%s", address);
		p->port = port + PORT_BEHIND;
	} else {
		hosts_listed(e, p->hosts, sizeof(p->hosts));
		p->port = hosts_port(launch->key);
	}
	snprintf(p->words, sizeof(p->words), "%.240s port %d", p->hosts, p->port);
	return p->hosts[0];
}

static struct sockaddr_un own_address(const struct launch *launch, socklen_t *len)
{
	char name[64];

	snprintf(name, sizeof(name), "ranks-%.40s", launch->key);
	return link_address(name, 0, len);
}

/* Rank 0's listener, or a negative errno. */
static int listen_at(const struct job_place *p, const struct launch *launch)
{
	socklen_t len;
	struct sockaddr_un own = own_address(launch, &len);
	int port = p->port, fd;

	if (p->hosts[0])
		return uplink_listen(&port);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && (bind(fd, (struct sockaddr *)&own, len) < 0 || listen(fd, SOMAXCONN) < 0)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd < 0 ? -errno : fd;
}

/* One attempt at one host. */
static int connect_to(const struct job_place *p, const char *host, const struct launch *launch)
{
	socklen_t len;
	struct sockaddr_un own = own_address(launch, &len);
	int fd;

	if (host)
		return hosts_connect(host, p->port, false);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || (connect(fd, (struct sockaddr *)&own, len) == 0 && link_same_user(fd)))
		return fd < 0 ? -errno : fd;
	close(fd);
	return -ECONNREFUSED;
}

/* ---- messages ---- */

/* Waits for a word, to `until` or, 0, for ever. Returns 0 or a negative errno. */
static int await_word(struct link_message *m, uint64_t until)
{
	struct pollfd p = { .fd = hub.fd, .events = POLLIN };
	int rc;

	while ((rc = link_receive(&hub, m)) == 0) {
		if (until && clock_ns() >= until)
			return -ETIMEDOUT;
		poll(&p, 1, until ? clock_ms_until(until) : -1);
	}
	return rc < 0 ? rc : 0;
}

/* This rank knows no more than the other side's text. An absent rank is a hang, which all learn of. */
static int refused(struct job *job, const struct link_message *m)
{
	const char *text = m->payload;
	bool absent = m->type == JOB_ABSENT;
	int n = (int)m->bytes, list = 0;

	while (absent && list < n && text[list] != ' ')
		list++;
	snprintf(job->absent, sizeof(job->absent), "%.*s", list, text);
	list += absent && list < n;
	job->alone = !absent;
	return error_set(job->err, absent ? OUTCOME_HANG : OUTCOME_USAGE, -ECONNREFUSED, "%.*s",
			 n - list, text + list);
}

static int send_join(const struct job *job)
{
	struct job_join_word join = { .token = rank_groups_value(job->launch->key),
				      .host = job_host_id(),
				      .rank = job->rank,
				      .nranks = job->nranks };

	setsockopt(hub.fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return link_send(&hub, JOB_JOIN, &join, sizeof(join), -1);
}

/* ---- the meeting ---- */

static int lead(struct job *job, const struct job_place *p)
{
	int pair[2], rc, listener = job->nranks > 1 ? listen_at(p, job->launch) : -1;

	if (job->nranks > 1 && listener < 0)
		return error_set(job->err, OUTCOME_ERROR, listener,
				 "ranks cannot meet at %s: %s; HANGAR_RENDEZVOUS=HOST:PORT names "
				 "another place on this host, for all ranks",
				 p->words, strerror(-listener));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return error_set(job->err, OUTCOME_INTERNAL, -errno, "socketpair: %s",
				 strerror(errno));
	rc = job_hub_start(&(struct job_hub_config){
		.listener = listener,
		.first = pair[1],
		.nranks = job->nranks,
		.token = rank_groups_value(job->launch->key),
		.seconds = job_tcp_seconds(),
		.place = p->words,
	});
	if (rc < 0) {
		close(pair[0]);
		return error_set(job->err, OUTCOME_INTERNAL, rc, "fork: %s", strerror(-rc));
	}
	link_init(&hub, pair[0]);
	return send_join(job);
}

/* Tries all hosts of the list again and again: rank 0 may start late, and runs on one of them. */
static int look_for_hub(struct job *job, const struct job_place *p, uint64_t until)
{
	char copy[sizeof(p->hosts)], *rest, *host;
	int rc = -ECONNREFUSED;

	do {
		rest = strcpy(copy, p->hosts);
		host = p->hosts[0] ? strsep(&rest, " ") : NULL;
		do {
			rc = connect_to(p, host, job->launch);
			if (rc >= 0) {
				link_init(&hub, rc);
				return send_join(job);
			}
		} while (host && (host = strsep(&rest, " ")));
		clock_sleep(RETRY_S);
	} while (clock_ns() < until);
	job->alone = true;
	return error_set(job->err, OUTCOME_HANG, rc,
			 "rank 0 does not answer at %s within %.0f s: %s", p->words,
			 job_tcp_seconds(), strerror(-rc));
}

static int job_tcp_open(struct job *job)
{
	uint64_t until = clock_ns() + (uint64_t)(job_tcp_seconds() * 1e9);
	struct job_place place;
	struct link_message m;
	int rc;

	snprintf(job->library, sizeof(job->library), "no MPI: ranks meet over TCP");
	job->rank = job->launch->rank;
	job->nranks = job->launch->announced;
	job->err->rank = job->rank;
	job->alone = !job_tcp_place(&place, job->launch, environ);
	if (job->alone)
		return error_set(job->err, OUTCOME_USAGE, -EINVAL,
				 "%d ranks have no place to meet: HANGAR_RENDEZVOUS=HOST:PORT "
				 "names rank 0's host and a free port of it",
				 job->nranks);
	rc = job->rank == 0 ? lead(job, &place) : look_for_hub(job, &place, until);
	if (rc == 0)
		rc = await_word(&m, until + ANSWER_NS);
	if (job->err->code)
		return rc;
	job->alone = rc < 0;
	if (rc < 0)
		return error_set(job->err, OUTCOME_HANG, rc,
				 "rank 0 at %s ended the connection, or says nothing: %s",
				 place.words, strerror(-rc));
	if (m.type != JOB_WELCOME)
		return refused(job, &m);
	job->world = must(malloc(sizeof(*job->world)));
	*job->world = (struct job_comm){ .rank = job->rank, .size = job->nranks };
	job->comm = job->world;
	return 0;
}

static int job_tcp_join(struct job *job)
{
	return 0;
}

/* ---- exchanges ---- */

/* The connection ends with rank 0: watchers say which rank ended, and end this one. */
static int lost(struct job *job, int rc, const char *what)
{
	clock_sleep(LOST_S);
	return error_set(job->err, OUTCOME_ERROR, rc,
			 "%s: the connection to rank 0, by which ranks meet: %s", what,
			 strerror(-rc));
}

/* One call of at most JOB_BLOCK bytes. The answer is valid until the next one. */
static int call_once(struct job *job, const struct job_call_word *call, const void *payload,
		     struct link_message *answer, const char *what)
{
	char image[sizeof(*call) + 64], *all = image;
	size_t n = payload ? call->bytes : 0;
	int rc;

	if (n > 64)
		all = must(malloc(sizeof(*call) + n));
	memcpy(all, call, sizeof(*call));
	if (n)
		memcpy(all + sizeof(*call), payload, n);
	rc = link_send(&hub, JOB_CALL, all, (uint32_t)(sizeof(*call) + n), -1);
	if (all != image)
		free(all);
	if (rc == 0)
		rc = await_word(answer, 0);
	if (rc < 0)
		return lost(job, rc, what);
	return answer->type == JOB_ANSWER ? 0 : refused(job, answer);
}

/* `slots`: how many ranks' bytes the answer holds. It is written to `all`, `bytes` apart. */
static int exchange(struct job *job, struct job_call_word call, const char *mine, size_t bytes,
		    char *all, size_t slots, const char *what)
{
	size_t block = JOB_BLOCK / slots / 8 * 8, at = 0;

	do {
		struct link_message answer;
		size_t n = bytes - at < block ? bytes - at : block;
		int rc;

		call.bytes = (uint32_t)n;
		rc = call_once(job, &call, mine ? mine + at : NULL, &answer, what);
		if (rc < 0)
			return rc;
		for (size_t i = 0; n && i < slots && answer.bytes == slots * n; i++)
			memcpy(all + i * bytes + at, (const char *)answer.payload + i * n, n);
		at += n;
	} while (at < bytes);
	return 0;
}

static int split(struct job *job, struct job_comm *from, int64_t color, struct job_comm **to)
{
	struct job_call_word call = { from->number, WORD_SPLIT, 0, 0, sizeof(color) };
	struct job_split_word word = { .size = 0 };
	struct link_message answer;
	int rc = call_once(job, &call, &color, &answer, "splitting");

	*to = NULL;
	if (rc < 0)
		return rc;
	if (answer.bytes == sizeof(word))
		memcpy(&word, answer.payload, sizeof(word));
	if (word.size == 0)
		return 0;
	*to = must(malloc(sizeof(**to)));
	**to = (struct job_comm){ word.comm, word.rank, word.size };
	return 0;
}

static int job_tcp_split(struct job *job, struct job_comm *from, int color, struct job_comm **to)
{
	return split(job, from, color, to);
}

static int job_tcp_split_host(struct job *job, struct job_comm *from, struct job_comm **to)
{
	return split(job, from, (int64_t)(job_host_id() >> 1), to);
}

static void job_tcp_free(struct job_comm *comm)
{
	free(comm);
}

static void job_tcp_place_of(struct job_comm *comm, int *rank, int *size)
{
	*rank = comm->rank;
	*size = comm->size;
}

/* Ranks of rank 0's host leave it at one time of their clock. */
static int job_tcp_barrier(struct job *job, struct job_comm *comm, const char *what)
{
	struct job_call_word call = { comm->number, WORD_BARRIER, 0, 0, 0 };
	struct link_message answer;
	uint64_t start = 0;
	int rc = call_once(job, &call, NULL, &answer, what);

	if (rc == 0 && answer.bytes == sizeof(start))
		memcpy(&start, answer.payload, sizeof(start));
	while (clock_ns() < start)
		;
	return rc;
}

static int job_tcp_sum(struct job *job, struct job_comm *comm, enum job_sum sum, void *values,
		       int n, const char *what)
{
	size_t width = sum == JOB_MAX_INT ? sizeof(int) : sizeof(double);
	struct job_call_word call = { comm->number, WORD_SUM, sum, 0, 0 };

	return exchange(job, call, values, (size_t)n * width, values, 1, what);
}

static int job_tcp_bcast(struct job *job, struct job_comm *comm, int root, void *data, size_t bytes,
			 const char *what)
{
	struct job_call_word call = { comm->number, WORD_SHARE, 0, root, 0 };

	return exchange(job, call, comm->rank == root ? data : NULL, bytes, data, 1, what);
}

static int job_tcp_gather(struct job *job, struct job_comm *comm, const void *mine, size_t bytes,
			  void *all, const char *what)
{
	struct job_call_word call = { comm->number, WORD_COLLECT, 0, 0, 0 };

	return exchange(job, call, mine, bytes, all, (size_t)comm->size, what);
}

static int job_tcp_all_gather(struct job *job, struct job_comm *comm, const void *mine,
			      size_t bytes, void *all, const char *what)
{
	struct job_call_word call = { comm->number, WORD_COLLECT_ALL, 0, 0, 0 };

	return exchange(job, call, mine, bytes, all, (size_t)comm->size, what);
}

static void job_tcp_await_all(struct job *job)
{
	(void)job_tcp_barrier(job, job->world, "the end");
}

static void job_tcp_close(struct job *job)
{
	free(job->world);
	job->world = NULL;
	link_release(&hub);
}

const struct job_ops job_tcp = {
	.opening = "the other ranks, over TCP",
	.closing = "closing the connection to rank 0",
	.open = job_tcp_open,
	.join = job_tcp_join,
	.split = job_tcp_split,
	.split_host = job_tcp_split_host,
	.free = job_tcp_free,
	.place = job_tcp_place_of,
	.barrier = job_tcp_barrier,
	.sum = job_tcp_sum,
	.bcast = job_tcp_bcast,
	.gather = job_tcp_gather,
	.all_gather = job_tcp_all_gather,
	.await_all = job_tcp_await_all,
	.close = job_tcp_close,
};
