/* slowdown.c: how slow, in which steps, and the host's part of it. */
#include "process/slowdown.h"

#include <pthread.h>
#include <sched.h>

#include "base/clock.h"
#include "base/keys.h"

#define SPIN_SECONDS 1e-4 /* a sleep ends late by about as much */

#define NAME_ROW(id, ...) { __VA_ARGS__ },
static const struct {
	const char *name, *keys;
} rows[] = { SLOWDOWNS(NAME_ROW) };

const char *slowdown_keys(enum slowdown_kind kind)
{
	return rows[kind].keys;
}

int slowdown_find(const char *name)
{
	for (int i = 0; i < SLOWDOWN_KINDS; i++)
		if (strcmp(rows[i].name, name) == 0)
			return i;
	return -1;
}

void slowdown_init(struct slowdown *s, enum slowdown_kind kind)
{
	*s = (struct slowdown){
		.kind = kind, .every = 1, .p = 1, .seed = 1, .bound = 60, .to = -1, .part = 0.5
	};
	if (kind == SLOW_RANK)
		s->share = 0.1;
	else
		s->seconds = kind == PAUSE_ROTATING ? 0.65 : 0.005;
	if (kind == PAUSE_ROTATING)
		s->every = 8;
}

void slowdown_take(struct slowdown *s, const char *key, const char *value)
{
	if (strcmp(key, "by") == 0)
		(void)keys_pace(value, &s->share, &s->seconds);
	else if (strcmp(key, "every") == 0)
		s->every = strtoull(value, NULL, 10);
	else if (strcmp(key, "p") == 0)
		s->p = strtod(value, NULL);
	else if (strcmp(key, "seed") == 0)
		s->seed = (uint64_t)strtoll(value, NULL, 10);
	else if (strcmp(key, "share") == 0)
		s->part = strtod(value, NULL);
	else if (strcmp(key, "seconds") == 0)
		s->bound = strtod(value, NULL);
	else if (strcmp(key, "threads") == 0)
		s->threads = (int)strtol(value, NULL, 10);
	else if (strcmp(key, "to") == 0)
		s->to = (int)strtol(value, NULL, 10);
	s->on_gpu |= strcmp(key, "on") == 0 && strcmp(value, "gpu") == 0;
	s->sleeps |= strcmp(key, "how") == 0 && strcmp(value, "sleep") == 0;
	s->memory |= strcmp(key, "what") == 0 && strcmp(value, "memory") == 0;
}

/* A number from 0 to 1 for a step of a rank: the finaliser of splitmix64. */
static double draw(uint64_t seed, uint64_t step, int rank)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15u + step * 0xbf58476d1ce4e5b9u + (uint64_t)rank;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

bool slowdown_due(const struct slowdown *s, uint64_t n, uint64_t calls, int rank, int nranks)
{
	uint64_t step = n / calls;

	if (s->kind == SLOW_LINK)
		return true;
	if (s->kind == HOST_CONTEND || s->kind == GPU_CONTEND)
		return n == 0;
	if (s->share <= 0 && n % calls != 0)
		return false;
	if (s->kind == PAUSE_ROTATING)
		step += s->every * (uint64_t)rank / (uint64_t)nranks;
	return step % s->every == 0 && (s->p >= 1 || draw(s->seed, step, rank) < s->p);
}

double slowdown_delay(const struct slowdown *s, double since)
{
	return s->share > 0 ? s->share * since : s->seconds;
}

void slowdown_spend(double seconds, bool sleeps)
{
	const double end = clock_seconds() + seconds;

	for (double left = seconds; left > 0; left = end - clock_seconds())
		if (sleeps && left > SPIN_SECONDS)
			clock_sleep(left - SPIN_SECONDS);
}

static void *spin(void *until)
{
	const double end = *(const double *)until;

	while (clock_seconds() < end)
		for (volatile int turns = 0; turns < 100000;)
			turns++;
	return NULL;
}

int slowdown_contend(int threads, double seconds)
{
	static double until; /* the newest wins: a process has one such fault */
	sigset_t all, before;
	pthread_attr_t attr;
	cpu_set_t cores;
	int n = 0, rc = 0;

	if (threads == 0)
		threads = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
	until = clock_seconds() + seconds;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (; n < threads && rc == 0; n += rc == 0) {
		pthread_t thread;

		rc = pthread_create(&thread, &attr, spin, &until);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return n > 0 ? n : -rc;
}
