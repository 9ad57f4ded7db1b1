/* evidence_torch.c: PyTorch's dumps, as torch_dumps.py tells them, played to a flight recorder. */
#include "evidence/evidence.h"

#include <dirent.h>
#include <jansson.h>

#include "base/built_in.h"
#include "base/call_value.h"
#include "process/task.h"
#include "record/recorder.h"

/* The script, which is given to python3 as it is. */
BUILT_IN(torch_dumps, "faults/detect/evidence/torch_dumps.py");

#define NO_PYTHON "{\"error\": \"can't be read without python3, which is not on PATH\"}"
#define SECONDS	  300.0 /* and */
#define EACH	  0.5	/* for a file of a folder: a dump of 2000 calls takes 0.02 of a processor */
#define BYTES	  ((size_t)1 << 30)

struct player {
	struct record_header blank;
	struct record_memory *memory;
	struct recorder recorder;
	struct watch watch;
	struct record oldest; /* the rank's first call that has not completed; ticket 0: none */
};

static bool play_comm(struct player *p, json_t *j)
{
	struct comm_request request = { .comm = 0 };
	json_int_t id, pairs; /* sends and receives before its first call here */

	if (json_unpack(j, "[iiiII]", &request.comm, &request.rank, &request.nranks, &id, &pairs) <
		    0 ||
	    request.comm >= RECORD_COMMS)
		return false;
	memcpy(request.id, &id, sizeof(id));
	watch_comm(&p->watch, request.comm, COMM_INIT, &request);
	watch_comm(&p->watch, request.comm, COMM_READY, &request);
	p->memory->header.pairs[request.comm] = (uint64_t)pairs;
	return true;
}

/* The first call that has not completed is what the rank waits in. */
static bool play_call(struct player *p, json_t *j)
{
	struct record_header *h = &p->memory->header;
	struct call call = { .op = OP_NONE };
	json_int_t seq, count, created, started, ended;
	int completed, alone;
	struct record *slot;

	if (json_unpack(j, "[iIiIiiiiiIII]", &call.comm, &seq, &call.kind, &count, &call.dtype,
			&call.peer, &call.stream, &completed, &alone, &created, &started,
			&ended) < 0 ||
	    call.comm >= RECORD_COMMS || call.kind >= CALL_KIND_COUNT || call.dtype > DT_COUNT)
		return false;
	call.count = (size_t)count;
	if ((uint64_t)seq > h->comms[call.comm].seq) /* older ones are no longer in the dump */
		h->comms[call.comm].seq = (uint64_t)seq - 1;
	p->watch.returned(p->watch.ctx, p->watch.call(p->watch.ctx, &call), 0);
	slot = &p->memory->ring[h->issued_ticket & (RECORD_RING - 1)];
	slot->enqueued_ns = (uint64_t)created;
	slot->returned_ns = (uint64_t)created;
	slot->flags = (uint8_t)(alone & (RECORD_ALONE | RECORD_TAKEN));
	p->watch.device_times(p->watch.ctx, h->issued_ticket, (uint64_t)started, (uint64_t)ended);
	if (completed)
		record_publish(&p->memory->times[h->issued_ticket & (RECORD_RING - 1)].done,
			       h->issued_ticket);
	if (h->wait.sequence == 0 && completed) {
		p->watch.completed(p->watch.ctx);
	} else if (h->wait.sequence == 0) {
		watch_enter(&p->watch, "a call that has not completed", 0);
		h->wait.since_ns = (uint64_t)created;
		p->oldest = *slot;
		p->watch.device(p->watch.ctx, true);
	}
	return true;
}

/* A rank that is not present has groups, as others tell, and nothing else is known of it. */
static bool play_rank(struct player *p, struct evidence *e, json_t *j)
{
	struct record_header *h = &p->memory->header;
	struct evidence_rank *r;
	json_t *comms, *calls, *item;
	json_int_t before, newest;
	int number, present, cut, emptied = 0, undated;
	const char *stack;
	size_t i;

	if (json_unpack(j, "{s:i s:i s:I s:I s:i s?i s:i s:s s:o s:o}", "rank", &number, "present",
			&present, "before", &before, "newest", &newest, "cut", &cut, "emptied",
			&emptied, "undated", &undated, "stack", &stack, "comms", &comms, "calls",
			&calls) < 0 ||
	    number < 0 || number >= e->nranks || e->ranks[number].recorder)
		return false;
	r = &e->ranks[number];
	memset(p->memory, 0, sizeof(*p->memory));
	memset(&p->oldest, 0, sizeof(p->oldest));
	memcpy(h, &p->blank, sizeof(*h));
	h->rank = number;
	h->issued_ticket = h->completed_ticket = (uint64_t)before;
	recorder_init(&p->recorder, p->memory, true, 0);
	p->watch = recorder_watch(&p->recorder);
	watch_phase(&p->watch, PHASE_TIMED);
	json_array_foreach(comms, i, item) if (!play_comm(p, item)) return false;
	json_array_foreach(calls, i, item) if (!play_call(p, item)) return false;
	h->issued_ticket += (uint64_t)(cut != 0); /* newer ones are known to be missing */
	h->undated = (uint32_t)undated;
	view_read(&r->view, p->memory, (uint64_t)newest);
	r->view.overdue = r->view.waiting;
	r->view.oldest = p->oldest;
	evidence_take_calls(r, p->memory);
	r->present = present;
	r->remote = true;
	r->emptied = emptied;
	r->wrapped = r->ncalls > 0 && r->calls[0].ticket > 1;
	r->stack = *stack ? must(strdup(stack)) : NULL;
	return true;
}

static bool begin(struct evidence *e, json_t *j)
{
	const char *library, *remarks;
	int counted, calm = 0;

	if (json_unpack(j, "{s:i s:i s?i s:s s:s}", "ranks", &e->nranks, "counted", &counted,
			"calm", &calm, "library", &library, "remarks", &remarks) < 0)
		return false;
	e->uncounted = !counted;
	e->calm = calm;
	e->ranks = evidence_ranks_alloc(e->nranks);
	snprintf(e->library, sizeof(e->library), "%.63s", library);
	snprintf(e->remarks, sizeof(e->remarks), "%s", remarks);
	return true;
}

/* A line for the job, or what is wrong with it; then one for each rank. */
static int play(struct player *p, struct evidence *e, char *text, const char *dir,
		struct error *err)
{
	const char *line, *wrong = NULL;
	bool sound = true;

	for (int n = -1; sound && n < e->nranks && !wrong; n++) {
		json_t *j = json_loads((line = strsep(&text, "\n")) ? line : "", 0, NULL);

		if (n < 0 && json_unpack(j, "{s:s}", "error", &wrong) == 0)
			error_set(err,
				  strstr(NO_PYTHON, wrong) ? OUTCOME_UNSUPPORTED : OUTCOME_USAGE,
				  -ENOENT, "%s %.400s", dir, wrong);
		else
			sound = n < 0 ? begin(e, j) : play_rank(p, e, j);
		json_decref(j);
	}
	evidence_identify(e, &p->blank);
	if (!sound)
		error_set(err, OUTCOME_INTERNAL, -EINVAL, "%s: what python3 says of it broke off",
			  dir);
	return err->code;
}

void evidence_run_python(int fd, const char *script, const char *dir)
{
	char comms[16];

	snprintf(comms, sizeof(comms), "%d", RECORD_COMMS);
	dup2(fd, STDOUT_FILENO);
	execlp("python3", "python3", "-I", "-B", "-c", script, dir ? dir : comms,
	       dir ? comms : NULL, (char *)NULL);
	dprintf(fd, NO_PYTHON);
}

static void run_script(int fd, const void *dir)
{
	evidence_run_python(fd, torch_dumps, dir);
}

/* How long a script may take, by the number of files that it may have to read. */
static double seconds_for(const char *dir)
{
	DIR *folder = opendir(dir);
	double seconds = SECONDS;

	while (folder && readdir(folder))
		seconds += EACH;
	if (folder)
		closedir(folder);
	return seconds;
}

int evidence_play(struct evidence *evidence, void (*run)(int fd, const void *arg), const void *arg,
		  const char *from, struct error *err)
{
	struct task task = { .run = run, .arg = arg, .limit = BYTES };
	struct player player;
	double seconds;
	int fd, rc;

	memset(evidence, 0, sizeof(*evidence));
	seconds = seconds_for(from);
	tasks_run(&task, 1, 1, seconds, seconds);
	if (recorder_create("PyTorch", &player.memory, &fd, err) == 0) {
		close(fd);
		memcpy(&player.blank, &player.memory->header, sizeof(player.blank));
		player.blank.host[0] = '\0'; /* which is this one */
		player.blank.preloaded = 1;
		play(&player, evidence, task.text ? task.text : (char[]){ "" }, from, err);
		munmap(player.memory, sizeof(*player.memory));
	}
	rc = err->code;
	free(task.text);
	return rc;
}

int evidence_load_torch(struct evidence *evidence, const char *dir, struct error *err)
{
	int rc = evidence_play(evidence, run_script, dir, dir, err);

	if (rc >= 0)
		evidence_set_aside(evidence);
	return rc;
}
