/* mpi_test_host_calibrate.c: ranks of a host meet in shared memory; what calibration measures makes
 * sense. */
/* ranks: 4 */
/* alone: it measures this host */
#include "rig/unit.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "topo/host_calibrate.h"
#include "topo/host_meet.h"

enum { RANKS = 4 };

static struct job job;
static struct error err;

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static double largest(double value)
{
	CU_ASSERT_EQUAL(job_max(&job, &value, 1), 0);
	return value;
}

/* The same on all ranks? */
static void same(double value)
{
	CU_ASSERT_EQUAL(largest(value), -largest(-value));
}

static void test_meet(void)
{
	struct host_meet *meet;
	int files = open_files();
	static int thing;

	CU_ASSERT_EQUAL_FATAL(host_meet_open(&meet, &job, true, &err), 0);
	host_meet_sit(meet, job.rank, &thing);
	for (int i = 0; i < 100; i++)
		host_meet(meet, i % 10 == 0);
	for (int i = 0; i < RANKS; i++)
		CU_ASSERT_TRUE(host_meet_seat(meet, i).pid > 0);
	CU_ASSERT_EQUAL(host_meet_seat(meet, 3).rank, 3);
	CU_ASSERT_PTR_EQUAL(host_meet_seat(meet, job.local_rank).pool, &thing);
	CU_ASSERT_TRUE(host_meet_say(meet, job.local_rank == 0)); /* the first one's word */
	CU_ASSERT_FALSE(host_meet_say(meet, job.local_rank != 0));
	CU_ASSERT_EQUAL(host_meet_most(meet, job.local_rank == 1 ? .5 : .25), .5);
	CU_ASSERT_EQUAL(host_meet_most(meet, -job.local_rank), 0);
	CU_ASSERT_FALSE(host_meet_refused(meet));
	host_meet(meet, false);
	if (job.local_rank == 2)
		host_meet_refuse(meet);
	host_meet(meet, false);
	CU_ASSERT_TRUE(host_meet_refused(meet));
	CU_ASSERT_FALSE(host_meet_failed(meet));
	host_meet_close(meet);
	CU_ASSERT_EQUAL(open_files(), files);
}

/* One that gives up frees the others at once. */
static void test_fail(void)
{
	struct host_meet *meet;
	double begin = clock_seconds();

	CU_ASSERT_EQUAL_FATAL(host_meet_open(&meet, &job, true, &err), 0);
	if (job.local_rank == 3)
		host_meet_fail(meet);
	else
		host_meet(meet, false);
	CU_ASSERT_TRUE(host_meet_failed(meet));
	CU_ASSERT_FALSE(host_meet_say(meet, true));
	CU_ASSERT_TRUE(clock_seconds() - begin < 4); /* 5 s is how long one waits for a rank */
	job_barrier(&job, "the others");
	host_meet_close(meet);
}

static void test_topo(void)
{
	struct host_meet *meet;
	struct host_topo topo;

	CU_ASSERT_EQUAL_FATAL(host_meet_open(&meet, &job, true, &err), 0);
	CU_ASSERT_EQUAL(host_meet_topo(meet, &topo, &err), 0);
	CU_ASSERT_EQUAL(topo.ranks, RANKS);
	CU_ASSERT_TRUE(topo.rank_cores >= 1 && topo.rank_cores <= topo.cores);
	same(topo.rank_cores);
	host_meet_close(meet);
}

/* No host copies below 10 MB/s or above 1 TB/s for one rank. */
static void plausible(double ns)
{
	CU_ASSERT_TRUE(ns > 1e-3 && ns < 100);
}

static void test_calibrate(void)
{
	static struct host_figures f;
	struct host_topo topo;
	int files = open_files();
	double begin = clock_seconds();

	CU_ASSERT_EQUAL_FATAL(host_calibrate(&job, true, &topo, &f, &err), 0);
	CU_ASSERT_TRUE(clock_seconds() - begin < 5); /* a third of a second, when nobody disturbs */
	CU_ASSERT_EQUAL(open_files(), files);
	for (int i = 0; i < HOST_SIZES; i++) {
		plausible(f.copy_alone[i]);
		plausible(f.copy_all[i]);
		if (isfinite(f.read_all[i]))
			plausible(f.read_all[i]);
		same(f.copy_all[i]);
	}
	plausible(f.fresh);
	CU_ASSERT_TRUE(f.waited >= 0 && f.waited <= 1);
	CU_ASSERT_DOUBLE_EQUAL(f.crowd, (double)topo.ranks / topo.rank_pus, 1e-9);
	plausible(f.reduce[DT_FLOAT][OP_SUM]);
	CU_ASSERT_TRUE(f.reduce[DT_F8E4M3][OP_SUM] > f.reduce[DT_FLOAT][OP_SUM]); /* in software */
	CU_ASSERT_TRUE(isinf(f.reduce[DT_FLOAT][OP_MULSUM]));			  /* NCCL's own */
	CU_ASSERT_TRUE(f.step_us > 0 && f.step_us < 1e5);
	CU_ASSERT_TRUE(f.hop_us > 0 && f.hop_us < 1e5);
	same(f.step_us);
}

static void test_library(void)
{
	struct host_library l;

	host_library_read(&l);
	CU_ASSERT_TRUE(l.eager >= 0 && l.eager < 1e9);
	CU_ASSERT_TRUE(l.path >= HOST_SINGLE_COPY && l.path <= HOST_NO_PATH);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "meeting", test_meet },
		{ "one gives up", test_fail },
		{ "who sits where", test_topo },
		{ "figures", test_calibrate },
		{ "the library's ways", test_library },
	};
	int rc;

	err.rank = -1;
	if (job_init(&job, NULL, &err, RANKS) < 0 || job_select(&job, 0) < 0)
		return 1;
	rc = unit_main("host_calibrate", cases, sizeof(cases) / sizeof(cases[0]));
	job_release(&job);
	return rc;
}
