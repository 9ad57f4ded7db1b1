/* test_ras.c: asking NCCL RAS: servers that answer, refuse, are silent, endless, slow, foreign. */
#include "rig/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "process/task.h"
#include "probe/probe.h"

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

/* Rows leave out what is zero. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

/* A server speaks RAS where it has an answer to SET FORMAT json; else it sends a text. */
struct manner {
	const char *format, *report, *end, *said;
	int times;	 /* `said` again */
	double sleep;	 /* then */
	bool first_deaf; /* the kernel gave the first call to a stopped process */
};

static void serve(int fd, int nth, const struct manner *m)
{
	FILE *in = fdopen(dup(fd), "r");

	if (m->first_deaf && nth == 0) {
		clock_sleep(0.3);
	} else if (m->format) {
		if (hears(in, "CLIENT PROTOCOL 2\n"))
			dprintf(fd, "SERVER PROTOCOL 2\n");
		if (hears(in, "TIMEOUT 1\n"))
			dprintf(fd, "OK\n");
		if (hears(in, "SET FORMAT json\n"))
			dprintf(fd, "%s\n", m->format);
		if (hears(in, "VERBOSE STATUS\n")) {
			dprintf(fd, "%s", m->report);
			clock_sleep(0.05); /* in parts */
			dprintf(fd, "%s", m->end);
		}
	} else if (m->said && dprintf(fd, "%s", m->said) > 0) {
		for (int i = 0; i < m->times && dprintf(fd, "%s", m->end) > 0; i++)
			;
	}
	clock_sleep(m->sleep);
	fclose(in);
}

static struct server start(const struct manner *manner)
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
				serve(fd, nth, manner);
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

/* The text that ras_ask wrote within its time. */
static char *ask(const char *address, double seconds, double *took)
{
	struct ras_order order = { address, seconds };
	struct task task = { .run = ras_ask, .arg = &order, .limit = 100000 };

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

UNIT_TEST(test_servers, "servers good and bad")
{
	static const struct {
		const char *answer;	     /* for matches() */
		double seconds, least, most; /* given, and taken */
		struct manner manner;
	} cases[] = {
		/* NCCL 2.28.7 and later; it knows no formats, or others */
		{ JSON "\n", 10, 0.05, 5, { "OK", JSON, "\n" } },
		{ REPORT "the end\n",
		  10,
		  0.05,
		  5,
		  { "ERROR: Unknown command SET FORMAT json", REPORT, "the end\n" } },
		{ REPORT "the end\n",
		  10,
		  0.05,
		  5,
		  { "ERROR: Invalid format json", REPORT, "the end\n" } },
		{ JSON "\n", 10, 0.25, 5, { "OK", JSON, "\n", .first_deaf = true } },
		{ "...: what answers is not NCCL RAS]\n",
		  10,
		  0,
		  5,
		  { .said = "SSH-2.0-OpenSSH_9.2\r\n", .sleep = 0.1 } },
		{ "...: what answers is not NCCL RAS]\n",
		  10,
		  0,
		  5,
		  { .said = "no newline",
		    .end = " comes no newline",
		    .times = 1000,
		    .sleep = 0.1 } },
		{ "and on and on\nand on",
		  10,
		  0,
		  5,
		  { .said = "SERVER PROTOCOL 2\nOK\nOK\n",
		    .end = "and on and on\n",
		    .times = INT_MAX } },
		{ "[no answer from 127.0.0.1:", 1, 0.9, 3, { .sleep = 30 } },
		{ "half a report\n[cut: Connection timed out after 1.0 s]\n",
		  1,
		  0.9,
		  3,
		  { .said = "SERVER PROTOCOL 2\nOK\nOK\nhalf a report", .sleep = 30 } },
		/* the answer to a command never comes */
		{ "[no answer from 127.0.0.1:",
		  1,
		  0.9,
		  3,
		  { .said = "SERVER PROTOCOL 2\nOK\n", .sleep = 30 } },
		{ "[no answer from 127.0.0.1:", 1, 0.9, 3, { .sleep = 0 } },
	};

	UNIT_ROWS(c, cases) {
		struct server server = start(&c->manner);
		char address[40], *text;
		double took;

		snprintf(address, sizeof(address), "127.0.0.1:%d", server.port);
		text = ask(address, c->seconds, &took);
		CU_ASSERT_PTR_NOT_NULL_FATAL(text);
		CU_ASSERT(took >= c->least && took < c->most);
		CU_ASSERT_TRUE(matches(text, c->answer));
		free(text);
		stop(server);
	}
}

UNIT_TEST(test_no_server, "no server")
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
	struct server server = start(&(struct manner){ .sleep = 0 });
	char address[40], *text;
	double took;

	stop(server); /* its port is free */
	snprintf(address, sizeof(address), "[127.0.0.1]:%d", server.port);
	text = ask(address, 10, &took);
	UNIT_ALL(strstr(text, ": Connection refused]\n") != NULL, took < 5);
	free(text);
	UNIT_ROWS(c, cases) {
		text = ask(c->address, 1.0, &took);
		CU_ASSERT_EQUAL(strncmp(text, c->answer, strlen(c->answer)), 0);
		free(text);
	}
}
