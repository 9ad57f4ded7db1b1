/* gather.c: files of evidence from other hosts' folders to rank 0's, over MPI. */
#include "evidence/gather.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"

#define FILE_BYTES (64 << 20) /* larger ones are not evidence */
#define NAME_BYTES 64

enum { TAG_FILE = 1, TAG_DATA };

/* What makes two processes' folders the same one. */
struct identity {
	uint64_t there, device, inode;
	char host[64];
};

/* Announces a file; bytes -1: there are no more. */
struct parcel {
	char name[NAME_BYTES];
	int64_t bytes;
};

static bool ends_so(const char *name, const char *end)
{
	size_t len = strlen(name), tail = strlen(end);

	return len >= tail && strcmp(name + len - tail, end) == 0;
}

/* Of evidence: "rank-...", "run.json", nothing that leads out of the folder. */
static bool is_evidence(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return false;
	if (len >= NAME_BYTES)
		return false;
	return strcmp(name, "run.json") == 0 ||
	       (strncmp(name, "rank-", 5) == 0 &&
		(ends_so(name, ".fr") || ends_so(name, ".txt") || ends_so(name, ".counters.json")));
}

static void identify(struct identity *id, const char *dir)
{
	struct stat st;

	memset(id, 0, sizeof(*id));
	gethostname(id->host, sizeof(id->host) - 1);
	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	id->there = 1;
	id->device = st.st_dev;
	id->inode = st.st_ino;
}

/* Whole file, or NULL with *bytes -1. The caller frees. */
static char *read_file(int dir, const char *name, int64_t *bytes)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *data = NULL;
	struct stat st;
	int64_t have = 0;

	*bytes = -1;
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= FILE_BYTES)
		data = malloc((size_t)st.st_size + 1);
	while (data && have < st.st_size) {
		ssize_t n = read(fd, data + have, (size_t)(st.st_size - have));

		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		have += n > 0 ? n : 0;
	}
	close(fd);
	if (data)
		*bytes = have;
	return data;
}

static void send_folder(const char *path)
{
	struct parcel end = { .bytes = -1 };
	DIR *d = opendir(path);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		struct parcel parcel = { .bytes = 0 };
		char *data = NULL;

		if (is_evidence(entry->d_name))
			data = read_file(dirfd(d), entry->d_name, &parcel.bytes);
		if (!data)
			continue;
		snprintf(parcel.name, sizeof(parcel.name), "%.63s", entry->d_name);
		MPI_Send(&parcel, sizeof(parcel), MPI_BYTE, 0, TAG_FILE, MPI_COMM_WORLD);
		MPI_Send(data, (int)parcel.bytes, MPI_BYTE, 0, TAG_DATA, MPI_COMM_WORLD);
		free(data);
	}
	if (d)
		closedir(d);
	MPI_Send(&end, sizeof(end), MPI_BYTE, 0, TAG_FILE, MPI_COMM_WORLD);
}

/* 1: kept, 0: what is there is as good, or a negative errno. */
static int keep_file(const char *dir, const struct parcel *parcel, const char *data)
{
	char path[4096], draft[4128];
	struct stat st;
	FILE *f;
	int rc;

	snprintf(path, sizeof(path), "%s/%s", dir, parcel->name);
	snprintf(draft, sizeof(draft), "%s.gather", path);
	if (stat(path, &st) == 0 && st.st_size >= parcel->bytes)
		return 0;
	f = fopen(draft, "we");
	if (!f)
		return -errno;
	fwrite(data, 1, (size_t)parcel->bytes, f);
	rc = output_close(f);
	if (rc == 0 && rename(draft, path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(draft);
	return rc < 0 ? rc : 1;
}

/* Everything that process `from` sends, also when it can't be kept: the first failure is
 * returned. */
static int receive_folder(struct gather *g, const char *dir, int from)
{
	struct parcel parcel;
	int rc = 0;

	for (;;) {
		char *data;

		if (MPI_Recv(&parcel, sizeof(parcel), MPI_BYTE, from, TAG_FILE, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE) != MPI_SUCCESS)
			return -EIO;
		if (parcel.bytes < 0)
			return rc;
		data = parcel.bytes <= FILE_BYTES ? malloc((size_t)parcel.bytes + 1) : NULL;
		if (!data)
			return -ENOMEM;
		if (MPI_Recv(data, (int)parcel.bytes, MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE) != MPI_SUCCESS)
			rc = -EIO;
		parcel.name[NAME_BYTES - 1] = '\0';
		if (rc == 0 && is_evidence(parcel.name)) {
			rc = keep_file(dir, &parcel, data);
			g->files += rc == 1;
			rc = rc < 0 ? rc : 0;
		}
		free(data);
	}
}

/* Is process `i` the first that sees its folder? Rank 0's own needs no sending. */
static bool speaks(const struct identity *all, int i)
{
	for (int k = 0; k < i; k++)
		if (memcmp(&all[k], &all[i], sizeof(*all)) == 0)
			return false;
	return i > 0 && all[i].there;
}

/* `dir` and the folders above it. */
static void make_path(const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s", dir);
	for (char *at = path + 1; *at; at++)
		if (*at == '/') {
			*at = '\0';
			mkdir(path, 0777);
			*at = '/';
		}
	mkdir(path, 0777);
}

int gather_begin(struct gather *g, const char *dir, struct error *err)
{
	struct identity own, *all;
	int rc = 0;

	*g = (struct gather){ .rank = 0, .size = 1 };
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
		return error_set(err, OUTCOME_INTERNAL, -EIO, "MPI_Init failed");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &g->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &g->size);
	if (g->rank == 0)
		make_path(dir);
	identify(&own, dir);
	all = calloc((size_t)g->size, sizeof(*all));
	if (!all || MPI_Allgather(&own, sizeof(own), MPI_BYTE, all, sizeof(own), MPI_BYTE,
				  MPI_COMM_WORLD) != MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, OUTCOME_INTERNAL);
	if (g->rank > 0 && speaks(all, g->rank))
		send_folder(dir);
	for (int i = 1; g->rank == 0 && i < g->size; i++) {
		int one = speaks(all, i) ? receive_folder(g, dir, i) : 0;

		g->hosts += speaks(all, i);
		rc = rc < 0 ? rc : one;
	}
	free(all);
	if (rc < 0)
		return error_set(err, OUTCOME_INTERNAL, rc, "cannot gather evidence in %s: %s", dir,
				 strerror(-rc));
	return 0;
}

int gather_end(int code)
{
	MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
	MPI_Finalize();
	return code;
}
