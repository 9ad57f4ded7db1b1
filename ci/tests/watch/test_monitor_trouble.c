/* test_monitor_trouble.c: observers of one node, killed, stopped, talked to by strangers. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include <sys/un.h>

#include "process/leftovers.h"
#include "seats.h"

/* The output of all seats: whichever forks the second leader, that prints. */
static bool any_said(int first, int last, const char *text)
{
	for (int i = first; i <= last; i++)
		if (strstr(seat_said(i), text))
			return true;
	return false;
}

/* The observers themselves are killed: the leader, after which a second one ends the run, its parent, or another member.
 * The verdict tells of all ranks, the dead observer's included. */
UNIT_TEST(test_observer_killed, "an observer is killed")
{
	static const struct {
		int seat; /* -1: the leader */
		const char *culprit, *ranks, *dead;
	} cases[] = {
		{ -1, ": the monitor (pid ", "# ranks 0-2 are in phase timed", "" },
		{ 0, ": the supervisor of rank 0 (pid ", "# ranks 1,2 are in phase timed",
		  "# rank 0 was killed by SIGKILL\n" },
		{ 1, ": the supervisor of rank 1 (pid ", "# ranks 0,2 are in phase timed",
		  "# rank 1 was killed by SIGKILL\n" },
	};

	UNIT_ROWS(c, cases) {
		seats_open(3);
		seats_take_in_order(0, 2);
		kill(c->seat < 0 ? seats[0].desk->leader : seats[c->seat].pid, SIGKILL);
		for (int i = 0; i < 3; i++)
			CU_ASSERT(i == c->seat || seats_end(i, i, OUTCOME_DIED));
		UNIT_ALL(verdict_lines(0, 2) == 1, any_said(0, 2, "class=monitor-gone ranks=- "),
			 any_said(0, 2, c->culprit), any_said(0, 2, c->ranks),
			 any_said(0, 2, c->dead));
		seats_close();
	}
}

/* A member that came when the run had its code takes that where the leader ends, and prints no second verdict. One that was there
 * before replaces it: the leader was killed before its evidence was whole. */
UNIT_TEST(test_verdict_is_out, "a leader ends behind its verdict")
{
	struct run_folder folder;
	struct error err = { .rank = -1 };

	seats_open(2);
	CU_ASSERT_EQUAL_FATAL(run_folder_open(&folder, seats_key, &err), 0);
	seats_take_in_order(0, 0);
	run_folder_note_end(seats_key, OUTCOME_ERROR, "");
	seat_take(1, seats_key);
	SOON(seats[1].desk->opened && seats[0].desk->peers == 2);
	kill(seats[0].desk->leader, SIGKILL);
	UNIT_ALL(seats_end(1, 1, OUTCOME_ERROR), verdict_lines(1, 1) == 0,
		 seats_end(0, 0, OUTCOME_DIED));
	run_folder_release(&folder);
	seats_close();
}

/* The leader is stopped: a second one says so once no rank makes a step, and the first is killed. */
UNIT_TEST(test_leader_held, "a leader is held")
{
	pid_t leader;

	seats_open(3);
	seats_config.decide.partition_seconds = 0.5;
	seats_take_in_order(0, 2);
	leader = seats[0].desk->leader;
	SOON(seats[0].desk->steps > 5);
	kill(leader, SIGSTOP);
	for (int i = 0; i < 40; i++) {
		for (int k = 0; k < 3; k++)
			atomic_fetch_add(&seats[k].memory->header.heartbeat, 1);
		clock_sleep(0.05);
	}
	kill(leader, SIGCONT);
	clock_sleep(0.5);
	CU_ASSERT(seats_sit(0, 2));
	kill(leader, SIGSTOP);
	UNIT_ALL(seats_end(0, 2, OUTCOME_HANG), verdict_lines(0, 2) == 1,
		 any_said(0, 2, "# ranks 0-2 are in phase timed"),
		 any_said(0, 2, ": the monitor (pid "),
		 any_said(0, 2, "class=watcher-held ranks=- "),
		 proc_hold_read(leader) == HOLD_GONE);
	seats_close();
}

/* Launchers drop what is printed once the first supervisor has left: none does before the others have said all. */
UNIT_TEST(test_last_lines, "none leaves before the last lines of all")
{
	seats_open(3);
	seats_take_in_order(0, 2);
	ranks_finish(0, 1, OUTCOME_OK);
	clock_sleep(0.1); /* the leader knows that rank 1 has ended */
	kill(seats[1].pid, SIGSTOP);
	ranks_finish(2, 2, OUTCOME_OK);
	clock_sleep(0.15);
	CU_ASSERT(seats_sit(0, 0) && seats_sit(2, 2));
	kill(seats[1].pid, SIGCONT);
	CU_ASSERT(seats_end(0, 2, 0));
	seats_close();
}

/* A wait that is overdue also without the pause. */
UNIT_TEST(test_hang_across_pause, "a hang across a pause")
{
	double begin = clock_seconds();

	seats_open(1);
	seats_take_in_order(0, 0);
	watch_enter(&seats[0].watch, "across the pause", 0.3);
	kill(seats[0].desk->leader, SIGSTOP);
	clock_sleep(0.7);
	kill(seats[0].desk->leader, SIGCONT);
	UNIT_ALL(seats_end(0, 0, OUTCOME_HANG), clock_seconds() - begin > 0.95,
		 unit_in_time(clock_seconds() - begin, 1.6));
	seats_close();
}

/* A rank that is stopped and continued while no rank waits too long. */
UNIT_TEST(test_stopped_rank, "a rank is stopped")
{
	seats_open(2);
	seats_take_in_order(0, 1);
	seats[1].desk->stopped = 1;
	seat_tell(1);
	watch_enter(&seats[0].watch, "the stopped one", 5);
	clock_sleep(0.3);
	CU_ASSERT(seats_sit(0, 1));
	seats[1].desk->stopped = 0;
	seat_tell(1);
	watch_leave(&seats[0].watch);
	ranks_finish(0, 1, OUTCOME_OK);
	CU_ASSERT(seats_end(0, 1, 0));
	seats_close();

	seats_open(2);
	seats_take_in_order(0, 1);
	seats[1].desk->stopped = 1;
	seat_tell(1);
	watch_enter(&seats[0].watch, "the stopped one", 0.1);
	CU_ASSERT(seats_end(0, 1, OUTCOME_HANG));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "# rank 1 is stopped\n"));
	seats_close();
}

static int stranger(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "hangar-%u-%s",
			 (unsigned int)geteuid(), seats_key);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&address, len), 0);
	return fd;
}

static void say(int fd, uint32_t magic, uint32_t type, uint32_t bytes, const void *payload,
		int pass)
{
	struct link link;

	if (magic == 0) {
		link_init(&link, fd);
		CU_ASSERT_EQUAL(link_send(&link, type, payload, bytes, pass), 0);
		return;
	}
	CU_ASSERT_EQUAL(write(fd, (const uint32_t[]){ magic, type, bytes }, 12), 12);
}

UNIT_TEST(test_strangers, "strangers")
{
	const uint32_t magic = 0x68616e67u;
	const int32_t state[2] = { PROCESS_KILLED, SIGKILL }, code = 0;
	int small = memfd_create("small", MFD_CLOEXEC), fds[9], n = 0;

	seats_open(2);
	seats_take_in_order(0, 1);
	close(stranger());					    /* a port scan */
	fds[n++] = stranger();					    /* says nothing, stays */
	say(fds[n++] = stranger(), 0x20544547u, 0, 0, NULL, -1);    /* another protocol */
	say(fds[n++] = stranger(), magic, 1, UINT32_MAX, NULL, -1); /* announces 4 GiB */
	say(fds[n++] = stranger(), magic, 1, 100, NULL, -1);	    /* stops in the middle */
	say(fds[n++] = stranger(), 0, 1, 0, NULL, -1);		    /* a member without a rank */
	say(fds[n++] = stranger(), 0, 1, 4, &code, small);	    /* not a flight recorder */
	say(fds[n++] = stranger(), 0, 2, sizeof(state), state, -1); /* a death of no rank */
	say(fds[n++] = stranger(), 0, 3, sizeof(code), &code, -1);  /* not for it to say */
	say(fds[n++] = stranger(), 0, 77, 0, NULL, -1);
	clock_sleep(0.3);
	CU_ASSERT(seats_sit(0, 1));
	close(fds[4]);
	close(fds[6]);
	clock_sleep(0.2);
	CU_ASSERT(seats_sit(0, 1));
	ranks_finish(0, 1, OUTCOME_OK);
	UNIT_ALL(seats_end(0, 1, 0), verdict_lines(0, 1) == 0);
	for (int i = 0; i < n; i++)
		if (i != 4 && i != 6)
			close(fds[i]);
	close(small);
	seats_close();
}

/* A member that talks nonsense once it has a rank is as good as dead. */
UNIT_TEST(test_mad_member, "a member gone mad")
{
	struct link link;
	int32_t pid = 1;

	seats_open(2);
	seats_take_in_order(0, 0);
	link_init(&link, stranger());
	CU_ASSERT_EQUAL(link_send(&link, 1, &pid, sizeof(pid), seats[1].memory_fd), 0);
	SOON(seats[0].desk->peers == 2);
	clock_sleep(0.05);
	UNIT_ALL(write(link.fd, "something else", 14) == 14, seats_end(0, 0, OUTCOME_DIED),
		 strstr(seat_said(0), "class=monitor-gone ranks=- ") != NULL);
	link_release(&link);
	seats_close();
}

/* Forks a process of another user that listens at the first `n` names of the run. */
static pid_t foreign_leader(int n)
{
	int ready[2], fds[LINK_NAMES];
	char byte;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		for (int i = 0; i < n; i++) {
			socklen_t len;
			struct sockaddr_un address = link_address(seats_key, i, &len);

			fds[i] = socket(AF_UNIX, SOCK_STREAM, 0);
			if (bind(fds[i], (struct sockaddr *)&address, len) < 0)
				_exit(1);
		}
		if (setuid(65534) < 0)
			_exit(1);
		for (int i = 0; i < n; i++)
			if (listen(fds[i], 5) < 0)
				_exit(1);
		(void)!write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* Another user's process has taken the run's name: no rank's memory is handed to it. The next name is taken, if any is free. */
UNIT_TEST(test_foreign_leader, "a foreign leader")
{
	static const int names[] = { 1, 3, LINK_NAMES };

	for (size_t i = 0; i < LENGTH(names) && geteuid() == 0;
	     i++) { /* only root can be another user too */
		bool all = names[i] == LINK_NAMES;
		pid_t pid;

		seats_open(1);
		pid = foreign_leader(names[i]);
		seat_take(0, seats_key);
		if (!all) {
			CU_ASSERT(seats_sit(0, 0));
			ranks_finish(0, 0, OUTCOME_OK);
		}
		UNIT_ALL(seats_end(0, 0, all ? SEAT_FAILED : 0),
			 (strstr(seat_said(0), "not permitted") != NULL) == all);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		seats_close();
	}
}
