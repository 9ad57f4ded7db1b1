/* options_line.c: command lines and environments for the option parser. */
#include "options/options_line.h"

int line_parse(struct options *options, const struct option_target *collective, const char *line,
	       char *buf, size_t len, struct error *err)
{
	char *argv[64] = { (char *)(uintptr_t) "x_perf" }, *before[64], *word, *save = NULL;
	int argc = 1, rc;

	snprintf(buf, len, "%s", line);
	for (word = strtok_r(buf, " ", &save); word && argc < 63; word = strtok_r(NULL, " ", &save))
		argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
	memcpy(before, argv, sizeof(argv));
	*err = (struct error){ .rank = -1 };
	rc = options_parse(options, collective, argc, argv, err);
	CU_ASSERT_EQUAL(memcmp(before, argv, sizeof(argv)), 0);
	return rc;
}

void line_environment(const char *list, bool set)
{
	char buf[512], *word, *save = NULL;

	snprintf(buf, sizeof(buf), "%s", list ? list : "");
	for (word = strtok_r(buf, ";", &save); word; word = strtok_r(NULL, ";", &save)) {
		char *value = strchr(word, '=');

		*value++ = '\0';
		if (set)
			setenv(word, value, 1);
		else
			unsetenv(word);
	}
}

int options_main(void)
{
	line_environment(
		"NCCL_TESTS_DEVICE=;NCCL_TESTS_SPLIT=;NCCL_TESTS_SPLIT_MASK=;NCCL_TESTS_MIN_BW=;"
		"NCCL_TESTS_ALLTOALLV_SPREAD=;NCCL_TESTS_ALLTOALLV_MATRIX_FILE=;"
		"NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=;NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=",
		false);
	return unit_main();
}
