/* test_run_jobs.c: which job a rank is of, and which monitor watches that. */
#include "preload/run_jobs.h"
#include "rig/unit.h"

UNIT_TEST(test_name, "names of jobs")
{
	static const struct {
		const char *variables, *name;
	} rows[] = {
		{ "TORCHELASTIC_RUN_ID=none RANK=1 MASTER_ADDR=n1 MASTER_PORT=29500", "n1:29500" },
		{ "RANK=0 MASTER_PORT=5", ":5" },
		{ "RANK=0 MASTER_ADDR=a/b%s MASTER_PORT=5", "a_b_s:5" },
		{ "MASTER_ADDR=n1 MASTER_PORT=29500",
		  "" }, /* no launcher's: the program's user has set them */
		{ "RANK=0 WORLD_SIZE=2", "" },
		/* a job that a rank spawns with MPI belongs to it */
		{ "OMPI_COMM_WORLD_RANK=1 PMIX_NAMESPACE=3561881601", "mpirun-54350" },
		{ "OMPI_COMM_WORLD_RANK=1 PMIX_NAMESPACE=3561881602", "mpirun-54350" },
		{ "OMPI_COMM_WORLD_RANK=1 PMIX_NAMESPACE=prterun-n1-77@1", "mpirun-prterun-n1-77" },
		{ "OMPI_COMM_WORLD_RANK=1", "" },
		{ "SLURM_JOB_ID=12 SLURM_STEP_ID=0 SLURM_PROCID=3", "slurm-12.0" },
		{ "SLURM_JOB_ID=12 SLURM_PROCID=0", "" }, /* a batch script */
		{ "SLURM_JOB_ID=12 SLURM_STEP_ID=0 RANK=3 MASTER_ADDR=n1 MASTER_PORT=7", "n1:7" },
		{ "", "" },
	};

	UNIT_ROWS(row, rows) {
		char text[256], *variables[8] = { strtok(strcpy(text, row->variables), " ") };
		char name[64];

		for (int k = 0; variables[k]; k++)
			variables[k + 1] = strtok(NULL, " ");
		run_job_name(variables, name, sizeof(name));
		CU_ASSERT_STRING_EQUAL(name, row->name);
	}
}

/* Ranks that come, in that order; what is no job of its own stays. */
UNIT_TEST(test_place, "which monitor a rank belongs to")
{
	static const struct {
		struct run_job job;
		int place;
	} rows[] = {
		{ { "", 0, 0 }, JOB_HERE },
		{ { "a:1", 0, 0 }, JOB_HERE }, /* the first whose job is known */
		{ { "a:1", 0, 70 }, JOB_HERE },
		{ { "", 0, 0 }, JOB_HERE },
		{ { "b:2", 0, 80 }, JOB_UNSEEN },
		{ { "b:2", 0, 80 }, 0 },
		{ { "b:2", 0, 0 }, 0 },
		{ { "b:9", 0, 80 }, 0 }, /* torchrun's restart */
		{ { "c:3", 0, 0 }, JOB_UNSEEN },
		{ { "c:3", 0, 0 }, 1 },
		{ { "a:1", 0, 0 }, JOB_HERE },
	};
	struct decide_rank rank = { .view = { .pid = getpid() } };
	struct monitor m = { .ranks = &rank, .nranks = 1 };
	struct run_jobs jobs = { 0 };

	UNIT_ROWS(row, rows) {
		int place = run_jobs_place(&jobs, &m, &row->job);

		CU_ASSERT_EQUAL(place, row->place);
		if (place == JOB_UNSEEN)
			run_jobs_add(&jobs, &row->job, run_jobs_next(&jobs), dup(STDIN_FILENO));
	}
	/* a process that a rank here has started */
	rank.view.pid = getppid();
	CU_ASSERT_EQUAL(run_jobs_place(&jobs, &m, &(struct run_job){ "d:4", getpid(), 0 }),
			JOB_HERE);
	/* all have left: the next job is this monitor's */
	m.nranks = 0;
	CU_ASSERT_EQUAL(run_jobs_place(&jobs, &m, &(struct run_job){ "e:5", 0, 0 }), JOB_HERE);
	CU_ASSERT_STRING_EQUAL(jobs.own.name, "e:5");
	CU_ASSERT_EQUAL(run_jobs_place(&jobs, &m, &(struct run_job){ "b:2", 0, 0 }), 0);
	run_jobs_release(&jobs);
}

/* A second monitor ends when the first one knows of nothing more that was handed over. */
UNIT_TEST(test_end, "a second monitor ends")
{
	const struct run_job job = { "b:2", 0, 0 };
	struct run_jobs first = { 0 }, second = { .second = true };
	struct monitor m = { 0 };
	int ends[2], passed[2];

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	CU_ASSERT_EQUAL_FATAL(pipe(passed), 0);
	run_jobs_add(&first, &job, run_jobs_next(&first), ends[0]);
	link_init(&second.up, ends[1]);
	UNIT_ALL(!run_jobs_may_end(&first), !run_jobs_may_end(&second));
	CU_ASSERT(
		run_jobs_pass(&first, 0, passed[0])); /* on its way while the other offers to end */
	run_jobs_look(&first, &m);
	UNIT_ALL(first.n == 1, m.npeers == 0);
	run_jobs_look(&second, &m);
	UNIT_ALL(m.npeers == 1, second.taken == 1, !run_jobs_may_end(&second));
	run_jobs_look(&first, &m);
	run_jobs_look(&second, &m);
	UNIT_ALL(run_jobs_may_end(&second), !run_jobs_may_end(&first),
		 run_jobs_place(&first, &m, &job) == JOB_HERE, run_jobs_next(&first) == 3);
	run_jobs_release(&second); /* its name is free now */
	run_jobs_look(&first, &m);
	UNIT_ALL(run_jobs_may_end(&first), run_jobs_next(&first) == 2);
	for (size_t i = 0; i < m.npeers; i++)
		link_release(&m.peers[i].link);
	free(m.peers);
	close(passed[0]);
	close(passed[1]);
	run_jobs_release(&first);
}

UNIT_TEST(test_paths, "files of a job")
{
	static const struct {
		const char *path, *file, *folder;
	} rows[] = {
		{ "a.csv", "a.job-n-1.csv", "a.csv/job-n-1" },
		{ "d.x/a", "d.x/a.job-n-1", "d.x/a/job-n-1" },
		{ "d/.a", "d/.a.job-n-1", "d/.a/job-n-1" },
		{ "h:1/a.prom", "h:1/a.job-n-1.prom", "h:1/a.prom/job-n-1" },
	};

	UNIT_ROWS(row, rows) {
		char *file = run_jobs_file(row->path, "n:1"),
		     *folder = run_jobs_folder(row->path, "n:1");

		CU_ASSERT_STRING_EQUAL(file, row->file);
		CU_ASSERT_STRING_EQUAL(folder, row->folder);
		free(file);
		free(folder);
	}
	UNIT_ALL(!run_jobs_file(NULL, "n:1"), !run_jobs_folder(NULL, "n:1"));
}
