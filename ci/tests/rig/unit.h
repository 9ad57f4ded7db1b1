/* unit.h: a CUnit program made of UNIT_TESTs; and what C headers most tests use. */
#pragma once

#include <CUnit/CUnit.h>

#define UNIT_TEMP 200 /* bytes of the path of what unit_folder or unit_file makes */
#define UNIT_PATH 300 /* of the path of a file in such a folder, its name short */

/* A case of the program, named for people: UNIT_TEST(test_a, "a case") { ... }. They run in the order
 * of their lines, each whatever became of the others. */
#define UNIT_TEST(test, title)                                                                     \
	static void test(void);                                                                    \
	__attribute__((constructor)) static void test##_add(void)                                  \
	{                                                                                          \
		static struct unit_case unit_case = { title, test, __LINE__, NULL };               \
                                                                                                   \
		unit_add(&unit_case);                                                              \
	}                                                                                          \
	static void test(void)

struct unit_case {
	const char *name;
	void (*run)(void);
	int line;
	struct unit_case *next;
};

/* Adds a case of static storage to those of the program: for UNIT_TEST. */
void unit_add(struct unit_case *added);

/* Runs the program's cases as one verbose CUnit suite. Returns 0 when all of them ran and no assertion
 * failed (75: something was late), else 1: none at all is a failure. A program that has no main of its own does only this. */
int unit_main(void);

/* The same with a new file, whose path the cases find in `path`; it is removed. */
int unit_main_file(char path[UNIT_TEMP]);

/* The same with a new folder, which is removed with all that is in it then. */
int unit_main_folder(char path[UNIT_TEMP]);

/* The main() that only returns this: UNIT_MAIN(unit_main_folder(path)). */
#define UNIT_MAIN(call)                                                                            \
	int main(void)                                                                             \
	{                                                                                          \
		return call;                                                                       \
	}

/* Goes through a table: UNIT_ROWS(row, rows) { ... row->wanted ... }. */
#define UNIT_ROWS(row, rows)                                                                       \
	for (__typeof__((rows)[0]) *row = rows; row < (rows) + LENGTH(rows); row++)

/* Asserts each of up to 64 conditions by itself, in their order: a failure is told in its words. */
#define UNIT_ALL(...)                                                                              \
	do {                                                                                       \
		UNIT_4(UNIT_EACH(__VA_ARGS__))                                                     \
	} while (0)
#define UNIT_EACH(one, ...)                                                                        \
	CU_ASSERT(one);                                                                            \
	__VA_OPT__(UNIT_AGAIN UNIT_NONE(__VA_ARGS__))
#define UNIT_AGAIN()  UNIT_EACH
#define UNIT_NONE     ()
#define UNIT_4(...)   UNIT_16(UNIT_16(UNIT_16(UNIT_16(__VA_ARGS__))))
#define UNIT_16(...)  UNIT_64(UNIT_64(UNIT_64(UNIT_64(__VA_ARGS__))))
#define UNIT_64(...)  UNIT_256(UNIT_256(UNIT_256(UNIT_256(__VA_ARGS__))))
#define UNIT_256(...) __VA_ARGS__

/* The text that these statements write to the stream `out`, which the caller frees. */
#define UNIT_PRINTED(out, ...)                                                                     \
	({                                                                                         \
		char *unit_printed = NULL;                                                         \
		size_t unit_bytes;                                                                 \
		FILE *out = open_memstream(&unit_printed, &unit_bytes);                            \
                                                                                                   \
		CU_ASSERT_PTR_NOT_NULL_FATAL(out);                                                 \
		__VA_ARGS__;                                                                       \
		fclose(out);                                                                       \
		unit_printed;                                                                      \
	})

/* Something took so many seconds: more than `limit` is late, which is printed. A program that is late and
 * nothing else returns 75: the runner runs it once more, when all others have ended. Returns true, for
 * UNIT_ALL. */
bool unit_in_time(double took, double limit);

/* How many of n random trials are made: all, or with UNIT_SHARE=10 in the environment a tenth, and one at least. So it is under a
 * sanitizer, which makes each of them slow. */
int unit_times(int n);

/* Until when something that has to come is waited for, as clock_seconds() counts: so many seconds times the machine's load
 * per processor, from 1 to 8. */
double unit_until(double seconds);

/* A new folder PROGRAM.XXXXXX below $TMPDIR, or /tmp where that is not set, for its owner alone;
 * the caller removes it. 0, or a negative errno: standard error has it in words. May be called
 * outside of a case. */
int unit_folder(char path[UNIT_TEMP]);

/* The same with an empty file. Its descriptor, which the caller closes; or a negative errno. */
int unit_file(char path[UNIT_TEMP]);

/* A file in such a folder (NULL: `name` is its path), made anew. 0, or a negative errno, printed. */
int unit_put(const char *folder, const char *name, const void *data, size_t bytes);

/* The whole file, NUL behind it, which the caller frees; *len may be NULL. A missing file ends the case. */
char *unit_read(const char *path, size_t *len);

/* The text of a file, "" where it is missing; valid until the next call. */
const char *unit_text(const char *path);

/* Something is at this path, a link that leads nowhere included. */
bool unit_there(const char *path);

/* Waits until nothing is at the path, unit_until(5) at most. Returns true if nothing is. */
bool unit_gone(const char *path);

/* Waits for a child and returns its exit code, or 128 + the signal that ended it; one that lives
 * longer than unit_until(seconds) is killed: -1. */
int unit_ended(pid_t pid, double seconds);

/* Removes a folder and all that is in it; links are not followed. 0, or a negative errno. */
int unit_remove(const char *folder);
