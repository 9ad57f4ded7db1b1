/* perf_closing.c: the closing lines of a sweep that a signal ends. The supervisor gets the signal and
 * asks; a thread of rank 0 writes and answers, as the main thread may be in a call for long. */
#include "perf_report.h"

#include <pthread.h>

enum { READY = 'r', DONE = 'd' };

static void *serve(void *arg)
{
	struct rank *r = arg;
	int fd = r->program->closing[1];
	char byte = DONE;

	if (TEMP_FAILURE_RETRY(recv(fd, &byte, 1, 0)) == 1)
		run_interrupted(&r->run);
	byte = DONE;
	(void)send(fd, &byte, 1, MSG_NOSIGNAL);
	return NULL;
}

void closing_serve(struct rank *r)
{
	pthread_t thread;
	char byte = READY;

	if (!r->run.report || r->program->closing[1] < 0 ||
	    pthread_create(&thread, NULL, serve, r) != 0)
		return;
	pthread_detach(thread);
	(void)send(r->program->closing[1], &byte, 1, MSG_NOSIGNAL);
}

/* Returns true while the rank writes. */
static bool ask(void *arg)
{
	struct program *program = arg;
	char byte, before = program->closing_said;

	while (recv(program->closing[0], &byte, 1, MSG_DONTWAIT) == 1)
		program->closing_said = byte;
	if (program->closing_said == READY && before != READY)
		(void)send(program->closing[0], "", 1, MSG_NOSIGNAL);
	return program->closing_said == READY;
}

void closing_open(struct program *program, struct supervisor_hooks *hooks)
{
	program->closing[0] = program->closing[1] = -1;
	if (program->options->nfaults > 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, program->closing) < 0)
		return;
	hooks->closing = ask;
	hooks->closing_arg = program;
}
