/* seats.c: observers without ranks. */
#include "watch/seats.h"

struct seat seats[SEATS];
char seats_key[64];
struct monitor_config seats_config;

void seats_open(int n)
{
	static int runs;
	struct error err = { .rank = -1 };

	snprintf(seats_key, sizeof(seats_key), "seats-%d-%d", (int)getpid(), runs++);
	seats_config = (struct monitor_config){ .key = seats_key, .decide = { .deadlines = true } };
	for (int i = 0; i < n; i++) {
		struct seat *s = &seats[i];

		*s = (struct seat){ .wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
				    .out = memfd_create("out", MFD_CLOEXEC) };
		s->desk = mmap(NULL, sizeof(*s->desk), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		CU_ASSERT_FATAL(s->wake >= 0 && s->out >= 0 && s->desk != MAP_FAILED);
		CU_ASSERT_EQUAL_FATAL(recorder_create("seat", &s->memory, &s->memory_fd, &err), 0);
		s->desk->running = 1;
		recorder_init(&s->recorder, s->memory, true, 0);
		recorder_identify(&s->recorder, i, n, 0, 1, i, "device", "library");
		s->watch = recorder_watch(&s->recorder);
		watch_phase(&s->watch, PHASE_TIMED);
	}
}

static struct supervised seat_child(struct desk *desk, int *seen)
{
	struct supervised child = { .pid = 1, .changed = desk->changes != *seen };

	*seen = desk->changes;
	child.running = desk->running;
	child.stopped = desk->stopped;
	child.wait_status = desk->wait_status;
	return child;
}

static int seat_drive(struct seat *s, struct monitor *monitor)
{
	struct supervisor_hooks hooks = monitor_hooks(monitor);
	struct supervised child;
	struct pollfd fds[64];
	int seen = 0, code = SEAT_FAILED;
	uint64_t count;

	do {
		size_t n = hooks.fds(hooks.ctx, fds + 1, 63);

		fds[0] = (struct pollfd){ .fd = s->wake, .events = POLLIN };
		s->desk->leader = monitor->forked;
		s->desk->opened = 1;
		poll(fds, n + 1, hooks.interval_ms(hooks.ctx));
		(void)!read(s->wake, &count, sizeof(count));
		child = seat_child(s->desk, &seen);
	} while (!hooks.step(hooks.ctx, &child, &code));
	return code;
}

/* The leader's process. */
static void seat_watch(void *arg, struct monitor *monitor)
{
	struct seat *s = arg;

	while (monitor_tick(monitor)) {
		s->desk->peers = (int)monitor->npeers;
		s->desk->nodes = (int)monitor->nnodes;
		s->desk->steps++;
	}
	monitor_close(monitor);
}

static _Noreturn void seat_main(struct seat *s, const char *key)
{
	struct monitor_config config = seats_config;
	struct error err = { .rank = -1 };
	struct monitor monitor;
	int code = SEAT_FAILED;

	config.key = key;
	config.watch = seat_watch;
	config.watch_arg = s;
	dup2(s->out, STDOUT_FILENO);
	dup2(s->out, STDERR_FILENO);
	if (monitor_open(&monitor, &config, s->memory, s->memory_fd, &err) == 0) {
		code = seat_drive(s, &monitor);
		monitor_close(&monitor);
	} else {
		printf("%s\n", err.text);
	}
	exit(code); /* not _exit: a sanitizer looks for leaks then */
}

void seat_take(int i, const char *key)
{
	fflush(NULL);
	seats[i].pid = fork();
	CU_ASSERT_FATAL(seats[i].pid >= 0);
	if (seats[i].pid == 0)
		seat_main(&seats[i], key);
}

void seats_take(int first, int last)
{
	for (int i = first; i <= last; i++)
		seat_take(i, seats_key);
}

void seats_take_in_order(int first, int last)
{
	for (int i = first; i <= last; i++) {
		seat_take(i, seats_key);
		SOON(seats[i].desk->opened);
	}
	SOON(seats[first].desk->peers == last - first + 1);
}

void seat_tell(int i)
{
	const uint64_t one = 1;

	seats[i].desk->changes++;
	CU_ASSERT_EQUAL(write(seats[i].wake, &one, sizeof(one)), (ssize_t)sizeof(one));
}

void rank_ends(int i, int wait_status)
{
	seats[i].desk->wait_status = wait_status;
	seats[i].desk->running = 0;
	seat_tell(i);
}

void rank_finishes(int i, enum outcome outcome, const char *culprits, const char *error)
{
	struct error err = { .code = error ? -5 : 0, .outcome = outcome };

	snprintf(err.text, sizeof(err.text), "%s", error ? error : "");
	recorder_finish(&seats[i].recorder, outcome, culprits, &err);
	rank_ends(i, W_EXITCODE((int)outcome, 0));
}

void rank_enters_init(int i, int nranks, unsigned char id)
{
	const struct comm_request request = { .rank = i, .nranks = nranks, .id = { id } };

	watch_comm(&seats[i].watch, 0, COMM_INIT, &request);
	watch_enter(&seats[i].watch, "init", 10);
}

void ranks_finish(int first, int last, enum outcome outcome)
{
	for (int i = first; i <= last; i++)
		rank_finishes(i, outcome, "", NULL);
}

/* The seat's exit code, 128 + signal, or NOT_ENDED after `seconds`. */
static int seat_code(int i, double seconds)
{
	double give_up = unit_until(seconds);
	int status;

	for (;;) {
		pid_t pid = waitpid(seats[i].pid, &status, WNOHANG);

		if (pid == seats[i].pid)
			break;
		if (pid < 0 || clock_seconds() > give_up)
			return NOT_ENDED;
		clock_sleep(0.002);
	}
	seats[i].pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool seats_end(int first, int last, int code)
{
	bool all = true;

	for (int i = first; i <= last; i++) {
		int is = seat_code(i, PATIENCE);

		if (is != code)
			fprintf(stderr, " seat %d: %d instead of %d (%s)", i, is, code,
				seat_said(i));
		all &= is == code;
	}
	return all;
}

bool seats_sit(int first, int last)
{
	for (int i = first; i <= last; i++)
		if (seat_code(i, 0) != NOT_ENDED || kill(seats[i].pid, 0) < 0)
			return false;
	return true;
}

const char *seat_said(int i)
{
	static char text[16384];
	ssize_t n = pread(seats[i].out, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

int seat_leading(int first, int last)
{
	for (int i = first; i <= last; i++)
		if (seats[i].desk->leader)
			return i;
	return -1;
}

int verdict_lines(int first, int last)
{
	int n = 0;

	for (int i = first; i <= last; i++)
		for (const char *at = seat_said(i); (at = strstr(at, "# verdict: ")); at++)
			n++;
	return n;
}

void seats_close(void)
{
	for (int i = 0; i < SEATS; i++) {
		struct seat *s = &seats[i];

		if (!s->desk)
			continue;
		if (s->desk->leader > 0)
			kill(s->desk->leader, SIGKILL);
		if (s->pid > 0) {
			kill(s->pid, SIGKILL);
			waitpid(s->pid, NULL, 0);
		}
		close(s->wake);
		close(s->out);
		close(s->memory_fd);
		munmap(s->memory, sizeof(*s->memory));
		munmap(s->desk, sizeof(*s->desk));
		*s = (struct seat){ 0 };
	}
}
