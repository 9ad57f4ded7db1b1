/* older_glibc.c: functions of newer C libraries that the static libraries of a package (STATIC=1) call, so that
 * RHEL 9's glibc 2.34 is enough. Debian 12's libexpat.a asks for one of 2.36. */
#include <sys/random.h>

void arc4random_buf(void *buf, size_t bytes);

void arc4random_buf(void *buf, size_t bytes)
{
	for (ssize_t n; bytes > 0; buf = (char *)buf + n, bytes -= (size_t)n) {
		n = getrandom(buf, bytes, 0);
		n = n < 0 ? 0 : n;
	}
}
