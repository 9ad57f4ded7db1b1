/* test_inject_place.c: specs, and what they come to in a job: whose they are, at which call and step,
 * and whether the machine has what they need. */
#include "inject_rig.h"

UNIT_TEST(test_init, "init")
{
	const char *many[INJECT_MAX + 1], *wrong[] = { "skip-call", "nonsense" },
					  *reorder[] = { "swap-calls@3", "order-swap@5" };
	struct error err = { .code = 0 };
	struct injector injector;
	struct rig rig;

	for (size_t i = 0; i < LENGTH(many); i++)
		many[i] = "skip-call@1";
	UNIT_ALL(inject_init(&injector, many, INJECT_MAX, &err) == 0, injector.nspecs == INJECT_MAX,
		 injector.rank == -1, inject_init(&injector, many, INJECT_MAX + 1, &err) == -EINVAL,
		 strstr(err.text, "at most 8") != NULL);
	err = (struct error){ .code = 0 };
	UNIT_ALL(inject_init(&injector, wrong, 2, &err) == -EINVAL,
		 strstr(err.text, "nonsense") != NULL, injector.nspecs == 0);

	CU_ASSERT_EQUAL(rig_open(&rig, reorder, 2, 3, 4), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(rig.note.err.text, "2 of them make calls in another order"));

	/* Nothing fires before the ranks are known, and the record may be missing. */
	CU_ASSERT_EQUAL(rig_open(&rig, many, 1, 3, 4), 0);
	rig.injector.rank = -1;
	rig_call(&rig, 1, 0);
	UNIT_ALL(rig.note.n == 1, rig_open(&rig, many, 1, 3, 4) == 0);
	rig.injector.record = NULL;
	UNIT_ALL(rig_call(&rig, 1, 0) == 0, rig.note.n == 0);
}

static const struct {
	const char *spec;
	int nranks;
	const char *why; /* NULL: right */
} places[] = {
	{ "drop-rank", 2, NULL },
	{ "drop-rank:1", 2, NULL },
	{ "drop-rank:0-3", 4, NULL },
	{ "drop-rank:2", 2, "rank out of range: 2, the job has 0 to 1" },
	{ "drop-rank:0,4", 4, "rank out of range: 4" },
	{ "drop-rank:100000", 4, "rank out of range" },
	{ "drop-rank", 1, "drop-rank needs 2 ranks, the job has 1" },
	{ "late-rank:0", 1, "late-rank needs 2 ranks" },
	{ "pause-rotating", 4, NULL },
	{ "slow-link:0,to=4", 4, "to=4 is no rank of the job, which has 0 to 3" },
	{ "slow-link:1,to=1", 4, "to=1 is the rank itself" },
};

UNIT_TEST(test_place, "place")
{
	UNIT_ROWS(row, places) {
		struct rig rig;
		int rc = rig_open(&rig, &row->spec, 1, 0, row->nranks);

		CU_ASSERT_EQUAL(rc, row->why ? -EINVAL : 0);
		if (!row->why)
			continue;
		UNIT_ALL(rig.note.err.outcome == OUTCOME_USAGE,
			 strstr(rig.note.err.text, row->why) != NULL, rig.injector.rank == -1);
	}
}

/* A fault with all its ranks may still lack a need of the machine. */
UNIT_TEST(test_needs, "needs")
{
	const char *specs[] = { "gpu-oom", "drop-rank", "oom-rank:9" };
	struct rig rig;

	rig_have = NEED_CGROUP;
	UNIT_ALL(rig_open(&rig, &specs[0], 1, 0, 4) == -ENOTSUP,
		 rig.note.err.outcome == OUTCOME_UNSUPPORTED,
		 strstr(rig.note.err.text, "--fault=gpu-oom: gpu-oom needs a GPU") != NULL,
		 rig.injector.rank == -1, rig_open(&rig, &specs[1], 1, 0, 4) == 0);
	/* a wrong spec is wrong on any machine */
	CU_ASSERT_EQUAL(rig_open(&rig, &specs[2], 1, 0, 4), -EINVAL);
	rig_have = ~0u;
	UNIT_ALL(rig_open(&rig, specs, 2, 0, 4) == 0, inject_needs(&rig.injector, NEED_GPU),
		 !inject_needs(&rig.injector, NEED_CGROUP),
		 inject_needs(&rig.injector, NEED_CGROUP | NEED_GPU));
}

UNIT_TEST(test_defaults, "defaults")
{
	const char *specs[] = { "drop-rank", "skip-call:1@9" };
	struct rig rig;

	UNIT_ALL(rig_open(&rig, specs, 2, 0, 8) == 0, rig.injector.specs[0].nranks == 1,
		 rig.injector.specs[0].ranks[0] == 7, rig.injector.specs[0].op == 4,
		 rig.injector.specs[1].ranks[0] == 1, rig.injector.specs[1].op == 9);
	for (int rank = 0; rank < 8; rank++)
		CU_ASSERT_EQUAL(rig_open(&rig, specs, 2, rank, 8), 0);
}

/* Where several ranks are culprits they come together to the step that their calls belong to. */
UNIT_TEST(test_meets, "several guilty ranks meet")
{
	static const struct {
		const char *specs[2];
		int n, step_calls;
		uint32_t meets;
	} meetings[] = {
		{ { "kill-rank:1" }, 1, 1, 0 },
		{ { "kill-rank:1@8" }, 1, 1, 0 },
		{ { "kill-rank:1,2@8" }, 1, 1, 1u << 7 },
		{ { "kill-rank:1,2" }, 1, 1, 1u << 3 }, /* the default of this rig */
		{ { "kill-rank:1@8", "drop-rank:2@20" }, 2, 1, 1u << 7 | 1u << 19 },
		{ { "init-missing:1,2" }, 1, 1, 0 },
		{ { "drop-rank:0,1@first" }, 1, 1, 1 },
		{ { "drop-rank:0,1@25" }, 1, 1, 1u << 24 },
		{ { "kill-rank:1,2" }, 1, 2, 1u << 3 },
		{ { "kill-rank:1,2@8" }, 1, 2, 1u << 3 },
		{ { "kill-rank:1,2@9" }, 1, 2, 1u << 4 },
		{ { "kill-rank:1@28", "drop-rank:2@29" }, 2, 4, 1u << 6 | 1u << 7 },
		{ { "drop-rank:0,1@150" }, 1, 6, 1u << 24 },
		{ { "init-missing:1,2" }, 1, 0, 0 }, /* a hypercube of one rank */
	};
	struct rig rig;

	UNIT_ROWS(row, meetings) {
		rig_step_calls = row->step_calls;
		CU_ASSERT_EQUAL(rig_open(&rig, row->specs, row->n, 3, 4), 0);
		CU_ASSERT_EQUAL(rig.injector.meets, row->meets);
	}
	rig_step_calls = 1;
}

/* Without @OP the first call of step 4 of 25, this rig's default; and no call beyond the last. */
UNIT_TEST(test_steps, "the steps of the schedule")
{
	static const struct {
		const char *spec;
		int step_calls;
		long op;	 /* 0: refused */
		const char *why; /* it is */
	} steps[] = {
		{ "drop-rank", 1, 4, NULL },
		{ "drop-rank", 2, 7, NULL },
		{ "drop-rank", 4, 13, NULL },
		{ "drop-rank", 6, 19, NULL },
		{ "drop-rank@5", 6, 5, NULL },
		{ "drop-rank@25", 1, 25, NULL },
		{ "drop-rank@26", 2, 26, NULL },
		{ "drop-rank@50", 2, 50, NULL },
		{ "init-missing", 2, FAULT_OP_INIT, NULL },
		{ "init-missing", 0, FAULT_OP_INIT, NULL },
		{ "drop-rank@26", 1, 0, "call 26 is never reached: rank 3 makes 25 calls" },
		{ "drop-rank@51", 2, 0, "call 51 is never reached: rank 3 makes 50 calls" },
		{ "drop-rank", 0, 0, "applies to none of the 0 calls that rank 3 makes" },
		{ "swap-calls", 1, 4, NULL },
		{ "swap-calls@25", 1, 0,
		  "does not apply to call 25 of rank 3; the first that it applies to: 1 " },
		{ "root-mismatch", 1, 0, "applies to none of the 25 calls" },
		{ "order-swap", 1, 0, "applies to none of the 25 calls" },
	};
	struct rig rig;

	UNIT_ROWS(row, steps) {
		rig_step_calls = row->step_calls;
		CU_ASSERT_EQUAL(rig_open(&rig, &row->spec, 1, 3, 4), row->op ? 0 : -EINVAL);
		if (row->op) {
			CU_ASSERT_EQUAL(rig.injector.specs[0].op, row->op);
			continue;
		}
		UNIT_ALL(rig.note.err.outcome == OUTCOME_USAGE,
			 strstr(rig.note.err.text, row->why) != NULL, rig.injector.rank == -1);
	}
	rig_step_calls = 1;
}

UNIT_TEST(test_machine, "what the machine has")
{
	struct fault_machine machine;

	machine_look(&machine, NULL);
	UNIT_ALL(!strcmp(machine.backend, "mpi"), machine.transport == BY_MPI,
		 machine.cgroup == NULL, (machine.have & (NEED_GPU | NEED_NET)) == 0);
	machine_serve(&machine, "nccl", 0);
	CU_ASSERT_EQUAL(machine.have & (NEED_GPU | NEED_NET), NEED_NET);
	machine.have = 0;
	machine_serve(&machine, "mpi", 2);
	CU_ASSERT_EQUAL(machine.have, NEED_GPU);
}

/* In the culprit's process alone, before anything else: its environment, and init. */
UNIT_TEST(test_start, "what is done at the start")
{
	static const struct {
		const char *spec;
		int rank, rc; /* of the launcher's 4; inject_start's */
		const char *name, *value;
		bool fires;
	} cases[] = {
		{ "settings-mismatch:2,NCCL_ALGO=Tree", 2, 0, "NCCL_ALGO", "Tree", true },
		{ "settings-mismatch:2,NCCL_ALGO=Tree", 1, 0, "NCCL_ALGO", "", false },
		{ "settings-mismatch", 3, 0, "NCCL_PROTO", "Simple", true },
		{ "settings-mismatch", 2, 0, "NCCL_PROTO", "", false },
		{ "settings-mismatch:0,NCCL_PROTO=LL,NCCL_NET=IB", 0, 0, "NCCL_NET", "IB", true },
		{ "settings-mismatch:0,lib=/nowhere", 0, -ENOENT, "LD_PRELOAD", "", false },
		/* started again with it, and not a third time; it is no libnccl */
		{ "settings-mismatch:0,lib=/dev/null", 0, 1, "LD_PRELOAD", "/dev/null", false },
		{ "settings-mismatch:0,lib=/dev/null", 0, 0, "LD_PRELOAD", "/dev/null", false },
	};

	unsetenv("LD_PRELOAD"); /* the runner's */
	UNIT_ROWS(c, cases) {
		struct error err = { .code = 0 };
		struct injector injector;
		const struct fault_spec *spec = &injector.specs[0];

		unsetenv("NCCL_PROTO");
		unsetenv("NCCL_ALGO");
		CU_ASSERT_EQUAL_FATAL(inject_init(&injector, &c->spec, 1, &err), 0);
		UNIT_ALL(inject_start(&injector, c->rank, 4, 1, &err) == c->rc,
			 (err.outcome == OUTCOME_USAGE) == (c->rc < 0),
			 !strcmp(getenv(c->name) ? getenv(c->name) : "", c->value),
			 (spec->fault->fire(&(struct fault_act){ .spec = spec }) == FAULT_PASS) ==
				 c->fires);
	}
	unsetenv("LD_PRELOAD");
}
