/* leftovers.c: run folders with their locks, and NCCL's shared-memory files. */
#include "leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHM "/dev/shm"

static void note_path(struct leftovers *l, const char *path, size_t len)
{
	char(*grown)[64];

	for (size_t i = 0; i < l->n; i++)
		if (strncmp(l->paths[i], path, len) == 0 && l->paths[i][len] == '\0')
			return;
	grown = len < sizeof(*grown) ? realloc(l->paths, (l->n + 1) * sizeof(*grown)) : NULL;
	if (!grown)
		return;
	l->paths = grown;
	memcpy(l->paths[l->n], path, len);
	l->paths[l->n++][len] = '\0';
}

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
		const char *path = strstr(line, SHM "/nccl-");

		if (path)
			note_path(l, path, strcspn(path, " \n"));
	}
	fclose(maps);
}

void leftovers_remove(struct leftovers *l)
{
	for (size_t i = 0; i < l->n; i++)
		unlink(l->paths[i]);
	free(l->paths);
	memset(l, 0, sizeof(*l));
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	remove(path);
	return 0;
}

/* mpirun may be removing its own part at the same time, which cuts a walk short. */
static void remove_tree(const char *path)
{
	for (int tries = 0; tries < 50 && access(path, F_OK) == 0; tries++)
		nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The folders of runs of ours of which no process is left. */
static void remove_stale(const char *prefix)
{
	DIR *dir = opendir(SHM);
	struct dirent *entry;
	char path[300];

	if (!dir)
		return;
	while ((entry = readdir(dir))) {
		int fd;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		snprintf(path, sizeof(path), SHM "/%s", entry->d_name);
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			remove_tree(path);
		close(fd);
	}
	closedir(dir);
}

/* Another run's clean-up may remove the folder between our mkdir and our lock: then it is not the one
 * at that path any more and we try again. */
static bool still_there(int fd, const char *path)
{
	struct stat mine, there;

	return fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
	       mine.st_dev == there.st_dev;
}

int run_folder_open(struct run_folder *folder, const char *key, struct error *err)
{
	char prefix[32];
	int rc;

	folder->fd = -1;
	snprintf(prefix, sizeof(prefix), "hangar-%u-", (unsigned int)geteuid());
	snprintf(folder->path, sizeof(folder->path), SHM "/%s%.64s", prefix, key);
	remove_stale(prefix);
	for (int tries = 0; tries < 20; tries++) {
		if (mkdir(folder->path, 0700) < 0 && errno != EEXIST)
			break;
		folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (folder->fd < 0)
			continue;
		if (flock(folder->fd, LOCK_SH) == 0 && still_there(folder->fd, folder->path))
			return 0;
		close(folder->fd);
		folder->fd = -1;
	}
	rc = errno ? -errno : -EAGAIN;
	return error_set(err, OUTCOME_INTERNAL, rc, "%s: %s", folder->path, strerror(-rc));
}

void run_folder_release(struct run_folder *folder)
{
	if (folder->fd < 0)
		return;
	if (flock(folder->fd, LOCK_EX | LOCK_NB) == 0)
		remove_tree(folder->path);
	close(folder->fd);
	folder->fd = -1;
}
