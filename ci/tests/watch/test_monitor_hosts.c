/* test_monitor_hosts.c: observers of several nodes, by keys on one host, joined over TCP. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "nodes.h"
#include "watch/message.h"
#include "net/uplink_rig.h"

UNIT_TEST(test_all_well, "two nodes, all well")
{
	for (int first_done = 0; first_done < 4; first_done += 2) {
		int others = 2 - first_done;

		seats_open(4);
		two_nodes();
		ranks_finish(first_done, first_done + 1, OUTCOME_OK);
		clock_sleep(0.1);
		CU_ASSERT(seats_sit(0, 3));
		ranks_finish(others, others + 1, OUTCOME_OK);
		CU_ASSERT(seats_end(0, 3, 0));
		for (int i = 0; i < 4; i++)
			CU_ASSERT_STRING_EQUAL(seat_said(i), "");
		seats_close();
	}
}

/* Wherever a rank dies, the root says so, once, and all end alike. */
UNIT_TEST(test_death, "a rank dies anywhere")
{
	for (int rank = 0; rank < 4; rank += 3) {
		double begin;
		char part[64];

		seats_open(4);
		two_nodes();
		begin = clock_seconds();
		rank_ends(rank, SIGKILL);
		UNIT_ALL(seats_end(0, 3, OUTCOME_DIED), unit_in_time(clock_seconds() - begin, 0.9));
		snprintf(part, sizeof(part), "# verdict: outcome=died class=rank-died ranks=%d ",
			 rank);
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), part));
		snprintf(part, sizeof(part), "\n# culprit: rank %d (", rank);
		UNIT_ALL(strstr(seat_said(0), part) != NULL,
			 strstr(seat_said(0), rank ? "\n# ranks 0-2 are in phase timed"
						   : "\n# ranks 1-3 are in phase timed") != NULL);
		UNIT_ALL(strstr(seat_said(0), " detect_ms=0 ") == NULL, verdict_lines(0, 3) == 1);
		seats_close();
	}
}

UNIT_TEST(test_hang, "a hang on the other node")
{
	double begin;

	seats_open(4);
	seats_config.expect = "hang";
	two_nodes();
	begin = clock_seconds();
	watch_enter(&seats[3].watch, "timed calls", 0.1);
	CU_ASSERT(seats_end(0, 3, 0));
	CU_ASSERT(unit_in_time(clock_seconds() - begin, 1.0)); /* on one host 0.62 s */
	UNIT_ALL(strstr(seat_said(0), "# verdict: outcome=hang ") != NULL,
		 verdict_lines(0, 3) == 1);
	seats_close();
}

static void node_dies(int first, int last)
{
	kill(seats[first].desk->leader, SIGKILL);
	for (int i = first; i <= last; i++)
		kill(seats[i].pid, SIGKILL);
}

UNIT_TEST(test_node_lost, "a node is lost")
{
	seats_open(4);
	two_nodes();
	node_dies(2, 3);
	CU_ASSERT(seats_end(0, 1, OUTCOME_DIED));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "class=monitor-gone ranks=- "));
	seats_close();
}

/* A node's leader is stopped. While ranks make steps no rank ends them; then the root says it, before one of the node's own
 * members takes its place and ends with that, too. */
UNIT_TEST(test_leader_held, "a leader is held")
{
	seats_open(4);
	seats_config.decide.partition_seconds = 0.5;
	two_nodes();
	kill(seats[2].desk->leader, SIGSTOP);
	for (int i = 0; i < 30; i++) {
		for (int k = 0; k < 4; k++)
			atomic_fetch_add(&seats[k].memory->header.heartbeat, 1);
		clock_sleep(0.05);
	}
	CU_ASSERT(seats_sit(2, 3));
	CU_ASSERT(seats_end(0, 1, OUTCOME_HANG));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "class=watcher-held ranks=- "));
	CU_ASSERT(seats_sit(2, 3));
	CU_ASSERT(seats_end(2, 3, OUTCOME_HANG));
	seats_close();
}

/* The root is gone: the other node must not call that a success. */
UNIT_TEST(test_root_lost, "the root is lost")
{
	seats_open(4);
	two_nodes();
	node_dies(0, 1);
	CU_ASSERT(seats_end(2, 3, OUTCOME_DIED));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(2), "# verdict: outcome=died class=monitor-gone "));
	seats_close();

	seats_open(4);
	two_nodes();
	ranks_finish(2, 3, OUTCOME_OK);
	clock_sleep(0.1);
	node_dies(0, 1);
	CU_ASSERT(seats_end(2, 3, OUTCOME_OK)); /* as far as this node can know */
	seats_close();
}

/* Rank 0 may be the last to have the token: the others are not strangers. */
UNIT_TEST(test_token_late, "the token is late")
{
	long steps;

	seats_open(4);
	node_take(0, 0, 1);
	node_take(1, 2, 3);
	nodes_open_star();
	nodes_publish(2, 3, nodes_address, TOKEN);
	clock_sleep(0.1);
	steps = seats[0].desk->steps;
	clock_sleep(0.12);
	CU_ASSERT(seats[0].desk->steps - steps < 30); /* it does not spin meanwhile */
	CU_ASSERT(seats_sit(0, 3));
	nodes_publish(0, 1, nodes_address, TOKEN);
	SOON(seats[0].desk->nodes == 1);
	rank_ends(3, SIGKILL);
	UNIT_ALL(seats_end(0, 3, OUTCOME_DIED), strstr(seat_said(0), "ranks=3 ") != NULL);
	seats_close();
}

/* No way to the root: each node decides by itself. */
UNIT_TEST(test_no_way, "no way to the root")
{
	seats_open(4);
	node_take(0, 0, 1);
	node_take(1, 2, 3);
	nodes_open_star();
	nodes_publish(0, 1, nodes_address, TOKEN);
	nodes_publish(2, 3, "127.0.0.1:1 nonsense", TOKEN);
	rank_ends(3, SIGKILL);
	UNIT_ALL(seats_end(2, 3, OUTCOME_DIED), strstr(seat_said(2), "ranks=3 ") != NULL,
		 seats_sit(0, 1));
	ranks_finish(0, 1, OUTCOME_OK);
	CU_ASSERT(seats_end(0, 1, 0));
	seats_close();
}

UNIT_TEST(test_three_nodes, "three nodes")
{
	seats_open(4);
	three_nodes();
	ranks_finish(2, 2, OUTCOME_OK);
	clock_sleep(0.1);
	rank_finishes(3, OUTCOME_ERROR, "", "no luck");
	UNIT_ALL(seats_end(0, 3, OUTCOME_ERROR), strstr(seat_said(0), " detect_ms=") != NULL,
		 strstr(seat_said(0), " detect_ms=0 ") == NULL,
		 strstr(seat_said(0), "outcome=error class=error ranks=3 ") != NULL,
		 strstr(seat_said(0), "# rank 3 reported: no luck\n") != NULL);
	seats_close();
}

/* A node that is done and whose observers then go away, for whatever reason: no fault, and no
 * reason for the root to spin. */
UNIT_TEST(test_done_and_gone, "done and gone")
{
	long steps;

	seats_open(4);
	two_nodes();
	ranks_finish(2, 3, OUTCOME_OK);
	clock_sleep(0.1);
	node_dies(2, 3);
	clock_sleep(0.1);
	steps = seats[0].desk->steps;
	clock_sleep(0.12);
	UNIT_ALL(seats[0].desk->steps - steps < 30, seats_sit(0, 1));
	ranks_finish(0, 1, OUTCOME_OK);
	CU_ASSERT(seats_end(0, 1, 0));
	seats_close();
}

static struct link stranger(void)
{
	struct link link;
	char to[32];
	int fd;

	snprintf(to, sizeof(to), "127.0.0.1:%d", nodes_port);
	fd = connect_to(to, 1.0);
	CU_ASSERT_FATAL(fd >= 0);
	link_init(&link, fd);
	return link;
}

static void say(struct link *link, uint32_t type, uint64_t token, const void *views, size_t bytes)
{
	const struct views_head head = { .token = token };
	char *payload = malloc(sizeof(head) + bytes);

	CU_ASSERT_PTR_NOT_NULL_FATAL(payload);
	memcpy(payload, &head, sizeof(head));
	if (bytes)
		memcpy(payload + sizeof(head), views, bytes);
	CU_ASSERT_EQUAL(link_send(link, type, payload, (uint32_t)(sizeof(head) + bytes), -1), 0);
	free(payload);
}

static bool refused(struct link *link)
{
	struct link_message message;
	double give_up = unit_until(1);
	int rc = 0;

	while (rc == 0 && clock_seconds() < give_up) {
		rc = link_receive(link, &message);
		clock_sleep(0.005);
	}
	return rc < 0;
}

UNIT_TEST(test_strangers, "strangers")
{
	struct rank_view dead = { .rank = 1, .process = PROCESS_KILLED, .status = SIGKILL };
	struct link links[8];
	int n = 0;

	seats_open(4);
	two_nodes();
	links[n] = stranger();
	say(&links[n++], MESSAGE_VIEWS, TOKEN + 1, &dead, sizeof(dead));
	links[n] = stranger();
	say(&links[n++], MESSAGE_VIEWS, 0, &dead, sizeof(dead));
	links[n] = stranger();
	say(&links[n++], MESSAGE_VIEWS, TOKEN, &dead, sizeof(dead) - 1);
	links[n] = stranger();
	CU_ASSERT_EQUAL(link_send(&links[n++], MESSAGE_VIEWS, "four", 4, -1), 0);
	links[n] = stranger();
	CU_ASSERT_EQUAL(write(links[n++].fd, "GET / HTTP/1.1\r\n\r\n", 18), 18);
	links[n] = stranger();
	CU_ASSERT_EQUAL(write(links[n++].fd, (uint32_t[]){ 0x68616e67u, MESSAGE_VIEWS, UINT32_MAX },
			      12),
			12);
	for (int i = 0; i < n; i++)
		CU_ASSERT(refused(&links[i]));
	CU_ASSERT(seats_sit(0, 3));
	links[n++] = stranger(); /* these two say nothing and stay */
	links[n] = stranger();
	CU_ASSERT_EQUAL(write(links[n++].fd, (uint32_t[]){ 0x68616e67u, MESSAGE_VIEWS, 1000 }, 12),
			12);
	SOON(seats[0].desk->nodes == 3);
	ranks_finish(0, 3, OUTCOME_OK);
	UNIT_ALL(seats_end(0, 3, 0), verdict_lines(0, 3) == 0);
	for (int i = 0; i < n; i++)
		link_release(&links[i]);
	seats_close();
}

/* A peer that says nothing, or stops, is sent away after two seconds; no rank waits. */
UNIT_TEST(test_silent_strangers, "silent strangers")
{
	struct link links[2];
	double begin;

	seats_open(4);
	two_nodes();
	links[0] = stranger();
	links[1] = stranger();
	CU_ASSERT_EQUAL(write(links[1].fd, (uint32_t[]){ 0x68616e67u, MESSAGE_VIEWS, 1000 }, 12),
			12);
	begin = clock_seconds();
	SOON(seats[0].desk->nodes == 3);
	while (seats[0].desk->nodes > 1 && clock_seconds() < begin + 4)
		clock_sleep(0.01);
	UNIT_ALL(seats[0].desk->nodes == 1, clock_seconds() - begin > 1.9, seats_sit(0, 3));
	ranks_finish(0, 3, OUTCOME_OK);
	CU_ASSERT(seats_end(0, 3, 0));
	for (int i = 0; i < 2; i++)
		link_release(&links[i]);
	seats_close();
}

/* A peer with the token may still send what is no view: it is printed, bounded. */
UNIT_TEST(test_mad_node, "a node gone mad")
{
	struct rank_view views[2];
	struct link link;

	seats_open(2);
	node_take(0, 0, 1);
	nodes_open_star();
	nodes_publish(0, 1, nodes_address, TOKEN);
	memset(views, 'x', sizeof(views));
	link = stranger();
	say(&link, MESSAGE_VIEWS, TOKEN, views, sizeof(views));
	SOON(seats[0].desk->nodes == 1);
	clock_sleep(0.05);
	say(&link, MESSAGE_VIEWS, TOKEN, views, sizeof(views));
	CU_ASSERT(seats_end(0, 1, OUTCOME_DIED));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "# 2 processes without rank "));
	link_release(&link);
	seats_close();
}

/* Closes with something unread in the first connection, which is a reset. */
static void close_unread(struct link *link)
{
	struct pollfd p = { .fd = link->fd, .events = POLLIN };

	CU_ASSERT_EQUAL(poll(&p, 1, 2000), 1);
	link_release(link);
}

/* A host whose connection is reset comes again, and one that aborts both; one whose second
 * connection ends is gone, however the first one did. */
UNIT_TEST(test_reset, "a connection is reset")
{
	struct rank_view there = { .rank = 2, .outcome = -1, .host = "there" };
	struct link life = { .fd = -1, .passed_fd = -1 };

	seats_open(2);
	node_take(0, 0, 1);
	nodes_open_star();
	nodes_publish(0, 1, nodes_address, TOKEN);
	for (int times = 0; times < 3; times++) {
		struct link link = stranger();

		say(&link, MESSAGE_VIEWS, TOKEN, &there, sizeof(there));
		SOON(seats[0].desk->nodes == 1);
		if (times > 0) {
			life = stranger();
			say(&life, MESSAGE_BEAT, TOKEN, &there, sizeof(there));
		}
		clock_sleep(0.7);
		CU_ASSERT(seats_sit(0, 1));
		if (times < 2) {
			link_abort(&link);
			link_abort(&life);
		} else {
			close_unread(&link);
			link_release(&life);
		}
		clock_sleep(0.7);
	}
	CU_ASSERT(seats_end(0, 1, OUTCOME_DIED));
	UNIT_ALL(verdict_lines(0, 1) == 1, strstr(seat_said(0), "class=monitor-gone") != NULL);
	seats_close();
}

/* Returns true once the run's end comes over this connection, with code 0. */
static bool hears_end(struct link *link)
{
	struct link_message message = { .type = 0 };
	double give_up = unit_until(1);
	int32_t code = -1;

	while (message.type != MESSAGE_END && clock_seconds() < give_up)
		if (link_receive(link, &message) != 1)
			clock_sleep(0.002);
	if (message.type == MESSAGE_END && message.bytes == sizeof(code))
		memcpy(&code, message.payload, sizeof(code));
	return code == 0;
}

/* The run ends well while a host has no connection: a cut has just healed, and it connects anew; or it has only just come. It
 * hears of the end all the same. */
UNIT_TEST(test_goodbye, "a goodbye")
{
	struct rank_view there = { .rank = 2, .process = PROCESS_EXITED, .host = "there" };

	for (int known = 0; known < 2; known++) {
		struct link link;

		seats_open(2);
		node_take(0, 0, 1);
		nodes_open_star();
		nodes_publish(0, 1, nodes_address, TOKEN);
		link = stranger();
		if (known) {
			say(&link, MESSAGE_VIEWS, TOKEN, &there, sizeof(there));
			SOON(seats[0].desk->nodes == 1);
			link_abort(&link);
		}
		clock_sleep(0.05);
		ranks_finish(0, 1, OUTCOME_OK);
		clock_sleep(0.3);
		if (known)
			link = stranger();
		say(&link, MESSAGE_VIEWS, TOKEN, &there, sizeof(there));
		CU_ASSERT(hears_end(&link));
		link_release(&link);
		UNIT_ALL(seats_end(0, 1, OUTCOME_OK), verdict_lines(0, 1) == 0);
		seats_close();
	}
}

/* Whatever the order in which ranks took their seats, they are printed in theirs. */
UNIT_TEST(test_order, "ranks in order")
{
	seats_open(4);
	for (int i = 0; i < 4; i++)
		recorder_identify(&seats[i].recorder, 3 - i, 4, 0, 1, i, "device", "library");
	seats_take_in_order(0, 3);
	rank_ends(1, SIGKILL);
	CU_ASSERT(seats_end(0, 3, OUTCOME_DIED));
	UNIT_ALL(strstr(seat_said(0), "\n# culprit: rank 2 (") != NULL,
		 strstr(seat_said(0), "\n# ranks 0,1,3 are in phase timed") != NULL);
	seats_close();
}
