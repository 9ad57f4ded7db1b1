/* saved.c: one rank's evidence to bytes and back; nothing that is read is trusted. */
#include "evidence/saved.h"

#include <time.h>

#include "base/clock.h"

_Static_assert(sizeof(struct saved_header) % 64 == 0, "what follows is aligned to 64");
_Static_assert(sizeof(struct record_header) % 64 == 0, "records are aligned to 64");

static const size_t front = sizeof(struct saved_header) + sizeof(struct record_header);

/* clang-format off */
/* These stand in the saved header as in the view. */
#define FOR_EACH_SAME(do) \
	do(node) do(pid) do(process) do(status) do(outcome) do(phase) do(waited) do(since_ns) do(seen_ns) \
	do(issued) do(completed) do(init_id) do(aborted_after) do(comm_state) do(init_rank) \
	do(init_nranks) do(error_code) do(oom_kills)
/* Texts, and where the rank has them; read as somebody else's: ended, and printable. */
#define FOR_EACH_TEXT(do) \
	do(syscall, rank->syscall) do(what, rank->view.what) do(host, rank->view.host) \
	do(error, rank->view.error) do(addresses, rank->sockets.addresses) do(peer, rank->sockets.peer)
/* clang-format on */
#define TO_HEADER(field) h->field = v->field;
#define TO_VIEW(field)	 v->field = h->field;

#define PACK_TEXT(field, text) snprintf(h->field, sizeof(h->field), "%s", text);
#define TAKE_TEXT(field, text)                                                                     \
	snprintf(text, sizeof(text), "%.*s", (int)sizeof(h->field), h->field);                     \
	make_printable(text);

static size_t newest_of(const struct evidence_rank *rank, size_t newest)
{
	return rank->ncalls < newest ? rank->ncalls : newest;
}

static size_t each(bool times)
{
	return sizeof(struct record) + (times ? sizeof(struct call_times) : 0);
}

void *saved_alloc(size_t bytes)
{
	return must(aligned_alloc(64, bytes / 64 * 64 + 64));
}

size_t saved_bytes(const struct evidence_rank *rank, size_t newest)
{
	return front + newest_of(rank, newest) * each(rank->times != NULL);
}

void saved_pack(const struct evidence_rank *rank, int number, size_t newest, void *image)
{
	const struct rank_view *v = &rank->view;
	struct saved_header *h = image;
	struct record_header *recorder = (struct record_header *)(h + 1);
	size_t n = newest_of(rank, newest);
	struct timespec real;

	memset(image, 0, front);
	clock_gettime(CLOCK_REALTIME, &real);
	*h = (struct saved_header){ .magic = SAVED_MAGIC,
				    .version = SAVED_VERSION,
				    .header_bytes = sizeof(*h),
				    .recorder_bytes = sizeof(*recorder),
				    .record_bytes = sizeof(struct record),
				    .records = (uint32_t)n,
				    .rank = number,
				    .waiting = v->waiting != 0,
				    .overdue = v->overdue != 0,
				    .has_recorder = rank->recorder != NULL,
				    .has_times = rank->times != NULL,
				    .cpu_share = rank->cpu_share,
				    .netns = rank->netns,
				    .state = rank->state,
				    .lost = (uint8_t)v->lost,
				    .port = rank->sockets.port,
				    .resends = rank->sockets.resends,
				    .monotonic_ns = clock_ns(),
				    .realtime_ns = real.tv_sec * 1000000000ll + real.tv_nsec };
	FOR_EACH_SAME(TO_HEADER)
	FOR_EACH_TEXT(PACK_TEXT)
	if (rank->recorder)
		memcpy(recorder, rank->recorder, sizeof(*recorder));
	recorder->uplink_token = 0; /* a secret while the run lasts */
	if (n > 0)
		memcpy((char *)image + front, &rank->calls[rank->ncalls - n],
		       n * sizeof(struct record));
	if (n > 0 && rank->times)
		memcpy((char *)image + front + n * sizeof(struct record),
		       &rank->times[rank->ncalls - n], n * sizeof(struct call_times));
}

static const char *header_fault(const struct saved_header *h, int number, size_t bytes)
{
	const struct record_header *recorder = (const struct record_header *)(h + 1);

	if (bytes < sizeof(*h))
		return "is too short to be evidence";
	if (memcmp(h->magic, SAVED_MAGIC, sizeof(h->magic)) != 0)
		return "is no saved evidence";
	if (h->version != SAVED_VERSION)
		return "has another format version";
	if (h->header_bytes != sizeof(*h) || h->recorder_bytes != sizeof(*recorder) ||
	    h->record_bytes != sizeof(struct record))
		return "has another layout";
	if (bytes < front)
		return "is too short to be evidence";
	if (h->rank != number)
		return "says that it is another rank's";
	if (!h->has_recorder)
		return NULL;
	if (memcmp(recorder->magic, RECORD_MAGIC, sizeof(recorder->magic)) != 0 ||
	    recorder->version != RECORD_VERSION || recorder->header_bytes != sizeof(*recorder) ||
	    recorder->ring_records != RECORD_RING)
		return "holds another recorder's version or layout";
	return NULL;
}

static int32_t within(int32_t n, int32_t low, int32_t high, int32_t unknown)
{
	return n >= low && n <= high ? n : unknown;
}

static double at_least_zero(double x, double unknown)
{
	return isfinite(x) && x >= 0 ? x : unknown;
}

static void unpack_view(struct evidence_rank *rank, int number, const struct saved_header *h)
{
	struct rank_view *v = &rank->view;

	*v = (struct rank_view){ .rank = number,
				 .waiting = h->waiting == 1,
				 .overdue = h->overdue == 1,
				 .lost = h->lost < LOST_KINDS ? h->lost : LOST_SILENT };
	FOR_EACH_SAME(TO_VIEW)
	v->node = within(h->node, -1, 1 << 20, -1);
	v->pid = within(h->pid, 1, INT32_MAX, 0);
	v->process = within(h->process, PROCESS_ALIVE, PROCESS_KILLED, PROCESS_ALIVE);
	v->status = within(h->status, 0, 255, -1);
	v->outcome = within(h->outcome, -1, 255, -1);
	v->phase = h->phase < 256 ? h->phase : 0;
	v->waited = at_least_zero(h->waited, 0);
	v->comm_state = h->comm_state <= RECORD_COMM_LEFT ? h->comm_state : 0;
	v->error_code = within(h->error_code, -4095, 0, 0);
	FOR_EACH_TEXT(TAKE_TEXT)
	rank->state = isalpha((unsigned char)h->state) ? h->state : 0;
	rank->cpu_share = at_least_zero(h->cpu_share, -1);
	rank->netns = h->netns;
	rank->sockets.port = within(h->port, 0, 65535, 0);
	rank->sockets.resends = within(h->resends, 0, 99, 0);
}

/* Closes up over records that are not sound. Returns how many are left. */
static size_t sound_records(struct record *calls, struct call_times *times, size_t n,
			    uint64_t issued)
{
	uint64_t last_seq[RECORD_COMMS] = { 0 }, ticket = 0;
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		const struct record *r = &calls[i];

		if (r->ticket <= ticket || r->ticket > issued ||
		    !evidence_sound(r, r->ticket, last_seq))
			continue;
		ticket = r->ticket;
		last_seq[r->comm] = r->seq;
		if (left != i)
			memcpy(&calls[left], r, sizeof(*r));
		if (left != i && times)
			times[left] = times[i];
		left++;
	}
	return left;
}

const char *saved_unpack(struct evidence_rank *rank, int number, void *image, size_t bytes,
			 size_t *unsound, size_t *cut)
{
	const struct saved_header *h = image;
	const char *fault = header_fault(h, number, bytes);
	size_t announced, there;

	*unsound = *cut = 0;
	if (fault)
		return fault;
	announced = h->records;
	there = (bytes - front) / sizeof(struct record);
	if (announced > (1u << 24))
		return "announces more records than any ring holds";
	unpack_view(rank, number, h);
	rank->present = true;
	rank->recorder =
		h->has_recorder ? (struct record_header *)((char *)image + sizeof(*h)) : NULL;
	if (rank->recorder) {
		rank->view.asked = rank->recorder->inits[0].asked;
		rank->view.device_wait = rank->recorder->device_wait;
		rank->view.settings = rank->recorder->settings_hash;
	}
	there = there < announced ? there : announced;
	*cut = announced - there;
	rank->calls = (struct record *)((char *)image + front);
	rank->times = NULL;
	if (h->has_times && announced > 0 && (bytes - front) / each(true) >= announced)
		rank->times = (struct call_times *)(rank->calls + announced);
	rank->ncalls = sound_records(rank->calls, rank->times, there, h->issued);
	*unsound = there - rank->ncalls;
	rank->wrapped = rank->ncalls > 0 && rank->calls[0].ticket > 1;
	if (rank->ncalls > 0 && rank->calls[rank->ncalls - 1].ticket == h->issued) {
		memcpy(&rank->view.last, &rank->calls[rank->ncalls - 1], sizeof(struct record));
		rank->view.seq = rank->view.last.seq;
	}
	evidence_index(rank);
	return NULL;
}
