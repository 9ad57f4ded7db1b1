/* test_probe.c: stacks and RAS's word into evidence, the folder, and the diagnosis' lines. */
#include "rig/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "evidence/evidence.h"
#include "answer/counter_delta.h"
#include "probe/probe.h"

#define RANKS	     4
#define SAID(escape) "{\"nccl_version\": \"2.28.9" escape "\", \"communicators\": []}\n"
#define ANSWER	     SAID("?[2J")

static struct evidence evidence;
static bool local[RANKS];
static pid_t server;

static __attribute__((noinline)) void wait_here(void)
{
	for (;;)
		pause();
}

/* Ranks 0 to 3: alive, stopped, alive on another host, and dead already. */
static void set_up(void)
{
	evidence = (struct evidence){ .nranks = RANKS };
	evidence.ranks = calloc(RANKS, sizeof(*evidence.ranks));
	for (int i = 0; i < RANKS; i++) {
		struct evidence_rank *rank = &evidence.ranks[i];

		rank->present = true;
		rank->view.pid = fork();
		if (rank->view.pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			wait_here();
		}
		local[i] = i != 2;
	}
	kill(evidence.ranks[1].view.pid, SIGSTOP);
	evidence.ranks[1].view.process = PROCESS_STOPPED;
	evidence.ranks[3].view.process = PROCESS_KILLED;
	clock_sleep(0.05);
}

static void tear_down(void)
{
	for (int i = 0; i < RANKS; i++) {
		kill(evidence.ranks[i].view.pid, SIGKILL);
		waitpid(evidence.ranks[i].view.pid, NULL, 0);
	}
	evidence_release(&evidence);
}

static void start_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	char text[40];

	CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&address, len), 0);
	CU_ASSERT_EQUAL_FATAL(listen(listener, 16), 0);
	getsockname(listener, (struct sockaddr *)&address, &len);
	snprintf(text, sizeof(text), "localhost:%d", ntohs(address.sin_port));
	setenv("NCCL_RAS_ADDR", text, 1);
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int fd = accept(listener, NULL, NULL);

		dprintf(fd, "SERVER PROTOCOL 2\nOK\nOK\n" SAID("\x1b[2J"));
		shutdown(fd, SHUT_WR);
		while (read(fd, text, sizeof(text)) > 0)
			;
		_exit(0);
	}
	close(listener);
}

UNIT_TEST(test_stacks, "stacks of those that are here and alive")
{
	set_up();
	probe_ranks(&evidence, local, "1", NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(evidence.ranks[0].stack);
	CU_ASSERT_PTR_NOT_NULL(strstr(evidence.ranks[0].stack, "wait_here"));
	CU_ASSERT_PTR_NOT_NULL_FATAL(evidence.ranks[1].stack);
	UNIT_ALL(strstr(evidence.ranks[1].stack, "it is stopped") != NULL,
		 evidence.ranks[2].stack == NULL, evidence.ranks[3].stack == NULL);
	CU_ASSERT_PTR_NULL(evidence.ras); /* no NCCL here: not asked */
	tear_down();
}

UNIT_TEST(test_ras, "NCCL RAS")
{
	struct answer d = { .ranks = "2", .nnotes = 1 };
	bool none[RANKS] = { false };

	set_up();
	strcpy(evidence.backend, "nccl");
	start_server();
	probe_ranks(&evidence, none, "2", NULL);
	waitpid(server, NULL, 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(evidence.ras);
	CU_ASSERT_STRING_EQUAL(evidence.ras, ANSWER);
	probe_note(&evidence, &d);
	UNIT_ALL(d.nnotes == 2, !strcmp(d.notes[1], "NCCL RAS answered: ras.txt."));
	for (int i = 0; i < RANKS; i++)
		CU_ASSERT_PTR_NULL(evidence.ranks[i].stack);
	/* the server is gone */
	probe_ranks(&evidence, none, "2", NULL);
	CU_ASSERT_PTR_NOT_NULL(strstr(evidence.ras, "Connection refused]"));
	d.nnotes = 0;
	probe_note(&evidence, &d);
	CU_ASSERT_EQUAL(d.nnotes, 0);
	unsetenv("NCCL_RAS_ADDR");
	tear_down();
}

static const char *const files[] = { "rank-0.stack.txt", "rank-1.stack.txt", "rank-2.stack.txt",
				     "rank-3.stack.txt", "ras.txt" };

/* Saved and read again; binary, endless and foreign files in the place of texts. */
UNIT_TEST(test_folder, "the folder")
{
	char dir[UNIT_TEMP], path[UNIT_PATH], *big = malloc(100000);
	char first[] = "first\n", empty[] = "", said[] = "said\n";
	struct evidence_rank some[RANKS] = { { .stack = first }, { .stack = empty } };
	struct evidence e = { .nranks = RANKS, .ranks = some, .ras = said };
	struct error err = { .rank = -1 };

	CU_ASSERT_EQUAL_FATAL(unit_folder(dir), 0);
	CU_ASSERT_EQUAL(evidence_save_texts(&e, dir, &err), 0);
	memset(big, 'x', 100000);
	CU_ASSERT_EQUAL(unit_put(dir, "rank-2.stack.txt", big, 100000), 0);
	evidence = (struct evidence){ .nranks = RANKS };
	evidence.ranks = calloc(RANKS, sizeof(*evidence.ranks));
	evidence_load_texts(&evidence, dir);
	UNIT_ALL(!strcmp(evidence.ranks[0].stack, "first\n"), !strcmp(evidence.ranks[1].stack, ""),
		 strlen(evidence.ranks[2].stack) == EVIDENCE_STACK_BYTES,
		 evidence.ranks[3].stack == NULL, !strcmp(evidence.ras, "said\n"));

	CU_ASSERT_EQUAL(unit_put(dir, "rank-0.stack.txt", "a\0b\x1b\xff", 5), 0);
	unlink(strcat(strcpy(path, dir), "/rank-1.stack.txt"));
	CU_ASSERT_EQUAL(mkfifo(path, 0600), 0); /* would block its reader */
	CU_ASSERT_EQUAL(mkdir(strcat(strcpy(path, dir), "/rank-3.stack.txt"), 0700), 0);
	unlink(strcat(strcpy(path, dir), "/ras.txt"));
	CU_ASSERT_EQUAL(symlink("/dev/zero", path), 0);
	evidence_load_texts(&evidence, dir);
	UNIT_ALL(!strcmp(evidence.ranks[0].stack, "a?b??"), evidence.ranks[1].stack == NULL,
		 evidence.ranks[3].stack == NULL, evidence.ras == NULL);
	evidence_release(&evidence);
	free(big);
	for (size_t i = 0; i < LENGTH(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
		CU_ASSERT_EQUAL(remove(path), 0);
	}
	UNIT_ALL(rmdir(dir) == 0, evidence_save_texts(&e, dir, &err) != 0, err.code != 0);
}

/* NCCL's communicators are cited for a hang alone, and only where a rank asked them. */
UNIT_TEST(test_async, "what communicators say of a hang")
{
	struct evidence_rank some[RANKS] = { 0 };
	struct evidence e = { .nranks = RANKS, .ranks = some };
	struct answer d = { .outcome = OUTCOME_HANG };

	for (int i = 0; i < RANKS; i++)
		some[i].present = i != 3;
	some[3].view.asked = 7;
	probe_note(&e, &d);
	CU_ASSERT_EQUAL(d.nnotes, 0);
	some[0].view.asked = some[2].view.asked = 1;
	some[1].view.asked = -5; /* another's bytes */
	probe_note(&e, &d);
	CU_ASSERT_EQUAL_FATAL(d.nnotes, 1);
	CU_ASSERT_STRING_EQUAL(d.notes[0], "ncclCommGetAsyncError says success on the 2 of 4 ranks "
					   "that ask it while they wait.");
	/* it asked once, and does something else now */
	some[2].view.device_wait = RECORD_DEVICE_LEFT;
	some[0].view.device_wait = RECORD_DEVICE_AWAITED;
	d.nnotes = 0;
	probe_note(&e, &d);
	CU_ASSERT_EQUAL_FATAL(d.nnotes, 1);
	CU_ASSERT_STRING_EQUAL(d.notes[0], "ncclCommGetAsyncError says success on the 1 of 4 ranks "
					   "that ask it while they wait.");
	some[1].view.asked = 7;
	some[2].view.asked = 3;
	some[0].view.asked = 0;
	d.nnotes = 0;
	probe_note(&e, &d);
	CU_ASSERT_EQUAL_FATAL(d.nnotes, 1);
	CU_ASSERT_STRING_EQUAL(d.notes[0], "ncclCommGetAsyncError says error 6 on rank 1.");
	d.outcome = OUTCOME_DIED;
	probe_note(&e, &d);
	CU_ASSERT_EQUAL(d.nnotes, 1);
	d = (struct answer){ .outcome = OUTCOME_HANG, .nnotes = ANSWER_NOTES };
	probe_note(&e, &d);
	CU_ASSERT_EQUAL(d.nnotes, ANSWER_NOTES);
}
