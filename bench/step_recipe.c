/* step_recipe.c: recipes as lists of compute and calls. */
#include "step_recipe.h"

#include "perf_main.h"

/* ---- messages of a pipeline: on the communicator of two stages, so that members make as many calls ---- */

static int pass(struct chain *chain, const struct invocation *invocation, enum call_kind kind)
{
	struct call call = invocation_call(invocation, kind);

	call.peer = 1 - invocation->geometry->rank;
	if (kind == CALL_SEND)
		call.recv = NULL;
	else
		call.send = NULL;
	return chain_call(chain, &call);
}

static int get_run(struct chain *chain, const struct invocation *invocation)
{
	return pass(chain, invocation, CALL_RECV);
}

static int give_run(struct chain *chain, const struct invocation *invocation)
{
	return pass(chain, invocation, CALL_SEND);
}

static int get_segments(const struct geometry *geometry, const struct shape *shape,
			struct segment *segments)
{
	return segments_one(SEGMENT_COPY, shape->recv, 1 - geometry->rank, 0, segments);
}

static int give_segments(const struct geometry *geometry, const struct shape *shape,
			 struct segment *segments)
{
	return segments_one(SEGMENT_KEEP, shape->recv, 0, 0, segments);
}

/* Its slot's send buffer belongs to what the stage gives. */
static void get_shape(const struct geometry *geometry, struct shape *shape)
{
	shape_whole(geometry, shape);
	shape->send = 0;
}

static const struct collective get = {
	.name = "get", .shape = get_shape, .segments = get_segments, .run = get_run
};
static const struct collective give = {
	.name = "give", .shape = shape_whole, .segments = give_segments, .run = give_run
};

/* ---- recipes ---- */

#define HALF (RECIPE_SLOTS / 2)

/* Letters of calls, and the slots that they take in turn. A gather ahead (G) is left out where no layer follows. */
static const struct letter {
	char letter;
	const struct collective *collective;
	int slot, slots;
	int side; /* of a message: the other stage is the one before (-1) or behind (1) */
} letters[] = {
	{ 'r', &all_reduce, 0, RECIPE_SLOTS, 0 },
	{ 'a', &alltoallv, 0, RECIPE_SLOTS, 0 },
	{ 'g', &all_gather, 0, HALF, 0 },
	{ 'G', &all_gather, 0, HALF, 0 },
	{ 's', &reduce_scatter, HALF, HALF, 0 },
	{ 'i', &get, 0, HALF, -1 },
	{ 'o', &give, 0, HALF, 1 },
	{ 'I', &get, HALF, HALF, 1 },
	{ 'O', &give, HALF, HALF, -1 },
};

/* In the order of --recipe: first of a step, of each piece forward, of each piece back; c: compute, w: compute from here
 * on needs the calls so far. */
static const struct {
	const char *name, *words, *parts[3];
} recipes[] = {
	{ "ddp",
	  "buckets: an all-reduce of each beside the compute of the next",
	  { "", "c", "cr" } },
	{ "fsdp",
	  "layers: all-gather one layer ahead, reduce-scatter on the way back",
	  { "g", "wGc", "wGcs" } },
	{ "tp",
	  "layers: four all-reduces in sequence with the compute",
	  { "", "crwcrw", "crwcrw" } },
	{ "moe",
	  "layers: four uneven all-to-alls in sequence with the compute",
	  { "", "cawcaw", "cawcaw" } },
	{ "pipeline",
	  "microbatches: from stage to stage, all forward, then all back",
	  { "", "iwco", "IwcO" } },
};

#define FORWARD (1. / 3) /* of a step's compute; the way back takes twice as long */

static void add_call(struct recipe *recipe, const struct recipe_job *job,
		     const struct letter *letter, int rank)
{
	const struct options *o = job->options;
	struct step_part *part = &recipe->calls[recipe->ncalls];
	int n = job->comms->group_size, other = rank + letter->side, earlier = 0;
	uint32_t comm = letter->side && n > 2 ? 1 + (uint32_t)(other < rank ? other : rank) : 0;

	if (other < 0 || other >= n) /* the first stage, or the last */
		return;
	for (int i = 0; i < recipe->ncalls; i++)
		earlier += recipe->calls[i].point.collective == letter->collective &&
			   recipe->calls[i].slot / letter->slots == letter->slot / letter->slots;
	*part = (struct step_part){
		.slot = letter->slot + earlier % letter->slots,
		.point = {
			.dtype = (enum dtype)o->dtype_first,
			.op = letter->collective->reduces ? OP_SUM : OP_NONE,
			.root = -1,
			.bytes = o->min_bytes,
			.collective = letter->collective,
			.comm = comm,
		},
		.geometry = {
			.rank = comm_set_rank(job->comms, comm, rank),
			.nranks = job->comms->spans[comm].n,
			.root = -1,
			.elsize = dtype_size((enum dtype)o->dtype_first),
			.bytes = o->min_bytes,
			.align = o->align,
			.traffic = letter->collective->irregular ? job->traffic : NULL,
		},
	};
	letter->collective->shape(&part->geometry, &part->shape);
	recipe->ops[recipe->nops++] = (struct recipe_op){ RECIPE_CALL, 0, recipe->ncalls++ };
}

static void add_part(struct recipe *recipe, const struct recipe_job *job, const char *text,
		     double share, bool last, int rank)
{
	int computes = 0;

	for (const char *at = text; *at; at++)
		computes += *at == 'c';
	for (; *text; text++) {
		const struct letter *letter = letters;

		if (*text == 'c')
			recipe->ops[recipe->nops++] =
				(struct recipe_op){ RECIPE_COMPUTE, share / computes, 0 };
		else if (*text == 'w')
			recipe->ops[recipe->nops++] = (struct recipe_op){ RECIPE_WAIT, 0, 0 };
		if (*text == 'c' || *text == 'w' || (*text == 'G' && last))
			continue;
		while (letter->letter != *text)
			letter++;
		add_call(recipe, job, letter, rank);
	}
}

int recipe_make(struct recipe *recipe, const struct recipe_job *job, int which, int rank,
		struct error *err)
{
	const struct options *o = job->options;
	size_t elsize = dtype_size((enum dtype)o->dtype_first);
	size_t pieces = (o->params * elsize + o->min_bytes - 1) / o->min_bytes;

	memset(recipe, 0, sizeof(*recipe));
	recipe->name = recipes[which].name;
	recipe->words = recipes[which].words;
	if (pieces > RECIPE_CALLS / 4)
		return error_usage(err,
				   "--params %zu: gives %zu messages of %zu bytes (-b); at most %d",
				   o->params, pieces, o->min_bytes, RECIPE_CALLS / 4);
	recipe->pieces = (int)pieces;
	add_part(recipe, job, recipes[which].parts[0], 0, false, rank);
	for (int i = 0; i < 2 * recipe->pieces; i++) {
		bool back = i >= recipe->pieces;

		add_part(recipe, job, recipes[which].parts[1 + back],
			 (back ? 1 - FORWARD : FORWARD) / recipe->pieces,
			 i + 1 == 2 * recipe->pieces, rank);
	}
	for (int i = 0; i < recipe->ncalls; i++)
		if (recipe->calls[i].shape.bytes == 0)
			return error_usage(err, "-b %zu: too small for %s on %d ranks",
					   o->min_bytes, recipe->name, job->comms->group_size);
	return 0;
}

ssize_t recipes_check(const struct recipe_job *job, struct error *err)
{
	struct recipe *recipe = must(malloc(sizeof(*recipe)));
	size_t largest = job->options->min_bytes;
	int rc = 0;

	for (int i = job->options->recipe_first; i <= job->options->recipe_last && rc == 0; i++) {
		rc = recipe_make(recipe, job, i, 0, err);
		for (int k = 0; k < recipe->ncalls && rc == 0; k++)
			if (recipe->calls[k].shape.bytes > largest)
				largest = recipe->calls[k].shape.bytes;
	}
	free(recipe);
	return rc < 0 ? rc : (ssize_t)largest;
}

static void list_calls(const void *ctx, int rank, struct agenda *agenda)
{
	const struct recipe_job *job = ctx;
	struct recipe *recipe = must(malloc(sizeof(*recipe)));
	struct recipe_steps steps = recipe_steps(job->options);
	struct error ignored = { .rank = -1 };
	int number = 0;

	*agenda = (struct agenda){ 0 };
	for (int i = job->options->recipe_first; i <= job->options->recipe_last; i++) {
		if (recipe_make(recipe, job, i, rank, &ignored) < 0)
			break;
		for (int n = steps.warmup + steps.calls + steps.timed + steps.checked; n > 0; n--) {
			number++;
			for (int k = 0; k < recipe->ncalls; k++)
				agenda_add(agenda, job->comms, rank, number, &recipe->calls[k]);
		}
	}
	free(recipe);
}

void recipe_place(struct inject_place *place, const struct recipe_job *job)
{
	struct recipe_steps steps = recipe_steps(job->options);

	place->agenda = list_calls;
	place->ctx = job;
	place->default_step = steps.warmup + steps.calls + (steps.timed < 8 ? steps.timed : 8);
}

int recipe_comms(struct comm_set *comms, const struct options *options, int ranks,
		 struct error *err)
{
	bool sends = recipes[options->recipe_last].parts[1][0] == 'i';

	if (comm_set_make(comms, sends && ranks > 2 ? COMMS_RING : COMMS_WORLD, ranks) == 0)
		return 0;
	return error_usage(err, "--recipe pipeline: has room for %d stages, not for %d",
			   COMM_SET_MAX - 1, ranks);
}

struct recipe_steps recipe_steps(const struct options *options)
{
	return (struct recipe_steps){
		.warmup = options->warmup >= 0 ? options->warmup : 5,
		.calls = 10,
		.compute = 10,
		.timed = options->iters > 0 ? options->iters : 50,
		.checked = options->check > 0,
	};
}
