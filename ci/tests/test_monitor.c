/* test_monitor.c: the observers of one node: who leads, what they conclude, and what must not fool them. */
#include "unit.h"

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "seats.h"

static void test_all_well(void)
{
	seats_open(8);
	seats_take(0, 7); /* at once: the kernel picks a leader */
	for (int i = 0; i < 8; i++)
		SOON(seats[i].desk->opened);
	CU_ASSERT(seat_leading(0, 7) >= 0);
	CU_ASSERT_EQUAL(seat_leading(seat_leading(0, 7) + 1, 7), -1);
	SOON(seats[seat_leading(0, 7)].desk->peers == 8);
	ranks_finish(0, 6, OUTCOME_OK);
	clock_nap(0.15);
	CU_ASSERT(seats_sit(0, 7)); /* one is still at work */
	rank_finishes(7, OUTCOME_OK, "", NULL);
	CU_ASSERT(seats_end(0, 7, 0));
	for (int i = 0; i < 8; i++)
		CU_ASSERT_STRING_EQUAL(seat_said(i), "");
	seats_close();
}

static void test_alone(void)
{
	seats_open(1);
	seats_take_in_order(0, 0);
	rank_finishes(0, OUTCOME_WRONG_DATA, "0", NULL);
	CU_ASSERT(seats_end(0, 0, OUTCOME_WRONG_DATA));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "outcome=wrong-data class=wrong-data ranks=0 "));
	seats_close();
}

/* A rank of a member, then the leader's own; killed, or gone without a word. */
static void test_death(void)
{
	static const struct {
		int rank, status;
		const char *line, *word;
	} cases[] = {
		{ 2, SIGKILL, "# verdict: outcome=died class=rank-died ranks=2 comm=", "killed by SIGKILL" },
		{ 0, SIGSEGV, "# verdict: outcome=died class=rank-died ranks=0 comm=", "killed by SIGSEGV" },
		{ 1, W_EXITCODE(0, 0), "class=rank-died ranks=1 ", "exited with 0" },
		{ 1, W_EXITCODE(3, 0), "class=rank-died ranks=1 ", "exited with 3" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		double begin;

		seats_open(3);
		seats_take_in_order(0, 2);
		begin = clock_seconds();
		rank_ends(cases[i].rank, cases[i].status);
		CU_ASSERT(seats_end(0, 2, OUTCOME_DIED));
		CU_ASSERT(clock_seconds() - begin < 0.5);
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), cases[i].line));
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), cases[i].word));
		CU_ASSERT_EQUAL(verdict_lines(0, 2), 1);
		seats_close();
	}
}

/* Deaths that come within a moment are one verdict. */
static void test_two_deaths(void)
{
	seats_open(4);
	seats_take_in_order(0, 3);
	rank_ends(3, SIGKILL);
	clock_nap(0.03);
	rank_ends(1, SIGTERM);
	CU_ASSERT(seats_end(0, 3, OUTCOME_DIED));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "ranks=1,3 "));
	seats_close();
}

static void test_hang(void)
{
	double begin;

	seats_open(3);
	seats_take_in_order(0, 2);
	watch_enter(&seats[0].watch, "timed calls", 10);
	watch_enter(&seats[1].watch, "timed calls", 0.2);
	begin = clock_seconds();
	CU_ASSERT(seats_end(0, 2, OUTCOME_HANG));
	CU_ASSERT(clock_seconds() - begin > 0.2);
	CU_ASSERT(clock_seconds() - begin < 0.7);
	CU_ASSERT_EQUAL(verdict_lines(0, 2), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "# verdict: outcome=hang class=unexplained "));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "in 'timed calls' (overdue)"));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "# rank 2 ("));
	seats_close();
}

/* --no-watch: nobody is ended for waiting, but a death still counts. */
static void test_no_watch(void)
{
	seats_open(2);
	seats_config.deadlines = false;
	seats_take_in_order(0, 1);
	watch_enter(&seats[1].watch, "timed calls", 0.01);
	clock_nap(0.4);
	CU_ASSERT(seats_sit(0, 1));
	rank_ends(1, SIGKILL);
	CU_ASSERT(seats_end(0, 1, OUTCOME_DIED));
	seats_close();
}

/* Past its deadline for a moment, then on: no fault, and the run goes on to its own end. */
static void test_late(void)
{
	seats_open(2);
	seats_take_in_order(0, 1);
	for (int i = 0; i < 2; i++) {
		watch_enter(&seats[1].watch, "timed calls", 0.05);
		clock_nap(0.11);
		watch_leave(&seats[1].watch);
		clock_nap(0.3);
		CU_ASSERT(seats_sit(0, 1));
	}
	watch_enter(&seats[1].watch, "timed calls", 0.05);
	CU_ASSERT(seats_end(0, 1, OUTCOME_HANG));
	CU_ASSERT_EQUAL(verdict_lines(0, 1), 1);
	seats_close();
}

static void test_error(void)
{
	seats_open(3);
	seats_take_in_order(0, 2);
	rank_finishes(1, OUTCOME_ERROR, "", "MPI_Allreduce failed: out of luck");
	CU_ASSERT(seats_end(0, 2, OUTCOME_ERROR));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "# verdict: outcome=error class=error ranks=1 "));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "# rank 1 reported: MPI_Allreduce failed: out of luck\n"));
	seats_close();
}

/* What all agree upon is no matter for a verdict, unless it is about the measurement. */
static void test_outcomes(void)
{
	static const struct {
		enum outcome outcome;
		int lines;
	} cases[] = {
		{ OUTCOME_USAGE, 0 },
		{ OUTCOME_UNSUPPORTED, 0 },
		{ OUTCOME_SLOW, 1 },
		{ OUTCOME_WRONG_DATA, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		seats_open(2);
		seats_take_in_order(0, 1);
		rank_finishes(0, cases[i].outcome, "", NULL);
		rank_finishes(1, cases[i].outcome, cases[i].outcome == OUTCOME_WRONG_DATA ? "1,3" : "", NULL);
		CU_ASSERT(seats_end(0, 1, (int)cases[i].outcome));
		CU_ASSERT_EQUAL(verdict_lines(0, 1), cases[i].lines);
		if (cases[i].outcome == OUTCOME_WRONG_DATA) {
			CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), " ranks=1,3 "));
		}
		seats_close();
	}
}

static void test_expect(void)
{
	static const struct {
		const char *expect;
		int code;
	} cases[] = {
		{ "died", 0 },
		{ "died:rank-died", 0 },
		{ "died:rank-died:2", 0 },
		{ "died:rank-died:1", 1 },
		{ "hang", 1 },
		{ "ok", 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		seats_open(3);
		seats_config.expect = cases[i].expect;
		seats_take_in_order(0, 2);
		rank_ends(2, SIGKILL);
		CU_ASSERT(seats_end(0, 2, cases[i].code));
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "outcome=died")); /* what happened, all the same */
		seats_close();
	}
	seats_open(2);
	seats_config.expect = "hang";
	seats_take_in_order(0, 1);
	ranks_finish(0, 1, OUTCOME_OK);
	CU_ASSERT(seats_end(0, 1, 1));
	seats_close();
}

/* The observers themselves are killed: the leader, then a member. */
static void test_observer_killed(void)
{
	for (int victim = 0; victim < 2; victim++) {
		seats_open(3);
		seats_take_in_order(0, 2);
		kill(seats[victim].pid, SIGKILL);
		CU_ASSERT(seats_end(!victim, !victim, OUTCOME_DIED));
		CU_ASSERT(seats_end(2, 2, OUTCOME_DIED));
		CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(victim ? 0 : 2),
					      victim ? "class=rank-died ranks=1 " :
						       "monitor of this node is gone"));
		seats_close();
	}
}

/* The whole job is stopped, leader included, past everybody's deadline, and continued. That pause is
 * nobody's fault; nor does it excuse waits that begin later. */
static void test_stopped_observer(void)
{
	double begin;

	seats_open(2);
	seats_take_in_order(0, 1);
	watch_enter(&seats[1].watch, "before the pause", 0.3);
	clock_nap(0.05);
	kill(seats[0].pid, SIGSTOP);
	clock_nap(1.0);
	kill(seats[0].pid, SIGCONT);
	clock_nap(0.15);
	watch_leave(&seats[1].watch);
	clock_nap(0.3);
	CU_ASSERT(seats_sit(0, 1));
	begin = clock_seconds();
	watch_enter(&seats[1].watch, "after the pause", 0.1);
	CU_ASSERT(seats_end(0, 1, OUTCOME_HANG));
	CU_ASSERT(clock_seconds() - begin < 0.6);
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "'after the pause' (overdue)"));
	seats_close();
}

/* A wait that is overdue also without the pause. */
static void test_hang_across_pause(void)
{
	double begin = clock_seconds();

	seats_open(1);
	seats_take_in_order(0, 0);
	watch_enter(&seats[0].watch, "across the pause", 0.3);
	kill(seats[0].pid, SIGSTOP);
	clock_nap(0.7);
	kill(seats[0].pid, SIGCONT);
	CU_ASSERT(seats_end(0, 0, OUTCOME_HANG));
	CU_ASSERT(clock_seconds() - begin > 0.95);
	CU_ASSERT(clock_seconds() - begin < 1.6);
	seats_close();
}

/* A rank that is stopped and continued while nobody waits too long. */
static void test_stopped_rank(void)
{
	seats_open(2);
	seats_take_in_order(0, 1);
	seats[1].desk->stopped = 1;
	seat_tell(1);
	watch_enter(&seats[0].watch, "the stopped one", 5);
	clock_nap(0.3);
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
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), ", stopped): phase timed"));
	seats_close();
}

/* ---- strangers on the Unix socket ---- */

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

static void say(int fd, uint32_t magic, uint32_t type, uint32_t bytes, const void *payload, int pass)
{
	struct link link;

	if (magic == 0) {
		link_init(&link, fd);
		CU_ASSERT_EQUAL(link_send(&link, type, payload, bytes, pass), 0);
		return;
	}
	CU_ASSERT_EQUAL(write(fd, (const uint32_t[]){ magic, type, bytes }, 12), 12);
}

static void test_strangers(void)
{
	const uint32_t magic = 0x68616e67u;
	const int32_t state[2] = { PROCESS_KILLED, SIGKILL }, code = 0;
	int small = memfd_create("small", MFD_CLOEXEC), fds[9], n = 0;

	seats_open(2);
	seats_take_in_order(0, 1);
	close(stranger());                                /* a port scan */
	fds[n++] = stranger();                            /* says nothing, stays */
	say(fds[n++] = stranger(), 0x20544547u, 0, 0, NULL, -1);        /* another protocol */
	say(fds[n++] = stranger(), magic, 1, UINT32_MAX, NULL, -1);     /* announces 4 GiB */
	say(fds[n++] = stranger(), magic, 1, 100, NULL, -1);            /* stops in the middle */
	say(fds[n++] = stranger(), 0, 1, 0, NULL, -1);                  /* a member without a rank */
	say(fds[n++] = stranger(), 0, 1, 4, &code, small);              /* not a flight recorder */
	say(fds[n++] = stranger(), 0, 2, sizeof(state), state, -1);     /* a death of nobody */
	say(fds[n++] = stranger(), 0, 3, sizeof(code), &code, -1);      /* not for it to say */
	say(fds[n++] = stranger(), 0, 77, 0, NULL, -1);
	clock_nap(0.3);
	CU_ASSERT(seats_sit(0, 1));
	close(fds[4]);
	close(fds[6]);
	clock_nap(0.2);
	CU_ASSERT(seats_sit(0, 1));
	ranks_finish(0, 1, OUTCOME_OK);
	CU_ASSERT(seats_end(0, 1, 0));
	CU_ASSERT_EQUAL(verdict_lines(0, 1), 0);
	for (int i = 0; i < n; i++)
		if (i != 4 && i != 6)
			close(fds[i]);
	close(small);
	seats_close();
}

/* A member that talks nonsense once it has a rank is as good as dead. */
static void test_mad_member(void)
{
	struct link link;
	int32_t pid = 1;

	seats_open(2);
	seats_take_in_order(0, 0);
	link_init(&link, stranger());
	CU_ASSERT_EQUAL(link_send(&link, 1, &pid, sizeof(pid), seats[1].memory_fd), 0);
	SOON(seats[0].desk->peers == 2);
	clock_nap(0.05);
	CU_ASSERT_EQUAL(write(link.fd, "something else", 14), 14);
	CU_ASSERT(seats_end(0, 0, OUTCOME_DIED));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "ranks=1 "));
	link_release(&link);
	seats_close();
}

/* Somebody else's process has taken the run's name: no rank's memory is handed to it. */
static void test_foreign_leader(void)
{
	int ready[2];
	pid_t pid;
	char byte;

	if (geteuid() != 0)
		return; /* only root can be somebody else too */
	seats_open(1);
	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		struct sockaddr_un address = { .sun_family = AF_UNIX };
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "hangar-0-%s",
				 seats_key);

		if (setuid(65534) < 0 ||
		    bind(fd, (struct sockaddr *)&address,
			 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)) < 0 ||
		    listen(fd, 5) < 0)
			_exit(1);
		(void)!write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
	seat_take(0, seats_key);
	CU_ASSERT(seats_end(0, 0, SEAT_FAILED));
	CU_ASSERT_PTR_NOT_NULL(strstr(seat_said(0), "not permitted"));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	seats_close();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "eight observers, all well", test_all_well },
		{ "a single rank", test_alone },
		{ "a rank dies", test_death },
		{ "two ranks die", test_two_deaths },
		{ "a rank waits past its deadline", test_hang },
		{ "--no-watch", test_no_watch },
		{ "late, but not hanging", test_late },
		{ "a rank reports an error", test_error },
		{ "other outcomes", test_outcomes },
		{ "--expect", test_expect },
		{ "an observer is killed", test_observer_killed },
		{ "the observer was stopped", test_stopped_observer },
		{ "a hang across a pause", test_hang_across_pause },
		{ "a rank is stopped", test_stopped_rank },
		{ "strangers", test_strangers },
		{ "a member gone mad", test_mad_member },
		{ "a foreign leader", test_foreign_leader },
	};

	return unit_main("monitor", cases, sizeof(cases) / sizeof(cases[0]));
}
