/* test_schedule.c: sizes of the steps that faults break, and the smallest valid first size. */
#include "rig/unit.h"

#include "backend/collective.h"
#include "schedule/schedule.h"
#include "bench/step_recipe.h"

/* A 64th of the first, in whole 512 bytes and at least that, decreasing from step to step. */
UNIT_TEST(test_bytes, "sizes of the steps")
{
	static const struct {
		size_t first;
		int step;
		size_t bytes;
	} table[] = {
		{ 1 << 20, 0, 1 << 20 },
		{ 1 << 20, 1, 1032192 },
		{ 1 << 20, 24, 655360 },
		{ 65536, 24, 40960 },
		{ 12800, 24, 512 },
		{ 12289, 24, 1 },
		{ 12288, 23, 512 },
		{ 12288, 24, 0 },
		{ 4096, 8, 0 },
		{ 4, 0, 4 },
		{ 4, 1, 0 },
		{ 4, 24, 0 },
		{ (size_t)1 << 40, 24, 687194767360 },
	};

	const struct options ends = {
		.size_given = true, .ends_given = true, .min_bytes = 65536, .max_bytes = 1 << 20
	};

	UNIT_ROWS(row, table)
		CU_ASSERT_EQUAL(schedule_bytes(&(struct options){ .size_given = true,
								  .min_bytes = row->first,
								  .max_bytes = row->first },
					       row->step),
				row->bytes);
	CU_ASSERT_EQUAL(schedule_bytes(&(struct options){ .min_bytes = 5, .max_bytes = 5 }, 0),
			1 << 20);
	/* from -e down to -b */
	UNIT_ALL(schedule_bytes(&ends, 0) == (1 << 20), schedule_bytes(&ends, 24) == 65536,
		 schedule_bytes(&ends, 1) == (1 << 20) - 40960);
}

static const struct collective each_a_share = { .name = "x", .shape = shape_scatter };

/* On 4 ranks a share of the last step is 16 bytes from 12288 + 64 on. */
UNIT_TEST(test_check, "large enough")
{
	struct options options = { .size_given = true, .align = 16, .dtype_first = DT_FLOAT };
	struct schedule_setup setup = { .options = &options, .collective = &each_a_share };
	struct error err = { .rank = -1 };

	CU_ASSERT_EQUAL(schedule_setup(&setup, NULL, 4, &err), 0);
	options.min_bytes = 12288 + 64;
	UNIT_ALL(schedule_check(&setup, &err) == 0, err.outcome == OUTCOME_OK);
	options.min_bytes = 12288 + 63;
	UNIT_ALL(schedule_check(&setup, &err) == -EINVAL, err.outcome == OUTCOME_USAGE,
		 !strcmp(err.text, "-b 12351: too small for a schedule of 25 steps on 4 ranks"));
}

static int run_once(struct chain *chain, const struct invocation *invocation)
{
	struct call call = invocation_call(invocation, CALL_ALL_REDUCE);

	return chain_call(chain, &call);
}

/* The calls of rank `rank` of `n` in one step: "A0 S0 R0", with their communicators. */
UNIT_TEST(test_schemes, "schemes")
{
	static const struct {
		const char *scheme;
		int n, rank;
		const char *calls; /* of step 1; NULL: refused */
	} table[] = {
		{ "plain", 4, 3, "A0 " },     { "halves", 4, 1, "A0 A1 " },
		{ "halves", 4, 2, "A0 A2 " }, { "halves", 3, 0, "A0 A1 " },
		{ "pairs", 5, 3, "A0 A2 " },  { "pairs", 5, 4, "A0 " },
		{ "ring", 4, 0, "A1 A4 " },   { "ring", 4, 3, "A3 A4 " },
		{ "ring", 2, 0, NULL },	      { "ring", 16, 0, NULL },
		{ "p2p", 4, 0, "A0 S0 R0 " }, { "p2p", 4, 1, "A0 R0 S0 " },
		{ "p2p", 5, 4, "A0 " },	      { "nonsense", 4, 0, NULL },
		{ "pairs", 32, 0, NULL },     { "halves", 1, 0, NULL },
	};
	const struct collective one = {
		.name = "one", .shape = shape_whole, .reduces = true, .run = run_once
	};
	const struct collective *const known[] = { &one, NULL };
	const struct options options = { .align = 1, .dtype_first = DT_FLOAT };

	UNIT_ROWS(row, table) {
		struct schedule_setup setup = { .options = &options,
						.collective = &one,
						.collectives = known };
		struct error err = { .rank = -1 };
		struct agenda agenda;
		char calls[64] = "";
		int rc = schedule_setup(&setup, row->scheme, row->n, &err);

		CU_ASSERT_EQUAL(rc, row->calls ? 0 : -EINVAL);
		if (rc < 0)
			continue;
		schedule_agenda(&setup, row->rank, &agenda);
		for (int k = 0; k < agenda.n && agenda.calls[k].step == 1; k++)
			sprintf(calls + strlen(calls), "%c%u ",
				agenda.calls[k].call.kind == CALL_SEND	 ? 'S'
				: agenda.calls[k].call.kind == CALL_RECV ? 'R'
									 : 'A',
				agenda.calls[k].call.comm);
		CU_ASSERT_STRING_EQUAL(calls, row->calls);
		CU_ASSERT_EQUAL(agenda.calls[agenda.n - 1].step, SCHEDULE_STEPS);
		agenda_release(&agenda);
	}
}

/* The letters of a step on a rank: c compute, w wait, A G S V collectives, s r messages with their communicator. */
static void recipe_text(const struct recipe *recipe, char *text)
{
	static const char *const names[] = { "all_reduce", "all_gather", "reduce_scatter",
					     "alltoallv",  "give",	 "get" };

	for (int i = 0; i < recipe->nops; i++) {
		const struct recipe_op *op = &recipe->ops[i];
		const struct step_part *part = &recipe->calls[op->call];

		if (op->kind != RECIPE_CALL)
			sprintf(text + strlen(text), "%c", op->kind == RECIPE_COMPUTE ? 'c' : 'w');
		for (size_t k = 0; op->kind == RECIPE_CALL && k < LENGTH(names); k++)
			if (strcmp(part->point.collective->name, names[k]) == 0)
				sprintf(text + strlen(text), k < 4 ? "%c" : "%c%u", "AGSVsr"[k],
					part -> point.comm);
	}
}

UNIT_TEST(test_recipes, "recipes of a training step")
{
	static const struct {
		int which, ranks, rank;
		const char *text;
	} rows[] = {
		{ 0, 4, 1, "cccAcA" },
		{ 1, 4, 1, "GwGcwGcwGcSwcS" },
		{ 2, 2, 0, "cAwcAwcAwcAwcAwcAwcAwcAw" },
		{ 3, 4, 3, "cVwcVwcVwcVwcVwcVwcVwcVw" },
		{ 4, 4, 0, "wcs1wcs1r1wcr1wc" },
		{ 4, 4, 1, "r1wcs2r1wcs2r2wcs1r2wcs1" },
		{ 4, 4, 3, "r3wcr3wcwcs3wcs3" },
		{ 4, 2, 1, "r0wcr0wcwcs0wcs0" },
		{ 4, 1, 0, "wcwcwcwc" },
	};
	struct options options = {
		.align = 1, .dtype_first = DT_FLOAT, .min_bytes = 4096, .params = 2048
	};
	struct recipe *recipe = must(malloc(sizeof(*recipe)));

	UNIT_ROWS(row, rows) {
		const struct traffic traffic = { .nranks = row->ranks };
		struct comm_set comms;
		const struct recipe_job job = { &options, &comms, &traffic };
		struct error err = { .rank = -1 };
		char text[256] = "";
		double share = 0;

		options.recipe_first = options.recipe_last = row->which;
		CU_ASSERT_EQUAL(recipe_comms(&comms, &options, row->ranks, &err), 0);
		CU_ASSERT_EQUAL(recipe_make(recipe, &job, row->which, row->rank, &err), 0);
		recipe_text(recipe, text);
		CU_ASSERT_STRING_EQUAL(text, row->text);
		for (int i = 0; i < recipe->nops; i++)
			share += recipe->ops[i].share;
		UNIT_ALL(share > 0.999999, share < 1.000001, recipe->pieces == 2,
			 recipes_check(&job, &err) == 4096);
	}
	free(recipe);
}

/* The two ends of a message have the same slot, whatever the number of microbatches. */
UNIT_TEST(test_pipeline, "slots of a pipeline")
{
	const struct options options = { .align = 1,
					 .dtype_first = DT_FLOAT,
					 .min_bytes = 64,
					 .params = 16 * 30,
					 .recipe_first = 4,
					 .recipe_last = 4 };
	struct recipe *ends = must(malloc(2 * sizeof(*ends)));
	struct comm_set comms;
	const struct recipe_job job = { &options, &comms, NULL };
	struct error err = { .rank = -1 };
	int at[2] = { 0 };

	CU_ASSERT_EQUAL(recipe_comms(&comms, &options, 3, &err), 0);
	for (int r = 0; r < 2; r++)
		CU_ASSERT_EQUAL(recipe_make(&ends[r], &job, 4, r, &err), 0);
	for (int i = 0; i < ends[0].ncalls; i++) {
		for (int r = 0; r < 2; r++)
			while (ends[r].calls[at[r]].point.comm != 1)
				at[r]++;
		CU_ASSERT_EQUAL(ends[0].calls[at[0]++].slot, ends[1].calls[at[1]++].slot);
	}
	CU_ASSERT_EQUAL(ends[0].ncalls, 60);
	CU_ASSERT_EQUAL(recipe_comms(&comms, &options, 16, &err), -EINVAL);
	free(ends);
}
