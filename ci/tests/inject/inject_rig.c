/* inject_rig.c: an injector in a chain whose backend notes its calls. */
#include "inject/inject_rig.h"

unsigned rig_have = ~0u;
int rig_step_calls = 1;
bool rig_alternates;
char send_buffer[64], recv_buffer[64];
struct options rig_options = { .align = 1, .dtype_first = DT_FLOAT };

static int note_issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	struct note *note = (struct note *)be;

	if (note->n < MADE)
		note->made[note->n++] = *call;
	if (note->seen)
		*note->seen = note->n;
	return note->rc;
}

/* Communicators' fates: "I4:7 " init with 4 ranks and id byte 7, "N " a new id, "A " an abort. */
static int note_comm_open(struct backend *be, const struct comm_request *request)
{
	struct note *note = (struct note *)be;
	size_t n = strlen(note->comms);

	snprintf(note->comms + n, sizeof(note->comms) - n, "I%d:%d ", request->nranks,
		 request->id[0]);
	return note->rc;
}

static int note_comm_id(struct backend *be, unsigned char *id)
{
	strcat(((struct note *)be)->comms, "N ");
	id[0] = 99;
	return 0;
}

static int note_comm_abort(struct backend *be)
{
	strcat(((struct note *)be)->comms, "A ");
	return 0;
}

static int note_started(struct backend *be)
{
	((struct note *)be)->started++;
	return 0;
}

static const struct backend_ops note_ops = {
	.issue = note_issue,
	.comm_open = note_comm_open,
	.comm_id = note_comm_id,
	.comm_abort = note_comm_abort,
	.started = note_started,
};

static int rig_run(struct chain *chain, const struct invocation *invocation)
{
	int rc = 0;

	for (int i = 0; i < rig_step_calls && rc == 0; i++) {
		struct call call = invocation_call(invocation, CALL_ALL_REDUCE);

		call.comm = rig_alternates && i % 2;
		rc = chain_call(chain, &call);
	}
	return rc;
}

/* Steps of so many calls each. */
static const struct collective rig_collective = {
	.name = "rig", .reduces = true, .shape = shape_whole, .run = rig_run
};

int rig_open(struct rig *rig, const char *const *specs, int n, int rank, int nranks)
{
	struct schedule_setup setup = { .options = &rig_options, .collective = &rig_collective };
	int rc;

	schedule_setup(&setup, NULL, nranks, &rig->note.err);
	*rig = (struct rig){ .note = { .be = { .ops = &note_ops } } };
	rig->note.be.err = &rig->note.err;
	rc = inject_init(&rig->injector, specs, n, &rig->note.err);
	if (rc == 0)
		rc = inject_place(&rig->injector,
				  &(struct inject_place){
					  .rank = rank,
					  .nranks = nranks,
					  .schedule = &setup,
					  .default_step = 4,
					  .machine = MACHINE("nccl", rig_have, BY_NET),
					  .record = &rig->record,
				  },
				  &rig->note.err);
	rig->filter = inject_filter(&rig->injector);
	rig->chain = (struct chain){ .backend = &rig->note.be, .filter = &rig->filter };
	return rc;
}

int rig_call(struct rig *rig, size_t number, uint32_t comm)
{
	struct call call = {
		.comm = comm,
		.kind = CALL_ALL_REDUCE,
		.send = send_buffer,
		.recv = recv_buffer,
		.count = number,
		.dtype = DT_FLOAT,
		.op = OP_SUM,
		.peer = -1,
	};

	return chain_call(&rig->chain, &call);
}

void rig_calls(struct rig *rig, size_t n)
{
	for (size_t i = 1; i <= n; i++)
		CU_ASSERT_EQUAL(rig_call(rig, i, 0), 0);
}

void made_text(const struct note *note, char *buf, size_t len)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int i = 0; i < note->n && n < len; i++)
		n += (size_t)snprintf(buf + n, len - n, " %zu", note->made[i].count);
}
