/* test_job_tcp.c: where ranks meet without MPI, and strangers at the process between them. */
#include "rig/unit.h"

#include "backend/job.h"
#include "backend/job_hub.h"
#include "backend/job_tcp.h"
#include "backend/job_words.h"
#include "base/clock.h"
#include "net/hosts.h"
#include "net/link.h"
#include "net/uplink.h"

UNIT_TEST(test_place, "where ranks meet")
{
	static const struct {
		const char *environment[5];
		int local;
		const char *hosts; /* NULL: nowhere */
		int port;	   /* -1: any */
	} table[] = {
		{ { NULL }, 8, "", 0 },
		{ { NULL }, 0, NULL, 0 },
		{ { "HANGAR_RENDEZVOUS=n1:7", "MASTER_ADDR=m", "MASTER_PORT=9" }, 8, "n1", 7 },
		{ { "HANGAR_RENDEZVOUS=::1:7" }, 0, "::1", 7 },
		{ { "HANGAR_RENDEZVOUS=n1" }, 0, NULL, 0 },
		{ { "HANGAR_RENDEZVOUS=n1:0" }, 0, NULL, 0 },
		{ { "HANGAR_RENDEZVOUS=n1:70000" }, 0, NULL, 0 },
		{ { "HANGAR_RENDEZVOUS=:7" }, 0, NULL, 0 },
		{ { "HANGAR_RENDEZVOUS=n1:7x" }, 0, NULL, 0 },
		/* never MASTER_PORT itself, nor hangar_run's */
		{ { "MASTER_ADDR=m", "MASTER_PORT=29500" }, 4, "m", 29502 },
		{ { "MASTER_ADDR=m", "MASTER_PORT=65534" }, 4, "m", -1 },
		{ { "MASTER_ADDR=m" }, 0, "m", -1 },
		{ { "SLURM_STEP_NODELIST=n[1-2]" }, 0, "n1 n2", -1 },
	};

	UNIT_ROWS(row, table) {
		const struct launch launch = { .announced = 8, .local = row->local, .key = "k" };
		struct job_place place;
		bool found = job_tcp_place(&place, &launch, (char *const *)row->environment);

		UNIT_ALL(found == (row->hosts != NULL), !found || strlen(place.words) > 0,
			 !found || strcmp(place.hosts, row->hosts) == 0,
			 !found || place.port == row->port ||
				 (row->port < 0 && place.port >= 20000 && place.port < 32000));
	}
}

enum { RANKS = 3, TOKEN = 77 };

/* A hub of three ranks; rank 0's end. */
static int start_hub(int *port, double seconds)
{
	int pair[2], listener = uplink_listen(port);
	struct job_hub_config config = { .listener = listener,
					 .nranks = RANKS,
					 .token = TOKEN,
					 .seconds = seconds,
					 .place = "here" };

	CU_ASSERT_FATAL(listener >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	config.first = pair[1];
	CU_ASSERT_EQUAL_FATAL(job_hub_start(&config), 0);
	return pair[0];
}

static int connect_to(int port)
{
	int fd = hosts_connect("127.0.0.1", port, false);

	CU_ASSERT_FATAL(fd >= 0);
	return fd;
}

static void join(struct link *link, int fd, int rank, uint64_t token, int nranks)
{
	const struct job_join_word word = { token, job_host_id(), rank, nranks };

	link_init(link, fd);
	link_send(link, JOB_JOIN, &word, sizeof(word), -1);
}

/* The next word: its type, 0 where the connection ends. */
static uint32_t hear(struct link *link, struct link_message *m)
{
	uint64_t until = clock_ns() + 5000000000ull;
	int rc;

	while ((rc = link_receive(link, m)) == 0 && clock_ns() < until)
		clock_sleep(0.001);
	return rc == 1 ? m->type : 0;
}

static bool is_refused(int port, int rank, uint64_t token, int nranks, const char *why)
{
	struct link_message m;
	struct link link;
	bool refused;

	join(&link, connect_to(port), rank, token, nranks);
	refused = hear(&link, &m) == JOB_REFUSED && memmem(m.payload, m.bytes, why, strlen(why));
	link_release(&link);
	return refused;
}

UNIT_TEST(test_strangers, "strangers, other runs, and ranks that come twice are refused")
{
	int port = 0, fds[2];
	struct link ranks[RANKS], stranger;
	struct link_message m;
	uint32_t sum = 0;

	join(&ranks[0], start_hub(&port, 20), 0, TOKEN, RANKS);
	fds[0] = connect_to(port); /* says nothing */
	fds[1] = connect_to(port);
	CU_ASSERT(write(fds[1], "GET / HTTP/1.1\r\n\r\n", 18) == 18);
	link_init(&stranger, connect_to(port));
	link_send(&stranger, JOB_CALL, "no rank makes a call", 20, -1);
	UNIT_ALL(hear(&stranger, &m) == 0, is_refused(port, 1, TOKEN + 1, RANKS, "another run"),
		 is_refused(port, 3, TOKEN, RANKS, "rank 3 of 3"),
		 is_refused(port, -1, TOKEN, RANKS, "rank -1"),
		 is_refused(port, 1, TOKEN, 4, "has 3 ranks"));
	join(&ranks[1], connect_to(port), 1, TOKEN, RANKS);
	clock_sleep(0.05);
	CU_ASSERT(is_refused(port, 1, TOKEN, RANKS, "is taken"));
	join(&ranks[2], connect_to(port), 2, TOKEN, RANKS);
	for (int i = 0; i < RANKS; i++)
		CU_ASSERT_EQUAL(hear(&ranks[i], &m), JOB_WELCOME);
	for (int i = 0; i < RANKS; i++) {
		struct {
			struct job_call_word call;
			int value;
		} word = { { 0, WORD_SUM, JOB_MAX_INT, 0, sizeof(int) }, 10 * i };

		link_send(&ranks[i], JOB_CALL, &word, sizeof(word), -1);
	}
	for (int i = 0; i < RANKS; i++)
		if (hear(&ranks[i], &m) == JOB_ANSWER && m.bytes == sizeof(int))
			sum += (uint32_t) * (const int *)m.payload;
	CU_ASSERT_EQUAL(sum, 60);
	/* a call of a communicator that there is not, or of more bytes than it has, ends its rank alone */
	link_send(&ranks[1], JOB_CALL, &(struct job_call_word){ 9, WORD_BARRIER, 0, 0, 0 },
		  sizeof(struct job_call_word), -1);
	link_send(&ranks[2], JOB_CALL, &(struct job_call_word){ 0, WORD_COLLECT, 0, 0, UINT32_MAX },
		  sizeof(struct job_call_word), -1);
	UNIT_ALL(hear(&ranks[1], &m) == JOB_REFUSED, hear(&ranks[2], &m) == JOB_REFUSED);
	for (int i = 0; i < RANKS; i++)
		link_release(&ranks[i]);
	link_release(&stranger);
	close(fds[0]);
	close(fds[1]);
}

UNIT_TEST(test_absent, "ranks that did not come are named to those that did")
{
	static const char said[] = "1,2 ranks 1,2 of 3 did not come to here within 0 s";
	struct link_message m;
	struct link link;
	int port = 0;

	join(&link, start_hub(&port, 0.2), 0, TOKEN, RANKS);
	UNIT_ALL(hear(&link, &m) == JOB_ABSENT, m.bytes == strlen(said),
		 memcmp(m.payload, said, m.bytes) == 0);
	link_release(&link);
}
