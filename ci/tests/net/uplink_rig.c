/* uplink_rig.c: connects as a leader does, but waits. */
#include "net/uplink_rig.h"

int connect_to(const char *list, double seconds)
{
	int rc = -EADDRNOTAVAIL;

	for (size_t i = 0; i < 8; i++) {
		double until = clock_seconds() + seconds;
		int fd = uplink_begin(list, i);

		rc = fd < 0 ? fd : 0;
		while (rc == 0 && clock_seconds() < until) {
			rc = uplink_connected(fd);
			clock_sleep(0.002);
		}
		if (rc == 1)
			return fd;
		if (fd >= 0)
			close(fd);
		rc = rc == 0 ? -ETIMEDOUT : rc;
	}
	return rc;
}
