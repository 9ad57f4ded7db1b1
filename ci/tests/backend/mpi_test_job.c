/* mpi_test_job.c: ranks, nodes, groups and the small exchanges, each inside one watched wait. */
/* ranks: 4 */
#include "rig/unit.h"

#include "backend/job.h"

enum { RANKS = 4 };

static struct job job;
static struct error err, init_err;
static int init_rc;

static struct {
	int depth, deepest, waits, endless;
	double seconds;
	char what[64];
} seen;

static void see_enter(void *ctx, const char *what, double seconds)
{
	seen.depth++;
	seen.waits++;
	if (seen.depth > seen.deepest)
		seen.deepest = seen.depth;
	seen.endless += seconds <= 0;
	seen.seconds = seconds;
	snprintf(seen.what, sizeof(seen.what), "%s", what);
}

static int works;

static void see_work(void *ctx, const char *what, double seconds)
{
	works++;
	see_enter(ctx, what, seconds);
}

static void see_leave(void *ctx)
{
	seen.depth--;
}

static const struct watch watch = { .enter = see_enter, .work = see_work, .leave = see_leave };

static void set_up(void)
{
	err = (struct error){ .rank = job.rank };
	memset(&seen, 0, sizeof(seen));
}

static void one_wait(const char *what)
{
	UNIT_ALL(seen.depth == 0, seen.deepest == 1, seen.waits == 1, seen.endless == 0,
		 seen.seconds == job.deadline, !strcmp(seen.what, what));
	memset(&seen, 0, sizeof(seen));
}

/* main() has announced one process too many to job_init. */
UNIT_TEST(test_too_few, "fewer ranks than announced")
{
	if (!job.ops->mpi) {
		CU_ASSERT_EQUAL(init_rc, 0);
		return;
	}
	UNIT_ALL(init_rc == -EINVAL, init_err.outcome == OUTCOME_USAGE,
		 strstr(init_err.text, "announces 5 processes but MPI sees 4") != NULL,
		 strstr(init_err.text, job.library) != NULL);
}

UNIT_TEST(test_places, "places")
{
	int world_rank, rank, size;

	set_up();
	job.ops->place(job.world, &world_rank, &size);
	UNIT_ALL(job.rank == world_rank, job.nranks == RANKS, init_err.rank == world_rank,
		 job.nnodes == 1, job.node == 0, job.local_ranks == RANKS,
		 job.local_rank == world_rank);
	for (int r = 0; r < RANKS; r++)
		CU_ASSERT_EQUAL(job.node_of[r], 0);
	UNIT_ALL(!job.spare, job.group_rank == job.rank, job.group_size == RANKS,
		 strlen(job.library) > 0 && !strpbrk(job.library, ",\n"));
	/* measured traffic, control traffic and the user's are separate */
	UNIT_ALL(job.comm != job.traffic, job.group_comm != job.traffic, size == RANKS);
	job.ops->place(job.traffic, &rank, &size);
	UNIT_ALL(rank == job.rank, size == RANKS);
}

UNIT_TEST(test_exchanges, "exchanges")
{
	double values[2] = { job.rank, -job.rank };
	int numbers[2] = { 10 - job.rank, job.rank * job.rank };
	long long sums[2] = { 1, 1000000000000ll * job.rank };
	char word[8] = "";

	set_up();
	CU_ASSERT_EQUAL(job_barrier(&job, "a meeting"), 0);
	one_wait("a meeting");
	CU_ASSERT_EQUAL(job_max(&job, values, 2), 0);
	one_wait("the slowest rank's figures");
	UNIT_ALL(values[0] == RANKS - 1, values[1] == 0, job_max_int(&job, numbers, 2) == 0);
	one_wait("agreeing");
	UNIT_ALL(numbers[0] == 10, numbers[1] == 9, job_sum_int64(&job, sums, 2) == 0);
	one_wait("adding up");
	UNIT_ALL(sums[0] == RANKS, sums[1] == 6000000000000ll);
	if (job.rank == 0)
		snprintf(word, sizeof(word), "hangar");
	CU_ASSERT_EQUAL(job_bcast(&job, word, sizeof(word)), 0);
	one_wait("a word from rank 0");
	UNIT_ALL(!strcmp(word, "hangar"), job_bcast(&job, NULL, 0) == 0);
	memset(&seen, 0, sizeof(seen));
	job.deadline = 123;
	CU_ASSERT_EQUAL(job_barrier(&job, "for long"), 0);
	one_wait("for long");
	job.deadline = 10;
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_OK);
}

UNIT_TEST(test_gather, "gather")
{
	struct {
		int rank;
		char text[12];
	} mine = { .rank = job.rank }, all[RANKS];

	set_up();
	snprintf(mine.text, sizeof(mine.text), "I am %d", job.rank);
	memset(all, 0, sizeof(all));
	CU_ASSERT_EQUAL(job_gather(&job, &mine, sizeof(mine), job.rank == 0 ? all : NULL), 0);
	one_wait("gathering at rank 0");
	for (int r = 0; r < RANKS && job.rank == 0; r++)
		UNIT_ALL(all[r].rank == r, all[r].text[5] == '0' + r);
}

/* All ranks are on one node: only its first one contributes. */
UNIT_TEST(test_gather_nodes, "gather from nodes")
{
	int mine = 100 + job.rank, all[RANKS];

	set_up();
	for (int r = 0; r < RANKS; r++)
		all[r] = -7;
	CU_ASSERT_EQUAL(job_gather_nodes(&job, &mine, sizeof(mine), job.rank == 0 ? all : NULL), 0);
	if (job.rank == 0)
		one_wait("gathering hosts at rank 0");
	UNIT_ALL(all[0] == (job.rank == 0 ? 100 : -7), all[1] == -7,
		 job_gather_nodes(&job, &mine, (size_t)1 << 31, all) == -EOVERFLOW);
	err = (struct error){ .rank = job.rank };
}

static void check_group(int ngroups, int rank, int size)
{
	int traffic_rank, traffic_size, lead = job.rank;

	UNIT_ALL(job.group_rank == rank, job.group_size == size);
	job.ops->place(job.traffic, &traffic_rank, &traffic_size);
	UNIT_ALL(traffic_rank == rank, traffic_size == size,
		 job_group_bcast(&job, &lead, sizeof(lead)) == 0);
	CU_ASSERT_EQUAL(lead,
			job.rank - rank * ngroups); /* groups here are every ngroups-th rank */
}

UNIT_TEST(test_groups, "groups")
{
	set_up();
	UNIT_ALL(job_split(&job, job.rank % 2 ? 2 : 7) == 0, seen.deepest == 1);
	check_group(2, job.rank / 2, 2);
	CU_ASSERT_EQUAL(job_split(&job, 100 - job.rank), 0);
	check_group(4, 0, 1);
	CU_ASSERT_EQUAL(job_split(&job, job.rank == 0), 0); /* one against three */
	UNIT_ALL(job.group_size == (job.rank == 0 ? 1 : 3),
		 job.group_rank == (job.rank == 0 ? 0 : job.rank - 1), job_split(&job, 0) == 0);
	check_group(1, job.rank, RANKS);
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_OK);
}

static int fail(const char *text)
{
	return error_set(&err, OUTCOME_UNSUPPORTED, -ENODEV, "rank %d: %s", job.rank, text);
}

UNIT_TEST(test_agree, "agree")
{
	int rc;

	set_up();
	CU_ASSERT_EQUAL(job_agree(&job, 0), 0);
	one_wait("agreeing that nothing failed");
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_OK);

	rc = job_agree(&job, job.rank == 2 ? fail("no GPU") : 0);
	UNIT_ALL(rc == (job.rank == 2 ? -ENODEV : -EREMOTEIO), seen.depth == 0,
		 err.outcome == OUTCOME_UNSUPPORTED, err.code == -ENODEV, err.rank == 2,
		 !strcmp(err.text, "rank 2: no GPU"));
	CU_ASSERT(strlen(err.file) > 0); /* of this process, not another's pointer */

	/* the lowest failing rank's error, on all ranks */
	set_up();
	rc = job_agree(&job, job.rank % 2 ? fail("odd") : 0);
	UNIT_ALL(rc < 0, !strcmp(err.text, "rank 1: odd"), err.rank == 1);

	set_up();
	UNIT_ALL(job_agree(&job, fail("all")) < 0, !strcmp(err.text, "rank 0: all"));

	/* a failure without an error set is still a failure */
	set_up();
	CU_ASSERT(job_agree(&job, job.rank == 3 ? -EIO : 0) < 0);
	set_up();
	CU_ASSERT_EQUAL(job_agree(&job, 0), 0);
}

UNIT_TEST(test_mpi_error, "MPI's errors")
{
	struct job broken = job;
	int value = 0;

	set_up();
	if (!job.ops->mpi)
		return;
	broken.comm = NULL;
	UNIT_ALL(job_bcast(&broken, &value, sizeof(value)) == -EIO, err.outcome == OUTCOME_ERROR,
		 strstr(err.text, "a word from rank 0: MPI: ") != NULL,
		 strstr(err.text, "MPI_ERR_COMM") != NULL, seen.depth == 0);
}

/* A surplus rank takes no part until the end. */
UNIT_TEST(test_aside, "surplus ranks")
{
	struct job less = job;

	set_up();
	less.node_of = NULL;
	less.comm = less.group_comm = less.traffic = less.leaders = NULL;
	UNIT_ALL(job_select(&less, 3) == 0, less.spare == (job.rank == 3));
	if (less.spare) {
		UNIT_ALL(less.comm == NULL, less.traffic == NULL);
	} else {
		long long one = 1;

		UNIT_ALL(less.nranks == 3, less.rank == job.rank, less.group_size == 3,
			 job_sum_int64(&less, &one, 1) == 0, one == 3);
		job.ops->free(less.traffic);
		job.ops->free(less.group_comm);
		job.ops->free(less.leaders);
		job.ops->free(less.comm);
	}
	free(less.node_of);
	CU_ASSERT_EQUAL(job_barrier(&job, "all four"), 0);
}

/* Ranks wait for one that works alone, whatever -T is. */
UNIT_TEST(test_extended, "extended deadlines")
{
	int before = works, one = 1;
	struct job_time former = job_extend_deadline(&job, 60);

	UNIT_ALL(job_barrier(&job, "extended") == 0, works == before + 1, seen.seconds == 60,
		 job_agree(&job, 0) == 0, works == before + 2);
	job_restore_deadline(&job, former);
	UNIT_ALL(job_max_int(&job, &one, 1) == 0, works == before + 2,
		 seen.seconds == former.deadline, job_await_work(&job, "the others' work") == 0,
		 works == before + 3, seen.seconds == former.deadline,
		 job_barrier(&job, "restored") == 0, works == before + 3);
}

int main(void)
{
	struct launch launch;
	int rc;

	launch_detect(&launch);
	launch.announced += !launch.numbered;
	init_err.rank = -1;
	init_rc = job_init(&job, &watch, &init_err, &launch);
	job.err = &err; /* the error is the last step: the job can be used */
	if ((!launch.numbered && job_join(&job) < 0) || job_select(&job, 0) < 0 ||
	    job.nranks != RANKS)
		return 1;
	rc = unit_main();
	set_up();
	job_release(&job);
	if (seen.depth != 0 || seen.deepest != 1 || job.node_of)
		rc = 1;
	return rc;
}
