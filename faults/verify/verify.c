/* verify.c: carries a schedule out, and makes of what is left the evidence of a run that was seen. */
#include "verify/verify.h"

#include "find/find.h"
#include "process/watch.h"

#define SEEN_NS	   2000000000000ull
#define WAITED_NS  600000000000ull
#define STARTED_NS 1000ull

/* Notes what has become of a rank's calls. Returns true if some are not over, or were never made. */
static bool take_ends(struct evidence_rank *r, const struct progress *p, int rank)
{
	const struct rank_calls *calls = &p->pending[rank];
	size_t made = progress_made(p, rank);
	bool stands = made < r->ncalls;

	for (size_t i = 0; i < made; i++) {
		enum call_stand state = calls->calls[i].state;

		if (state != CALL_QUEUED)
			r->times[i].start_ns = r->calls[i].enqueued_ns + STARTED_NS;
		if (state == CALL_ENDED) {
			r->times[i].end_ns = r->calls[i].enqueued_ns + 2 * STARTED_NS;
			r->calls[i].state = RECORD_COMPLETED;
		}
		stands |= state != CALL_ENDED;
	}
	r->ncalls = made;
	return stands;
}

/* The first call that is not over; NULL: all are. */
static const struct record *oldest_of(const struct evidence_rank *r)
{
	size_t i = 0;

	while (i < r->ncalls && r->calls[i].state == RECORD_COMPLETED)
		i++;
	return i < r->ncalls ? &r->calls[i] : NULL;
}

static void take_header(struct evidence_rank *r)
{
	struct record_header *h = r->recorder;
	const struct record *oldest = oldest_of(r);

	for (uint32_t c = 0; c < RECORD_COMMS; c++)
		h->comms[c].seq = h->pairs[c] = 0;
	for (size_t i = 0; i < r->ncalls; i++) {
		h->comms[r->calls[i].comm].seq++;
		h->pairs[r->calls[i].comm] += call_is_pair(r->calls[i].kind);
	}
	h->issued_ticket = r->ncalls;
	h->completed_ticket = oldest ? oldest->ticket - 1 : r->ncalls;
	h->device_wait = oldest ? RECORD_DEVICE_AWAITED : RECORD_DEVICE_LEFT;
}

/* Writes the view that an observer has of the rank. `memory` is scratch. */
static void take_view(struct evidence_rank *r, struct record_memory *memory)
{
	const struct record *oldest = oldest_of(r);
	struct rank_view *v = &r->view;

	take_header(r);
	memcpy(&memory->header, r->recorder, sizeof(memory->header));
	memory->header.preloaded = 0; /* what it waits for is known here */
	if (r->ncalls)
		memcpy(&memory->ring[r->ncalls & (RECORD_RING - 1)], &r->calls[r->ncalls - 1],
		       sizeof(*r->calls));
	view_read(v, memory, SEEN_NS);
	v->last.returned_ns = 0;
	if (!oldest)
		return;
	v->waiting = v->overdue = 1;
	v->since_ns = v->open_ns = SEEN_NS - WAITED_NS;
	v->waited = -1; /* no time passes */
	snprintf(v->what, sizeof(v->what), "a call that has not completed");
	memcpy(&v->oldest, oldest, sizeof(v->oldest));
	v->open_seq = oldest->seq;
	record_site_text(r->sites, r->nsites, oldest->site, v->site, sizeof(v->site));
	for (size_t i = r->ncalls; i-- > 0;) /* down to the first of each communicator */
		if (r->calls[i].comm < VIEW_COMMS && r->calls[i].state != RECORD_COMPLETED)
			v->comms[r->calls[i].comm].done = r->calls[i].seq - 1;
}

static bool play(struct evidence *e, const struct schedule *s, uint64_t eager)
{
	struct play_rules rules = { .eager = eager, .ahead = s->ahead };
	struct progress progress;
	struct members_list l;
	bool stands = false;

	evidence_progress(e, &progress);
	progress.rules = &rules;
	progress_members(&progress, &l);
	progress_play(&progress, &l);
	for (int i = 0; i < e->nranks; i++)
		stands |= take_ends(&e->ranks[i], &progress, i);
	progress_release(&progress);
	members_list_release(&l);
	evidence_progress_release(&progress);
	return stands;
}

static void see(struct evidence *e)
{
	struct record_memory *memory = must(aligned_alloc(4096, sizeof(*memory)));

	memset(memory, 0, sizeof(*memory));
	for (int i = 0; i < e->nranks; i++) {
		take_view(&e->ranks[i], memory);
		evidence_index(&e->ranks[i]);
	}
	free(memory);
}

int verify(struct verified *v, const struct schedule *s, const struct verify_how *how,
	   struct error *err)
{
	memset(v, 0, sizeof(*v));
	if (schedule_evidence(s, how->streams, &v->evidence, err) < 0)
		return err->code;
	v->stands = play(&v->evidence, s, how->eager);
	see(&v->evidence);
	find_answer(&v->evidence, NULL, &v->answer);
	return 0;
}

void verified_release(struct verified *v)
{
	evidence_release(&v->evidence);
}

int verify_stands(const struct schedule *s, const struct verify_how *how, struct error *err)
{
	struct evidence e;
	int rc = schedule_evidence(s, how->streams, &e, err);

	if (rc == 0)
		rc = play(&e, s, how->eager);
	evidence_release(&e);
	return rc;
}

/* ---- what it depends on ---- */

static int compare_sizes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The amounts of all calls that may leave early, each once, ascending. The caller frees. */
static uint64_t *amounts(const struct schedule *s, size_t *n)
{
	uint64_t *sizes = must(malloc((schedule_calls(s) + 1) * sizeof(*sizes)));
	size_t left = 0;

	*n = 0;
	for (int i = 0; i < s->nranks; i++)
		for (size_t k = 0; k < s->ranks[i].n; k++) {
			const struct step *step = &s->ranks[i].steps[k];

			if (step->peer >= 0 && step->kind != CALL_RECV)
				sizes[(*n)++] =
					step->count * (step->dtype < DT_COUNT
							       ? dtype_size((enum dtype)step->dtype)
							       : 1);
		}
	qsort(sizes, *n, sizeof(*sizes), compare_sizes);
	for (size_t i = 0; i < *n; i++)
		if (i == 0 || sizes[i] != sizes[left - 1])
			sizes[left++] = sizes[i];
	*n = left;
	return sizes;
}

/* The least amount with which it ends where that much is buffered, and without which it does not; 0: there is none. */
static uint64_t least_buffer(const struct schedule *s, struct verify_how how, struct error *err)
{
	size_t n, low = 0, high;
	uint64_t *sizes = amounts(s, &n), least = 0;

	how.eager = UINT64_MAX;
	if (n == 0 || verify_stands(s, &how, err) != 0)
		goto out;
	for (high = n - 1; low < high;) {
		size_t middle = low + (high - low) / 2;

		how.eager = sizes[middle];
		if (verify_stands(s, &how, err))
			low = middle + 1;
		else
			high = middle;
	}
	least = sizes[low];
out:
	free(sizes);
	return least;
}

char *verify_depends(const struct schedule *s, const struct verify_how *how, bool asked,
		     bool stands, char *buf, size_t len, struct error *err)
{
	struct verify_how other = *how;
	uint64_t least = stands ? least_buffer(s, *how, err) : 0;

	buf[0] = '\0';
	if (least > 0)
		text_add(buf, len,
			 "It completes where sends up to %lu bytes are buffered, and hangs "
			 "without: NCCL and MPI "
			 "buffer small ones, and promise nothing.",
			 least);
	other.eager = 0;
	if (!stands && how->eager > 0 && verify_stands(s, &other, err) == 1)
		text_add(
			buf, len,
			"It completes while sends up to %lu bytes are buffered, and hangs without.",
			how->eager);
	other = *how;
	other.streams = how->streams == STREAMS_ONE ? STREAMS_EACH : STREAMS_ONE;
	if (asked || s->ngroups < 2 || verify_stands(s, &other, err) != !stands)
		return buf;
	text_add(buf, len, "%sWith %s it %s.", buf[0] ? " " : "",
		 other.streams == STREAMS_ONE ? "all calls of a rank on one stream"
					      : "a stream for each communicator",
		 stands ? "completes" : "hangs");
	return buf;
}
