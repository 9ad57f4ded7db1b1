/* test_logs.c: NCCL's logs of an evidence folder in the post-mortem: real ones, none, and what only
 * looks like one. */
#include "rig/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "postmortem/logs.h"

#define REAL "ci/tests/data/nccl_log_h200x4.log"

static char dir[UNIT_TEMP];

static const char *in_dir(const char *name)
{
	static char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* What is printed of the folder; the caller frees. */
static char *printed(int logs)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(logs_print(f, dir), logs);
	fclose(f);
	return text;
}

static void set_up(void)
{
	CU_ASSERT_EQUAL_FATAL(unit_folder(dir), 0);
}

static void copy_log(const char *name)
{
	FILE *from = fopen(REAL, "r"), *to = fopen(in_dir(name), "w");
	int c;

	CU_ASSERT_TRUE_FATAL(from && to);
	while ((c = getc(from)) != EOF)
		putc(c, to);
	fclose(from);
	fclose(to);
}

static void test_real(void)
{
	char *text;

	set_up();
	copy_log("nccl-vm-1.log");
	text = printed(1);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "1 of 1 could be read"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "\n    communicator 0: is this ring rational? rational\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "0 -P2P/direct pointer-> 1"));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "the same calls on all ranks here (4 ranks made 9)"));
	free(text);
	unlink(in_dir("nccl-vm-1.log"));
	rmdir(dir);
}

static void test_none(void)
{
	char *text;

	set_up();
	copy_log("other.log");
	text = printed(0);
	CU_ASSERT_STRING_EQUAL(text, "");
	free(text);
	unlink(in_dir("other.log"));
	rmdir(dir);
	text = printed(0); /* no such folder */
	CU_ASSERT_STRING_EQUAL(text, "");
	free(text);
}

/* A folder, a link to elsewhere and binary rubbish of that name: counted, not followed,
 * no crash. */
static void test_hostile(void)
{
	char *text;
	FILE *f;

	set_up();
	CU_ASSERT_EQUAL(mkdir(in_dir("nccl-a.log"), 0700), 0);
	CU_ASSERT_EQUAL(symlink("/etc/passwd", in_dir("nccl-b.log")), 0);
	f = fopen(in_dir("nccl-c.log"), "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	for (int i = 0; i < 100000; i++)
		putc(i * 7919 >> 3, f);
	fclose(f);
	text = printed(3);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "1 of 3 could be read"));
	CU_ASSERT_PTR_NULL(strstr(text, "root:"));
	free(text);
	rmdir(in_dir("nccl-a.log"));
	unlink(in_dir("nccl-b.log"));
	unlink(in_dir("nccl-c.log"));
	rmdir(dir);
}

static const struct unit_case cases[] = {
	{ "a real log", test_real },
	{ "no logs", test_none },
	{ "what only looks like one", test_hostile },
};

int main(void)
{
	return unit_main("logs", cases, sizeof(cases) / sizeof(cases[0]));
}
