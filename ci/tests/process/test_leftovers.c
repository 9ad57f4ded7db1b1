/* test_leftovers.c: run folders are shared, do not outlive their users and do not affect others;
 * NCCL's files are found by mapping. */
#include "rig/unit.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "process/leftovers.h"

static struct error err;
static char key[64];

static const char *new_key(void)
{
	static int n;

	err = (struct error){ .rank = -1 };
	snprintf(key, sizeof(key), "test-%d-%d", (int)getpid(), n++);
	return key;
}

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "/dev/shm/hangar-%u-%s", (unsigned int)geteuid(), name);
	return path;
}

static void touch(const char *folder, const char *name)
{
	char path[UNIT_PATH];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_CREAT | O_WRONLY | O_EXCL | O_CLOEXEC, 0600);
	CU_ASSERT(fd >= 0);
	close(fd);
}

UNIT_TEST(test_last_one_out, "the last one out removes the folder")
{
	struct run_folder folders[3];
	struct stat st;
	char sub[200];
	int code;

	new_key();
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL_FATAL(run_folder_open(&folders[i], key, &err), 0);
		CU_ASSERT_STRING_EQUAL(folders[i].path, path_of(key));
		CU_ASSERT(fcntl(folders[i].fd, F_GETFD) & FD_CLOEXEC);
		CU_ASSERT(!run_folder_deserted(&folders[0]));
		CU_ASSERT_EQUAL(run_folder_joined(&folders[0]), i > 0);
	}
	CU_ASSERT(!run_folder_begun(&folders[0]));
	CU_ASSERT(!run_folder_ended(key, &code));
	run_folder_note_end(key, 11, "# verdict: it is out\n");
	UNIT_ALL(run_folder_ended(key, &code), code == 11);
	run_folder_note_end(key, RUN_OVER, "");
	UNIT_ALL(run_folder_ended(key, &code), code == 0);
	run_folder_note_begun(key);
	CU_ASSERT(run_folder_begun(&folders[0]));
	UNIT_ALL(stat(path_of(key), &st) == 0, (st.st_mode & 0777) == 0700);
	touch(folders[0].path, "segment");
	snprintf(sub, sizeof(sub), "%s/sub", folders[0].path);
	CU_ASSERT_EQUAL(mkdir(sub, 0700), 0);
	touch(sub, "deeper");
	run_folder_release(&folders[1]);
	CU_ASSERT_EQUAL(folders[1].fd, -1);
	run_folder_release(&folders[1]);
	UNIT_ALL(unit_there(path_of(key)), !run_folder_deserted(&folders[1]),
		 !run_folder_deserted(&folders[2]));
	run_folder_release(&folders[0]);
	UNIT_ALL(unit_there(path_of(key)), run_folder_deserted(&folders[2]));
	run_folder_release(&folders[2]);
	CU_ASSERT(unit_gone(path_of(key)));
}

/* Eight processes join and leave at random: each has a folder meanwhile, none is left. */
static int come_and_go(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct run_folder folder;
		struct error e = { .rank = -1 };
		char name[200];
		int fd;

		if (run_folder_open(&folder, key, &e) < 0)
			return 1;
		snprintf(name, sizeof(name), "%s/%d", folder.path, (int)getpid());
		fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			return 2;
		close(fd);
		if (i % 7 == 0)
			clock_sleep(0.0002);
		if (unlink(name) < 0)
			return 3;
		run_folder_release(&folder);
	}
	return 0;
}

UNIT_TEST(test_crowd, "eight at once")
{
	pid_t pids[8];
	int status;

	new_key();
	fflush(NULL);
	for (int i = 0; i < 8; i++) {
		pids[i] = fork();
		if (pids[i] == 0)
			_exit(come_and_go(400));
	}
	for (int i = 0; i < 8; i++) {
		CU_ASSERT_EQUAL(waitpid(pids[i], &status, 0), pids[i]);
		if (status)
			printf(" exit %d", WEXITSTATUS(status));
		CU_ASSERT_EQUAL(status, 0);
	}
	CU_ASSERT(unit_gone(path_of(key)));
}

/* Folders of runs without living processes go with the next run; folders in use stay. */
UNIT_TEST(test_stale, "stale folders, and living ones")
{
	struct run_folder folder;
	char dead[64], living[64];
	int ready[2];
	char byte;
	pid_t pid;

	snprintf(dead, sizeof(dead), "%s", new_key());
	CU_ASSERT_EQUAL(mkdir(path_of(dead), 0700), 0);
	touch(path_of(dead), "segment");
	snprintf(living, sizeof(living), "%s", new_key());
	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		run_folder_open(&folder, living, &err);
		(void)!write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	UNIT_ALL(read(ready[0], &byte, 1) == 1, !unit_there(path_of(dead)));
	touch(path_of(living), "segment");
	UNIT_ALL(run_folder_open(&folder, new_key(), &err) == 0, unit_there(path_of(living)));
	run_folder_release(&folder);
	CU_ASSERT(unit_there(path_of(living)));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CU_ASSERT(unit_gone(path_of(living))); /* its keeper removes it */
	close(ready[0]);
	close(ready[1]);
}

/* Kernels before 5.9 lack close_range. The keeper must still close inherited descriptors, or it
 * waits for itself and holds the launcher's pipes. */
static void forbid_close_range(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { LENGTH(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(77); /* the kernel does not allow the filter */
}

UNIT_TEST(test_keeper, "the keeper of a folder")
{
	for (int old_kernel = 0; old_kernel < 2; old_kernel++) {
		struct pollfd closed = { .events = POLLIN };
		struct run_folder folder;
		int ends[2], status;
		pid_t pid;

		new_key();
		CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
		fflush(NULL);
		pid = fork();
		if (pid == 0) {
			if (old_kernel)
				forbid_close_range();
			_exit(run_folder_open(&folder, key, &err) < 0 || !unit_there(path_of(key)));
		}
		close(ends[1]);
		closed.fd = ends[0];
		CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
		if (status != W_EXITCODE(77, 0)) {
			UNIT_ALL(status == 0, unit_gone(path_of(key)));
			CU_ASSERT_EQUAL(poll(&closed, 1, 1000), 1); /* no process holds the pipe */
		}
		close(ends[0]);
	}
}

UNIT_TEST(test_links, "links")
{
	char outside[UNIT_TEMP], link_path[UNIT_PATH], stale[64];
	struct run_folder folder;

	CU_ASSERT_EQUAL_FATAL(unit_folder(outside), 0);
	touch(outside, "precious");
	snprintf(stale, sizeof(stale), "%s", new_key());
	UNIT_ALL(symlink(outside, path_of(stale)) == 0, run_folder_open(&folder, stale, &err) < 0,
		 folder.fd == -1, err.outcome == OUTCOME_INTERNAL, strstr(err.text, stale) != NULL,
		 run_folder_open(&folder, new_key(), &err) == 0);
	snprintf(link_path, sizeof(link_path), "%s/link", folder.path);
	CU_ASSERT_EQUAL(symlink(outside, link_path), 0);
	run_folder_release(&folder);
	UNIT_ALL(unit_gone(path_of(key)), unit_there(path_of(stale)));
	unlink(path_of(stale));
	snprintf(link_path, sizeof(link_path), "%s/precious", outside);
	CU_ASSERT(unit_there(link_path));
	unlink(link_path);
	rmdir(outside);
}

/* A key from the environment names a folder in /dev/shm and nothing else. */
UNIT_TEST(test_keys, "keys")
{
	char outside[UNIT_TEMP], stem[64], evil[UNIT_PATH], precious[UNIT_PATH];
	struct run_folder folder;

	CU_ASSERT_EQUAL_FATAL(unit_folder(outside), 0);
	touch(outside, "precious");
	snprintf(stem, sizeof(stem), "%s", new_key());
	mkdir(path_of(stem), 0700);
	snprintf(evil, sizeof(evil), "%s/../../..%s", stem, outside);
	CU_ASSERT_EQUAL(run_folder_open(&folder, evil, &err), -EINVAL);
	run_folder_release(&folder);
	snprintf(precious, sizeof(precious), "%s/precious", outside);
	CU_ASSERT(unit_there(precious));
	unlink(precious);
	rmdir(outside);
	rmdir(path_of(stem));
}

UNIT_TEST(test_foreign, "another user's folder")
{
	struct run_folder folder;
	char foreign[64];

	if (geteuid() != 0)
		return; /* only root can make one */
	snprintf(foreign, sizeof(foreign), "%s", new_key());
	UNIT_ALL(mkdir(path_of(foreign), 0777) == 0, chown(path_of(foreign), 65534, 65534) == 0,
		 run_folder_open(&folder, foreign, &err) < 0, unit_there(path_of(foreign)),
		 run_folder_open(&folder, new_key(), &err) == 0);
	run_folder_release(&folder);
	CU_ASSERT(unit_there(path_of(foreign)));
	rmdir(path_of(foreign));
}

static void *map_new(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	void *map;

	CU_ASSERT_FATAL(fd >= 0 && ftruncate(fd, 4096) == 0);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	CU_ASSERT_FATAL(map != MAP_FAILED);
	return map;
}

UNIT_TEST(test_mapped_files, "files that a process maps")
{
	char mapped[64], twice[64], other[64], elsewhere[UNIT_PATH], folder[UNIT_TEMP];
	struct leftovers leftovers;
	void *maps[4];

	CU_ASSERT_EQUAL_FATAL(unit_folder(folder), 0);
	snprintf(mapped, sizeof(mapped), "/dev/shm/nccl-a%d", (int)getpid());
	snprintf(twice, sizeof(twice), "/dev/shm/nccl-b%d", (int)getpid());
	snprintf(other, sizeof(other), "/dev/shm/xnccl-%d", (int)getpid());
	maps[0] = map_new(mapped);
	maps[1] = map_new(twice);
	maps[2] = map_new(twice);
	maps[3] = map_new(other);
	leftovers_note(&leftovers, getpid());
	CU_ASSERT_TRUE(leftovers.len > 0);
	leftovers_remove(&leftovers);
	UNIT_ALL(leftovers.len == 0, !unit_there(mapped), !unit_there(twice), unit_there(other));
	unlink(other);
	for (int i = 0; i < 4; i++)
		munmap(maps[i], 4096);
	leftovers_note(&leftovers, getpid());
	CU_ASSERT_EQUAL(leftovers.len, 0);
	leftovers_remove(&leftovers);

	/* the same words in another place: FOLDER/dev/shm/nccl-X is not /dev/shm/nccl-X */
	maps[0] = map_new(mapped);
	munmap(maps[0], 4096);
	snprintf(elsewhere, sizeof(elsewhere), "%s/dev", folder);
	mkdir(elsewhere, 0700);
	strcat(elsewhere, "/shm");
	mkdir(elsewhere, 0700);
	strcat(elsewhere, strrchr(mapped, '/'));
	maps[0] = map_new(elsewhere);
	leftovers_note(&leftovers, getpid());
	CU_ASSERT_EQUAL(leftovers.len, 0);
	leftovers_remove(&leftovers);
	CU_ASSERT(unit_there(mapped));
	munmap(maps[0], 4096);
	unlink(mapped);
	unlink(elsewhere);
	for (int i = 0; i < 2; i++) {
		*strrchr(elsewhere, '/') = '\0';
		rmdir(elsewhere);
	}
	rmdir(folder);
}

UNIT_TEST(test_no_process, "no such process")
{
	struct leftovers leftovers;

	leftovers_note(&leftovers, -1);
	UNIT_ALL(leftovers.len == 0, leftovers.paths == NULL);
	leftovers_remove(&leftovers);
}

/* The folders are gone, and so are their keepers. */
UNIT_TEST(test_no_keeper, "no keeper is left")
{
	double give_up = unit_until(2);
	pid_t pid = 0;

	while (pid >= 0 && clock_seconds() < give_up) {
		pid = waitpid(-1, NULL, WNOHANG);
		if (pid == 0)
			clock_sleep(0.002);
	}
	UNIT_ALL(pid == -1, errno == ECHILD);
}

int main(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1); /* keepers without a parent become our children */
	return unit_main();
}
