/* file.h: bounded reads of small files of /proc and /sys with any content. */
#pragma once

/* `root` is a prefix of the path: "" except in tests. */

/* Reads the first len - 1 bytes without the last newline. Bytes that are not printable, newline or
 * tab become "?". Returns their number, or a negative errno with buf "". */
int file_text(const char *root, char *buf, size_t len, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Opens a plain file of at most `most` bytes, and waits for nothing: a FIFO is refused. NULL: *why. */
FILE *file_open(const char *path, int64_t most, const char **why);

/* The non-negative number at the start of the file; -1: no file, no number, or an overflow. */
int64_t file_number(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same for a text. */
int64_t file_count(const char *text);

/* Writes the path of `name` beside the running program. False: the path is too long, or /proc is missing. */
bool file_beside(char *path, size_t size, const char *name);

/* The number after the first `key` and blanks in a text; -1: none. */
int64_t file_behind(const char *text, const char *key);

/* Reads the next of several numbers of a line. Returns the text behind it, or NULL. */
const char *file_next(const char *text, int64_t *value);

/* Writes into buf (PATH_MAX) what is there: the path, or the nearest folder above it. 0 or a negative errno: -EINVAL for
 * a control character, which would break the lines that name the path. */
int file_ancestor(const char *path, char *buf);

/* Makes a folder and those above it. 0, also where it is there, or a negative errno as above. */
int file_folders(const char *path);

/* Sorted names of a folder's entries, without hidden ones and those that are too long. Returns
 * their number, at most `room`; 0 for a missing folder. */
int file_list(const char *root, const char *folder, char names[][32], int room);

/* Reads a text like /proc/net/snmp, "Tcp: NAME NAME ...\nTcp: VALUE VALUE ...": the number under
 * `name` in the lines that begin with `table` ("Tcp:"); -1: none. */
int64_t file_column(const char *text, const char *table, const char *name);
