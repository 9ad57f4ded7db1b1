/* clock.h: CLOCK_MONOTONIC of the host's first time namespace, the only clock of hangar; all processes of a host share it. */
#pragma once

/* Nanoseconds that this process' time namespace adds to CLOCK_MONOTONIC, 0 in the first one; set before main. */
extern int64_t clock_namespace_ns;

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)(t.tv_sec * 1000000000 + t.tv_nsec - clock_namespace_ns);
}

static inline double clock_seconds(void)
{
	return (double)clock_ns() * 1e-9;
}

/* Formats the local time by a strftime format; "" on failure. */
static inline void clock_local(char *buf, size_t len, const char *format)
{
	time_t now = time(NULL);
	struct tm tm;

	if (!localtime_r(&now, &tm) || strftime(buf, len, format, &tm) == 0)
		buf[0] = '\0';
}

#define CLOCK_ISO "%Y-%m-%dT%H:%M:%S%z" /* ISO 8601, with the zone */

/* Milliseconds until `deadline`, rounded up, for poll; 0 when it has passed. */
static inline int clock_ms_until(uint64_t deadline)
{
	uint64_t now = clock_ns();

	return deadline > now ? (int)((deadline - now) / 1000000u) + 1 : 0;
}

/* Sleeps for `seconds`, for polling loops. A signal ends the sleep early. */
static inline void clock_sleep(double seconds)
{
	struct timespec t = { .tv_sec = (time_t)seconds };

	t.tv_nsec = (long)((seconds - (double)t.tv_sec) * 1e9);
	nanosleep(&t, NULL);
}
