/* test_cgroup.c: a memory cgroup: made, limited until the kernel kills, counted, removed. */
#include "rig/unit.h"

#include <sys/prctl.h>

#include "process/cgroup.h"
#include "base/clock.h"
#include "process/leftovers.h"
#include "process/supervisor.h"

/* Touches `bytes` in steps; exits with 0 on success. */
static int take(const char *path, size_t room, size_t bytes)
{
	const size_t step = 1 << 20;

	if (cgroup_enter(path) < 0 || (room && cgroup_limit(path, room) < 0))
		return 99;
	for (size_t taken = 0; taken < bytes; taken += step) {
		void *ptr = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				 -1, 0);

		if (ptr == MAP_FAILED)
			return 98;
		memset(ptr, 1, step);
	}
	return 0;
}

static int in_child(const char *path, size_t room, size_t bytes)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(take(path, room, bytes));
	}
	waitpid(pid, &status, 0);
	return status;
}

UNIT_TEST(test_make, "make and remove")
{
	struct cgroup one, two;
	char own[CGROUP_PATH], path[CGROUP_PATH];

	UNIT_ALL(cgroup_of(getpid(), own, sizeof(own)) == 0, unit_there(own),
		 cgroup_oom_kills(own) >= -1);
	CU_ASSERT_EQUAL_FATAL(cgroup_make(&one, "one", NULL), 0);
	CU_ASSERT_EQUAL_FATAL(cgroup_make(&two, "two", NULL), 0);
	UNIT_ALL(strcmp(one.path, two.path) != 0, !strcmp(one.link, ""),
		 unit_there(one.path) && unit_there(two.path), cgroup_oom_kills(one.path) == 0);
	strcpy(path, one.path);
	cgroup_remove(&one);
	UNIT_ALL(!unit_there(path), !strcmp(one.path, ""));
	cgroup_remove(&one); /* nothing more to do */
	cgroup_remove(&two);
}

UNIT_TEST(test_nowhere, "nowhere")
{
	struct cgroup cgroup;

	UNIT_ALL(cgroup_enter("/nowhere") == -ENOENT, cgroup_limit("/nowhere", 1) < 0,
		 cgroup_oom_kills("/nowhere") == -1);
	/* without a place for the link there is no cgroup either */
	UNIT_ALL(cgroup_make(&cgroup, "x", "/nowhere") < 0, !strcmp(cgroup.path, ""));
}

/* The kernel kills only the process above the limit, and counts it. */
UNIT_TEST(test_limit, "the limit kills")
{
	struct cgroup cgroup;
	int status;

	CU_ASSERT_EQUAL_FATAL(cgroup_make(&cgroup, "limit", NULL), 0);
	UNIT_ALL(in_child(cgroup.path, 0, 8 << 20) == 0,
		 in_child(cgroup.path, 64 << 20, 8 << 20) == 0, cgroup_oom_kills(cgroup.path) == 0);
	status = in_child(cgroup.path, 8 << 20, 256 << 20);
	CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	CU_ASSERT_EQUAL(cgroup_oom_kills(cgroup.path), 1);
	cgroup_remove(&cgroup);
}

struct look {
	uint32_t oom_kills;
	int status;
};

static size_t no_fds(void *ctx, struct pollfd *fds, size_t room)
{
	return 0;
}

static bool step(void *ctx, const struct supervised *child, int *exit_code)
{
	struct look *look = ctx;

	look->oom_kills = child->oom_kills;
	look->status = child->wait_status;
	*exit_code = 0;
	return !child->running;
}

static int interval(void *ctx)
{
	return 20;
}

struct job {
	const char *cgroup;
	size_t room, bytes; /* bytes 0: killed from outside */
};

static int rank_main(void *arg)
{
	const struct job *job = arg;

	if (job->bytes == 0)
		kill(getpid(), SIGKILL);
	return take(job->cgroup, job->room, job->bytes);
}

UNIT_TEST(test_supervisor, "the supervisor's word")
{
	struct look look = { 0 };
	struct supervisor_hooks hooks = {
		.ctx = &look, .fds = no_fds, .step = step, .interval_ms = interval
	};
	struct error err = { .rank = -1 };
	struct cgroup cgroup;
	struct job job = { .room = 8 << 20, .bytes = 256 << 20 };

	CU_ASSERT_EQUAL_FATAL(cgroup_make(&cgroup, "rank", NULL), 0);
	job.cgroup = hooks.cgroup = cgroup.path;
	UNIT_ALL(supervisor_run(&hooks, rank_main, &job, &err) == 0,
		 WIFSIGNALED(look.status) && WTERMSIG(look.status) == SIGKILL, look.oom_kills == 1);
	/* an earlier count is no evidence for this death */
	job.bytes = 0;
	UNIT_ALL(supervisor_run(&hooks, rank_main, &job, &err) == 0,
		 WIFSIGNALED(look.status) && WTERMSIG(look.status) == SIGKILL, look.oom_kills == 0);
	hooks.cgroup = NULL;
	UNIT_ALL(supervisor_run(&hooks, rank_main, &job, &err) == 0, look.oom_kills == 0);
	cgroup_remove(&cgroup);
}

UNIT_TEST(test_keeper, "the keeper of the run's folder")
{
	char key[64], folder_path[128], path[CGROUP_PATH] = "";
	int ends[2];
	pid_t pid;

	snprintf(key, sizeof(key), "test-cgroup-%d", (int)getpid());
	snprintf(folder_path, sizeof(folder_path), "/dev/shm/hangar-%u-%s", (unsigned)geteuid(),
		 key);
	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		struct error err = { .rank = -1 };
		struct run_folder folder;
		struct cgroup cgroup;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (run_folder_open(&folder, key, &err) < 0 ||
		    cgroup_make(&cgroup, "keeper", folder.path) < 0 ||
		    cgroup_enter(cgroup.path) < 0 || !unit_there(cgroup.link))
			_exit(1);
		(void)!write(ends[1], cgroup.path, strlen(cgroup.path) + 1);
		for (;;)
			pause();
	}
	close(ends[1]);
	CU_ASSERT_FATAL(read(ends[0], path, sizeof(path)) > 0);
	close(ends[0]);
	CU_ASSERT(unit_there(path) && unit_there(folder_path));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	UNIT_ALL(unit_gone(folder_path), !unit_there(path));
}

UNIT_TEST(test_foreign_link, "links to other things")
{
	char dir[UNIT_TEMP], inside[UNIT_PATH], link[UNIT_PATH];

	CU_ASSERT_EQUAL_FATAL(unit_folder(dir), 0);
	snprintf(inside, sizeof(inside), "%s/other", dir);
	snprintf(link, sizeof(link), "%s/cgroup-1", dir);
	UNIT_ALL(mkdir(inside, 0700) == 0, symlink(inside, link) == 0,
		 cgroup_remove_link(link) == 0, unit_there(inside));
	unlink(link);
	CU_ASSERT_EQUAL(cgroup_remove_link(link), 0); /* no link at all */
	rmdir(inside);
	rmdir(dir);
}

int main(void)
{
	struct cgroup cgroup;

	if (cgroup_make(&cgroup, "probe", NULL) < 0) {
		printf("no memory cgroup can be made here\n");
		return 77;
	}
	cgroup_remove(&cgroup);
	return unit_main();
}
