/* unit.c: the one suite of a unit-test program, run by CUnit; temporary files. */
#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/wait.h>

#include <CUnit/Basic.h>

#include "base/clock.h"

static int add_cases(const char *suite, const struct unit_case *cases, size_t n)
{
	CU_pSuite s = CU_add_suite(suite, NULL, NULL);

	if (!s)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!CU_add_test(s, cases[i].name, cases[i].run))
			return -1;
	return 0;
}

/* CU_get_error() stays 0 when assertions fail, so it is the counters that decide. Failure records
 * count failed assertions as well as suites and tests that could not run. */
static int judge(size_t n)
{
	if (n == 0 || CU_get_number_of_tests_run() != n)
		return 1;
	return CU_get_number_of_failures() || CU_get_number_of_tests_failed() ||
	       CU_get_number_of_suites_failed() || CU_get_number_of_failure_records();
}

int unit_main(const char *suite, const struct unit_case *cases, size_t n)
{
	int rc = 1;

	/* A test that crashes must not take the names of those before it along. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (CU_initialize_registry() != CUE_SUCCESS) {
		fprintf(stderr, "%s: CUnit: %s\n", suite, CU_get_error_msg());
		return 1;
	}
	if (add_cases(suite, cases, n) < 0) {
		fprintf(stderr, "%s: CUnit: %s\n", suite, CU_get_error_msg());
		goto out;
	}
	CU_basic_set_mode(CU_BRM_VERBOSE);
	if (CU_basic_run_tests() == CUE_SUCCESS)
		rc = judge(n);
out:
	CU_cleanup_registry();
	return rc;
}

/* Where temporary files go. */
static const char *temporary(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && folder[0] ? folder : "/tmp";
}

static int name_temporary(char path[UNIT_TEMP])
{
	int n = snprintf(path, UNIT_TEMP, "%s/%s.XXXXXX", temporary(),
			 program_invocation_short_name);

	if (n > 0 && n < UNIT_TEMP)
		return 0;
	fprintf(stderr, "TMPDIR=%s: too long for these tests\n", temporary());
	return -ENAMETOOLONG;
}

static int complain(const char *path)
{
	int rc = -errno;

	fprintf(stderr, "%s: %s\n", path, strerror(-rc));
	return rc;
}

int unit_folder(char path[UNIT_TEMP])
{
	int rc = name_temporary(path);

	if (rc < 0)
		return rc;
	return mkdtemp(path) ? 0 : complain(path);
}

int unit_file(char path[UNIT_TEMP])
{
	int rc = name_temporary(path);

	if (rc < 0)
		return rc;
	rc = mkostemp(path, O_CLOEXEC);
	return rc < 0 ? complain(path) : rc;
}

int unit_put(const char *folder, const char *name, const void *data, size_t bytes)
{
	char path[UNIT_PATH];
	FILE *f;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "we");
	if (!f || fwrite(data, 1, bytes, f) != bytes)
		rc = complain(path);
	if (f && fclose(f) != 0 && !rc)
		rc = complain(path);
	return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

int unit_remove(const char *folder)
{
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -errno;
}

int unit_ended(pid_t pid, double seconds)
{
	double give_up = clock_seconds() + seconds;
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (clock_seconds() > give_up) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		clock_nap(0.001);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int unit_main_folder(char path[UNIT_TEMP], const char *suite, const struct unit_case *cases,
		     size_t n)
{
	int rc;

	if (unit_folder(path) < 0)
		return 1;
	rc = unit_main(suite, cases, n);
	return unit_remove(path) == 0 ? rc : 1;
}

int unit_main_file(char path[UNIT_TEMP], const char *suite, const struct unit_case *cases, size_t n)
{
	int fd = unit_file(path), rc;

	if (fd < 0)
		return 1;
	close(fd);
	rc = unit_main(suite, cases, n);
	unlink(path);
	return rc;
}
