/* test_output.c: lost output is reported, with its reason. */
#include "rig/unit.h"

#include <jansson.h>

#include "base/file.h"
#include "base/json_value.h"
#include "base/output.h"

/* Amounts below and above a stream's buffer. */
UNIT_TEST(test_close, "streams")
{
	static const int amounts[] = { 0, 1, 4096, 100000 };

	for (size_t i = 0; i < LENGTH(amounts); i++) {
		FILE *full = fopen("/dev/full", "we"), *null = fopen("/dev/null", "we");

		CU_ASSERT_FATAL(full && null);
		fprintf(full, "%*s", amounts[i], "");
		fprintf(null, "%*s", amounts[i], "");
		UNIT_ALL(output_close(full) == (amounts[i] ? -ENOSPC : 0), output_close(null) == 0);
	}
}

UNIT_TEST(test_folders, "folders and those above them")
{
	static const struct {
		const char *path;
		int rc;
	} table[] = { { "a/b/c", 0 },	   { "a//b/", 0 },	   { "a/b/c", 0 },
		      { "file", -EEXIST }, { "file/d", -ENOTDIR }, { "x\ny/z", -EINVAL } };
	char folder[UNIT_TEMP], path[UNIT_PATH], there[PATH_MAX];
	struct stat st;

	CU_ASSERT_FATAL(unit_folder(folder) == 0);
	snprintf(path, sizeof(path), "%s/file", folder);
	fclose(must(fopen(path, "we")));
	UNIT_ROWS(row, table) {
		snprintf(path, sizeof(path), "%s/%s", folder, row->path);
		UNIT_ALL(file_folders(path) == row->rc,
			 (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) == !row->rc);
	}
	snprintf(path, sizeof(path), "%s/a/none/of/it", folder);
	CU_ASSERT_EQUAL(file_ancestor(path, there), 0);
	path[strlen(path) - strlen("/none/of/it")] = '\0';
	CU_ASSERT_STRING_EQUAL(there, path);
	UNIT_ALL(file_ancestor("not/there", there) == 0, strcmp(there, ".") == 0);
}

UNIT_TEST(test_json, "JSON")
{
	json_t *value = json_pack("{s:f}", "a", 0.5);
	char folder[UNIT_TEMP], path[UNIT_PATH], text[64] = "";
	struct stat st;
	FILE *f;

	CU_ASSERT_FATAL(value && unit_folder(folder) == 0);
	snprintf(path, sizeof(path), "%s/a.json", folder);
	CU_ASSERT_EQUAL(json_value_save(value, path, JSON_COMPACT), 0);
	f = fopen(path, "re");
	CU_ASSERT_FATAL(f && fgets(text, sizeof(text), f));
	fclose(f);
	UNIT_ALL(!strcmp(text, "{\"a\":0.5}"), json_value_save(value, "/dev/full", 0) == -ENOSPC,
		 json_value_save(value, "/dev/null", 0) == 0,
		 stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
	snprintf(path, sizeof(path), "%s/no/a.json", folder);
	CU_ASSERT_EQUAL(json_value_save(value, path, 0), -ENOENT);
	json_decref(value);
	unit_remove(folder);
}

/* With `path` as standard output: runs output_room, or a write and output_stdout. */
static int on_stdout(const char *path, bool word, struct error *err)
{
	int kept = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CLOEXEC), rc;

	fflush(stdout);
	if (fd >= 0)
		dup2(fd, STDOUT_FILENO);
	else
		close(STDOUT_FILENO);
	if (word)
		printf("word");
	rc = word ? output_stdout(err) : output_room(err);
	dup2(kept, STDOUT_FILENO);
	clearerr(stdout);
	close(kept);
	if (fd >= 0)
		close(fd);
	return rc;
}

UNIT_TEST(test_stdout, "standard output")
{
	static const struct {
		const char *path;
		int code;
	} table[] = { { "/dev/null", 0 }, { "/dev/full", -ENOSPC }, { "/no/such", -EBADF } };

	UNIT_ROWS(row, table)
		for (int word = 0; word < 2; word++) {
			struct error err = { .rank = -1 };
			int rc = on_stdout(row->path, word, &err);

			CU_ASSERT_EQUAL(rc, row->code);
			CU_ASSERT_EQUAL(err.outcome, rc ? OUTCOME_INTERNAL : OUTCOME_OK);
			CU_ASSERT(!rc || strstr(err.text, strerror(-rc)));
		}
}
