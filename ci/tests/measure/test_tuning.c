/* test_tuning.c: what NCCL used: its lines read, its log left alone where it is the user's, and the
 * order of the pass that asks for it. */
#include "rig/unit.h"

#include "bench/perf_main.h"
#include "rig/fake_backend.h"
#include "nccl_log/nccl_choice.h"
#include "measure/tuning.h"

/* ---- lines ---- */

#define CALL                                                                                       \
	"vm:936:936 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x7ff839c00000 recvbuff "          \
	"0x7ff839e00000 count 262144 datatype 7 op 0 root 0 comm 0x5637bbf4b4b0 [nranks=4] "       \
	"stream 0x5637ba49c840\n"
#define TUNED(what) "vm:936:936 [0] NCCL INFO AllReduce: 1048576 Bytes -> " what "\n"

static void test_lines(void)
{
	static const struct {
		const char *log, *algo, *proto;
		int channels;
	} cases[] = {
		{ CALL TUNED("Algo RING proto LL channel{Lo..Hi}={0..23}"), "Ring", "LL", 24 },
		{ CALL TUNED("Algo TREE proto LL128 channel{Lo..Hi}={0..0}"), "Tree", "LL128", 1 },
		{ CALL TUNED("Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..15}"), "NVLSTree",
		  "Simple", 16 },
		{ CALL TUNED("Algo COLLNET_DIRECT proto SIMPLE channel{Lo..Hi}={0..7}"),
		  "CollNetDirect", "Simple", 8 },
		/* -m: two calls in a group, on channels of their own; one is on both sides */
		{ CALL CALL TUNED("Algo RING proto LL channel{Lo..Hi}={0..5}")
			  TUNED("Algo RING proto LL channel{Lo..Hi}={5..9}"),
		  "Ring", "LL", 10 },
		/* calls that differ: only what they agree in */
		{ CALL CALL TUNED("Algo RING proto LL channel{Lo..Hi}={0..1}")
			  TUNED("Algo TREE proto LL channel{Lo..Hi}={2..3}"),
		  NULL, "LL", 4 },
		{ CALL TUNED("Algo QUANTUM proto LL channel{Lo..Hi}={0..1}"), NULL, "LL", 2 },
		{ CALL "vm:936:936 [0] NCCL INFO AllReduce [Symmetric]: 1048576 Bytes -> Kernel "
		       "AllReduce_RSxLD_AGxST nchannels 16 nthreads 512 nWorks 1\n",
		  "Symmetric", NULL, 16 },
		/* levels with time stamps, and other lines in between */
		{ "[2026-11-21 05:00:00] " CALL "\n\nvm:936:940 [0] NCCL INFO RAS up\n"
		  "[2026-11-21 05:00:00] " TUNED("Algo RING proto LL channel{Lo..Hi}={0..23}"),
		  "Ring", "LL", 24 },
		/* as many channels as there never are */
		{ CALL TUNED("Algo RING proto LL channel{Lo..Hi}={0..2000000000}"), "Ring", "LL",
		  128 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nccl_choice used = { "before", "before", 77 };

		UNIT_ALL(nccl_choice_read(&used, cases[i].log, strlen(cases[i].log)) == 0,
			 cases[i].algo ? used.algo && strcmp(used.algo, cases[i].algo) == 0
				       : !used.algo,
			 cases[i].proto ? used.proto && strcmp(used.proto, cases[i].proto) == 0
					: !used.proto,
			 used.channels == cases[i].channels);
	}
}

static void test_no_lines(void)
{
	static const char *const logs[] = {
		"",
		"\n\n",
		CALL,
		CALL TUNED("Algo RING proto LL channel{Lo..Hi}={0.."), /* cut */
		CALL TUNED("Algo  proto  channel{Lo..Hi}={0..1}"),
		CALL TUNED("Algo RING proto LL channel{Lo..Hi}={0..99999999999999999999}"),
		CALL TUNED("Algo RING proto LL channel{Lo..Hi}={9..3}"),
		CALL TUNED("Algo RING proto LL channel{Lo..Hi}={-7..3}"),
		CALL "vm:936:936 [0] NCCL INFO AllReduce [Symmetric]: 8 Bytes -> Kernel X "
		     "nchannels 0 nthreads 1 nWorks 1\n",
	};
	struct nccl_choice used = { "before", "before", 77 };

	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		CU_ASSERT_EQUAL(nccl_choice_read(&used, logs[i], strlen(logs[i])), -ENODATA);
	UNIT_ALL(!strcmp(used.algo, "before"), used.channels == 77);
}

/* The log of four H200 that NCCL 2.28.9 wrote: nine calls of one size. */
static void test_real_log(void)
{
	struct nccl_choice used = { .channels = -1 };
	static char text[1 << 20];
	FILE *in = fopen("ci/tests/data/nccl_log_h200x4.log", "r");
	size_t n;

	CU_ASSERT_PTR_NOT_NULL_FATAL(in);
	n = fread(text, 1, sizeof(text), in);
	fclose(in);
	UNIT_ALL(nccl_choice_read(&used, text, n) == 0, !strcmp(used.algo, "Ring"),
		 !strcmp(used.proto, "LL"), used.channels == 24);
}

/* ---- the pass ---- */

static struct fake fake;
static struct options options;
static struct job job;
static struct error err;
static struct bench bench;
static struct plan plan;
static struct timing timing;
static struct row row;
static char story[128]; /* what the backend was asked for, a letter each */
static unsigned kinds;
static const struct checked_slot *checked; /* of the call, NULL: none */
static int fail_at;			   /* the how manyth letter fails, 0: none */

static int note(char letter)
{
	size_t n = strlen(story);

	story[n] = letter;
	story[n + 1] = '\0';
	return (int)n + 1 == fail_at ? -EIO : 0;
}

static const char *no_refusal(struct backend *be)
{
	return NULL;
}

static int used_begin(struct backend *be)
{
	return note('<');
}

static int used_end(struct backend *be, unsigned made, struct backend_used *used)
{
	kinds = made;
	static const char log[] = CALL TUNED("Algo RING proto LL channel{Lo..Hi}={0..23}");

	*used = (struct backend_used){ .p2p = true };
	if (made & 1u << CALL_ALL_REDUCE)
		*used = (struct backend_used){ .log = strdup(log), .len = sizeof(log) - 1 };
	return note('>');
}

static int estimate_begin(struct backend *be)
{
	return note('[');
}

static int estimate_end(struct backend *be, double *us)
{
	*us = 12;
	return note(']');
}

static int issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	return note(ticket ? 'I' : 'i'); /* recorded or not */
}

static int group_begin(struct backend *be)
{
	return note('(');
}

static int group_end(struct backend *be)
{
	return note(')');
}

static int wait_for(struct backend *be)
{
	return note('W');
}

static int graph_begin(struct backend *be)
{
	return note('{');
}

static int graph_end(struct backend *be, void **graph)
{
	*graph = be;
	return note('}');
}

static int graph_launch(struct backend *be, void *graph)
{
	return note('L');
}

static void graph_free(struct backend *be, void *graph)
{
	note('F');
}

static const struct backend_graph graphs = {
	.begin = graph_begin, .end = graph_end, .launch = graph_launch, .release = graph_free
};

static const struct backend_tuning tuning = {
	.refusal = no_refusal,
	.begin = used_begin,
	.end = used_end,
	.estimate_begin = estimate_begin,
	.estimate_end = estimate_end,
};

static uint64_t ticket_of(void *ctx, const struct call *call)
{
	return 1;
}

static const struct collective *named(const char *name)
{
	for (int i = 0; collectives[i]; i++)
		if (strcmp(collectives[i]->name, name) == 0)
			return collectives[i];
	return NULL;
}

static const struct watch watch = { .call = ticket_of };

/* `telling`: with the hooks that tell. */
static void take(const struct collective *c, enum mode mode, int agg, bool telling, int rc)
{
	static struct backend_ops ops;
	struct point point = { .dtype = DT_FLOAT,
			       .op = c->reduces ? OP_SUM : OP_NONE,
			       .root = c->rooted ? 0 : -1,
			       .bytes = 1024 };

	ops = fake_ops;
	ops.issue = issue;
	ops.group_begin = group_begin;
	ops.group_end = group_end;
	ops.wait = wait_for;
	ops.graph = &graphs;
	ops.tuning = telling ? &tuning : NULL;
	memset(&fake, 0, sizeof(fake));
	fake.be = (struct backend){ .ops = &ops, .err = &err };
	options = (struct options){ .align = 16, .seed = 7, .agg_iters = agg };
	job = (struct job){ .nranks = 2, .group_size = 2, .ngroups = 1 };
	bench = (struct bench){ .collective = c,
				.options = &options,
				.watch = &watch,
				.err = &err,
				.job = &job,
				.backend = &fake.be,
				.chain = { .backend = &fake.be, .watch = &watch } };
	story[0] = '\0';
	kinds = 0;
	CU_ASSERT_EQUAL_FATAL(buffers_init(&bench.buffers, &fake.be, 8, BUFFERS_POOL, 64), 0);
	CU_ASSERT_EQUAL_FATAL(plan_init(&plan, &bench, &point, false), 0);
	timing = (struct timing){ .plan = &plan, .mode = mode, .calls = 20, .samples = 1 };
	UNIT_ALL(tuning_probe(&timing, checked, &row) == rc, bench.chain.watch == &watch,
		 bench.chain.filter == NULL);
	plan_release(&plan);
	buffers_release(&bench.buffers);
	fail_at = 0;
}

/* The log is on around nothing but the one call and its wait; what is estimated is not recorded. */
static void test_pass(void)
{
	take(named("all_reduce"), MODE_STREAM, 1, true, 0);
	UNIT_ALL(!strcmp(story, "<IW>[i]"), kinds == (1u << CALL_ALL_REDUCE),
		 !strcmp(row.used_algo, "Ring"), !strcmp(row.used_proto, "LL"),
		 row.used_channels == 24, row.nccl_estimate_us == 12);
	take(named("all_gather"), MODE_ISOLATED, 1, true, 0);
	CU_ASSERT_STRING_EQUAL(story, "<IW>[i]");
	take(named("reduce"), MODE_GRAPH, 1, true, 0);
	CU_ASSERT_STRING_EQUAL(story, "<{I}LWF>[i]");
	/* -m: the group as it is timed, its estimate shared out */
	take(named("broadcast"), MODE_STREAM, 3, true, 0);
	UNIT_ALL(!strcmp(story, "<(III)W>[(iii)]"), row.nccl_estimate_us == 4);
}

/* A simulated send would stay queued in NCCL 2.28. */
static void test_no_estimate_of_sends(void)
{
	static const char *const names[] = { "alltoall", "gather", "scatter", "sendrecv" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		take(named(names[i]), MODE_STREAM, 1, true, 0);
		UNIT_ALL(strchr(story, '[') == NULL, story[0] == '<',
			 story[strlen(story) - 1] == '>', isnan(row.nccl_estimate_us));
		CU_ASSERT_STRING_EQUAL(row.used_algo, "P2P"); /* known without a log */
		UNIT_ALL(row.used_proto == NULL, row.used_channels == -1);
	}
	CU_ASSERT_EQUAL(kinds, 1u << CALL_SEND | 1u << CALL_RECV);
}

static void test_backend_without(void)
{
	row.used_algo = "stale";
	take(named("all_reduce"), MODE_STREAM, 1, false, 0);
	UNIT_ALL(!strcmp(story, ""), row.used_algo == NULL, row.used_proto == NULL,
		 row.used_channels == -1, isnan(row.nccl_estimate_us));
	checked = &(struct checked_slot){ .index = 0 };
	take(named("all_reduce"), MODE_STREAM, 3, false, 0);
	CU_ASSERT_STRING_EQUAL(story, "(III)W"); /* a checked call is made all the same */
	checked = NULL;
}

/* Whatever fails, the log is switched back and nothing is captured for ever. */
static void test_failures(void)
{
	static const struct {
		enum mode mode;
		int at;
		const char *story;
	} cases[] = {
		{ MODE_STREAM, 1, "<>" },      { MODE_STREAM, 2, "<I>" },
		{ MODE_STREAM, 3, "<IW>" },    { MODE_STREAM, 4, "<IW>" },
		{ MODE_STREAM, 5, "<IW>[" },   { MODE_STREAM, 6, "<IW>[i]" },
		{ MODE_STREAM, 7, "<IW>[i]" }, { MODE_GRAPH, 3, "<{I}F>" },
		{ MODE_GRAPH, 5, "<{I}LF>" },  { MODE_GRAPH, 6, "<{I}LWF>" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fail_at = cases[i].at;
		take(named("all_reduce"), cases[i].mode, 1, true, -EIO);
		CU_ASSERT_STRING_EQUAL(story, cases[i].story);
	}
}

UNIT_MAIN("tuning", { "lines of NCCL's log", test_lines },
	  { "lines that say nothing", test_no_lines }, { "a real log", test_real_log },
	  { "the pass", test_pass }, { "sends are not simulated", test_no_estimate_of_sends },
	  { "a backend that does not tell", test_backend_without }, { "failures", test_failures })
