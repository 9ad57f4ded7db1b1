/* output.c: checks that output to streams and standard output arrived. */
#include "base/output.h"

#include <sys/statvfs.h>

/* Closes or flushes the stream with `end`. 0, or the negative errno of that or an earlier write. */
static int ended(FILE *f, int (*end)(FILE *))
{
	bool failed = ferror(f);
	int why = errno;

	if (end(f) < 0) {
		failed = true;
		why = errno;
	}
	return !failed ? 0 : why > 0 ? -why : -EIO;
}

int output_close(FILE *f)
{
	return ended(f, fclose);
}

static int write_whole(const char *path, const void *data, size_t bytes)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	fwrite(data, 1, bytes, f);
	return output_close(f);
}

/* The draft's name is unique per host and process: hosts share folders. */
int output_whole(const char *path, const void *data, size_t bytes)
{
	char draft[4224], host[64] = "";
	struct stat st;
	int rc;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return write_whole(path, data, bytes);
	gethostname(host, sizeof(host) - 1);
	snprintf(draft, sizeof(draft), "%s.%s.%d", path, host, (int)getpid());
	rc = write_whole(draft, data, bytes);
	if (rc == 0 && rename(draft, path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(draft);
	return rc;
}

static int refuse_stdout(struct error *err, int code)
{
	return error_set(err, OUTCOME_INTERNAL, code, "standard output: %s", strerror(-code));
}

int output_stdout(struct error *err)
{
	int rc = ended(stdout, fflush);

	return rc < 0 ? refuse_stdout(err, rc) : 0;
}

static const char *guarded; /* atexit() passes no argument */

static void guard(void)
{
	struct error err = { .rank = -1 };

	if (output_stdout(&err) == 0)
		return;
	error_print(&err, guarded);
	_exit(OUTCOME_INTERNAL);
}

/* Messages without a reader are given up, and results go on; results without a reader end the process, as ever. */
static void lose_messages(int number)
{
	struct pollfd messages = { .fd = STDERR_FILENO }, results = { .fd = STDOUT_FILENO };
	int saved = errno, fd;

	if (poll(&messages, 1, 0) == 1 && messages.revents & POLLERR) {
		fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(fd, STDERR_FILENO);
		close(fd);
	}
	if (poll(&results, 1, 0) == 1 && results.revents & POLLERR) {
		signal(number, SIG_DFL);
		raise(number);
	}
	errno = saved;
}

void output_keep(void)
{
	struct sigaction lose = { .sa_handler = lose_messages, .sa_flags = SA_RESTART }, before;

	if (sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
		sigaction(SIGPIPE, &lose, NULL);
}

void output_guard(const char *program)
{
	output_keep();
	guarded = program;
	atexit(guard);
}

int output_room(struct error *err)
{
	struct statvfs disk;
	struct stat st;

	/* an empty write fails on a closed descriptor and on /dev/full */
	if (write(STDOUT_FILENO, "", 0) < 0)
		return refuse_stdout(err, -errno);
	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
	    fstatvfs(STDOUT_FILENO, &disk) == 0 && disk.f_blocks > 0 && disk.f_bfree == 0)
		return refuse_stdout(err, -ENOSPC);
	return 0;
}

static const struct {
	const char *end, *to;
	double scale;
} units[] = {
	{ "_us", "_seconds", 1e-6 },
	{ "_ns", "_seconds", 1e-9 },
	{ "_gbs", "_bytes_per_second", 1e9 },
	{ "_mbps", "_bits_per_second", 1e6 },
	{ "_percent", "_ratio", .01 },
	{ "_kib", "_bytes", 1024 },
	{ "_khz", "_hertz", 1e3 },
	{ "_mhz", "_hertz", 1e6 },
	{ "_mw", "_watts", 1e-3 },
	{ "_c", "_celsius", 1 },
	{ "_total", "_ever", 1 },
};

void prometheus_head(FILE *f, const char *name, const char *help)
{
	fprintf(f, "# HELP hangar_%s %s.\n# TYPE hangar_%s gauge\n", name, help, name);
}

void prometheus_label(FILE *f, char before, const char *name, const char *value)
{
	fprintf(f, "%c%s=\"", before, name);
	for (const char *c = value; *c; c++)
		putc(*c < ' ' || *c > '~' || *c == '"' || *c == '\\' ? '?' : *c, f);
	putc('"', f);
}

double prometheus_unit(char *name, size_t len)
{
	for (size_t i = 0; i < LENGTH(units); i++) {
		size_t n = strlen(name), end = strlen(units[i].end);

		if (n <= end || strcmp(name + n - end, units[i].end) != 0)
			continue;
		snprintf(name + n - end, len - (n - end), "%s", units[i].to);
		return units[i].scale;
	}
	return 1;
}
