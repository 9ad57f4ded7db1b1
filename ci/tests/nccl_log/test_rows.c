/* test_rows.c: the forms of lines as rows: each row's sample, rows of a user, what is remembered, matching without JIT. */
#include "nccl_log/rows.h"
#include "nccl_check/nccl_check.h"
#include "nccl_log/nccl_log_raw.h"

#include <glob.h>

#include "nccl_log_lines.h"

UNIT_TEST(test_samples, "a sample fits its row, and no other one of the set")
{
	struct rows rows;
	struct found found;

	rows_init(&rows);
	for (int i = 0; i < rows.n; i++) {
		struct row *row = rows.rows[i];
		int fits = 0;

		CU_ASSERT_PTR_NOT_NULL_FATAL(row->sample);
		for (int k = rows.from[row->set]; k < rows.from[row->set + 1]; k++) {
			struct pattern *pattern = &rows.rows[k]->pattern;
			bool one = pattern_find(pattern, &rows.matcher, row->sample,
						strlen(row->sample), found.at);

			fits += one;
			if (one != (k == i))
				printf("%s: its sample and the row of %s\n", row->where,
				       rows.rows[k]->where);
		}
		CU_ASSERT_EQUAL(fits, 1);
		CU_ASSERT_TRUE(
			rows_find(&rows, row->set, row->sample, strlen(row->sample), 0, &found) &&
			found.row == row);
	}
	rows_release(&rows);
}

UNIT_TEST(test_causes_compile, "all patterns of causes are patterns")
{
	struct nccl_log log;
	char why[200] = "";

	nccl_log_init(&log);
	for (int i = 0; i < log.n_causes; i++)
		if (!pattern_compile(&log.causes[i].pattern, why, sizeof(why)))
			printf("%s: %s\n", log.causes[i].pattern.text, why);
	CU_ASSERT_STRING_EQUAL(why, "");
	nccl_log_release(&log);
}

static char *temporary(const char *text)
{
	static char path[UNIT_TEMP];
	int fd;

	snprintf(path, sizeof(path), "/tmp/hangar-rows-XXXXXX");
	fd = mkstemp(path);
	CU_ASSERT_TRUE_FATAL(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
	return path;
}

UNIT_TEST(test_wrong_rows, "what is wrong with a row is said by file and line")
{
	static const struct {
		bool causes;
		const char *text, *says;
	} cases[] = {
		{ false, "# a table\nlink ^Channel\n", ":2: a row is \"KIND [NAME=VALUE ...]:" },
		{ false, "\nbridge: ^Channel\n", ":2: no kind of row is named 'bridge'" },
		{ false, "ring: ^a\n  (b\n= x\nring: c\n", ":1: no pattern: missing closing" },
		{ false, "ring: ^a(?<nobody>x)\n", ":1: no group is named 'nobody'" },
		{ false, "ring somebody=1: ^a\n", ":1: no group is named 'somebody'" },
		{ false, "= Ring 0\n", ":1: no row stands before this" },
		{ false, "ring: ()()()()()()()()()()()()()()()()\n",
		  ":1: no pattern: it has 16 groups" },
		{ true, "cause | a | b\n\ncause | a[ | b\n",
		  ":3: no pattern: missing terminating ]" },
		{ true, "cause | a\n", ":1: a row is CLASS | PATTERN" },
	};

	UNIT_ROWS(c, cases) {
		char *path = temporary(c->text);
		struct error err = { .rank = -1 };
		struct nccl_log log;

		nccl_log_init(&log);
		CU_ASSERT_EQUAL((c->causes ? nccl_log_read_causes : nccl_log_read_lines)(&log, path,
											 &err),
				-EINVAL);
		UNIT_ALL(strncmp(err.text, path, strlen(path)) == 0,
			 strstr(err.text, c->says) == err.text + strlen(path));
		nccl_log_release(&log);
		unlink(path);
	}
}

UNIT_TEST(test_own_row, "a form that no built-in row knows is a row of a file")
{
	static const char text[] =
		"a:1:1 [0] NCCL INFO Bridge 3 joins 0 to 1 by NET/IB/2\n"
		"a:1:2 [1] NCCL INFO Bridge 3 joins 1 to 0 by direct shared memory\n";
	char *path = temporary(
		"link: ^Bridge (?<channel>\\d+) joins (?<from>\\d+) to (?<to>\\d+) by "
		"(?<transport>NET[^ ]*)\nlink transport=SHM/own: ^Bridge (?<channel>\\d+)\n"
		"  [ ]joins (?<from>\\d+) to (?<to>\\d+) by direct\n");
	struct error err = { .rank = -1 };
	struct nccl_log log;

	nccl_log_init(&log);
	CU_ASSERT_EQUAL(nccl_log_read_lines(&log, path, &err), 0);
	nccl_log_read(&log, text, sizeof(text) - 1, -1);
	nccl_log_finish(&log);
	CU_ASSERT_EQUAL_FATAL(log.n_comms, 1);
	CU_ASSERT_EQUAL_FATAL(log.comms[0].n_links, 2);
	UNIT_ALL(!strcmp(log.comms[0].links[0].transport, "NET/IB/2"),
		 !strcmp(log.comms[0].links[1].transport, "SHM/own"));
	nccl_log_release(&log);
	unlink(path);
}

UNIT_TEST(test_shapes,
	  "digits make no difference to a shape, and rows that ask for digits are not remembered")
{
	static const char *const texts[] = { "with status=12 opcode=0", "with status=13 opcode=1",
					     "with status=99 opcode=1", "with status=12 opcode=2" };
	static const char *const whats[] = { "12", "13", "with an error", "12" };
	struct nccl_log log;
	uint64_t shape = 0;

	CU_ASSERT_EQUAL(pattern_shape("a 0x7f12 b", 10), pattern_shape("a 0xabcd b", 10));
	CU_ASSERT_NOT_EQUAL(pattern_shape("a 12 b", 6), pattern_shape("a bc b", 6));
	CU_ASSERT_NOT_EQUAL(pattern_shape("a 12", 4), pattern_shape("a 123", 5));
	nccl_log_init(&log);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < LENGTH(texts); i++) {
			char text[100];
			const struct nccl_cause *cause;

			snprintf(text, sizeof(text), "Got completion %s", texts[i]);
			CU_ASSERT_TRUE(!shape || shape == pattern_shape(text, strlen(text)));
			shape = pattern_shape(text, strlen(text));
			cause = nccl_cause_of(&log, "", text, NCCL_CAUSE, shape);
			CU_ASSERT_TRUE(cause && strstr(cause->what, whats[i]));
		}
	nccl_log_release(&log);
}

/* A memory of a program's line does not serve the message of the same words. */
UNIT_TEST(test_sets, "a line of a program, and a message of the same words")
{
	static const char text[] = "CUDA error 12\na:1:1 [0] NCCL INFO CUDA error 12\n"
				   "CUDA error 34\na:1:1 [0] NCCL INFO CUDA error 34\n";
	struct nccl_log log;

	lines_read_text(&log, text, sizeof(text) - 1);
	UNIT_ALL(log.nccl_lines == 2, log.lines == 4);
	nccl_log_release(&log);
}

static char *printed(const char *path, bool jit)
{
	struct error err = { .rank = -1 };
	struct nccl_log log;
	char *text;

	nccl_log_init(&log);
	log.rows->matcher.jit &= jit;
	CU_ASSERT_EQUAL(nccl_log_read_file(&log, path, -1, &err), 0);
	nccl_log_finish(&log);
	text = UNIT_PRINTED(out, nccl_log_print(out, &log, NULL));
	nccl_log_release(&log);
	return text;
}

UNIT_TEST(test_no_jit, "without JIT the answers are the same")
{
	glob_t logs;

	CU_ASSERT_EQUAL_FATAL(glob("ci/tests/data/logs/*.log", 0, NULL, &logs), 0);
	glob("ci/tests/data/logs/*/*.log", GLOB_APPEND, NULL, &logs);
	glob("ci/tests/data/nccl_log_h200x4.log", GLOB_APPEND, NULL, &logs);
	CU_ASSERT_TRUE(logs.gl_pathc > 40);
	for (size_t i = 0; i < logs.gl_pathc; i++) {
		char *with = printed(logs.gl_pathv[i], true);
		char *without = printed(logs.gl_pathv[i], false);

		CU_ASSERT_STRING_EQUAL(with, without);
		free(with);
		free(without);
	}
	globfree(&logs);
}

/* Each line is cut at 64 KiB. Without limits these took minutes; now 0.02 s each. */
UNIT_TEST(test_long_lines, "lines that are made to be slow")
{
	static const char *const pieces[] = {
		"a",	       "comm 0x1 rank 1 nranks 2 cudaDev 1 ",
		" NCCL INFO ", "1:1:1 [0] NCCL INFO ",
		"Bytes ->",    "[2025-01-01 00:00:0",
		"NET/ ",       "[repeated 3x across cluste",
		"GPU/0-1 :",   "RCCL version ",
		"rank ",       "Traceback (most recent ",
	};
	clock_t from = clock();
	struct nccl_log log;

	UNIT_ROWS(piece, pieces) {
		size_t len = 70000, n = 0;
		char *text = malloc(2 * len);

		n += (size_t)sprintf(text, "h:1:1 [0] NCCL INFO ");
		while (n < len)
			n += (size_t)sprintf(text + n, "%s", *piece);
		text[n++] = '\n';
		n += (size_t)sprintf(text + n, "h:1:1 [0] NCCL INFO Using network IB\n");
		lines_read_text(&log, text, n);
		CU_ASSERT_TRUE(log.network && !strcmp(log.network, "IB"));
		nccl_log_release(&log);
		free(text);
	}
	CU_ASSERT_TRUE(clock() - from < 20 * CLOCKS_PER_SEC);
}
