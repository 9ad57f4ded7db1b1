/* test_ras.c: asking NCCL RAS: a server that answers, and servers that refuse, are silent,
 * endless, slow or somebody else. */
#include "rig/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "process/task.h"
#include "probe/ras.h"

#define REPORT "NCCL version 2.27.3 compiled with CUDA 12.9\n\nWarnings\n========\n\n"
#define JSON   "{\n  \"nccl_version\": \"2.28.9\",\n  \"communicators\": [\n  ]\n}\n"

struct server {
	pid_t pid;
	int port;
};

/* Read one line and say whether it is `wanted`. */
static bool hears(FILE *in, const char *wanted)
{
	char line[100];

	return fgets(line, sizeof(line), in) && strcmp(line, wanted) == 0;
}

static void serve(int fd, const char *format, const char *report, const char *end)
{
	FILE *in = fdopen(dup(fd), "r");

	if (hears(in, "CLIENT PROTOCOL 2\n"))
		dprintf(fd, "SERVER PROTOCOL 2\n");
	if (hears(in, "TIMEOUT 1\n"))
		dprintf(fd, "OK\n");
	if (hears(in, "SET FORMAT json\n"))
		dprintf(fd, "%s\n", format);
	if (hears(in, "VERBOSE STATUS\n")) {
		dprintf(fd, "%s", report);
		clock_nap(0.05); /* in parts */
		dprintf(fd, "%s", end);
	}
	fclose(in);
}

/* NCCL 2.28.7 and later. */
static void serve_well(int fd, int nth)
{
	serve(fd, "OK", JSON, "\n");
}

/* It knows no formats. */
static void serve_text(int fd, int nth)
{
	serve(fd, "ERROR: Unknown command SET FORMAT json", REPORT, "the end\n");
}

/* It knows other formats. */
static void serve_refusal(int fd, int nth)
{
	serve(fd, "ERROR: Invalid format json", REPORT, "the end\n");
}

/* The kernel gave the first call to a stopped process. */
static void serve_second(int fd, int nth)
{
	if (nth > 0)
		serve_well(fd, nth);
	else
		clock_nap(0.3);
}

static void serve_silence(int fd, int nth)
{
	clock_nap(30);
}

static void serve_garbage(int fd, int nth)
{
	dprintf(fd, "SSH-2.0-OpenSSH_9.2\r\n");
	clock_nap(0.1);
}

static void serve_long_line(int fd, int nth)
{
	for (int i = 0; i < 1000; i++)
		dprintf(fd, "no newline comes ");
	clock_nap(0.1);
}

static void serve_endless(int fd, int nth)
{
	dprintf(fd, "SERVER PROTOCOL 2\nOK\nOK\n");
	while (dprintf(fd, "and on and on\n") > 0)
		;
}

static void serve_half(int fd, int nth)
{
	dprintf(fd, "SERVER PROTOCOL 2\nOK\nOK\nhalf a report");
	clock_nap(30);
}

/* The answer to a command never comes. */
static void serve_no_format(int fd, int nth)
{
	dprintf(fd, "SERVER PROTOCOL 2\nOK\n");
	clock_nap(30);
}

static void serve_hangup(int fd, int nth)
{
}

static struct server start(void (*answer)(int fd, int nth))
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct server server;

	CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&address, len), 0);
	CU_ASSERT_EQUAL_FATAL(listen(listener, 16), 0);
	getsockname(listener, (struct sockaddr *)&address, &len);
	server.port = ntohs(address.sin_port);
	server.pid = fork();
	if (server.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		signal(SIGPIPE, SIG_IGN);
		signal(SIGCHLD, SIG_IGN);
		for (int nth = 0;; nth++) {
			int fd = accept(listener, NULL, NULL);

			if (fork() == 0) { /* as in NCCL, no client waits for another */
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				answer(fd, nth);
				shutdown(fd, SHUT_WR);
				_exit(0);
			}
			close(fd);
		}
	}
	close(listener);
	return server;
}

static void stop(struct server server)
{
	kill(server.pid, SIGKILL);
	waitpid(server.pid, NULL, 0);
}

static void run(int fd, const void *arg)
{
	ras_ask(fd, arg);
}

/* What ras_ask wrote within its time. */
static char *ask(const char *address, double seconds, double *took)
{
	struct ras_order order = { address, seconds };
	struct task task = { .run = run, .arg = &order, .limit = 100000 };

	tasks_run(&task, 1, 1, seconds + 5, seconds + 5);
	*took = task.seconds;
	return task.text;
}

/* `want` is the beginning, or behind "..." the end. */
static bool matches(const char *text, const char *want)
{
	size_t have = strlen(text), n = strlen(want);

	if (strncmp(want, "...", 3) != 0)
		return strncmp(text, want, n) == 0;
	return have >= n - 3 && strcmp(text + have - (n - 3), want + 3) == 0;
}

static void test_servers(void)
{
	static const struct {
		void (*serve)(int fd, int nth);
		const char *answer;	     /* for matches() */
		double seconds, least, most; /* given, and taken */
	} cases[] = {
		{ serve_well, JSON "\n", 10, 0.05, 5 },
		{ serve_text, REPORT "the end\n", 10, 0.05, 5 },
		{ serve_refusal, REPORT "the end\n", 10, 0.05, 5 },
		{ serve_second, JSON "\n", 10, 0.25, 5 },
		{ serve_garbage, "...: what answers is not NCCL RAS]\n", 10, 0, 5 },
		{ serve_long_line, "...: what answers is not NCCL RAS]\n", 10, 0, 5 },
		{ serve_endless, "and on and on\nand on", 10, 0, 5 },
		{ serve_silence, "[no answer from 127.0.0.1:", 1, 0.9, 3 },
		{ serve_half, "half a report\n[cut: Connection timed out after 1.0 s]\n", 1, 0.9,
		  3 },
		{ serve_no_format, "[no answer from 127.0.0.1:", 1, 0.9, 3 },
		{ serve_hangup, "[no answer from 127.0.0.1:", 1, 0.9, 3 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct server server = start(cases[i].serve);
		char address[40], *text;
		double took;

		snprintf(address, sizeof(address), "127.0.0.1:%d", server.port);
		text = ask(address, cases[i].seconds, &took);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT(took >= cases[i].least && took < cases[i].most);
		CU_ASSERT_TRUE(matches(text, cases[i].answer));
		free(text);
		stop(server);
	}
}

/* Nobody listens; no address. */
static void test_nobody(void)
{
	static const struct {
		const char *address, *answer;
	} cases[] = {
		{ "no-port", "[no answer from no-port: Invalid argument]\n" },
		{ "host:", "[no answer from host:: Invalid argument]\n" },
		{ ":28028", "[no answer from :28028: Invalid argument]\n" },
		{ "", "[no answer from : Invalid argument]\n" },
		{ "127.0.0.1:nothing-of-this-name", "[no answer from 127.0.0.1:nothing-of" },
	};
	struct server server = start(serve_hangup);
	char address[40], *text;
	double took;

	stop(server); /* its port is free */
	snprintf(address, sizeof(address), "[127.0.0.1]:%d", server.port);
	text = ask(address, 10, &took);
	UNIT_ALL(strstr(text, ": Connection refused]\n") != NULL, took < 5);
	free(text);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text = ask(cases[i].address, 1.0, &took);
		CU_ASSERT_EQUAL(strncmp(text, cases[i].answer, strlen(cases[i].answer)), 0);
		free(text);
	}
}

UNIT_MAIN("ras", { "servers good and bad", test_servers }, { "nobody there", test_nobody })
