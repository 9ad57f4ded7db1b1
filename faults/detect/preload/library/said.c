/* said.c: what the program writes to standard error is kept, the newest 4 KiB: that outlives it. So is a traceback at the beginning
 * of a file: torch.multiprocessing hands an exception to the parent so. All is handed on as it came. */
#include "base/clock.h"
#include "preload/library/library.h"

/* glibc's own names of the functions that stand behind these. */
ssize_t __write(int fd, const void *text, size_t bytes);
size_t _IO_fwrite(const void *text, size_t size, size_t n, FILE *to);

/* A signal handler may write, too: no lock is taken. */
static void keep(const char *text, size_t bytes)
{
	struct session *s = session_nth(0);
	struct record_program *p;
	uint64_t at;

	if (!s || bytes == 0)
		return;
	p = &s->recorder.memory->program;
	if (bytes > RECORD_SAID) {
		text += bytes - RECORD_SAID;
		bytes = RECORD_SAID;
	}
	at = atomic_fetch_add(&p->said, bytes);
	for (size_t i = 0; i < bytes; i++)
		p->text[(at + i) % RECORD_SAID] = text[i];
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
