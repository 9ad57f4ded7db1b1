/* pace_watch.c: from the ranks' memories to lines about slow ranks. */
#include "pace/pace_watch.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/proc_stat.h"
#include "base/rank_list.h"

#define ACCOUNT_NS   100000000ull /* between two looks at the scheduler's accounts */
#define ACCOUNT_EACH 10000000ull  /* and so long for each rank, whose file is read */
#define RANKS_MAX    65536
#define RATE_HOST    2000  /* samples a second that a host hands on at most, */
#define RATE_ALL     40000 /* and all hosts together */
#define JUDGE_NS     1000000000ull
#define SUSPECTS     8
#define WELL_ROWS    128 /* newest calls, after which a rank may be slow no more */

void pace_watch_open(struct pace_watch *w, double percent, double lasting)
{
	cpu_set_t set;

	*w = (struct pace_watch){ .cores = 1 };
	pace_open(&w->pace, percent, lasting);
	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		w->cores = CPU_COUNT(&set);
}

void pace_watch_release(struct pace_watch *w)
{
	pace_release(&w->pace);
	meter_release(&w->meter);
	free(w->read);
	free(w->sent);
	free(w->hosts);
	free(w->host_of);
	*w = (struct pace_watch){ .cores = 1 };
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
	return record_get(&at->number) == number && memory->header.inits[copy->comm].id == copy->id;
}

static void note_host(struct pace_watch *w, int32_t rank, const char *host)
{
	int number = 0;

	if (rank < 0 || rank >= RANKS_MAX || (rank < w->nranks && w->host_of[rank]))
		return;
	while (number < w->nhosts && strncmp(w->hosts[number], host, sizeof(*w->hosts) - 1) != 0)
		number++;
	if (number == w->nhosts) {
		w->hosts = must_room(w->hosts, w->nhosts++, sizeof(*w->hosts));
		snprintf(w->hosts[number], sizeof(*w->hosts), "%s", host);
		make_printable(w->hosts[number]);
	}
	for (; w->nranks <= rank; w->nranks++) {
		w->host_of = must_room(w->host_of, w->nranks, sizeof(*w->host_of));
		w->host_of[w->nranks] = 0;
	}
	w->host_of[rank] = number + 1;
}

/* A leader elsewhere hands on a part of the samples, so that the root has the same rate of any number of hosts. */
static void hand_on(struct pace_watch *w, const struct pace_sample *sample)
{
	w->met++;
	if (w->nsent == PACE_SENT || !record_sampled(sample->comm, sample->seq, w->shift))
		return;
	if (!w->sent)
		w->sent = must(calloc(PACE_SENT, sizeof(*w->sent)));
	w->sent[w->nsent++] = *sample;
}

static void choose_rate(struct pace_watch *w, int nhosts, uint64_t now)
{
	size_t most = RATE_ALL / (nhosts > 1 ? (size_t)nhosts : 1);

	if (now < w->rate_ns)
		return;
	most = most > RATE_HOST ? RATE_HOST : most;
	w->shift = 0;
	while (w->met >> w->shift > most)
		w->shift++;
	w->met = 0;
	w->rate_ns = now + JUDGE_NS;
}

static bool judges(const struct pace_watch *w)
{
	return w->pace.percent > 0 && !w->crowded;
}

static void read_samples(struct pace_watch *w, const struct record_memory *memory, size_t i)
{
	const struct record_header *h = &memory->header;
	uint64_t newest = record_get(&memory->sampled);
	struct record_sample s;

	if (newest > w->read[i] + RECORD_SAMPLES)
		w->read[i] = newest - RECORD_SAMPLES;
	while (w->read[i] < newest && w->nsent < PACE_SENT) {
		struct pace_sample sample;

		if (!copy_sample(memory, ++w->read[i], &s))
			continue;
		sample = (struct pace_sample){ .comm = s.id,
					       .seq = s.seq,
					       .rank = h->rank,
					       .member = h->inits[s.comm].rank,
					       .nmembers = h->inits[s.comm].nranks,
					       .arrived_ns = s.arrived_ns,
					       .through_ns = s.through_ns,
					       .own_ns = s.own_ns,
					       .starved_ns = w->starved[i],
					       .kind = s.kind,
					       .clock = s.clock,
					       .part = s.part,
					       .calls = s.calls,
					       .amount = s.count << 8 | s.dtype };
		if (w->metered)
			meter_add(&w->meter, &sample, true);
		if (w->sends) {
			hand_on(w, &sample);
			continue;
		}
		if (judges(w))
			pace_add(&w->pace, &sample);
		note_host(w, h->rank, h->host);
	}
}

void pace_watch_take(struct pace_watch *w, const char *host, const void *samples, size_t bytes)
{
	struct pace_sample sample;

	for (size_t at = 0; at + sizeof(sample) <= bytes && (w->pace.percent > 0 || w->metered);
	     at += sizeof(sample)) {
		memcpy(&sample, (const char *)samples + at, sizeof(sample));
		if (sample.nmembers > RANKS_MAX)
			continue;
		if (w->metered)
			meter_add(&w->meter, &sample, false);
		if (w->pace.percent > 0)
			pace_add(&w->pace, &sample);
		note_host(w, sample.rank, host);
	}
}

static struct pace_named *named_rank(struct pace_watch *w, int32_t rank)
{
	for (size_t i = 0; i < w->nnamed; i++)
		if (w->named[i].finding.rank == rank)
			return &w->named[i];
	return NULL;
}

const char *pace_watch_host(const struct pace_watch *w, int32_t rank)
{
	bool known = rank >= 0 && rank < w->nranks && w->host_of[rank];

	return known ? w->hosts[w->host_of[rank] - 1] : "";
}

static const char *host_name(const struct pace_watch *w, int32_t rank)
{
	const char *name = pace_watch_host(w, rank);

	return name[0] ? name : "host not known";
}

/* The host all of whose ranks, two and more, are slow, and no others are; 0: there is none. */
static int slow_host(const struct pace_watch *w, char *ranks, size_t len)
{
	bool *in = must(calloc((size_t)w->nranks + 1, sizeof(*in)));
	int host = 0, there = 0, named = 0;

	for (size_t i = 0; i < w->nnamed; i++) {
		int32_t rank = w->named[i].finding.rank;
		int its = rank >= 0 && rank < w->nranks ? w->host_of[rank] : 0;

		if (w->named[i].ended)
			continue;
		host = named++ == 0 ? its : host == its ? host : 0;
		in[its ? rank : w->nranks] = true;
	}
	for (int r = 0; r < w->nranks; r++)
		there += host && w->host_of[r] == host;
	rank_list_words(in, w->nranks, ranks, len);
	free(in);
	return host && there == named && named > 1 && w->nhosts > 1 ? host : 0;
}

/* The line of code before whose calls most of the rank's own time passes, by the samples that it still has: " at train.py:88
 * (step)"; "": the rank is elsewhere, or has no lines. */
static void add_site(const struct pace_watch *w, int32_t rank, char *line, size_t len)
{
	uint64_t owns[RECORD_SITES] = { 0 }, before = 0, all = 0;
	const struct record_memory *memory = NULL;
	struct record_sample s;
	char text[128];
	size_t most = 0;

	for (size_t i = 0; i < w->n; i++)
		if (w->memories[i]->header.rank == rank)
			memory = w->memories[i];
	for (uint64_t k = memory ? memory->sampled : 0,
		      i = k > RECORD_SAMPLES ? k - RECORD_SAMPLES : 0;
	     i < k;) {
		if (!copy_sample(memory, ++i, &s))
			continue;
		if (before && s.own_ns > before) {
			owns[s.site % RECORD_SITES] += s.own_ns - before;
			all += s.own_ns - before;
		}
		before = s.own_ns;
	}
	for (size_t i = 1; i < RECORD_SITES; i++)
		most = owns[i] > owns[most] ? i : most;
	if (most && record_site_text(memory->sites, record_sites(memory->sites), (uint32_t)most,
				     text, sizeof(text))[0])
		text_add(line, len, "; %.0f %% of its own work lies before the calls of %s",
			 100.0 * (double)owns[most] / (double)all, text);
}

/* Prints the ranks that were not printed as slow so far, or all. */
static void print_slow(struct pace_watch *w, bool all)
{
	char ranks[64], who[160], line[512];
	int host = slow_host(w, ranks, sizeof(ranks));
	bool any = false;

	for (size_t i = 0; i < w->nnamed; i++) {
		struct pace_named *named = &w->named[i];

		if (named->ended || (named->printed && !all))
			continue;
		named->printed = true;
		if (host && any)
			continue;
		any = true;
		*who = '\0';
		if (host)
			text_add(who, sizeof(who), "all of %s (%s), of these ", w->hosts[host - 1],
				 ranks);
		text_add(who, sizeof(who), "rank %d (%s)", named->finding.rank,
			 host_name(w, named->finding.rank));
		pace_line(&named->finding, who, line, sizeof(line));
		add_site(w, named->finding.rank, line, sizeof(line));
		printf("# slow: %s\n", line);
	}
	fflush(stdout);
}

/* The rank is slow by the calls of this communicator; the one of most ranks speaks. */
static void name(struct pace_watch *w, const struct pace_rows *c, int m,
		 const struct pace_finding *f)
{
	struct pace_named *named = named_rank(w, f->rank);
	bool printed = named && !named->ended && named->printed;

	if (!named && w->nnamed == PACE_NAMED)
		return;
	if (named && !named->ended && named->comm != c->id && named->finding.n >= f->n)
		return;
	if (!named)
		named = &w->named[w->nnamed++];
	*named = (struct pace_named){
		.finding = *f, .comm = c->id, .member = m, .printed = printed
	};
}

/* A rank that was named, and whose newest calls are well again. */
static void look_whether_ended(struct pace_watch *w, const struct pace_rows *c,
			       struct pace_named *named)
{
	struct pace_finding f;

	if (named->ended || !named->printed || named->comm != c->id ||
	    pace_judge(&w->pace, c, named->member, WELL_ROWS, &f) || !f.rows ||
	    f.high * 100 >= w->pace.percent || f.seconds < w->pace.lasting / 3)
		return;
	named->ended = true;
	printf("# slow: rank %d (%s) is slow no more, in the newest %zu sampled calls\n",
	       named->finding.rank, host_name(w, named->finding.rank), f.rows);
	fflush(stdout);
}

static void judge(struct pace_watch *w)
{
	int members[SUSPECTS];

	for (size_t i = 0; i < w->pace.ncomms; i++) {
		const struct pace_rows *c = &w->pace.comms[i];
		size_t found = pace_suspects(&w->pace, c, members, SUSPECTS);
		struct pace_finding f;

		for (size_t k = 0; k < found; k++)
			if (pace_slow(&w->pace, c, members[k], &f))
				name(w, c, members[k], &f);
		for (size_t k = 0; k < w->nnamed; k++)
			look_whether_ended(w, c, &w->named[k]);
	}
}

/* Ranks that came since the last look add the processors that they may use: mpirun binds each to
 * one of its own, and this process with the rank that started it. */
static void add_cores(struct pace_watch *w, struct record_memory *const *memories, size_t n)
{
	/* a rank's memory may be there before its number */
	for (; w->ncores_of < n && memories[w->ncores_of]->header.pid > 0; w->ncores_of++) {
		cpu_set_t set;

		if (sched_getaffinity(memories[w->ncores_of]->header.pid, sizeof(set), &set) != 0)
			continue;
		CPU_OR(&w->cores_of, &w->cores_of, &set);
		w->cores = CPU_COUNT(&w->cores_of);
	}
}

/* Ranks that outnumber their host's processors are late by turns: their samples are not used. */
static bool is_crowded(struct pace_watch *w, struct record_memory *const *memories, size_t n)
{
	add_cores(w, memories, n);
	w->crowded = n > (size_t)w->cores;
	return w->crowded;
}

static void read_totals(struct pace_watch *w, const struct record_memory *memory)
{
	const struct record_header *h = &memory->header;
	char name[RECORD_NAME];

	for (uint32_t c = 0; c < RECORD_COMMS; c++) {
		const struct record_init *init = &h->inits[c];

		snprintf(name, sizeof(name), "%.31s", memory->names[c]);
		for (int k = 0; k < CALL_KIND_COUNT; k++) {
			const struct record_total *total = &memory->totals[c][k];
			struct pace_sample who = { .comm = init->id,
						   .rank = h->rank,
						   .member = init->rank,
						   .nmembers = init->nranks,
						   .kind = k };

			meter_total(&w->meter, &who, record_get(&total->calls),
				    record_get(&total->bytes), name);
		}
	}
}

static void settle(struct pace_watch *w, struct record_memory *const *memories, size_t n,
		   uint64_t now)
{
	w->settle_ns = now + JUDGE_NS;
	for (size_t i = 0; i < n; i++)
		read_totals(w, memories[i]);
	meter_settle(&w->meter);
}

void pace_watch_meter(struct pace_watch *w, struct record_memory *const *memories, size_t n)
{
	uint64_t now = clock_ns();

	pace_watch_look(w, memories, n, now);
	settle(w, memories, n, now);
	meter_settle(&w->meter);
}

void pace_watch_look(struct pace_watch *w, struct record_memory *const *memories, size_t n,
		     uint64_t now)
{
	uint64_t took;

	if (n == 0 || ((is_crowded(w, memories, n) || w->pace.percent <= 0) && !w->metered))
		return;
	if (n > w->n)
		make_room(w, n);
	w->memories = memories;
	read_accounts(w, memories, now);
	choose_rate(w, memories[0]->header.nnodes, now);
	for (size_t i = 0; i < n; i++)
		read_samples(w, memories[i], i);
	if (w->metered && now >= w->settle_ns)
		settle(w, memories, n, now);
	if (now < w->judge_ns || w->sends || !judges(w))
		return;
	if (w->judge_ns) {
		judge(w);
		print_slow(w, false);
	}
	took = clock_ns() - now;
	w->judge_ns = now + (took > JUDGE_NS / 100 ? 100 * took : JUDGE_NS);
}

/* The communicator with most ranks, of these the one with most rows; NULL: there is none. */
static const struct pace_rows *widest(const struct pace *pace)
{
	const struct pace_rows *most = NULL;

	for (size_t i = 0; i < pace->ncomms; i++) {
		const struct pace_rows *c = &pace->comms[i];

		if (!most || c->n > most->n || (c->n == most->n && c->rows > most->rows))
			most = c;
	}
	return most;
}

static int by_rank(const void *a, const void *b)
{
	return ((const struct pace_named *)a)->finding.rank -
	       ((const struct pace_named *)b)->finding.rank;
}

/* No rank is slow: what else makes the job slow. */
static enum answer_class end_whole(const struct pace_watch *w)
{
	const struct pace_rows *c = widest(&w->pace);
	struct pace_pauses pauses;
	struct pace_drift drift;
	char line[512];

	if (c && pace_rotates(&w->pace, c, &pauses))
		printf("# slow: %s\n", pace_pauses_line(&pauses, c->n, line, sizeof(line)));
	if (!c || !pace_slower(&w->pace, c, &drift))
		return CLASS_OUTCOME;
	printf("# slow: %s\n", pace_drift_line(&drift, line, sizeof(line)));
	return drift.starved < 0.3 ? CLASS_SLOW_JOB : CLASS_OUTCOME;
}

enum answer_class pace_watch_end(struct pace_watch *w, struct record_memory *const *memories,
				 size_t n, char *ranks, size_t len)
{
	char words[64];

	snprintf(ranks, len, "-");
	w->judge_ns = UINT64_MAX;
	pace_watch_look(w, memories, n, clock_ns());
	if (w->sends || w->crowded || w->pace.percent <= 0)
		return CLASS_OUTCOME;
	judge(w);
	if (!w->nnamed)
		return end_whole(w);
	qsort(w->named, w->nnamed, sizeof(*w->named), by_rank);
	print_slow(w, true);
	ranks[0] = '\0';
	for (size_t i = 0; i < w->nnamed; i++)
		text_add(ranks, len, "%s%d", i ? "," : "", w->named[i].finding.rank);
	return slow_host(w, words, sizeof(words)) ? CLASS_SLOW_HOST : CLASS_SLOW_RANK;
}
