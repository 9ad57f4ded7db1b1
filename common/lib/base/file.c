/* file.c: bounded reads. */
#include "base/file.h"

#include <dirent.h>
#include <libgen.h>

/* Reads the start of a file. O_NONBLOCK keeps a FIFO or a terminal from blocking. */
static int read_start(const char *path, char *buf, size_t len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	size_t n = 0;
	ssize_t got = 0;

	if (fd < 0)
		return -errno;
	while (n < len && (got = read(fd, buf + n, len - n)) > 0)
		n += (size_t)got;
	got = got < 0 ? -errno : 0;
	close(fd);
	return got < 0 && n == 0 ? (int)got : (int)n;
}

FILE *file_open(const char *path, int64_t most, const char **why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	FILE *in;

	*why = fd < 0 || fstat(fd, &st) < 0 ? strerror(errno)
	       : !S_ISREG(st.st_mode)	    ? "is not a regular file"
	       : st.st_size > most	    ? "is too large"
					    : NULL;
	in = *why ? NULL : fdopen(fd, "r");
	if (!in && fd >= 0)
		close(fd);
	return in;
}

/* Terminates the text and replaces control characters. */
static void clean(char *buf, size_t n)
{
	buf[n] = '\0';
	for (size_t i = 0; i < n; i++)
		if (!isprint((unsigned char)buf[i]) && buf[i] != '\n' && buf[i] != '\t')
			buf[i] = '?';
}

static int read_text(char *buf, size_t len, const char *root, const char *format, va_list args)
{
	char path[PATH_MAX];
	int at = snprintf(path, sizeof(path), "%s", root), n;

	buf[0] = '\0';
	if (at < 0 || at >= PATH_MAX)
		return -ENAMETOOLONG;
	n = vsnprintf(path + at, sizeof(path) - (size_t)at, format, args);
	if (n < 0 || n >= PATH_MAX - at)
		return -ENAMETOOLONG;
	n = read_start(path, buf, len - 1);
	if (n < 0)
		return n;
	clean(buf, (size_t)n);
	if (n > 0 && buf[n - 1] == '\n')
		buf[--n] = '\0';
	return n;
}

int file_text(const char *root, char *buf, size_t len, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = read_text(buf, len, root, format, args);
	va_end(args);
	return n;
}

int64_t file_count(const char *text)
{
	long long value;

	if (!isdigit((unsigned char)*text))
		return -1;
	errno = 0;
	value = strtoll(text, NULL, 10);
	return errno ? -1 : value;
}

int64_t file_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? file_count(at + strlen(key) + strspn(at + strlen(key), " ")) : -1;
}

const char *file_next(const char *text, int64_t *value)
{
	if (!text)
		return NULL;
	text += strspn(text, " \t");
	*value = file_count(text);
	text += strspn(text, "0123456789");
	return *value < 0 || (*text && !strchr(" \t\n", *text)) ? NULL : text;
}

int64_t file_number(const char *root, const char *format, ...)
{
	char text[64];
	va_list args;
	int n;

	va_start(args, format);
	n = read_text(text, sizeof(text), root, format, args);
	va_end(args);
	return n < 0 ? -1 : file_count(text);
}

int file_ancestor(const char *path, char *buf)
{
	char copy[PATH_MAX];
	struct stat st;

	if (strlen(path) >= sizeof(copy))
		return -ENAMETOOLONG;
	for (const char *at = path; *at; at++)
		if (iscntrl((unsigned char)*at))
			return -EINVAL;
	strcpy(buf, path);
	while (lstat(buf, &st) < 0 && strcmp(buf, ".") != 0 && strcmp(buf, "/") != 0)
		strcpy(buf, dirname(strcpy(copy, buf)));
	return 0;
}

int file_folders(const char *path)
{
	char part[PATH_MAX];
	struct stat st;
	int rc = file_ancestor(path, part);

	if (rc < 0)
		return rc;
	strcpy(part, path);
	for (char *slash = part; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(part, 0777); /* the last one says what is wrong */
		*slash = '/';
	}
	if (mkdir(part, 0777) == 0)
		return 0;
	return errno == EEXIST && stat(part, &st) == 0 && S_ISDIR(st.st_mode) ? 0 : -errno;
}

int file_list(const char *root, const char *folder, char names[][32], int room)
{
	char path[PATH_MAX];
	struct dirent **entries;
	int all, n = 0;

	if ((size_t)snprintf(path, sizeof(path), "%s%s", root, folder) >= sizeof(path))
		return 0;
	all = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < all; i++) {
		const char *name = entries[i]->d_name;

		if (n < room && name[0] != '.' && strlen(name) < sizeof(names[0]))
			strcpy(names[n++], name);
		free(entries[i]);
	}
	if (all >= 0)
		free(entries);
	return n;
}

/* The next line from `text` on that begins with `start`; NULL: none. */
static const char *find_line(const char *text, const char *start)
{
	size_t len = strlen(start);

	while (text && *text && strncmp(text, start, len) != 0) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text && *text ? text : NULL;
}

int64_t file_column(const char *text, const char *table, const char *name)
{
	const char *names = find_line(text, table), *end = names ? strchr(names, '\n') : NULL;
	const char *values = end ? find_line(end + 1, table) : NULL;

	while (values && names < end && *values && *values != '\n') {
		size_t n = strcspn(names, " \n"), v = strcspn(values, " \n");

		if (n == strlen(name) && strncmp(names, name, n) == 0)
			return file_count(values);
		names += n + strspn(names + n, " ");
		values += v + strspn(values + v, " ");
	}
	return -1;
}

bool file_beside(char *path, size_t size, const char *name)
{
	ssize_t n = readlink("/proc/self/exe", path, size);
	char *slash;

	if (n <= 0 || (size_t)n >= size)
		return false;
	path[n] = '\0';
	slash = strrchr(path, '/') + 1;
	return snprintf(slash, size - (size_t)(slash - path), "%s", name) <
	       (int)(size - (size_t)(slash - path));
}
