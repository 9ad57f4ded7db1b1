/* test_fault.c: --fault's grammar, the table of faults and its check, the list of them. */
#include "rig/unit.h"

#include "base/parse.h"
#include "inject/fault.h"
#include "fault_machine.h"

struct good {
	const char *text, *name, *ranks; /* ranks as " 1 3" */
	long op;
	enum fault_when when;
	const char *key, *value;
};

static const struct good good[] = {
	{ "drop-rank", "drop-rank", "", 0, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank:3", "drop-rank", " 3", 0, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank:1,3", "drop-rank", " 1 3", 0, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank:3,1", "drop-rank", " 1 3", 0, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank:0-2", "drop-rank", " 0 1 2", 0, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank:2-2", "drop-rank", " 2", 0, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank:5,0-2,9", "drop-rank", " 0 1 2 5 9", 0, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank:100000", "drop-rank", " 100000", 0, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank@1", "drop-rank", "", 1, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank@258634", "drop-rank", "", 258634, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank:3@12", "drop-rank", " 3", 12, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank,when=after", "drop-rank", "", 0, FAULT_AFTER, NULL, NULL },
	{ "drop-rank:1,2@7,when=before", "drop-rank", " 1 2", 7, FAULT_BEFORE, NULL, NULL },
	{ "skip-call:1@4,when=before", "skip-call", " 1", 4, FAULT_BEFORE, NULL, NULL },
	{ "block-rank:0,how=read", "block-rank", " 0", 0, FAULT_BEFORE, "how", "read" },
	{ "block-rank:0,1,how=read,when=after", "block-rank", " 0 1", 0, FAULT_AFTER, "how",
	  "read" },
	{ "late-rank,delay=0", "late-rank", "", 0, FAULT_BEFORE, "delay", "0" },
	{ "late-rank:1@9,delay=2.5", "late-rank", " 1", 9, FAULT_BEFORE, "delay", "2.5" },
	{ "late-rank,when=after,delay=1e-3", "late-rank", "", 0, FAULT_AFTER, "delay", "1e-3" },
	{ "drop-rank@init", "drop-rank", "", FAULT_OP_INIT, FAULT_BEFORE, NULL, NULL },
	{ "drop-rank:2@first", "drop-rank", " 2", 1, FAULT_BEFORE, NULL, NULL },
	{ "stop-rank:1@init,when=after", "stop-rank", " 1", FAULT_OP_INIT, FAULT_AFTER, NULL,
	  NULL },
	{ "late-rank@init,delay=2", "late-rank", "", FAULT_OP_INIT, FAULT_BEFORE, "delay", "2" },
	{ "kill-rank:0@7,when=inflight", "kill-rank", " 0", 7, FAULT_INFLIGHT, NULL, NULL },
	/* faults of init fire there without being told */
	{ "init-missing", "init-missing", "", FAULT_OP_INIT, FAULT_BEFORE, NULL, NULL },
	{ "init-id:1@init", "init-id", " 1", FAULT_OP_INIT, FAULT_BEFORE, NULL, NULL },
	{ "init-nranks:1,by=less", "init-nranks", " 1", FAULT_OP_INIT, FAULT_BEFORE, "by", "less" },
	{ "abort-one@first", "abort-one", "", 1, FAULT_BEFORE, NULL, NULL },
	{ "settings-mismatch", "settings-mismatch", "", FAULT_OP_INIT, FAULT_BEFORE, NULL, NULL },
	{ "settings-mismatch:3,NCCL_MAX_NCHANNELS=1", "settings-mismatch", " 3", FAULT_OP_INIT,
	  FAULT_BEFORE, "NCCL_MAX_NCHANNELS", "1" },
	{ "settings-mismatch:0,1,lib=/a/b=c.so", "settings-mismatch", " 0 1", FAULT_OP_INIT,
	  FAULT_BEFORE, "lib", "/a/b=c.so" },
	{ "corrupt-send,at=9223372036854775807", "corrupt-send", "", 0, FAULT_BEFORE, "at",
	  "9223372036854775807" },
	{ "corrupt-recv:1@3,bit=63", "corrupt-recv", " 1", 3, FAULT_BEFORE, "bit", "63" },
	{ "command:3@init,run=a b@c:d=e", "command", " 3", FAULT_OP_INIT, FAULT_BEFORE, "run",
	  "a b@c:d=e" },
	{ "exit-rank:2@3,code=255", "exit-rank", " 2", 3, FAULT_BEFORE, "code", "255" },
	{ "slow-rank:1,seed=-7", "slow-rank", " 1", 0, FAULT_BEFORE, "seed", "-7" },
	{ "slow-rank:1,on=gpu", "slow-rank", " 1", 0, FAULT_BEFORE, "on", "gpu" },
	{ "slow-rank@9,by=1000%", "slow-rank", "", 9, FAULT_BEFORE, "by", "1000%" },
	{ "pause-rotating,by=60s", "pause-rotating", "", 0, FAULT_BEFORE, "by", "60s" },
	{ "slow-link:0,to=1", "slow-link", " 0", 0, FAULT_BEFORE, "to", "1" },
};

static void ranks_text(const struct fault_spec *spec, char *buf, size_t len)
{
	size_t n = 0;

	buf[0] = '\0';
	for (int i = 0; i < spec->nranks && n < len; i++)
		n += (size_t)snprintf(buf + n, len - n, " %d", spec->ranks[i]);
}

UNIT_TEST(test_good, "specs that are right")
{
	for (size_t i = 0; i < LENGTH(good); i++) {
		const struct good *c = &good[i];
		struct error err = { .code = 0 };
		struct fault_spec spec;
		char ranks[256];
		int rc = fault_parse(&spec, c->text, &err);

		CU_ASSERT_EQUAL(rc, 0);
		if (rc) {
			fprintf(stderr, "\n%s: %s\n", c->text, err.text);
			continue;
		}
		ranks_text(&spec, ranks, sizeof(ranks));
		UNIT_ALL(!strcmp(spec.fault->name, c->name), !strcmp(ranks, c->ranks),
			 spec.op == c->op, spec.when == c->when, spec.text == c->text,
			 spec.nargs == (c->key ? 1 : 0), fault_arg(&spec, "when") == NULL);
		if (c->key && fault_arg(&spec, c->key))
			CU_ASSERT_STRING_EQUAL(fault_arg(&spec, c->key), c->value);
		UNIT_ALL((fault_arg(&spec, c->key ? c->key : "delay") != NULL) == (c->key != NULL),
			 err.code == 0);
	}
}

#define FIFTY "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwx"

/* A wrong spec, and the part of the message that says why. */
static const struct {
	const char *text, *why;
} bad[] = {
	{ "", "unknown fault; --list-faults" },
	{ ":1", "unknown fault" },
	{ "drop", "unknown fault" },
	{ " drop-rank", "unknown fault" },
	{ "nonsense:1@2", "--list-faults says what there is" },
	{ "drop-rank-with-a-name-that-is-far-too-long-for-any-fault", "unknown fault" },
	{ "drop-rank:", "bad ranks \"\": wanted 3, 1,3 or 0-2" },
	{ "drop-rank:@3", "bad ranks \"\"" },
	{ "drop-rank:x", "bad ranks \"x\"" },
	{ "drop-rank:-1", "bad ranks \"-1\"" },
	{ "drop-rank:1-", "bad ranks \"1-\"" },
	{ "drop-rank:2-1", "bad ranks \"2-1\"" },
	{ "drop-rank:1.5", "bad ranks \"1.5\"" },
	{ "drop-rank:01", "bad ranks \"01\"" },
	{ "drop-rank:1,", "bad ranks \"\"" },
	{ "drop-rank:1,1", "rank 1 is named twice" },
	{ "drop-rank:3,0-4", "rank 3 is named twice" },
	{ "drop-rank:99999999999999999999999", "bad ranks" },
	{ "drop-rank:0-64", "more than 64 culprits" },
	{ "drop-rank:0-2147483646", "more than 64 culprits" },
	{ "drop-rank:1:2", "bad ranks \"1:2\"" },
	{ "drop-rank@", "bad call \"@\"" },
	{ "drop-rank@0", "bad call \"@0\": wanted the number of a call, from 1, or first or init" },
	{ "drop-rank@Init", "bad call \"@Init\"" },
	{ "skip-call@init", "skip-call fires at calls only" },
	{ "init-missing@1", "init-missing fires at init only" },
	{ "init-nranks,by=2", "bad by=2: wanted less|more" },
	{ "init-missing,when=after", "before the call only" },
	{ "drop-rank@init,when=inflight", "when=inflight is for calls" },
	{ "drop-rank@-1", "bad call" },
	{ "drop-rank@3:1", "bad call \"@3:1\"" },
	{ "drop-rank@99999999999999999999", "bad call" },
	{ "drop-rank,", "bad \"\": wanted key=value" },
	{ "drop-rank,x", "bad \"x\": wanted key=value" },
	{ "drop-rank@3,", "bad \"\": wanted key=value" },
	{ "drop-rank,=1", "bad \"=1\"" },
	{ "late-rank,delay=", "bad \"delay=\"" },
	{ "drop-rank,delay=1",
	  "unknown key \"delay\": drop-rank takes when=before|inflight|after" },
	{ "late-rank,dela=1", "late-rank takes delay=SECONDS when=before|inflight|after" },
	{ "late-rank," FIFTY "=1", "wanted key=value" },
	{ "late-rank,delay=" FIFTY FIFTY FIFTY FIFTY, "is longer than 199 characters" },
	{ "settings-mismatch,CUDA=1", "settings-mismatch takes NCCL_*=VALUE lib=PATH" },
	{ "settings-mismatch,NCCL_A=1,NCCL_A=2", "NCCL_A is given twice" },
	{ "settings-mismatch,NCCL_A=1,NCCL_B=1,NCCL_C=1,NCCL_D=1,NCCL_E=1,NCCL_F=1,NCCL_G=1,"
	  "NCCL_H=1,NCCL_I=1",
	  "more than 8 keys" },
	{ "settings-mismatch@3", "fires at init only" },
	{ "late-rank,delay=x", "bad delay=x: wanted seconds from 0 to 86400" },
	{ "late-rank,delay=-1", "bad delay=-1" },
	{ "late-rank,delay=86401", "bad delay=86401" },
	{ "late-rank,delay=nan", "bad delay=nan" },
	{ "late-rank,delay=1=2", "bad delay=1=2" },
	{ "late-rank,delay=1,delay=2", "delay is given twice" },
	{ "exit-rank,code=256", "bad code=256: wanted an exit status from 0 to 255" },
	{ "exit-rank,code=-1", "bad code=-1" },
	{ "slow-rank,by=", "bad \"by=\"" },
	{ "slow-rank,by=%", "bad by=%: wanted a share of the step to 1000%, or a time to 60s" },
	{ "slow-rank,by=1001%", "bad by=1001%" },
	{ "slow-rank,by=60.1s", "bad by=60.1s" },
	{ "slow-rank,by=60001ms", "bad by=60001ms" },
	{ "slow-rank,by=-1ms", "bad by=-1ms" },
	{ "slow-rank,by=5m", "bad by=5m" },
	{ "slow-rank,by=nan%", "bad by=nan%" },
	{ "slow-rank,every=0", "bad every=0: wanted a number from 1 to 1000000" },
	{ "slow-rank,p=1.1", "bad p=1.1: wanted a share from 0 to 1" },
	{ "slow-rank,on=disk", "bad on=disk: wanted host|gpu" },
	{ "slow-rank@init", "slow-rank fires at calls only" },
	{ "slow-rank,when=after", "slow-rank fires before the call only" },
	{ "host-contend,threads=0", "bad threads=0" },
	{ "gpu-contend,seconds=61", "bad seconds=61: wanted seconds from 0 to 60" },
	{ "slow-link,to=-1", "bad to=-1: wanted a rank, from 0" },
	{ "command", "command needs run=" },
	{ "command:1@3,undo=true", "command needs run=" },
	{ "command,run=", "bad \"run=\": wanted key=value" },
	{ "command,run=true,how=soon", "bad how=soon: wanted wait|start" },
	{ "command,run=a,b", "bad \"b\": wanted key=value" },
	{ "corrupt-send,bit=64", "bad bit=64: wanted a bit from 0 to 63" },
	{ "nan,at=-1", "bad at=-1: wanted an element's number, from 0" },
	{ "block-rank,how=x", "bad how=x: wanted lock|read" },
	{ "block-rank,how=loc", "bad how=loc" },
	{ "block-rank,how=lock|read", "bad how=lock|read" },
	{ "block-rank,how=locked", "bad how=locked" },
	{ "drop-rank,when=during", "bad when=during: wanted before, inflight or after" },
	{ "drop-rank,when=inflight,when=before", "when is given twice" },
	{ "skip-call,when=inflight", "skip-call fires before the call only" },
	{ "drop-rank,when=after,when=after", "when is given twice" },
	{ "skip-call,when=after", "skip-call fires before the call only" },
	{ "extra-call,when=after", "before the call only" },
	{ "early-exit,when=after", "before the call only" },
	{ "conditional-call,when=after", "before the call only" },
};

UNIT_TEST(test_bad, "specs that are wrong")
{
	UNIT_ROWS(row, bad) {
		struct error err = { .code = 0 };
		struct fault_spec spec;
		int rc = fault_parse(&spec, row->text, &err);
		bool found = strstr(err.text, row->why) != NULL;

		UNIT_ALL(rc == -EINVAL, err.outcome == OUTCOME_USAGE, err.code == -EINVAL,
			 strncmp(err.text, "--fault=", 8) == 0, found);
		if (rc != -EINVAL || !found)
			fprintf(stderr, "\n\"%s\": %d %s\n", row->text, rc, err.text);
	}
}

/* All 64 places, and one rank more. */
UNIT_TEST(test_full, "as many ranks as there are places")
{
	struct error err = { .code = 0 };
	struct fault_spec spec;

	UNIT_ALL(fault_parse(&spec, "drop-rank:10-72,0", &err) == 0, spec.nranks == 64,
		 spec.ranks[0] == 0, spec.ranks[1] == 10, spec.ranks[63] == 72,
		 fault_parse(&spec, "drop-rank:10-72,0,1", &err) == -EINVAL);
}

/* A text far longer than any message: refused, in one bounded line. */
UNIT_TEST(test_long, "very long specs")
{
	static char text[100000];
	static const char *const heads[] = { "",	   "drop-rank:",       "drop-rank@",
					     "drop-rank,", "late-rank,delay=", "drop-rank:1," };

	for (size_t i = 0; i < LENGTH(heads); i++) {
		struct error err = { .code = 0 };
		struct fault_spec spec;
		size_t n = strlen(heads[i]);

		memset(text, '7', sizeof(text) - 1);
		memcpy(text, heads[i], n);
		CU_ASSERT_EQUAL(fault_parse(&spec, text, &err), -EINVAL);
		CU_ASSERT_TRUE(strlen(err.text) < sizeof(err.text) - 1);
	}
}

/* Whatever the letters: a verdict, and a spec that holds what it says. */
UNIT_TEST(test_random, "random specs")
{
	static const char letters[] = "drop-rank:@,=0123late-rankdelay=when=after-init  |x\n\x80";
	unsigned seed = 12345;
	int accepted = 0;

	for (int i = 0; i < 200000; i++) {
		struct error err = { .code = 0 };
		struct fault_spec spec;
		char text[40] = "drop-rank";
		size_t n = 9, end = 9 + (size_t)(rand_r(&seed) % 8);

		while (n < end)
			text[n++] = letters[(size_t)rand_r(&seed) % (sizeof(letters) - 1)];
		text[n] = '\0';
		if (fault_parse(&spec, text, &err) < 0) {
			CU_ASSERT_EQUAL_FATAL(err.outcome, OUTCOME_USAGE);
			continue;
		}
		accepted++;
		CU_ASSERT_FATAL(spec.nranks >= 0 && spec.nranks <= FAULT_MAX_RANKS);
		for (int k = 1; k < spec.nranks; k++)
			CU_ASSERT_FATAL(spec.ranks[k] > spec.ranks[k - 1]);
	}
	CU_ASSERT_TRUE(accepted > 0);
}

static bool is_line(const char *text)
{
	return text && *text && !strchr(text, '\n');
}

static bool outcomes_ok(const char *text)
{
	char one[48];

	for (;;) {
		size_t len = strcspn(text, "|");

		if (len >= sizeof(one))
			return false;
		memcpy(one, text, len);
		one[len] = '\0';
		if (expect_check(one) < 0)
			return false;
		if (!text[len])
			return true;
		text += len + 1;
	}
}

static bool args_ok(const char *args)
{
	static const char lower[] = "abcdefghijklmnopqrstuvwxyz";
	char copy[200], *at = copy, *name, *value;
	struct fault_spec *spec;
	int n = 0;

	if (strlen(args) >= sizeof(copy))
		return false;
	strcpy(copy, args);
	while ((value = strsep(&at, " "))) {
		name = strsep(&value, "=");
		if (++n == FAULT_MAX_ARGS || !value || !*value || !*name ||
		    strlen(name) >= sizeof(spec->args[0].key))
			return false;
		if (strspn(name, lower) != strlen(name) && strcmp(name, "NCCL_*") != 0)
			return false;
		if (strspn(value, "abcdefghijklmnopqrstuvwxyz|") != strlen(value) &&
		    names_find("SECONDS STATUS NUMBER ELEMENT BIT VALUE PATH PACE COUNT SHARE "
			       "MINUTE RANK",
			       value) < 0)
			return false;
	}
	return true;
}

/* Only bits that have a name; and what needs a GPU cannot occur without one. */
static bool needs_ok(const struct fault *fault)
{
	return fault->needs.machine < NEED_LAST << 1 &&
	       !(fault->needs.machine & NEED_GPU && fault->mpi);
}

static const char *row_check(const struct fault *fault)
{
	bool everywhere = fault->mpi && fault->nccl;
	char text[FAULT_LINE];

	if (!is_line(fault->name) ||
	    strspn(fault->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(fault->name) ||
	    strlen(fault->name) >= 32)
		return "a fault without a name of small letters and '-'";
	if (!is_line(fault_text(fault, FAULT_HELP, text)))
		return "a fault without a line of help";
	if (!is_line(fault_text(fault, FAULT_SOURCE, text)))
		return "a fault without a source";
	if (!is_line(fault_text(fault, FAULT_MORE, text)))
		return "a fault without a line that says more, or nothing";
	if (!fault->fire == !fault->launch)
		return "a fault that does nothing";
	if (fault->schedule && !scheme_find(fault->schedule))
		return "a fault whose schedule does not exist";
	if (!needs_ok(fault))
		return "a fault whose needs do not fit its outcomes";
	if (fault->where > FAULT_AT_BOTH)
		return "a fault that fires nowhere";
	if (fault->args && (!*fault->args || !args_ok(fault->args)))
		return "a fault with malformed keys";
	if (fault->sticky && fault->any_when)
		return "a sticky fault that may fire after the call";
	if (fault->sticky && fault->where != FAULT_AT_CALL)
		return "a sticky fault that fires at init";
	if (!fault->mpi && !fault->nccl)
		return "a fault that can occur nowhere";
	if ((fault->mpi && !outcomes_ok(fault->mpi)) || (fault->nccl && !outcomes_ok(fault->nccl)))
		return "a fault with malformed outcomes";
	if (everywhere ? *fault_text(fault, FAULT_WHY_NOT, text) != '\0'
		       : !is_line(fault_text(fault, FAULT_WHY_NOT, text)))
		return "a fault whose text why not does not fit its outcomes";
	return NULL;
}

UNIT_TEST(test_table, "the table")
{
	size_t n = 0;

	for (; fault_table[n]; n++) {
		const char *wrong = row_check(fault_table[n]);

		CU_ASSERT_PTR_NULL(wrong);
		if (wrong)
			printf("\n  %s: %s\n", fault_table[n]->name, wrong);
		CU_ASSERT_PTR_EQUAL(fault_find(fault_table[n]->name), fault_table[n]);
	}
	UNIT_ALL(n >= 33, fault_find("drop") == NULL, fault_find("") == NULL);
}

/* Rows of expected.csv begin with the fault's name. */
UNIT_TEST(test_expected, "the right verdict of each fault")
{
	size_t len;
	char *rows = unit_read("ci/faults/expected.csv", &len), start[64];

	for (size_t i = 0; fault_table[i]; i++) {
		bool found;

		snprintf(start, sizeof(start), "\n%.40s,", fault_table[i]->name);
		found = strstr(rows, start);
		CU_ASSERT(found);
		if (!found)
			printf("\n  %s has no row in ci/faults/expected.csv\n",
			       fault_table[i]->name);
	}
	free(rows);
}

static int count(const char *text, const char *part)
{
	int n = 0;

	while ((text = strstr(text, part))) {
		n++;
		text += strlen(part);
	}
	return n;
}

static char *list_text(const struct fault_machine *machine, bool details)
{
	return UNIT_PRINTED(out, {
		for (size_t k = 0; details && fault_table[k]; k++)
			fault_list(out, machine, fault_table[k]);
		if (!details)
			fault_list(out, machine, NULL);
	});
}

UNIT_TEST(test_list, "--list-faults")
{
	static const struct {
		struct fault_machine machine;
		const char *head;
		unsigned lacks; /* needs of faults that cannot run */
	} cases[] = {
		{ MACHINE("mpi", 0, BY_MPI), "on the mpi backend", NEED_CGROUP },
		{ MACHINE("mpi", NEED_CGROUP, BY_MPI), "on the mpi backend", 0 },
		{ MACHINE("nccl", NEED_GPU | NEED_NET, BY_NET), "on the nccl backend",
		  NEED_CGROUP | NEED_NAMESPACE },
		{ MACHINE("nccl", ~0u, BY_NET), "on the nccl backend", 0 },
	};

	for (size_t i = 0; i < LENGTH(cases); i++) {
		char *text = list_text(&cases[i].machine, true), *list, more[FAULT_LINE];
		int lines = 0, can = 0, missing = 0;

		/* seven a fault and a sentence more, six where there is no outcome */
		for (size_t k = 0; fault_table[k]; k++) {
			bool occurs = i < 2 ? fault_table[k]->mpi : fault_table[k]->nccl;
			bool here = occurs && !(fault_table[k]->needs.machine & cases[i].lacks);

			lines += 6 + occurs +
				 (strcmp(fault_text(fault_table[k], FAULT_MORE, more), "-") != 0);
			can += here;
			missing += !here;
		}
		UNIT_ALL(count(text, "\n") == lines, count(text, "\n#") + 1 == lines,
			 count(text, "here: can run\n") == can,
			 strstr(text, "# late-rank ") != NULL,
			 strstr(text, "keys: delay=SECONDS when=before|inflight|after\n") != NULL,
			 strstr(text, "keys: when=before\n") != NULL,
			 strstr(text, "fires: @NUMBER @first @init\n") != NULL);
		UNIT_ALL(strstr(text, "needs: 2 ranks, GPU, NET, namespace\n") != NULL,
			 count(text, "outcome: died\n") == 4,
			 strstr(text, "as in: NVIDIA/nccl#585") != NULL);
		free(text);
		/* a line a fault, on one screen */
		list = list_text(&cases[i].machine, false);
		UNIT_ALL(strstr(list, cases[i].head) != NULL, count(list, "\n") <= 60,
			 count(list, "(not on ") + count(list, "(needs ") == missing,
			 strstr(list, "\n# drop-rank          hang                 alive, ") !=
				 NULL,
			 strstr(list, "--list-faults=NAME") != NULL);
		for (const char *at = list; *at; at = strchr(at, '\n') + 1)
			CU_ASSERT_TRUE(*at == '#' && strcspn(at, "\n") <= 100);
		free(list);
	}
}

static const struct {
	const char *spec;
	struct fault_machine machine;
	const char *why; /* NULL: it runs */
} runs[] = {
	{ "drop-rank", MACHINE("mpi", 0, BY_NET), NULL },
	{ "drop-rank", MACHINE("nccl", 0, BY_NET), NULL },
	{ "oom-rank", MACHINE("mpi", NEED_CGROUP, BY_NET), NULL },
	{ "oom-rank", MACHINE("mpi", ~(unsigned)NEED_CGROUP, BY_NET), "needs a memory cgroup" },
	{ "gpu-oom", MACHINE("mpi", ~0u, BY_NET), "cannot occur on the mpi backend: its buffers" },
	{ "gpu-oom", MACHINE("nccl", 0, BY_NET), "needs a GPU" },
	{ "gpu-oom", MACHINE("nccl", NEED_GPU, BY_NET), NULL },
	{ "settings-mismatch", MACHINE("mpi", ~0u, BY_MPI), "mpi backend: MPI does not read" },
	{ "settings-mismatch", MACHINE("nccl", NEED_GPU, BY_NET), NULL },
	{ "abort-one", MACHINE("mpi", ~0u, BY_NET), "cannot occur on the mpi backend: MPI 3" },
	{ "init-iface", MACHINE("nccl", NEED_GPU | NEED_NET, BY_NET), "needs a network namespace" },
	{ "init-iface", MACHINE("nccl", NEED_GPU | NEED_NAMESPACE, BY_NET),
	  "needs ranks that talk" },
	{ "kill-rank,when=inflight", MACHINE("mpi", ~0u, BY_NET), "when=inflight cannot occur" },
	{ "kill-rank,when=inflight", MACHINE("nccl", NEED_GPU, BY_NET), NULL },
	{ "kill-rank,when=after", MACHINE("mpi", 0, BY_NET), NULL },
};

UNIT_TEST(test_runs, "what can run where")
{
	UNIT_ROWS(row, runs) {
		struct error err = { .code = 0 };
		struct fault_spec spec;
		char why[360] = "";
		int rc;

		CU_ASSERT_EQUAL_FATAL(fault_parse(&spec, row->spec, &err), 0);
		rc = fault_runs(&spec, &row->machine, why, sizeof(why));
		CU_ASSERT_EQUAL(rc, row->why ? -ENOTSUP : 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(why, row->why ? row->why : ""));
		if (rc != (row->why ? -ENOTSUP : 0))
			fprintf(stderr, "\n%s: %d %s\n", row->spec, rc, why);
	}
}
