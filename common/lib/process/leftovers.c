/* leftovers.c: run folders with their locks, and NCCL's shared-memory files. */
#include "process/leftovers.h"

#include <argz.h>
#include <dirent.h>
#include <ftw.h>
#include <sys/file.h>

#include "process/cgroup.h"
#include "base/clock.h"
#include "base/file.h"
#include "process/child.h"

#define SHM	  "/dev/shm"
#define JOINED	  "joined" /* file in a run folder: a process other than its maker has joined */
#define BEGUN	  "begun"  /* a process that the launcher started has begun */
#define CODE	  "exit"   /* the file of the exit code and the last lines */
#define END_BYTES 8192

void leftovers_note(struct leftovers *l, pid_t pid)
{
	char name[32], line[512];
	FILE *maps;

	memset(l, 0, sizeof(*l));
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	maps = fopen(name, "re");
	if (!maps)
		return;
	while (fgets(line, sizeof(line), maps)) {
		char *path = strstr(line, " " SHM "/nccl-");

		if (!path)
			continue;
		path[1 + strcspn(path + 1, " \n")] = '\0';
		argz_add(&l->paths, &l->len, path + 1);
	}
	fclose(maps);
}

void leftovers_remove(struct leftovers *l)
{
	for (const char *path = NULL; (path = argz_next(l->paths, l->len, path));)
		unlink(path); /* a file mapped in several pieces may already be gone */
	free(l->paths);
	memset(l, 0, sizeof(*l));
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	/* The last process of a cgroup may still be exiting: link and folder stay. */
	if (flag == FTW_SL && cgroup_remove_link(path) < 0)
		clock_sleep(0.02);
	else
		remove(path);
	return 0;
}

/* Another clean-up may remove the folder before its lock is taken: the path is then another one. */
static bool still_there(int fd, const char *path)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
	       mine.st_dev == there.st_dev;
}

/* Removes the folder at `path`, open as `fd`, unless it is locked. mpirun may remove its own part
 * at the same time, which ends a walk early. */
static void remove_tree(int fd, const char *path)
{
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	for (int tries = 0; tries < 50 && still_there(fd, path); tries++)
		nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* /dev/shm is shared: files of another user under our name are not ours. */
static bool owned(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid();
}

void run_folder_remove(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (owned(fd))
		remove_tree(fd, path);
	close(fd);
}

/* Removes folders of our runs without living processes. */
static void remove_stale(const char *prefix)
{
	DIR *dir = opendir(SHM);
	struct dirent *entry;
	char path[300];

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(path, sizeof(path), SHM "/%s", entry->d_name);
		run_folder_remove(path);
	}
	closedir(dir);
}

/* Waits until every process of the run has released the folder, and removes it. A launcher may kill
 * all of them during their own clean-up, so this process is outside of the launcher's process group
 * and holds none of its pipes. */
static _Noreturn void keep_house(const char *path)
{
	int fd;

	child_detach();
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	while (fd >= 0 && flock(fd, LOCK_EX) < 0 && errno == EINTR)
		;
	if (fd >= 0)
		remove_tree(fd, path);
	_exit(0);
}

/* Returns 0, -EAGAIN if the folder was removed meanwhile, or another negative errno. */
static int open_once(struct run_folder *folder)
{
	bool made = mkdir(folder->path, 0700) == 0;
	int rc = 0, joined;

	if (!made && errno != EEXIST)
		return -errno;
	folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder->fd < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (!owned(folder->fd))
		rc = -EPERM;
	else if (flock(folder->fd, LOCK_SH) < 0)
		rc = -errno;
	else if (!still_there(folder->fd, folder->path))
		rc = -EAGAIN;
	else if (made && fork() == 0)
		keep_house(folder->path);
	else if (!made && (joined = openat(folder->fd, JOINED,
					   O_CREAT | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600)) >= 0)
		close(joined);
	if (rc == 0)
		return 0;
	close(folder->fd);
	folder->fd = -1;
	return rc;
}

/* Names the folder of the run `key`. */
static void name_folder(struct run_folder *folder, const char *key)
{
	folder->fd = -1;
	snprintf(folder->path, sizeof(folder->path), SHM "/hangar-%u-%.64s",
		 (unsigned int)geteuid(), key);
}

int run_folder_open(struct run_folder *folder, const char *key, struct error *err)
{
	char prefix[32];
	int rc = -EAGAIN;

	name_folder(folder, key);
	if (strchr(key, '/'))
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "run key '%.64s': must not contain a slash", key);
	snprintf(prefix, sizeof(prefix), "hangar-%u-", (unsigned int)geteuid());
	remove_stale(prefix);
	for (int tries = 0; tries < 20 && rc == -EAGAIN; tries++)
		rc = open_once(folder);
	return rc < 0 ? error_set(err, OUTCOME_INTERNAL, rc, "%s: %s", folder->path, strerror(-rc))
		      : 0;
}

/* Opens a file of the folder of the run `key`; NULL: there is no folder. */
static FILE *open_note(const char *key, const char *name)
{
	struct run_folder folder;
	char path[sizeof(folder.path) + 32];

	name_folder(&folder, key);
	snprintf(path, sizeof(path), "%s/%s", folder.path, name);
	return fopen(path, "we");
}

static bool has(const struct run_folder *folder, const char *name)
{
	return folder->fd >= 0 && faccessat(folder->fd, name, F_OK, 0) == 0;
}

void run_folder_note_begun(const char *key)
{
	FILE *f = open_note(key, BEGUN);

	if (f)
		fclose(f);
}

bool run_folder_begun(const struct run_folder *folder)
{
	return has(folder, BEGUN);
}

bool run_folder_joined(const struct run_folder *folder)
{
	return has(folder, JOINED);
}

void run_folder_note_end(const char *key, int code, const char *lines)
{
	FILE *f = open_note(key, CODE);

	if (!f)
		return;
	fprintf(f, "%d\n%s", code, lines);
	fclose(f);
}

int run_folder_code(const struct run_folder *folder, int otherwise, FILE *lines)
{
	char text[END_BYTES];
	int code, length = 0;

	if (file_text("", text, sizeof(text), "%s/" CODE, folder->path) < 0 ||
	    sscanf(text, "%d%n", &code, &length) != 1 || code < RUN_OVER || code > 255)
		return otherwise;
	if (lines && text[length])
		fprintf(lines, "%s\n", text + length + 1);
	return code;
}

bool run_folder_ended(const char *key, int *code)
{
	struct run_folder folder;
	int noted;

	name_folder(&folder, key);
	noted = run_folder_code(&folder, -1, NULL);
	*code = noted == RUN_OVER ? OUTCOME_OK : noted;
	return noted != -1;
}

void run_folder_release(struct run_folder *folder)
{
	if (folder->fd < 0)
		return;
	remove_tree(folder->fd, folder->path);
	close(folder->fd);
	folder->fd = -1;
}

/* Finds the next holder of the file `st` in /proc/locks. Lines are "N: FLOCK ADVISORY READ PID
 * MAJOR:MINOR:INODE START END"; a waiting lock has an arrow before FLOCK. */
static bool next_holder(FILE *locks, const struct stat *st, pid_t *pid)
{
	unsigned long inode;
	char line[256];

	while (locks && fgets(line, sizeof(line), locks))
		if (sscanf(line, "%*d: FLOCK %*s READ %d %*x:%*x:%lu", pid, &inode) == 2 &&
		    inode == st->st_ino)
			return true;
	return false;
}

bool run_folder_deserted(const struct run_folder *folder)
{
	int holders = 0;
	struct stat st;
	FILE *locks;
	pid_t pid;

	if (!run_folder_joined(folder) || fstat(folder->fd, &st) < 0)
		return false;
	locks = fopen("/proc/locks", "re");
	while (next_holder(locks, &st, &pid))
		holders++;
	if (locks)
		fclose(locks);
	return holders == 1;
}

enum proc_hold run_folder_hold(const struct run_folder *folder, pid_t *pid, int signal)
{
	enum proc_hold first = HOLD_GONE;
	struct stat st;
	FILE *locks;
	pid_t holder;

	if (folder->fd < 0 || fstat(folder->fd, &st) < 0)
		return HOLD_NONE;
	locks = fopen("/proc/locks", "re");
	if (!locks)
		return HOLD_NONE;
	while (first != HOLD_NONE && next_holder(locks, &st, &holder)) {
		enum proc_hold hold = holder == getpid() ? HOLD_GONE : proc_hold_read(holder);

		if (hold == HOLD_NONE || first == HOLD_GONE) {
			first = hold;
			*pid = holder;
		}
		if (signal && hold != HOLD_GONE && hold != HOLD_NONE)
			kill(holder, signal);
	}
	fclose(locks);
	return first;
}
