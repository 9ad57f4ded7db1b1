/* unit.c: the one suite of a unit-test program, run by CUnit. */
#include "unit.h"

#include <stdio.h>

#include <CUnit/Basic.h>

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

/* CU_get_error() stays 0 when assertions fail, so it is the counters that decide. Failure records count failed assertions
 * as well as suites and tests that could not run. */
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
