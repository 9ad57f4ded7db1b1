/* test_reduce.c: schedules that hang become small ones that hang alike, and none of their calls can go. */
#include "rig/unit.h"

#include "verify/programs.h"
#include "verify/reduce.h"

static char path[UNIT_TEMP];

/* clang-format off */
static const struct {
	const char *text, *said; /* class, ranks by their numbers before, pair likewise; ranks and calls that are left */
} rows[] = {
	/* a call left out is one only beside those before and after it */
	{ "ranks 6\nrank 0-5 all_reduce//7\nrank 0-4 all_reduce//8 all_reduce//9 all_gather//4\nrank 5 all_reduce//8 all_gather//4\n",
	  "skipped-call 5 - 3 4" },
	{ "ranks 6\nrank 0-5 all_reduce//7\nrank 0-4 all_reduce//8 all_reduce//9\nrank 5 all_reduce//8\n", "missing-call 5 - 3 2" },
	{ "ranks 5\nrank 0-4 all_reduce//7 all_reduce//8\nrank 0,1,3,4 all_reduce//9\nrank 2 broadcast//9/1\n", "mismatch 2 - 3 3" },
	/* groups beside it go, and groups of calls stay */
	{ "ranks 4\ngroup a 0,1\ngroup b 2,3\nrank 0,1 all_reduce/a//\nrank 2,3 all_reduce/b//\n"
	  "rank 0 send//8/3\nrank 3 recv//9/0\nrank 1 all_gather/a\nrank 0 all_gather/a\n", "p2p-size - 0>3 2 2" },
	{ "ranks 4\nrank 0-3 all_reduce\nrank 1 send//8/2 recv//8/2\nrank 2 send//8/1 recv//8/1\nrank 0-3 all_reduce\n",
	  "p2p-deadlock - 1>2 2 2" },
	/* a circle of two communicators */
	{ "ranks 4\nstream one\ngroup a 0-3\ngroup b 0-3\nrank 0-3 all_reduce/a\nrank 0,1 all_gather/a all_gather/b\n"
	  "rank 2,3 all_gather/b all_gather/a\nrank 0-3 all_reduce/a\n", "77" },
};
/* clang-format on */

static void take_text(struct schedule *s, const char *text, struct error *err)
{
	FILE *file = fopen(path, "w");

	fputs(text, file);
	fclose(file);
	CU_ASSERT_FATAL(schedule_read(s, path, err) == 0);
}

/* Asserts that without any one of its calls the verdict is another. */
static void check_minimal(const struct reduced *r, const struct verify_how *how)
{
	const struct schedule *s = &r->schedule;
	size_t n = schedule_calls(s);
	bool *ranks = malloc((size_t)s->nranks), *steps = malloc(n);
	int *was = malloc(((size_t)s->nranks + 1) * sizeof(*was));
	struct error err = { .rank = -1 };
	struct verified whole, less;
	struct schedule part;

	CU_ASSERT(verify(&whole, s, how, &err) == 0);
	memset(ranks, true, (size_t)s->nranks);
	for (size_t i = 0; i < n; i++) {
		memset(steps, true, n);
		steps[i] = false;
		schedule_some(&part, s, ranks, steps, was);
		CU_ASSERT(verify(&less, &part, how, &err) == 0);
		CU_ASSERT_FALSE(reduced_alike(&whole, &less, was));
		verified_release(&less);
		schedule_release(&part);
	}
	verified_release(&whole);
	free(ranks);
	free(steps);
	free(was);
}

/* The numbers before of a list of ranks, or of a pair. */
static void before(const struct reduced *r, const char *ranks, const char *between, char *buf,
		   size_t len)
{
	int one, n = 0;

	snprintf(buf, len, "%s", *ranks && *ranks != '-' ? "" : "-");
	for (; sscanf(ranks, "%d%n", &one, &n) == 1; ranks += n + (ranks[n] != '\0'))
		text_add(buf, len, "%s%d", buf[0] ? between : "", r->was[one]);
}

UNIT_TEST(test_rows, "what is left of a schedule hangs alike, and each call counts")
{
	UNIT_ROWS(row, rows) {
		struct error err = { .rank = -1 };
		struct schedule s;
		struct reduced r;
		char said[400] = "77", ranks[64], pair[64];
		struct verify_how how = { .eager = 0 };

		take_text(&s, row->text, &err);
		how.streams = s.streams;
		if (reduce_schedule(&r, &s, &how, &err) == 0) {
			before(&r, r.answer.ranks, ",", ranks, sizeof(ranks));
			before(&r, r.answer.pair, ">", pair, sizeof(pair));
			snprintf(said, sizeof(said), "%s %s %s %d %zu",
				 class_name(r.answer.class, r.answer.outcome), ranks, pair,
				 r.schedule.nranks, schedule_calls(&r.schedule));
			check_minimal(&r, &how);
		}
		CU_ASSERT_STRING_EQUAL(said, row->said);
		if (strcmp(said, row->said))
			printf("%s is %s, not %s %s\n", row->text, said, row->said, err.text);
		reduced_release(&r);
		schedule_release(&s);
	}
}

UNIT_TEST(test_whole, "a schedule that completes, or whose sides are a tie, is not reduced")
{
	static const char *const texts[] = {
		"ranks 2\nrank 0-1 all_reduce\n",
		"ranks 2\nrank 0 all_reduce//8\nrank 1 all_reduce//9\n"
	};

	UNIT_ROWS(text, texts) {
		struct error err = { .rank = -1 };
		struct verify_how how = { STREAMS_EACH, 0 };
		struct schedule s;
		struct reduced r;

		take_text(&s, *text, &err);
		UNIT_ALL(reduce_schedule(&r, &s, &how, &err) == -EINVAL,
			 err.outcome == OUTCOME_UNSUPPORTED);
		reduced_release(&r);
		schedule_release(&s);
	}
}

/* All kinds of calls, alone and in groups. */
static const char all[] =
	"ranks 2\ngroup b 1,0\nrank 0 ( send/b/4/0 recv/b/4/0 ) send//1/1 all_gather//2/-/half\n"
	"rank 1 ( send/b/4/1 recv/b/4/1 ) recv//1/0 all_gather//2/-/half\n"
	"rank 0-1 all_reduce//1/-/double/max reduce_scatter broadcast//1/1 reduce//1/1 alltoall "
	"alltoallv gather scatter@a.py:1\n";

UNIT_TEST(test_programs, "programs have a line for each call")
{
	static const char *const wanted[PROGRAM_COUNT][3] = {
		[PROGRAM_TEXT] = { "# head\n", "scatter/world/1/0/float@a.py:1",
				   "( send/b/4/0/float recv" },
		[PROGRAM_NCCL] = { "// head\n",
				   "\t\tscatter(g1, 1, 0, ncclFloat, ncclSum, streams[1]); /* "
				   "a.py:1 */\n",
				   "group_begin();\n\t\tisend(g0, 4, 0, ncclFloat, ncclSum, "
				   "streams[0]);\n" },
		[PROGRAM_MPI] = { "-np 2 ./hang", "all_reduce(g1, 1, -1, MPI_DOUBLE, MPI_MAX);",
				  "irecv(g0, 4, 0, MPI_FLOAT, MPI_SUM);\n\t\tgroup_end();\n" },
		[PROGRAM_TORCH] = { "g0 = dist.new_group([1, 0])  # b\n",
				    "    call(\"broadcast\", g1, 1, 1, torch.float32, "
				    "dist.ReduceOp.SUM)\n",
				    "    together(\n        call(\"isend\", g0, 4, 1, "
				    "torch.float32" },
	};
	struct error err = { .rank = -1 };
	struct schedule s;

	take_text(&s, all, &err);
	for (int p = 0; p < PROGRAM_COUNT; p++) {
		char *text = UNIT_PRINTED(out, program_print(out, (enum program)p, &s, "head"));

		for (int i = 0; i < 3; i++) {
			CU_ASSERT(strstr(text, wanted[p][i]) != NULL);
			if (!strstr(text, wanted[p][i]))
				printf("%s lacks %s\n", text, wanted[p][i]);
		}
		CU_ASSERT_PTR_NULL(strstr(text, "@RANKS"));
		free(text);
	}
	schedule_release(&s);
}

UNIT_MAIN(unit_main_file(path))
