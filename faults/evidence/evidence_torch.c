/* evidence_torch.c: PyTorch's dumps, as the lines of torch_dumps.py tell them, played to a flight recorder. */
#include "evidence/evidence_torch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/call_value.h"
#include "evidence/evidence_join.h"
#include "evidence/evidence_text.h"
#include "process/task.h"
#include "record/recorder.h"

/* The script, which is given to python3 as it is. */
extern const char torch_dumps[];
__asm__(".section .rodata\n"
	".global torch_dumps\n"
	"torch_dumps:\n"
	".incbin \"faults/evidence/torch_dumps.py\"\n"
	".byte 0\n"
	".previous\n");

#define NO_PYTHON "error takes python3, which is not on PATH"
#define SECONDS	  300.0 /* a thousand dumps take about 20 */
#define BYTES	  ((size_t)1 << 30)

struct player {
	struct evidence *e;
	struct evidence_rank *rank; /* at hand */
	struct record_header blank;
	struct record_memory *memory;
	struct recorder recorder;
	struct watch watch;
	uint64_t newest_ns; /* of all dumps */
};

static void end_rank(struct player *p)
{
	if (!p->rank)
		return;
	view_read(&p->rank->view, p->memory, p->newest_ns);
	p->rank->view.overdue = p->rank->view.waiting;
	if (evidence_take_calls(p->rank, p->memory) == 0)
		p->rank->wrapped = p->rank->ncalls > 0 && p->rank->calls[0].ticket > 1;
	p->rank = NULL;
}

static bool read_rank(struct player *p, const char *line)
{
	struct record_header *h = &p->memory->header;
	uint64_t before;
	int number, present;

	end_rank(p);
	if (sscanf(line, "%d %" SCNu64 " %" SCNu64 " %d", &number, &before, &p->newest_ns,
		   &present) != 4 ||
	    number < 0 || number >= p->e->nranks || p->e->ranks[number].recorder)
		return false;
	p->rank = &p->e->ranks[number];
	p->rank->present = present; /* else only others say anything of it */
	p->rank->remote = true;
	memset(p->memory, 0, sizeof(*p->memory));
	memcpy(h, &p->blank, sizeof(*h));
	h->rank = number;
	h->issued_ticket = h->completed_ticket = before;
	recorder_init(&p->recorder, p->memory, true, 0);
	p->watch = recorder_watch(&p->recorder);
	watch_phase(&p->watch, PHASE_TIMED);
	return true;
}

static bool read_comm(struct player *p, const char *line)
{
	struct comm_request request = { .comm = 0 };

	if (!p->rank ||
	    sscanf(line, "%" SCNu32 " %d %d %127s", &request.comm, &request.rank, &request.nranks,
		   (char *)request.id) != 4 ||
	    request.comm >= RECORD_COMMS)
		return false;
	watch_comm(&p->watch, request.comm, COMM_INIT, &request);
	watch_comm(&p->watch, request.comm, COMM_READY, &request);
	return true;
}

/* The first call that has not completed is what the rank waits in. */
static void note_end(struct player *p, bool completed, uint64_t created)
{
	struct record_wait *wait = &p->memory->header.wait;

	if (wait->sequence == 0 && completed)
		p->watch.completed(p->watch.ctx);
	if (wait->sequence > 0 || completed)
		return;
	watch_enter(&p->watch, "a call that has not completed", 0);
	wait->since_ns = created;
	p->watch.device(p->watch.ctx, true);
}

static bool read_call(struct player *p, const char *line)
{
	struct call call = { .op = OP_NONE };
	unsigned kind, dtype, completed, alone;
	uint64_t seq, created, started, ended, ticket;
	_Atomic uint64_t *made;
	struct record *slot;

	if (!p->rank ||
	    sscanf(line,
		   "%" SCNu32 " %" SCNu64 " %u %zu %u %d %" SCNu32 " %u %u %" SCNu64 " %" SCNu64
		   " %" SCNu64,
		   &call.comm, &seq, &kind, &call.count, &dtype, &call.peer, &call.stream,
		   &completed, &alone, &created, &started, &ended) != 12 ||
	    call.comm >= RECORD_COMMS || kind >= CALL_KIND_COUNT || dtype >= DT_COUNT)
		return false;
	call.kind = (enum call_kind)kind;
	call.dtype = (enum dtype)dtype;
	made = &p->memory->header.comms[call.comm].seq;
	*made = seq > *made ? seq - 1 : *made; /* older ones are no longer in the dump */
	if (!alone)
		watch_group(&p->watch, GROUP_BEGUN);
	ticket = p->watch.call(p->watch.ctx, &call);
	p->watch.returned(p->watch.ctx, ticket, 0);
	if (!alone)
		watch_group(&p->watch, GROUP_ENDED);
	slot = &p->memory->ring[ticket & (RECORD_RING - 1)];
	slot->enqueued_ns = slot->returned_ns = created;
	p->watch.device_times(p->watch.ctx, ticket, started, ended);
	note_end(p, completed, created);
	return true;
}

static bool read_stack(struct player *p, const char *line)
{
	size_t had = p->rank && p->rank->stack ? strlen(p->rank->stack) : 0;
	size_t room = had + strlen(line) + 2;

	if (!p->rank || room > EVIDENCE_STACK_BYTES)
		return p->rank;
	p->rank->stack = must(realloc(p->rank->stack, room));
	snprintf(p->rank->stack + had, room - had, "%s\n", line);
	return true;
}

static bool read_ranks(struct player *p, const char *line)
{
	int counted;

	if (p->e->ranks ||
	    sscanf(line, "%d %d %63[ -~]", &p->e->nranks, &counted, p->e->library) != 3)
		return false;
	p->e->uncounted = counted == 0;
	p->e->ranks = evidence_ranks_alloc(p->e->nranks);
	evidence_identify(p->e, &p->blank);
	return true;
}

static bool read_remark(struct player *p, const char *line)
{
	evidence_remark(p->e, "%s", line);
	return true;
}

static bool read_line(struct player *p, const char *line)
{
	static const struct {
		const char *word;
		bool (*read)(struct player *p, const char *line);
	} words[] = {
		{ "ranks ", read_ranks }, { "remark ", read_remark }, { "rank ", read_rank },
		{ "comm ", read_comm },	  { "call ", read_call },     { "stack ", read_stack },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(line, words[i].word, strlen(words[i].word)) == 0)
			return (i == 0 || p->e->ranks) &&
			       words[i].read(p, line + strlen(words[i].word));
	return false;
}

static int read_lines(struct player *p, const char *dir, char *lines, struct error *err)
{
	char *line = lines;

	while ((line = strsep(&lines, "\n")) && strcmp(line, "end") != 0)
		if (!read_line(p, line))
			break;
	end_rank(p);
	if (line && strcmp(line, "end") == 0 && p->e->ranks)
		return 0;
	if (line && strncmp(line, "error ", 6) == 0)
		return error_set(err, strcmp(line, NO_PYTHON) ? OUTCOME_USAGE : OUTCOME_UNSUPPORTED,
				 -ENOENT, "%s %.400s", dir, line + 6);
	return error_set(err, OUTCOME_INTERNAL, -EINVAL,
			 "%s: torch_dumps.py ends early, at \"%.60s\"", dir, line ? line : "");
}

static void run_script(int fd, const void *dir)
{
	char comms[16];

	snprintf(comms, sizeof(comms), "%d", RECORD_COMMS);
	dup2(fd, STDOUT_FILENO);
	execlp("python3", "python3", "-I", "-B", "-c", torch_dumps, (const char *)dir, comms,
	       (char *)NULL);
	dprintf(fd, NO_PYTHON);
}

int evidence_load_torch(struct evidence *evidence, const char *dir, struct error *err)
{
	struct task task = { .run = run_script, .arg = dir, .limit = BYTES };
	struct player player = { .e = evidence };
	int fd, rc;

	memset(evidence, 0, sizeof(*evidence));
	if (recorder_create("PyTorch", &player.memory, &fd, err) < 0)
		return err->code;
	close(fd);
	memcpy(&player.blank, &player.memory->header, sizeof(player.blank));
	player.blank.host[0] = '\0'; /* which is this one */
	tasks_run(&task, 1, 1, SECONDS, SECONDS);
	rc = read_lines(&player, dir, task.text ? task.text : (char[]){ "" }, err);
	munmap(player.memory, sizeof(*player.memory));
	free(task.text);
	return rc;
}
