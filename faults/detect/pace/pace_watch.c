/* pace_watch.c: from the ranks' memories to lines about slow ranks. */
#include "pace/pace_watch.h"

#include <sched.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/proc_stat.h"

#define ACCOUNT_NS	100000000ull /* between two looks at the scheduler's accounts */
#define ACCOUNT_EACH	10000000ull  /* and so long for each rank, whose file is read */
#define JUDGE_NS	1000000000ull
#define SUSPECTS	8
#define RECENT_ROWS	256
#define RECENT_SECONDS	2.0  /* that these last at least, before a rank is named for them alone */
#define STARVED		0.5  /* of the excess without a processor: other programs are the cause, */
#define STARVED_SECONDS 10.0 /* and may be gone before this */

void pace_watch_open(struct pace_watch *w, double percent)
{
	cpu_set_t set;

	*w = (struct pace_watch){ .cores = 1 };
	pace_open(&w->pace, percent);
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		w->cores = CPU_COUNT(&set);
}

void pace_watch_release(struct pace_watch *w)
{
	pace_release(&w->pace);
	free(w->read);
	w->read = w->starved = w->starved_before = NULL;
	w->n = w->nnamed = 0;
}

static void make_room(struct pace_watch *w, size_t n)
{
	uint64_t *room = must(calloc(3 * n + 1, sizeof(*room)));

	for (size_t i = 0; i < w->n; i++) {
		room[i] = w->read[i];
		room[n + i] = w->starved[i];
		room[2 * n + i] = w->starved_before[i];
	}
	free(w->read);
	w->read = room;
	w->starved = room + n;
	w->starved_before = room + 2 * n;
	w->n = n;
}

static void read_accounts(struct pace_watch *w, struct record_memory *const *memories, uint64_t now)
{
	if (now < w->account_ns)
		return;
	w->account_ns = now + (ACCOUNT_EACH * w->n > ACCOUNT_NS ? ACCOUNT_EACH * w->n : ACCOUNT_NS);
	for (size_t i = 0; i < w->n; i++) {
		struct proc_account account;

		if (memories[i]->header.pid <= 0 ||
		    !proc_account_read(&account, memories[i]->header.pid))
			continue;
		if (!w->starved_before[i])
			w->starved_before[i] = account.waited_ns;
		w->starved[i] = account.waited_ns - w->starved_before[i];
	}
}

/* The sample is copied while its rank may write it again. */
static bool copy_sample(const struct record_memory *memory, uint64_t number,
			struct record_sample *copy)
{
	const struct record_sample *at = &memory->samples[number % RECORD_SAMPLES];

	if (record_get(&at->number) != number)
		return false;
	memcpy((char *)copy + sizeof(copy->number), (const char *)at + sizeof(at->number),
	       sizeof(*copy) - sizeof(copy->number));
	atomic_thread_fence(memory_order_acquire);
	return record_get(&at->number) == number && copy->comm < RECORD_COMMS &&
	       memory->header.inits[copy->comm].id == copy->id;
}

static void read_samples(struct pace_watch *w, const struct record_memory *memory, size_t i)
{
	uint64_t newest = record_get(&memory->sampled);
	struct record_sample s;

	if (newest > w->read[i] + RECORD_SAMPLES)
		w->read[i] = newest - RECORD_SAMPLES;
	while (w->read[i] < newest)
		if (copy_sample(memory, ++w->read[i], &s))
			pace_add(&w->pace, &(struct pace_sample){
						   .comm = s.id,
						   .seq = s.seq,
						   .rank = memory->header.rank,
						   .member = memory->header.inits[s.comm].rank,
						   .nmembers = memory->header.inits[s.comm].nranks,
						   .arrived_ns = s.arrived_ns,
						   .through_ns = s.through_ns,
						   .own_ns = s.own_ns,
						   .starved_ns = w->starved[i],
						   .kind = s.kind,
						   .clock = s.clock });
}

/* Other programs may have taken its processor; that a finding of few seconds shows nothing lasting. */
static bool lasts(const struct pace_finding *f)
{
	return f->starved < STARVED || f->seconds >= STARVED_SECONDS;
}

static bool is_slow(const struct pace_watch *w, const struct pace_rows *c, int m,
		    struct pace_finding *f)
{
	struct pace_finding recent;

	if (pace_judge(&w->pace, c, m, PACE_ALL, f) && lasts(f))
		return true;
	if (c->rows <= RECENT_ROWS || !pace_judge(&w->pace, c, m, RECENT_ROWS, &recent) ||
	    recent.seconds < RECENT_SECONDS || !lasts(&recent))
		return false;
	*f = recent;
	return true;
}

static struct pace_named *named_rank(struct pace_watch *w, int32_t rank)
{
	for (size_t i = 0; i < w->nnamed; i++)
		if (w->named[i].finding.rank == rank)
			return &w->named[i];
	return NULL;
}

static void place_of(struct record_memory *const *memories, size_t n, int32_t rank, char *buf,
		     size_t len)
{
	snprintf(buf, len, "another host");
	for (size_t i = 0; i < n; i++)
		if (memories[i]->header.rank == rank)
			snprintf(buf, len, "%.63s", memories[i]->header.host);
}

static void print_named(const struct pace_named *named)
{
	char line[512];

	printf("# slow: %s\n", pace_line(&named->finding, named->place, line, sizeof(line)));
	fflush(stdout);
}

/* The rank is slow by the calls of this communicator; the one of most ranks speaks. */
static void name(struct pace_watch *w, struct record_memory *const *memories, size_t n,
		 const struct pace_rows *c, int m, const struct pace_finding *f)
{
	struct pace_named *named = named_rank(w, f->rank);
	bool again = !named || named->ended;

	if (!named && w->nnamed == PACE_NAMED)
		return;
	if (named && !named->ended && named->comm != c->id && named->finding.n >= f->n)
		return;
	if (!named)
		named = &w->named[w->nnamed++];
	*named = (struct pace_named){ .finding = *f, .comm = c->id, .member = m };
	place_of(memories, n, f->rank, named->place, sizeof(named->place));
	if (again)
		print_named(named);
}

/* A rank that was named, and whose newest calls are well again. */
static void look_whether_ended(struct pace_watch *w, const struct pace_rows *c,
			       struct pace_named *named)
{
	struct pace_finding f;

	if (named->ended || named->comm != c->id ||
	    pace_judge(&w->pace, c, named->member, RECENT_ROWS / 2, &f) || !f.rows ||
	    f.high * 100 >= w->pace.percent)
		return;
	named->ended = true;
	printf("# slow: rank %d (%s) is slow no more, in the newest %zu sampled calls\n",
	       named->finding.rank, named->place, f.rows);
	fflush(stdout);
}

static void judge(struct pace_watch *w, struct record_memory *const *memories, size_t n)
{
	int members[SUSPECTS];

	w->crowded = n > (size_t)w->cores;
	for (size_t i = 0; i < w->pace.ncomms && !w->crowded; i++) {
		const struct pace_rows *c = &w->pace.comms[i];
		size_t found = pace_suspects(&w->pace, c, members, SUSPECTS);
		struct pace_finding f;

		for (size_t k = 0; k < found; k++)
			if (is_slow(w, c, members[k], &f))
				name(w, memories, n, c, members[k], &f);
		for (size_t k = 0; k < w->nnamed; k++)
			look_whether_ended(w, c, &w->named[k]);
	}
}

void pace_watch_look(struct pace_watch *w, struct record_memory *const *memories, size_t n,
		     uint64_t now)
{
	uint64_t took;

	if (w->pace.percent <= 0 || n < 2)
		return;
	if (n > w->n)
		make_room(w, n);
	read_accounts(w, memories, now);
	for (size_t i = 0; i < n; i++)
		read_samples(w, memories[i], i);
	if (now < w->judge_ns)
		return;
	if (w->judge_ns)
		judge(w, memories, n);
	took = clock_ns() - now;
	w->judge_ns = now + (took > JUDGE_NS / 100 ? 100 * took : JUDGE_NS);
}

enum diagnosis_class pace_watch_end(struct pace_watch *w, struct record_memory *const *memories,
				    size_t n, char *ranks, size_t len)
{
	size_t before = w->nnamed;

	ranks[0] = '\0';
	w->judge_ns = UINT64_MAX;
	pace_watch_look(w, memories, n, clock_ns());
	judge(w, memories, n);
	for (size_t i = 0; i < w->nnamed; i++) {
		if (i < before && !w->named[i].ended)
			print_named(&w->named[i]);
		text_add(ranks, len, "%s%d", i ? "," : "", w->named[i].finding.rank);
	}
	return w->nnamed ? CLASS_SLOW_RANK : CLASS_OUTCOME;
}
