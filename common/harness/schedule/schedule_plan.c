/* schedule_plan.c: the steps of a schedule, before the run. */
#include "schedule/schedule_parts.h"

#include "measure/plan.h"

#define FRACTION 64  /* without -b a step is smaller than the one before by a 64th of the first */
#define UNIT	 512 /* smallest difference between two steps, bytes */

int schedule_setup(struct schedule_setup *setup, const char *name, int nranks, struct error *err)
{
	char names[128] = "";

	setup->scheme = scheme_find(name);
	for (int i = 0; !setup->scheme && schemes[i].name; i++)
		text_add(names, sizeof(names), "%s%s", i ? ", " : "", schemes[i].name);
	if (!setup->scheme)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "--schedule %.40s: must be one of %s",
				 name, names);
	if (comm_set_make(&setup->comms, setup->scheme->family, nranks) == 0)
		return 0;
	return error_set(err, OUTCOME_USAGE, -EINVAL,
			 "--schedule %s: not on %d rank%s: needs 2 (ring: 3), and has room for %d "
			 "communicators",
			 setup->scheme->name, nranks, nranks == 1 ? "" : "s", COMM_SET_MAX - 1);
}

size_t schedule_bytes(const struct options *o, int i)
{
	size_t first = o->max_bytes > o->min_bytes ? o->max_bytes : o->min_bytes, step, less;

	if (!o->size_given)
		first = SCHEDULE_BYTES;
	step = o->ends_given ? (first - o->min_bytes) / (SCHEDULE_STEPS - 1) : first / FRACTION;
	step = step / UNIT * UNIT;
	less = (size_t)i * (step ? step : UNIT);
	return first > less ? first - less : 0;
}

struct step_part schedule_part(const struct schedule_setup *setup,
			       const struct collective *collective, uint32_t comm, int slot,
			       int rank, int i)
{
	const struct options *o = setup->options;
	int n = setup->comms.spans[comm].n, root = o->root < 0 ? 0 : o->root % n;
	struct step_part part = {
		.slot = slot,
		.point = {
			.dtype = (enum dtype)o->dtype_first,
			.op = !collective->reduces         ? OP_NONE
			      : setup->collective->reduces ? (enum redop)o->op_first
							   : OP_SUM,
			.root = collective->rooted ? root : -1,
			.bytes = schedule_bytes(o, i),
			.collective = collective,
			.comm = comm,
		},
		.geometry = {
			.rank = comm_set_rank(&setup->comms, comm, rank),
			.nranks = n,
			.root = collective->rooted ? root : -1,
			.elsize = dtype_size((enum dtype)o->dtype_first),
			.bytes = schedule_bytes(o, i),
			.align = o->align,
			.traffic = collective->irregular ? setup->traffic : NULL,
		},
	};

	collective->shape(&part.geometry, &part.shape);
	return part;
}

size_t schedule_largest(const struct schedule_setup *setup, int rank)
{
	struct step_part parts[SCHEME_PARTS];
	size_t largest = 0;

	for (int i = 0; i < SCHEDULE_STEPS; i++)
		for (int n = schedule_parts(setup, rank, i, parts) - 1; n >= 0; n--) {
			size_t bytes = parts[n].shape.bytes +
				       (size_t)setup->options->unalign * parts[n].geometry.elsize;

			largest = bytes > largest ? bytes : largest;
		}
	return largest;
}

/* All calls lie in the pools side by side, since they are checked at the end. One extra slot at
 * each end takes a fault's writes past its buffer. */
int schedule_width(const struct schedule_setup *setup)
{
	return setup->scheme->family == COMMS_RING ? 3 : 2;
}

size_t schedule_pool(const struct schedule_setup *setup, size_t largest)
{
	size_t slot = largest + 2 * CHECK_GUARD + BUFFERS_ALIGN;
	size_t slots = (size_t)(SCHEDULE_STEPS * schedule_width(setup) + 2);

	return slot < SIZE_MAX / slots ? slots * slot : SIZE_MAX / 4;
}

static int check_part(const struct schedule_setup *setup, const struct step_part *part,
		      struct error *err)
{
	const struct collective *collective = part->point.collective;
	int n = part->geometry.nranks;

	if (collective->power_of_two && n & (n - 1))
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "--schedule %s: %s runs on 2, 4, 8... ranks, and communicator %u "
				 "has %d",
				 setup->scheme->name, collective->name, part->point.comm, n);
	if (part->shape.bytes > 0)
		return 0;
	return error_set(err, OUTCOME_USAGE, -EINVAL,
			 "-b %zu: too small for a schedule of %d steps on %d ranks",
			 schedule_bytes(setup->options, 0), SCHEDULE_STEPS,
			 setup->comms.group_size);
}

int schedule_check(const struct schedule_setup *setup, struct error *err)
{
	struct step_part parts[SCHEME_PARTS];
	int rc = 0;

	/* shapes are equal in a communicator: its first rank represents all */
	for (int c = 0; c < setup->comms.n && rc == 0; c++)
		for (int i = SCHEDULE_STEPS - 1; i >= SCHEDULE_WARMUP && rc == 0; i--) {
			int rank = comm_set_member(&setup->comms, (uint32_t)c, 0);
			int n = schedule_parts(setup, rank, i, parts);

			for (int k = 0; k < n && rc == 0; k++)
				rc = check_part(setup, &parts[k], err);
		}
	return rc;
}

struct noting {
	struct backend be;
	struct agenda *agenda;
	int step, depth;
	const struct comm_set *comms;
	int rank; /* in the group */
};

static int note_call(void *state, const struct call *call, struct chain *chain)
{
	struct noting *noting = state;
	struct agenda *agenda = noting->agenda;
	struct planned_call *more = must_room(agenda->calls, agenda->n, sizeof(*more));

	agenda->calls = more;
	more[agenda->n] = (struct planned_call){
		.step = noting->step,
		.rank = comm_set_rank(noting->comms, call->comm, noting->rank),
		.nranks = noting->comms->spans[call->comm].n,
		.opens = agenda->n == 0 || more[agenda->n - 1].step != noting->step,
		.grouped = noting->depth > 0,
		.call = *call,
	};
	more[agenda->n].call.send_counts = more[agenda->n].call.send_at = NULL;
	more[agenda->n].call.recv_counts = more[agenda->n].call.recv_at = NULL;
	agenda->n++;
	return 0;
}

static int note_begin(struct backend *be)
{
	((struct noting *)be)->depth++;
	return 0;
}

static int note_end(struct backend *be)
{
	((struct noting *)be)->depth--;
	return 0;
}

static int note_copy(struct backend *be, void *dst, const void *src, size_t bytes)
{
	return 0;
}

static const struct backend_ops noting_ops = {
	.group_begin = note_begin,
	.group_end = note_end,
	.copy = note_copy,
};

/* never written: calls are only recorded */
static char nowhere[2];

void agenda_add(struct agenda *agenda, const struct comm_set *comms, int rank, int step,
		const struct step_part *part)
{
	struct noting noting = { .be = { .ops = &noting_ops },
				 .agenda = agenda,
				 .step = step,
				 .comms = comms,
				 .rank = rank };
	struct call_filter filter = { .state = &noting, .issue = note_call };
	struct chain chain = { .backend = &noting.be, .filter = &filter };

	collective_run(part->point.collective, &chain,
		       &(struct invocation){
			       .geometry = &part->geometry,
			       .shape = &part->shape,
			       .send = nowhere,
			       .recv = nowhere + 1,
			       .dtype = part->point.dtype,
			       .op = part->point.op,
			       .comm = part->point.comm,
		       });
}

void schedule_agenda(const struct schedule_setup *setup, int rank, struct agenda *agenda)
{
	struct step_part parts[SCHEME_PARTS];

	*agenda = (struct agenda){ 0 };
	for (int i = 0; i < SCHEDULE_STEPS; i++) {
		int n = schedule_parts(setup, rank, i, parts);

		for (int k = 0; k < n; k++)
			agenda_add(agenda, &setup->comms, rank, i + 1, &parts[k]);
	}
}

void agenda_release(struct agenda *agenda)
{
	free(agenda->calls);
	*agenda = (struct agenda){ 0 };
}
