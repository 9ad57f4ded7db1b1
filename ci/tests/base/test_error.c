/* test_error.c: the first error wins, stays one line, and is printed by its outcome. */
#include "base/error.h"

#include "rig/unit.h"

UNIT_TEST(test_first_wins, "the first error wins")
{
	struct error err = { .rank = -1 };

	CU_ASSERT_EQUAL(error_set(&err, OUTCOME_HANG, -ETIMEDOUT, "waited %d s", 5), -ETIMEDOUT);
	CU_ASSERT_EQUAL(err.line, __LINE__ - 1);
	UNIT_ALL(err.outcome == OUTCOME_HANG, err.code == -ETIMEDOUT, err.rank == -1,
		 strstr(err.file, "test_error.c") != NULL, !strcmp(err.text, "waited 5 s"),
		 error_set(&err, OUTCOME_USAGE, -EINVAL, "later") == -EINVAL,
		 err.outcome == OUTCOME_HANG, err.code == -ETIMEDOUT,
		 !strcmp(err.text, "waited 5 s"));
}

/* Only the owner of an error sets its rank. */
UNIT_TEST(test_keeps_rank, "the rank is left alone")
{
	struct error err = { .rank = 3 };

	error_set(&err, OUTCOME_ERROR, -EIO, "x");
	CU_ASSERT_EQUAL(err.rank, 3);
}

UNIT_TEST(test_no_outcome, "an error without outcome is internal")
{
	struct error err = { .rank = -1 };

	error_set(&err, OUTCOME_OK, -EIO, "lost?");
	UNIT_ALL(err.outcome == OUTCOME_INTERNAL, !strcmp(err.text, "lost?"));
}

UNIT_TEST(test_hostile_text, "hostile and long texts")
{
	static char huge[5000];
	struct error err = { .rank = -1 };

	error_set(&err, OUTCOME_USAGE, -EINVAL, "%s", "a\nb\r\033[31mc\177 \xc3\xa4 %s%n");
	CU_ASSERT_STRING_EQUAL(err.text, "a?b??[31mc? \xc3\xa4 %s%n");
	memset(huge, 'y', sizeof(huge) - 1);
	err = (struct error){ .rank = -1 };
	error_set(&err, OUTCOME_USAGE, -EINVAL, "%s", huge);
	CU_ASSERT_EQUAL(strlen(err.text), sizeof(err.text) - 1);
}

/* Captures the output of error_print. */
static void printed(const struct error *err, char *buf, size_t len)
{
	int saved = dup(STDERR_FILENO), ends[2];
	ssize_t n;

	CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_NONBLOCK), 0);
	dup2(ends[1], STDERR_FILENO);
	error_print(err, "x_perf");
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(ends[1]);
	n = read(ends[0], buf, len - 1);
	close(ends[0]);
	buf[n > 0 ? n : 0] = '\0';
}

UNIT_TEST(test_print, "printing")
{
	static const struct {
		struct error err;
		const char *want;
	} cases[] = {
		{ { .outcome = OUTCOME_OK, .text = "nothing" }, "" },
		{ { .outcome = OUTCOME_USAGE, .rank = 1, .file = "f.c", .line = 7, .text = "-b 0" },
		  "x_perf: -b 0\n" },
		{ { .outcome = OUTCOME_UNSUPPORTED,
		    .rank = 1,
		    .file = "f.c",
		    .line = 7,
		    .text = "no" },
		  "x_perf: no\n" },
		{ { .outcome = OUTCOME_ERROR, .rank = 2, .file = "f.c", .line = 7, .text = "bad" },
		  "x_perf: rank 2: bad (f.c:7)\n" },
		{ { .outcome = OUTCOME_INTERNAL,
		    .rank = 0,
		    .file = "f.c",
		    .line = 7,
		    .text = "bad" },
		  "x_perf: rank 0: bad (f.c:7)\n" },
		{ { .outcome = OUTCOME_HANG, .rank = -1, .file = "f.c", .line = 7, .text = "bad" },
		  "x_perf: bad (f.c:7)\n" },
	};
	char buf[1024];
	size_t i;

	for (i = 0; i < LENGTH(cases); i++) {
		printed(&cases[i].err, buf, sizeof(buf));
		CU_ASSERT_STRING_EQUAL(buf, cases[i].want);
	}
}
