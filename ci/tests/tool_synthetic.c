/* tool_synthetic.c: saved evidence of many ranks, in which one skips a call. usage: tool_synthetic DIR RANKS CALLS [GUILTY]
 *
 * Counts differ from call to call; rank GUILTY (default: the middle one) leaves out the call in the middle; everyone waits in the
 * last. For measuring hang_diagnose at a size that no test machine runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "dtype.h"
#include "evidence.h"
#include "recorder.h"
#include "watch.h"

static void play(struct record_memory *memory, int rank, int calls, int left_out)
{
	struct recorder recorder;
	struct watch watch;

	recorder_init(&recorder, memory, true, 0);
	watch = recorder_watch(&recorder);
	memory->header.rank = rank;
	watch_phase(&watch, PHASE_TIMED);
	for (int k = 1; k <= calls; k++) {
		struct call call = { .kind = CALL_ALL_REDUCE,
			             .count = 1000 + ((size_t)k * (size_t)k * 7919) % 1009,
			             .dtype = DT_FLOAT,
			             .op = OP_SUM,
			             .peer = -1 };
		uint64_t ticket;

		if (k == left_out)
			continue;
		ticket = watch.call(watch.ctx, &call);
		if (k < calls)
			watch.returned(watch.ctx, ticket, 0);
	}
	watch_enter(&watch, "timed calls", 1);
}

static int make_rank(const char *dir, int rank, int calls, int left_out)
{
	struct evidence_rank r = { .present = true, .state = 'S', .cpu_share = 0 };
	struct error err = { .rank = -1 };
	struct record_memory *memory;
	int fd, rc;

	if (recorder_create("synthetic", &memory, &fd, &err) < 0)
		return -1;
	play(memory, rank, calls, left_out);
	view_read(&r.view, memory, 0, 0);
	r.view.overdue = 1;
	r.view.waited = 1;
	rc = evidence_take_calls(&r, memory);
	if (rc == 0)
		rc = evidence_save_rank(&r, rank, dir);
	evidence_rank_release(&r);
	munmap(memory, sizeof(*memory));
	close(fd);
	return rc;
}

int main(int argc, char **argv)
{
	int ranks = argc > 3 ? atoi(argv[2]) : 0, calls = argc > 3 ? atoi(argv[3]) : 0;
	int guilty = argc > 4 ? atoi(argv[4]) : ranks / 2;

	if (ranks < 2 || calls < 4 || calls > RECORD_RING) {
		fprintf(stderr, "usage: tool_synthetic DIR RANKS CALLS [GUILTY]\n");
		return 2;
	}
	mkdir(argv[1], 0777);
	for (int i = 0; i < ranks; i++)
		if (make_rank(argv[1], i, calls, i == guilty ? calls / 2 : 0) < 0) {
			fprintf(stderr, "tool_synthetic: cannot write rank %d to %s\n", i, argv[1]);
			return 1;
		}
	return 0;
}
