/* logs.c: the log reader's findings as part of a post-mortem. */
#include "answer/postmortem.h"

#include <dirent.h>
#include <fnmatch.h>

#include "nccl_check/nccl_check.h"

#define LOGS_MOST  1024	     /* that many logs are read */
#define LOGS_BYTES (1 << 28) /* larger ones are passed over */

/* Reads all logs of the folder; how many there were, and were of use. */
static int read_all(struct nccl_log *log, const char *dir, int *used)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int found = 0;

	*used = 0;
	while (d && (entry = readdir(d)) && found < LOGS_MOST) {
		struct error err = { .rank = -1 };
		struct stat st;
		FILE *in;
		int fd;

		if (fnmatch("nccl-*.log", entry->d_name, 0) != 0)
			continue;
		found++;
		fd = openat(dirfd(d), entry->d_name,
			    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		in = fd < 0 ? NULL : fdopen(fd, "r");
		if (!in)
			continue;
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= LOGS_BYTES)
			*used += nccl_log_read_stream(log, in, entry->d_name, -1, &err) == 0;
		fclose(in);
	}
	if (d)
		closedir(d);
	return found;
}

static void print_part(FILE *out, const struct nccl_log *log, const char *title,
		       void (*print)(FILE *out, const struct nccl_log *log))
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = must(open_memstream(&text, &len));

	print(f, log);
	fclose(f);
	if (len > 0) {
		fprintf(out, "\n#### %s\n\n", title);
		report_block(out, text);
	}
	free(text);
}

int logs_print(FILE *out, const char *dir)
{
	struct nccl_log log;
	int found, used;

	nccl_log_init(&log);
	found = read_all(&log, dir, &used);
	if (found > 0)
		fprintf(out, "From NCCL's own logs here: %d of %d could be read.\n", used, found);
	nccl_log_finish(&log);
	if (used > 0) {
		print_part(out, &log, "Rings", nccl_log_print_rings);
		print_part(out, &log, "Are they rational?", nccl_log_print_lints);
		print_part(out, &log, "Warnings", nccl_log_print_warnings);
	}
	nccl_log_release(&log);
	return found;
}
