/* test_pace_watch.c: ranks' memories and other hosts' samples in, lines and a class out. */
#include "rig/unit.h"

#include "base/call_value.h"
#include "pace/pace_watch.h"

#define RANKS 4
#define CALLS 200

static struct record_memory *memories[RANKS];

/* Ranks of `hosts` hosts; those in `slow` (bits) work 6 ms, the others 5 ms. */
static void set_up(int hosts, unsigned slow)
{
	for (int r = 0; r < RANKS; r++) {
		struct record_memory *m = memories[r] =
			aligned_alloc(_Alignof(struct record_memory), sizeof(*m));
		uint64_t now = 1000000000;

		CU_ASSERT_PTR_NOT_NULL_FATAL(m);
		memset(m, 0, sizeof(*m));

		m->header.rank = r;
		m->header.nranks = RANKS;
		m->header.nnodes = hosts;
		snprintf(m->header.host, sizeof(m->header.host), "node%d", r * hosts / RANKS + 1);
		m->header.inits[3].id = 77;
		m->header.inits[3].rank = r;
		m->header.inits[3].nranks = RANKS;
		for (uint64_t n = 1; n <= CALLS; n++) {
			struct record_sample *s = &m->samples[n % RECORD_SAMPLES];
			uint64_t own = 5000000 + (n * 37 + (uint64_t)r * 11) % 50000;

			own += slow >> r & 1 ? 1000000 : 0;
			*s = (struct record_sample){
				.id = 77, .seq = n, .comm = 3, .kind = CALL_ALL_GATHER
			};
			s->own_ns = m->samples[(n - 1) % RECORD_SAMPLES].own_ns + own;
			s->arrived_ns = now + own;
			now += slow ? 6100000 : 5100000;
			s->through_ns = now;
			s->number = n;
		}
		m->sampled = CALLS;
	}
}

/* Looks at the first `here` ranks, hands on the samples of the others, and ends. */
static enum answer_class look(struct pace_watch *w, int here, char *ranks, size_t len)
{
	struct pace_watch away;
	enum answer_class class;

	pace_watch_open(w, 5, 0);
	w->cores = w->cores > RANKS ? w->cores : RANKS;
	pace_watch_open(&away, 5, 0);
	away.cores = RANKS;
	away.sends = true;
	if (here < RANKS) {
		pace_watch_look(&away, memories + here, (size_t)(RANKS - here), 5000000000);
		pace_watch_take(w, memories[here]->header.host, away.sent,
				away.nsent * sizeof(*away.sent));
		CU_ASSERT_EQUAL(away.nsent, (size_t)(RANKS - here) * CALLS);
	}
	class = pace_watch_end(w, memories, (size_t)here, ranks, len);
	pace_watch_release(&away);
	for (int r = 0; r < RANKS; r++)
		free(memories[r]);
	return class;
}

UNIT_TEST(test_classes, "classes and ranks, of one host and of two")
{
	static const struct {
		int hosts, here;
		unsigned slow;
		enum answer_class class;
		const char *ranks;
	} rows[] = {
		{ 1, 4, 0, CLASS_OUTCOME, "-" },      { 1, 4, 2, CLASS_SLOW_RANK, "1" },
		{ 2, 2, 0, CLASS_OUTCOME, "-" },      { 2, 2, 8, CLASS_SLOW_RANK, "3" },
		{ 2, 2, 12, CLASS_SLOW_HOST, "2,3" }, { 2, 2, 1, CLASS_SLOW_RANK, "0" },
		{ 1, 4, 12, CLASS_SLOW_RANK, "2,3" },
	};

	UNIT_ROWS(row, rows) {
		struct pace_watch w;
		char ranks[64];
		enum answer_class class;

		set_up(row->hosts, row->slow);
		class = look(&w, row->here, ranks, sizeof(ranks));
		CU_ASSERT_EQUAL(class, row->class);
		CU_ASSERT_STRING_EQUAL(ranks, row->ranks);
		pace_watch_release(&w);
	}
}

UNIT_TEST(test_refused, "ranks that outnumber processors, no threshold, nonsense of another host")
{
	struct pace_watch w;
	struct pace_sample bad = { .comm = 1,
				   .seq = 1,
				   .rank = -7,
				   .member = 1 << 30,
				   .nmembers = 1 << 30,
				   .arrived_ns = 1,
				   .through_ns = 2 };
	char ranks[64];

	set_up(1, 2);
	pace_watch_open(&w, 5, 0);
	w.cores = 3;
	CU_ASSERT_EQUAL(pace_watch_end(&w, memories, RANKS, ranks, sizeof(ranks)), CLASS_OUTCOME);
	pace_watch_release(&w);
	pace_watch_open(&w, 0, 0);
	w.cores = RANKS;
	CU_ASSERT_EQUAL(pace_watch_end(&w, memories, RANKS, ranks, sizeof(ranks)), CLASS_OUTCOME);
	pace_watch_release(&w);
	pace_watch_open(&w, 5, 0);
	pace_watch_take(&w, "node2", &bad, sizeof(bad));
	bad.nmembers = 4;
	bad.member = 1;
	pace_watch_take(&w, "node2", &bad, sizeof(bad));
	pace_watch_take(&w, "node2", &bad, sizeof(bad) - 1);
	UNIT_ALL(w.pace.ncomms == 0, w.nhosts == 0);
	pace_watch_release(&w);
	for (int r = 0; r < RANKS; r++)
		free(memories[r]);
}

UNIT_TEST(test_nested, "calls that are sampled at a rate are at all higher ones")
{
	size_t counts[3] = { 0 };

	for (uint64_t seq = 1; seq <= 65536; seq++) {
		bool in[3] = { record_sampled(77, seq, 0), record_sampled(77, seq, 3),
			       record_sampled(77, seq, 6) };

		CU_ASSERT_FATAL(in[0] && (!in[2] || in[1]));
		counts[1] += in[1];
		counts[2] += in[2];
	}
	UNIT_ALL(counts[1] > 7800, counts[1]<8600, counts[2]> 900, counts[2] < 1150);
}

/* A child that may use processor `n` of these alone, and waits for its end. */
static pid_t bound(const cpu_set_t *all, int n)
{
	cpu_set_t one;
	pid_t pid;

	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, all) && n-- == 0)
			CPU_SET(cpu, &one);
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	sched_setaffinity(pid, sizeof(one), &one);
	return pid;
}

UNIT_TEST(test_bound, "a launcher binds each rank to a processor of its own")
{
	struct pace_watch w;
	cpu_set_t all;
	int n;

	sched_getaffinity(0, sizeof(all), &all);
	n = CPU_COUNT(&all) < RANKS ? CPU_COUNT(&all) : RANKS;
	set_up(1, 2);
	pace_watch_open(&w, 5, 0);
	w.cores = 1; /* this process is bound with its rank */
	for (int i = 0; i < n; i++) {
		pace_watch_look(&w, memories, (size_t)n,
				4000000000); /* its number is not known yet */
		CU_ASSERT(n == 1 || w.crowded);
		memories[i]->header.pid = bound(&all, i);
	}
	pace_watch_look(&w, memories, (size_t)n, 5000000000);
	CU_ASSERT_EQUAL(w.cores, n);
	CU_ASSERT(!w.crowded);
	/* two of them on one */
	if (n < RANKS) {
		memories[n]->header.pid = memories[0]->header.pid;
		pace_watch_look(&w, memories, (size_t)n + 1, 5100000000);
		CU_ASSERT_EQUAL(w.cores, n);
		CU_ASSERT(w.crowded);
	}
	for (int i = 0; i < n; i++) {
		kill(memories[i]->header.pid, SIGKILL);
		waitpid(memories[i]->header.pid, NULL, 0);
		memories[i]->header.pid = 0;
	}
	pace_watch_release(&w);
	for (int r = 0; r < RANKS; r++)
		free(memories[r]);
}
