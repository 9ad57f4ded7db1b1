/* file.h: small files of /proc and /sys, whatever is in them. */
#pragma once

/* `root` is put before the path: "" outside of tests. */

/* The first len - 1 bytes, without the newline at the end; what is neither printable nor a
 * newline or tab becomes "?". Returns how many, or a negative errno and "". */
int file_text(const char *root, char *buf, size_t len, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The number from 0 on at the start of the file; -1: no file, no number, too large. */
int64_t file_number(const char *root, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The same, of a text. */
int64_t file_count(const char *text);

/* The number behind the first `key` in a text, and blanks; -1: none. */
int64_t file_behind(const char *text, const char *key);

/* The next of several numbers in a line, blanks before it: what is behind it, or NULL where
 * there is no number from 0 on that stands alone. */
const char *file_next(const char *text, int64_t *value);

/* Names of a folder's entries in order, hidden ones and those that do not fit left out. Returns how
 * many, `room` at most; 0 where there is no folder. */
int file_list(const char *root, const char *folder, char names[][32], int room);

/* Of a text like /proc/net/snmp, "Tcp: NAME NAME ...\nTcp: VALUE VALUE ...": the number below a
 * name in the lines that `table` ("Tcp:") begins; -1: none. */
int64_t file_column(const char *text, const char *table, const char *name);
