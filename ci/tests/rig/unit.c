/* unit.c: the one suite of a unit-test program, run by CUnit; temporary files. */
#include "unit.h"

#include <ftw.h>

#include <CUnit/Basic.h>

#include "base/clock.h"

#define LATE 75 /* as ci/tests/runner has it */

static struct unit_case *cases;
static bool late;

void unit_add(struct unit_case *added)
{
	struct unit_case **at = &cases;

	while (*at && (*at)->line < added->line)
		at = &(*at)->next;
	added->next = *at;
	*at = added;
}

/* Returns how many were added. */
static unsigned add_cases(void)
{
	CU_pSuite suite = CU_add_suite(program_invocation_short_name, NULL, NULL);
	unsigned n = 0;

	for (struct unit_case *c = cases; c; c = c->next, n++)
		if (!suite || !CU_add_test(suite, c->name, c->run))
			return 0;
	return n;
}

/* CU_get_error() stays 0 when assertions fail, so it is the counters that decide. Failure records
 * count failed assertions as well as suites and tests that could not run. */
static int judge(unsigned n)
{
	if (n == 0 || CU_get_number_of_tests_run() != n)
		return 1;
	return CU_get_number_of_failures() || CU_get_number_of_tests_failed() ||
	       CU_get_number_of_suites_failed() || CU_get_number_of_failure_records();
}

bool unit_in_time(double took, double limit)
{
	if (took > limit)
		printf("LATE: %.2f s instead of %.2f\n", took, limit);
	late |= took > limit;
	return true;
}

int unit_times(int n)
{
	const char *share = getenv("UNIT_SHARE");
	int parts = share ? atoi(share) : 1;

	return parts > 1 ? (n + parts - 1) / parts : n;
}

double unit_until(double seconds)
{
	double load = 0, n = (double)sysconf(_SC_NPROCESSORS_ONLN);

	getloadavg(&load, 1);
	return clock_seconds() + seconds * fmin(8, fmax(1, load / n));
}

int unit_main(void)
{
	unsigned n;
	int rc = 1;

	/* A test that crashes must not take the names of those before it along. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (CU_initialize_registry() == CUE_SUCCESS && (n = add_cases()) > 0) {
		CU_basic_set_mode(CU_BRM_VERBOSE);
		if (CU_basic_run_tests() == CUE_SUCCESS)
			rc = judge(n);
	} else {
		fprintf(stderr, "%s: CUnit: %s\n", program_invocation_short_name,
			CU_get_error_msg());
	}
	CU_cleanup_registry();
	return rc == 0 && late ? LATE : rc;
}

__attribute__((weak)) int main(void)
{
	return unit_main();
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

	snprintf(path, sizeof(path), "%s%s%s", folder ? folder : "", folder ? "/" : "", name);
	f = fopen(path, "we");
	if (!f || fwrite(data, 1, bytes, f) != bytes)
		rc = complain(path);
	if (f && fclose(f) != 0 && !rc)
		rc = complain(path);
	return rc;
}

static char *read_whole(const char *path, size_t *len)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t n = 0, room = 0;

	if (!file)
		return NULL;
	do {
		if (n == room)
			text = realloc(text, (room = 2 * room + 4096) + 1);
		n += fread(text + n, 1, room - n, file);
	} while (n == room);
	fclose(file);
	text[n] = '\0';
	if (len)
		*len = n;
	return text;
}

char *unit_read(const char *path, size_t *len)
{
	char *text = read_whole(path, len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	return text;
}

const char *unit_text(const char *path)
{
	static char *text;

	free(text);
	text = read_whole(path, NULL);
	return text ? text : "";
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

int unit_remove(const char *folder)
{
	return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0 ? 0 : -errno;
}

bool unit_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

bool unit_gone(const char *path)
{
	double give_up = unit_until(5);

	while (unit_there(path) && clock_seconds() < give_up)
		clock_sleep(0.001);
	return !unit_there(path);
}

int unit_ended(pid_t pid, double seconds)
{
	double give_up = unit_until(seconds);
	int status;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		if (clock_seconds() > give_up) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		clock_sleep(0.001);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int unit_main_folder(char path[UNIT_TEMP])
{
	int rc;

	if (unit_folder(path) < 0)
		return 1;
	rc = unit_main();
	return unit_remove(path) == 0 ? rc : 1;
}

int unit_main_file(char path[UNIT_TEMP])
{
	int fd = unit_file(path), rc;

	if (fd < 0)
		return 1;
	close(fd);
	rc = unit_main();
	unlink(path);
	return rc;
}
