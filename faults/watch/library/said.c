/* said.c: what the program writes to standard error is kept, the newest 4 KiB without stack frames of C++: that outlives it. So is a traceback at the beginning
 * of a file: torch.multiprocessing hands an exception to the parent so. All is handed on as it came. */
#include "base/clock.h"
#include "library/library.h"

/* glibc's own names of the functions that stand behind these. */
ssize_t __write(int fd, const void *text, size_t bytes);
size_t _IO_fwrite(const void *text, size_t size, size_t n, FILE *to);

/* The bytes of the first line, its end included. */
static size_t line_of(const char *text, size_t bytes)
{
	const char *end = memchr(text, '\n', bytes);

	return end ? (size_t)(end - text) + 1 : bytes;
}

/* A line of the C++ stack that PyTorch writes behind a message, "[rank2]: frame #0: ..." in an exception: 40 of them would
 * leave no room for the message. */
static bool is_frame(const char *text, size_t bytes)
{
	const char *end =
		bytes && *text == '[' ? memmem(text, bytes < 16 ? bytes : 16, "]: ", 3) : NULL;
	size_t rank = end ? (size_t)(end - text) + 3 : 0;

	text += rank;
	bytes -= rank;
	return bytes > 7 && memcmp(text, "frame #", 7) == 0;
}

/* A signal handler may write, too: no lock is taken. */
static void keep(const char *text, size_t bytes)
{
	struct session *s = session_nth(0);
	struct record_program *p;
	size_t kept = 0, older;
	uint64_t at;

	for (size_t i = 0, n; i < bytes; i += n) {
		n = line_of(text + i, bytes - i);
		kept += is_frame(text + i, n) ? 0 : n;
	}
	if (!s || kept == 0)
		return;
	p = &s->recorder.memory->program;
	older = kept > RECORD_SAID ? kept - RECORD_SAID : 0;
	at = atomic_fetch_add(&p->said, kept - older);
	for (size_t i = 0, n; i < bytes; i += n) {
		n = line_of(text + i, bytes - i);
		for (size_t k = 0; k < n && !is_frame(text + i, n); k++)
			if (older > 0)
				older--;
			else
				p->text[at++ % RECORD_SAID] = text[i + k];
	}
	record_publish(&p->said_ns, clock_ns());
}

EXPORT ssize_t write(int fd, const void *text, size_t bytes)
{
	static const char mark[] = "Traceback (most recent call last):\n";
	ssize_t rc = __write(fd, text, bytes);
	const char *from = fd == STDERR_FILENO ? text : NULL;

	if (!from && rc >= (ssize_t)sizeof(mark)) /* behind the head of a pickle */
		from = memmem(text, rc < 64 ? (size_t)rc : 64, mark, sizeof(mark) - 1);
	if (from && rc > 0) {
		int kept = errno;

		keep(from, (size_t)(rc - (from - (const char *)text)));
		errno = kept;
	}
	return rc;
}

/* C++ streams write so. */
EXPORT size_t fwrite(const void *text, size_t size, size_t n, FILE *to)
{
	size_t rc = _IO_fwrite(text, size, n, to);

	if (to == stderr)
		keep(text, size * rc);
	return rc;
}
