/* schedule_taken.c: schedules from evidence, and evidence of a run that stands in front of a schedule's first call. */
#include "verify/schedule.h"

#include "record/recorder.h"
#include "process/watch.h"
#include "run/comm.h"

#define BEGAN_NS 1000000000000ull
#define STEP_NS	 1000000ull

/* ---- taken from evidence ---- */

/* Calls of one member on one communicator. */
struct window {
	uint64_t collectives, pairs;   /* in its window */
	uint64_t before, pairs_before; /* not any more */
	bool gap;
};

static struct window window_of(const struct evidence_rank *r, uint32_t comm)
{
	struct window w = { 0 };
	uint64_t last = 0, made = r->recorder ? r->recorder->comms[comm].seq : 0;
	uint64_t pairs = r->recorder ? r->recorder->pairs[comm] : 0;

	for (size_t i = 0; i < r->ncalls; i++) {
		if (r->calls[i].comm != comm)
			continue;
		w.gap |= last && r->calls[i].seq != last + 1;
		last = r->calls[i].seq;
		w.pairs += call_is_pair(r->calls[i].kind);
		w.collectives += !call_is_pair(r->calls[i].kind);
	}
	w.pairs_before = pairs > w.pairs ? pairs - w.pairs : 0;
	w.before = made > pairs + w.collectives ? made - pairs - w.collectives : 0;
	w.gap |= last && made != last;
	return w;
}

/* Why the calls that a rank made on a communicator make no schedule; NULL: they do. */
static const char *why_not(const struct window *w)
{
	if (w->gap)
		return "calls are missing in its window";
	if ((w->before || w->pairs_before) && (w->pairs || w->pairs_before))
		return "its window is cut, and which of its sends and receives had met is not "
		       "known";
	return NULL;
}

/* The number of the first collective that all members with known calls have in their windows. */
static int first_common(const struct evidence *e, const struct members *m, uint64_t *first,
			struct error *err)
{
	*first = 0;
	for (int i = 0; i < m->nranks; i++) {
		int rank = members_rank(m, i);
		struct window w;
		const char *why;

		if (rank < 0)
			return error_set(err, OUTCOME_UNSUPPORTED, -EINVAL,
					 "cannot tell: number %d of communicator %u is not known",
					 i, m->comm);
		if (!e->ranks[rank].present)
			continue;
		w = window_of(&e->ranks[rank], m->comm);
		why = why_not(&w);
		if (why)
			return error_set(err, OUTCOME_UNSUPPORTED, -EINVAL,
					 "cannot tell: of rank %d and communicator %u %s", rank,
					 m->comm, why);
		*first = w.before > *first ? w.before : *first;
	}
	return 0;
}

/* Steps of one rank. `group`: the number of its group by communicator, `skip`: collectives that are left out there. */
static void take_steps(struct schedule *s, const struct evidence *e, bool blocks, int rank,
		       const int *group, const uint64_t *skip)
{
	const struct evidence_rank *r = &e->ranks[rank];
	uint64_t *seen = must(calloc(RECORD_COMMS, sizeof(*seen)));
	char site[sizeof(r->sites->text)];

	s->ranks[rank].known = r->present;
	s->ranks[rank].undated = r->recorder ? r->recorder->undated : 0;
	for (size_t i = 0; i < r->ncalls; i++) {
		const struct record *c = &r->calls[i];
		struct step step = { .count = c->count,
				     .peer = c->peer,
				     .group = (uint16_t)group[c->comm],
				     .kind = c->kind,
				     .dtype = c->dtype,
				     .op = c->op,
				     .stream = blocks ? 0 : c->stream,
				     .flags = c->flags & RECORD_ALONE };

		if (group[c->comm] < 0 ||
		    (!call_is_pair(c->kind) && seen[c->comm]++ < skip[c->comm]))
			continue;
		step.site = schedule_site(s, evidence_site(r, c, site, sizeof(site)));
		schedule_add_step(s, rank, step);
	}
	free(seen);
}

/* Adds the groups of all communicators. `first`: of each the first collective. */
static int take_groups(struct schedule *s, const struct evidence *e, const struct members_list *l,
		       uint64_t *first, struct error *err)
{
	for (size_t k = 0; k < l->n && err->code == 0; k++) {
		const struct members *m = &l->list[k];
		int *ranks = must(malloc((size_t)m->nranks * sizeof(*ranks)));
		char name[24];

		for (int i = 0; i < m->nranks; i++)
			ranks[i] = members_rank(m, i);
		snprintf(name, sizeof(name), "%zu", k);
		schedule_add_group(s, name, ranks, m->nranks);
		first_common(e, m, &first[k], err);
	}
	return err->code;
}

static void take_ranks(struct schedule *s, const struct evidence *e, bool blocks,
		       const struct members_list *l, const uint64_t *first)
{
	for (int i = 0; i < e->nranks; i++) {
		int group[RECORD_COMMS];
		uint64_t skip[RECORD_COMMS];

		for (uint32_t c = 0; c < RECORD_COMMS; c++)
			group[c] = -1;
		for (size_t k = 0; k < l->n; k++) {
			uint32_t c = l->list[k].comm;
			struct window w;

			if (schedule_place(&s->groups[k], i) < 0)
				continue;
			w = window_of(&e->ranks[i], c);
			group[c] = (int)k;
			skip[c] = first[k] - w.before;
		}
		take_steps(s, e, blocks, i, group, skip);
	}
}

int schedule_take(struct schedule *s, const struct evidence *e, struct error *err)
{
	struct progress progress;
	struct members_list l;
	uint64_t *first;

	schedule_init(s, e->nranks);
	evidence_progress(e, &progress);
	progress_members(&progress, &l);
	first = must(calloc(l.n, sizeof(*first)));
	if (take_groups(s, e, &l, first, err) == 0)
		take_ranks(s, e, progress.blocks, &l, first);
	snprintf(s->remarks, sizeof(s->remarks), "%s", e->remarks);
	free(first);
	members_list_release(&l);
	evidence_progress_release(&progress);
	return err->code;
}

/* ---- as evidence ---- */

/* A schedule that becomes evidence. */
struct maker {
	const struct schedule *schedule;
	enum schedule_streams streams;
	struct evidence *evidence;
	struct record_header blank;
	bool *used;  /* groups with calls */
	int *number; /* of each group the communicator of the rank at hand */
};

static struct record_init init_of(const struct schedule_group *g, int place, size_t group)
{
	struct record_init init = { .rank = place, .nranks = g->n, .id = group + 1 };

	init.state = RECORD_COMM_READY;
	return init;
}

/* Gives the rank its communicators. Returns how many, -1: too many. */
static int make_comms(struct maker *m, int rank, struct record_header *h)
{
	int n = 0;

	for (size_t g = 0; g < m->schedule->ngroups; g++) {
		int place = m->used[g] ? schedule_place(&m->schedule->groups[g], rank) : -1;

		m->number[g] = -1;
		if (place < 0)
			continue;
		if (n == RECORD_COMMS)
			return -1;
		h->inits[n] = init_of(&m->schedule->groups[g], place, g);
		m->number[g] = n++;
	}
	return n;
}

/* A line of code is a site on each communicator; `of` finds those of the rank again. */
static uint16_t make_site(const struct schedule *s, struct evidence_rank *r, uint16_t *of,
			  const struct step *step, int comm)
{
	const char *text = s->sites[step->site];
	struct record_site *site;

	if (!text)
		return 0;
	for (size_t i = of[step->site]; i; i = i + 1 < r->nsites ? i + 1 : 0)
		if (r->sites[i].comm == comm && strcmp(r->sites[i].text, text) == 0)
			return (uint16_t)i;
	if (r->nsites == RECORD_SITES)
		return 0;
	site = &r->sites[r->nsites];
	memset(site, 0, sizeof(*site));
	snprintf(site->text, sizeof(site->text), "%s", text);
	site->hash = record_hash_id(text, strlen(text));
	site->comm = (uint16_t)comm;
	if (!of[step->site])
		of[step->site] = (uint16_t)r->nsites;
	return (uint16_t)r->nsites++;
}

static struct record make_record(const struct maker *m, const struct step *step, int comm, size_t i)
{
	struct record record = { .count = step->count,
				 .peer = step->peer,
				 .comm = (uint16_t)comm,
				 .kind = step->kind,
				 .dtype = step->dtype,
				 .op = step->op,
				 .enqueued_ns = BEGAN_NS + i * STEP_NS,
				 .flags = step->flags };

	record.ticket = i + 1;
	record.returned_ns = record.enqueued_ns;
	record.state = RECORD_RETURNED;
	record.stream = m->streams == STREAMS_ONE    ? 0
			: m->streams == STREAMS_EACH ? (uint8_t)comm
						     : step->stream;
	return record;
}

static void make_calls(struct maker *m, int rank)
{
	const struct schedule_rank *from = &m->schedule->ranks[rank];
	struct evidence_rank *r = &m->evidence->ranks[rank];
	uint16_t *of = must(calloc(m->schedule->nsites, sizeof(*of)));

	r->calls = must(aligned_alloc(64, (from->n + 1) * sizeof(*r->calls)));
	r->times = must(calloc(from->n + 1, sizeof(*r->times)));
	r->sites = must(calloc(m->schedule->nsites > 1 ? RECORD_SITES : 1, sizeof(*r->sites)));
	r->nsites = 1;
	for (size_t i = 0; i < from->n; i++) {
		int comm = m->number[from->steps[i].group];
		struct record record = make_record(m, &from->steps[i], comm, i);

		record.seq = ++r->recorder->comms[comm].seq;
		r->recorder->pairs[comm] += call_is_pair(record.kind);
		record.site = make_site(m->schedule, r, of, &from->steps[i], comm);
		memcpy(&r->calls[i], &record, sizeof(record));
	}
	r->ncalls = from->n;
	free(of);
}

static int make_rank(struct maker *m, int rank, struct error *err)
{
	struct evidence_rank *r = &m->evidence->ranks[rank];

	r->recorder = must(aligned_alloc(64, sizeof(*r->recorder)));
	memcpy(r->recorder, &m->blank, sizeof(*r->recorder));
	r->recorder->rank = rank;
	r->recorder->nranks = m->schedule->nranks;
	r->recorder->undated = m->schedule->ranks[rank].undated;
	r->present = m->schedule->ranks[rank].known;
	r->remote = true;
	if (make_comms(m, rank, r->recorder) < 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -E2BIG,
				 "cannot tell: rank %d is a member of more than %d groups", rank,
				 RECORD_COMMS);
	make_calls(m, rank);
	r->view.rank = rank;
	r->view.issued = r->ncalls;
	evidence_index(r);
	return 0;
}

/* The run's number of a group's communicator; RECORD_COMMS: it has none. */
static uint32_t comm_of(const struct maker *m, size_t g)
{
	const struct schedule_group *group = &m->schedule->groups[g];
	const struct record_header *h = m->evidence->ranks[group->n ? group->ranks[0] : 0].recorder;
	uint32_t c = 0;

	while (m->used[g] && h && c < RECORD_COMMS && h->inits[c].id != g + 1)
		c++;
	return m->used[g] && h ? c : RECORD_COMMS;
}

/* The numbers of communicators are the run's own, and groups that share no rank may have the same: says what groups these
 * are. */
static void name_comms(const struct maker *m)
{
	size_t first[RECORD_COMMS], n[RECORD_COMMS] = { 0 };

	for (size_t g = m->schedule->ngroups; g-- > 0;) {
		uint32_t c = comm_of(m, g);

		if (c == RECORD_COMMS)
			continue;
		first[c] = g;
		n[c]++;
	}
	for (uint32_t c = 0, said = 0; c < RECORD_COMMS && said < 6; c++) {
		if (n[c] == 0 || (n[0] && m->schedule->ngroups == 1))
			continue;
		if (n[c] == 1)
			evidence_remark(m->evidence, "Communicator %u is group %s.", c,
					m->schedule->groups[first[c]].name);
		else
			evidence_remark(m->evidence,
					"Communicator %u is group %s, and each of %zu more that "
					"share no rank.",
					c, m->schedule->groups[first[c]].name, n[c] - 1);
		said++;
	}
}

static void find_used(const struct maker *m)
{
	for (int i = 0; i < m->schedule->nranks; i++)
		for (size_t k = 0; k < m->schedule->ranks[i].n; k++)
			m->used[m->schedule->ranks[i].steps[k].group] = true;
}

int schedule_evidence(const struct schedule *s, enum schedule_streams streams, struct evidence *e,
		      struct error *err)
{
	struct maker *m = must(aligned_alloc(64, (sizeof(*m) + 63) / 64 * 64));
	struct record_memory *memory;
	int fd;

	memset(e, 0, sizeof(*e));
	memset(m, 0, sizeof(*m));
	m->schedule = s;
	m->streams = streams;
	m->evidence = e;
	if (recorder_create(EVIDENCE_SCHEDULE, &memory, &fd, err) < 0)
		goto out;
	close(fd);
	memcpy(&m->blank, &memory->header, sizeof(m->blank));
	munmap(memory, sizeof(*memory));
	m->blank.host[0] = '\0';
	m->blank.preloaded = 1;
	m->blank.phase = PHASE_TIMED;
	m->used = must(calloc(s->ngroups + 1, sizeof(*m->used)));
	m->number = must(malloc((s->ngroups + 1) * sizeof(*m->number)));
	find_used(m);
	e->nranks = s->nranks;
	e->ranks = evidence_ranks_alloc(s->nranks);
	snprintf(e->remarks, sizeof(e->remarks), "%s", s->remarks);
	for (int i = 0; i < s->nranks && err->code == 0; i++)
		make_rank(m, i, err);
	if (err->code == 0) {
		evidence_number_comms(e);
		name_comms(m);
	}
	for (int i = 0; i < s->nranks && err->code == 0; i++)
		if (e->ranks[i].ncalls != s->ranks[i].n)
			error_set(err, OUTCOME_UNSUPPORTED, -E2BIG,
				  "cannot tell: there are more groups than %d", RECORD_COMMS);
out:
	free(m->used);
	free(m->number);
	free(m);
	return err->code;
}
