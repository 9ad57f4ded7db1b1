/* test_logs.c: NCCL's logs of a folder in the post-mortem: real ones, none, lookalikes. */
#include "rig/unit.h"

#include "answer/postmortem.h"

#define REAL "ci/tests/data/nccl_log_h200x4.log"

static char dir[UNIT_TEMP];

static const char *in_dir(const char *name)
{
	static char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* The text that is printed of the folder has this in it; "" is all of it. */
static void expect(int logs, const char *const *has, const char *lacks)
{
	char *text = UNIT_PRINTED(f, CU_ASSERT_EQUAL(logs_print(f, dir), logs));

	for (int i = 0; has[i]; i++)
		CU_ASSERT_TRUE(has[i][0] ? strstr(text, has[i]) != NULL : !*text);
	CU_ASSERT_PTR_NULL(strstr(text, lacks));
	free(text);
}

static void copy_log(const char *name)
{
	char text[1 << 17];
	FILE *from = fopen(REAL, "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(from);
	CU_ASSERT_EQUAL(unit_put(dir, name, text, fread(text, 1, sizeof(text), from)), 0);
	fclose(from);
}

/* Not under another name; a folder that is gone has none. */
UNIT_TEST(test_real, "real logs and none")
{
	CU_ASSERT_EQUAL_FATAL(unit_folder(dir), 0);
	copy_log("other.log");
	expect(0, (const char *[]){ "", NULL }, "x");
	copy_log("nccl-vm-1.log");
	expect(1,
	       (const char *[]){ "1 of 1 could be read",
				 "\n    communicator 0: is this ring rational? rational\n",
				 "0 -P2P/direct pointer-> 1", NULL },
	       "other.log");
	CU_ASSERT_EQUAL(unit_remove(dir), 0);
	expect(0, (const char *[]){ "", NULL }, "x");
}

/* A folder, a link and binary rubbish of that name: counted, not followed, no crash. */
UNIT_TEST(test_hostile, "what only looks like one")
{
	char rubbish[100000];

	CU_ASSERT_EQUAL_FATAL(unit_folder(dir), 0);
	CU_ASSERT_EQUAL(mkdir(in_dir("nccl-a.log"), 0700), 0);
	CU_ASSERT_EQUAL(symlink("/etc/passwd", in_dir("nccl-b.log")), 0);
	for (int i = 0; i < (int)sizeof(rubbish); i++)
		rubbish[i] = (char)(i * 7919 >> 3);
	CU_ASSERT_EQUAL(unit_put(dir, "nccl-c.log", rubbish, sizeof(rubbish)), 0);
	expect(3, (const char *[]){ "1 of 3 could be read", NULL }, "root:");
	CU_ASSERT_EQUAL(unit_remove(dir), 0);
}
