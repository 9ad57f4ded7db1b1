/* clock.c: the time namespace that this process is in. */
#include "base/clock.h"

int64_t clock_namespace_ns;

/* The file tells of the children's namespace, which a process that has left its own is not in itself. */
static bool is_own(void)
{
	char own[64] = "", children[64] = "";

	return readlink("/proc/self/ns/time", own, sizeof(own) - 1) > 0 &&
	       readlink("/proc/self/ns/time_for_children", children, sizeof(children) - 1) > 0 &&
	       strcmp(own, children) == 0;
}

static __attribute__((constructor)) void read_namespace(void)
{
	int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;
	char text[256];
	long long s, ns;

	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	if (is_own() && sscanf(text, "monotonic %lld %lld", &s, &ns) == 2)
		clock_namespace_ns = s * 1000000000 + ns;
}
