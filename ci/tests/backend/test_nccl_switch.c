/* test_nccl_switch.c: the installed NCCL's log switched to a private file and back, as between two
 * timed calls; no GPU is needed for that. */
#include "rig/unit.h"

#ifdef HAVE_NCCL

#include "backend/nccl/ops.h"
#include "backend/job.h"
#include "nccl_log/nccl_choice.h"

/* Read by the address sanitizer: NCCL does not free what it notes of a group without calls. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:ncclGroupEnd";
}

static struct nccl nccl;
static struct job job;
static struct error err;
static char text[1 << 16];

/* A mistake that NCCL warns of, wherever its log goes. */
static void provoke(void)
{
	int n;

	CU_ASSERT_NOT_EQUAL(ncclCommCount(NULL, &n), ncclSuccess);
}

/* What the private log holds, as text. */
static const char *private_log(void)
{
	ssize_t n = pread(nccl.probe.log, text, sizeof(text) - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static void set_up(int rank)
{
	unsetenv("NCCL_DEBUG");
	unsetenv("NCCL_DEBUG_FILE");
	unsetenv("NCCL_DEBUG_SUBSYS");
	memset(&nccl, 0, sizeof(nccl));
	err = (struct error){ .rank = -1 };
	job = (struct job){ .rank = rank, .nranks = 2 };
	nccl.be = (struct backend){ .ops = &backend_nccl, .job = &job, .err = &err };
	nccl_tuning_init(&nccl.probe);
}

static void test_switch(void)
{
	struct nccl_choice choice;
	struct backend_used used;

	set_up(0);
	CU_ASSERT_PTR_NULL_FATAL(nccl_tuning_refusal(&nccl.be));
	for (int pass = 0; pass < 3; pass++) {
		CU_ASSERT_EQUAL(nccl_tuning_begin(&nccl.be), 0);
		/* NCCL has read its settings: the user's are back */
		UNIT_ALL(getenv("NCCL_DEBUG") == NULL, getenv("NCCL_DEBUG_FILE") == NULL,
			 !strcmp(private_log(), ""));
		provoke();
		UNIT_ALL(strstr(private_log(), "NCCL WARN") != NULL,
			 nccl_tuning_end(&nccl.be, 1u << CALL_ALL_REDUCE, &used) == 0, !used.p2p);
		CU_ASSERT_PTR_NOT_NULL_FATAL(used.log);
		/* no call was made */
		CU_ASSERT_EQUAL(nccl_choice_read(&choice, used.log, used.len), -ENODATA);
		CU_ASSERT_PTR_NOT_NULL(memmem(used.log, used.len, "NCCL WARN", 9));
		free(used.log);
		CU_ASSERT_EQUAL(ftruncate(nccl.probe.log, 0), 0);
		provoke();
		CU_ASSERT_STRING_EQUAL(private_log(), "");
	}
	nccl_tuning_release(&nccl.probe);
	CU_ASSERT_EQUAL(nccl.probe.log, -1);
}

/* A user's log on standard output gets what it got before, and nothing of the pass. */
static void test_users_stdout(void)
{
	char path[UNIT_TEMP], line[1024] = "";
	int file = unit_file(path), out = dup(STDOUT_FILENO), lines = 0;
	struct backend_used used;
	FILE *in;

	set_up(0);
	setenv("NCCL_DEBUG", "WARN", 1);
	CU_ASSERT_TRUE_FATAL(file >= 0 && out >= 0);
	fflush(stdout);
	dup2(file, STDOUT_FILENO);
	nccl.probe.reset(); /* NCCL may have been asked before this test */
	provoke();
	CU_ASSERT_EQUAL(nccl_tuning_begin(&nccl.be), 0);
	provoke();
	CU_ASSERT_EQUAL(nccl_tuning_end(&nccl.be, 0, &used), 0);
	free(used.log);
	provoke();
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	CU_ASSERT_STRING_EQUAL(getenv("NCCL_DEBUG"), "WARN");
	in = fdopen(file, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(in);
	rewind(in);
	while (fgets(line, sizeof(line), in))
		lines += strstr(line, "NCCL WARN") != NULL;
	CU_ASSERT_EQUAL(lines, 2); /* before and after, not in between */
	fclose(in);
	close(out);
	unlink(path);
	nccl_tuning_release(&nccl.probe);
}

/* A user's log file is not begun anew. */
static void test_users_file(void)
{
	char path[UNIT_TEMP], line[16] = "";
	int file = unit_file(path);
	struct backend_used used;

	set_up(0);
	CU_ASSERT_EQUAL_FATAL(write(file, "kept\n", 5), 5);
	setenv("NCCL_DEBUG", "INFO", 1);
	setenv("NCCL_DEBUG_FILE", path, 1);
	CU_ASSERT_PTR_NOT_NULL_FATAL(nccl_tuning_refusal(&nccl.be));
	CU_ASSERT_EQUAL(nccl_tuning_begin(&nccl.be), 0);
	CU_ASSERT_EQUAL(nccl_tuning_end(&nccl.be, 1u << CALL_SEND | 1u << CALL_RECV, &used), 0);
	CU_ASSERT_TRUE(used.p2p); /* known without a log */
	UNIT_ALL(used.log == NULL, pread(file, line, sizeof(line) - 1, 0) == 5,
		 !strcmp(line, "kept\n"));
	close(file);
	unlink(path);
	nccl_tuning_release(&nccl.probe);
}

/* Only rank 0's log has the choice. */
static void test_other_ranks(void)
{
	struct backend_used used;

	set_up(1);
	UNIT_ALL(nccl_tuning_begin(&nccl.be) == 0, !nccl.probe.on,
		 nccl_tuning_end(&nccl.be, 1u << CALL_ALL_REDUCE, &used) == 0, !used.p2p,
		 used.log == NULL);
	nccl_tuning_release(&nccl.probe);
}

/* What is known to be made of sends and receives. */
static void test_p2p(void)
{
	const unsigned exchange = 1u << CALL_SEND | 1u << CALL_RECV;
	static const struct {
		unsigned kinds;
		int version, registered;
		bool library, p2p;
	} cases[] = {
		{ 1u << CALL_ALLTOALL, 22809, 0, true, true },
		{ 1u << CALL_ALLTOALL, 22809, 1, true, true },
		{ 1u << CALL_ALLTOALL, 22809, 2, true, false }, /* copy engines, perhaps */
		{ 1u << CALL_ALLTOALL, 23007, 0, true, false }, /* not read */
		{ 1u << CALL_ALLTOALL, 22703, 0, false, true }, /* our own pairs */
		{ 1u << CALL_GATHER, 22809, 0, true, true },
		{ 1u << CALL_ALLTOALLV, 23007, 2, true, true },
		{ 1u << CALL_ALL_REDUCE, 22809, 0, true, false },
		{ 1u << CALL_ALL_REDUCE | 1u << CALL_SEND, 22809, 0, true, false },
		{ 0, 22809, 0, true, false },
	};
	struct backend_used used;

	set_up(1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		nccl.version = cases[i].version;
		nccl.be.config.local_register = cases[i].registered;
		memset(&nccl.symbols, 0, sizeof(nccl.symbols));
		if (cases[i].library)
			nccl_symbols_init(&nccl.symbols);
		CU_ASSERT_EQUAL(nccl_tuning_end(&nccl.be, cases[i].kinds, &used), 0);
		CU_ASSERT_EQUAL(used.p2p, cases[i].p2p);
	}
	UNIT_ALL(nccl_tuning_end(&nccl.be, exchange, &used) == 0, used.p2p);
	nccl_tuning_release(&nccl.probe);
}

/* Whose log it is. */
static void test_refusal(void)
{
	static const struct {
		const char *level, *file, *plugin, *word;
	} cases[] = {
		{ NULL, NULL, NULL, NULL },
		{ "WARN", NULL, NULL, NULL },
		{ "INFO", NULL, "none", NULL },
		{ NULL, "/tmp/log.%p", NULL, NULL }, /* NCCL never opened it */
		{ "VERSION", "/tmp/log.%p", NULL, NULL },
		{ "chatty", "/tmp/log.%p", NULL, NULL },
		{ "INFO", "", NULL, NULL },
		{ "WARN", "/tmp/log.%p", NULL, "NCCL_DEBUG_FILE" },
		{ "info", "/tmp/log.%p", NULL, "NCCL_DEBUG_FILE" },
		{ "TRACE", "/tmp/log.%p", NULL, "NCCL_DEBUG_FILE" },
		{ NULL, NULL, "libmine.so", "NCCL_ENV_PLUGIN" },
	};

	set_up(0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const names[] = { "NCCL_DEBUG", "NCCL_DEBUG_FILE", "NCCL_ENV_PLUGIN" };
		const char *const values[] = { cases[i].level, cases[i].file, cases[i].plugin };
		const char *why;

		for (int k = 0; k < 3; k++) {
			unsetenv(names[k]);
			if (values[k])
				setenv(names[k], values[k], 1);
		}
		why = nccl_tuning_refusal(&nccl.be);
		CU_ASSERT_TRUE(cases[i].word ? why && strstr(why, cases[i].word) : !why);
		for (int k = 0; k < 3; k++)
			unsetenv(names[k]);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "there and back, three times", test_switch },
		{ "refusals", test_refusal },
		{ "a log on standard output", test_users_stdout },
		{ "a log file", test_users_file },
		{ "ranks that log nothing", test_other_ranks },
		{ "sends and receives", test_p2p },
	};

	set_up(0);
	if (!nccl.probe.reset) {
		puts("this NCCL has no ncclResetDebugInit");
		return 77;
	}
	return unit_main("nccl_switch", cases, sizeof(cases) / sizeof(cases[0]));
}
#else

int main(void)
{
	puts("built without NCCL");
	return 77;
}
#endif
