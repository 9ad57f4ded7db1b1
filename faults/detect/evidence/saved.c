/* saved.c: one rank's evidence to bytes and back; nothing that is read is trusted. */
#include "evidence/saved.h"

#define TAIL_SITES 128 /* that come along with the newest calls alone */

_Static_assert(sizeof(struct saved_header) % 64 == 0, "what follows is aligned to 64");
_Static_assert(sizeof(struct record_header) % 64 == 0, "records are aligned to 64");

static const size_t front = sizeof(struct saved_header) + sizeof(struct record_header);

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

static size_t sites_of(const struct evidence_rank *rank, size_t newest)
{
	return newest < rank->ncalls && rank->nsites > TAIL_SITES ? TAIL_SITES : rank->nsites;
}

size_t saved_bytes(const struct evidence_rank *rank, size_t newest)
{
	return front + sites_of(rank, newest) * sizeof(struct record_site) +
	       newest_of(rank, newest) * each(rank->times != NULL);
}

void saved_pack(const struct evidence_rank *rank, int number, size_t newest, void *image)
{
	struct saved_header *h = image;
	struct record_header *recorder = (struct record_header *)(h + 1);
	size_t n = newest_of(rank, newest), sites = sites_of(rank, newest) * sizeof(*rank->sites);
	char *records = (char *)image + front + sites;

	memset(image, 0, front);
	*h = (struct saved_header){ .magic = SAVED_MAGIC,
				    .version = SAVED_VERSION,
				    .header_bytes = sizeof(*h),
				    .recorder_bytes = sizeof(*recorder),
				    .record_bytes = sizeof(struct record),
				    .records = (uint32_t)n,
				    .rank = number,
				    .has_recorder = rank->recorder != NULL,
				    .has_times = rank->times != NULL,
				    .cpu_share = rank->cpu_share,
				    .netns = rank->netns,
				    .state = rank->state,
				    .sockets = rank->sockets,
				    .sites = (uint32_t)sites_of(rank, newest) };
	memcpy(&h->view, &rank->view, sizeof(h->view));
	memcpy(h->syscall, rank->syscall, sizeof(h->syscall));
	memcpy(h->file, rank->file, sizeof(h->file));
	memcpy(h->where, rank->where, sizeof(h->where));
	memcpy(h->said, rank->said, sizeof(h->said));
	h->left_ns = rank->left_ns;
	h->started_by = rank->started_by;
	if (rank->recorder)
		memcpy(recorder, rank->recorder, sizeof(*recorder));
	recorder->uplink_token = 0; /* a secret while the run lasts */
	if (sites > 0)
		memcpy(recorder + 1, rank->sites, sites);
	if (n > 0)
		memcpy(records, &rank->calls[rank->ncalls - n], n * sizeof(struct record));
	if (n > 0 && rank->times)
		memcpy(records + n * sizeof(struct record), &rank->times[rank->ncalls - n],
		       n * sizeof(struct call_times));
}

static const char *header_fault(const struct saved_header *h, int number, size_t bytes)
{
	if (bytes < offsetof(struct saved_header, has_recorder))
		return "is too short to be evidence";
	if (memcmp(h->magic, SAVED_MAGIC, sizeof(h->magic)) != 0)
		return "is no saved evidence";
	if (h->version != SAVED_VERSION)
		return "has another format version: version 7 alone is read, an older file by the "
		       "hangar that wrote it";
	if (bytes < front)
		return "is too short to be evidence";
	if (h->header_bytes != sizeof(*h) || h->recorder_bytes != sizeof(struct record_header) ||
	    h->record_bytes != sizeof(struct record))
		return "has another layout";
	if (h->rank != number)
		return "says that it is another rank's";
	if (h->records > 1u << 24)
		return "announces more records than any ring holds";
	if (h->sites > RECORD_SITES)
		return "announces more lines of code than there can be";
	return NULL;
}

static bool known_recorder(const struct record_header *recorder)
{
	return memcmp(recorder->magic, RECORD_MAGIC, sizeof(recorder->magic)) == 0 &&
	       recorder->version == RECORD_VERSION && recorder->header_bytes == sizeof(*recorder) &&
	       recorder->ring_records == RECORD_RING;
}

static int32_t within(int32_t n, int32_t low, int32_t high, int32_t unknown)
{
	return n >= low && n <= high ? n : unknown;
}

static double at_least_zero(double x, double unknown)
{
	return isfinite(x) && x >= 0 ? x : unknown;
}

/* False: the number stands for nothing any more, or never did. */
static bool lost_known(uint32_t lost)
{
#define LOST_CASE(name, number, class, words) case number:
	switch (lost) {
		LOSTS(LOST_CASE)
	case LOST_NOT:
		return true;
	default:
		return false;
	}
}

#define CLEAN(text) (text[sizeof(text) - 1] = '\0', make_printable(text))

static void clean_view(struct rank_view *v, int number)
{
	static const uint64_t before[RECORD_COMMS];

	v->rank = number;
	v->node = within(v->node, -1, 1 << 20, -1);
	v->pid = within(v->pid, 1, INT32_MAX, 0);
	v->process = within(v->process, PROCESS_ALIVE, PROCESS_KILLED, PROCESS_ALIVE);
	v->status = within(v->status, 0, 255, -1);
	v->outcome = within(v->outcome, -1, 255, -1);
	v->phase = v->phase < 256 ? v->phase : 0;
	v->waiting = v->waiting == 1;
	v->overdue = v->overdue == 1;
	v->told = v->told == 1;
	if (!lost_known(v->lost))
		v->lost = LOST_SILENT;
	v->waited = at_least_zero(v->waited, 0);
	v->grace = at_least_zero(v->grace, 0);
	v->silent = at_least_zero(v->silent, 0);
	v->comm_state = v->comm_state <= RECORD_COMM_LEFT ? v->comm_state : 0;
	v->error_code = within(v->error_code, -4095, 0, 0);
	for (int i = 0; i < VIEW_COMMS; i++)
		if (v->comms[i].state > RECORD_COMM_LEFT)
			memset(&v->comms[i], 0, sizeof(v->comms[i]));
	if (!evidence_sound(&v->oldest, v->oldest.ticket, before))
		memset(&v->oldest, 0, sizeof(v->oldest));
	memset(&v->last, 0, sizeof(v->last)); /* of `calls` */
	v->seq = 0;
	CLEAN(v->what);
	CLEAN(v->site);
	CLEAN(v->host);
	CLEAN(v->error);
}

static void unpack_rank(struct evidence_rank *rank, int number, const struct saved_header *h)
{
	memcpy(&rank->view, &h->view, sizeof(rank->view));
	clean_view(&rank->view, number);
	memcpy(rank->syscall, h->syscall, sizeof(rank->syscall));
	CLEAN(rank->syscall);
	memcpy(rank->file, h->file, sizeof(rank->file));
	CLEAN(rank->file);
	memcpy(rank->where, h->where, sizeof(rank->where));
	CLEAN(rank->where);
	memcpy(rank->said, h->said, sizeof(rank->said));
	CLEAN(rank->said);
	rank->left_ns = h->left_ns;
	rank->started_by = within(h->started_by, 0, 1 << 18, 0);
	rank->state = isalpha((unsigned char)h->state) ? h->state : 0;
	rank->cpu_share = at_least_zero(h->cpu_share, -1);
	rank->netns = h->netns;
	rank->sockets = h->sockets;
	rank->sockets.port = within(h->sockets.port, 0, 65535, 0);
	rank->sockets.resends = within(h->sockets.resends, 0, 99, 0);
	CLEAN(rank->sockets.addresses);
	CLEAN(rank->sockets.peer);
	rank->present = true;
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

/* Calls and times at `at`, of which `bytes` are there. */
static void unpack_calls(struct evidence_rank *rank, const struct saved_header *h, char *at,
			 size_t bytes, struct saved_loss *loss)
{
	size_t there = bytes / sizeof(struct record);
	struct rank_view *v = &rank->view;
	bool times = h->has_times && h->records > 0;

	there = there < h->records ? there : h->records;
	loss->cut = h->records - there;
	rank->calls = (struct record *)at;
	rank->times = times && bytes / each(true) >= h->records
			      ? (struct call_times *)(rank->calls + h->records)
			      : NULL;
	rank->ncalls = sound_records(rank->calls, rank->times, there, v->issued);
	loss->unsound = there - rank->ncalls;
	loss->times = h->has_times && !rank->times && rank->ncalls > 0;
	rank->wrapped = rank->ncalls > 0 && rank->calls[0].ticket > 1;
	if (rank->ncalls > 0 && rank->calls[rank->ncalls - 1].ticket == v->issued) {
		memcpy(&v->last, &rank->calls[rank->ncalls - 1], sizeof(struct record));
		v->seq = v->last.seq;
	}
}

/* Takes the sites that are there. Returns what stands behind all of them. */
static char *unpack_sites(struct evidence_rank *rank, const struct saved_header *h, char *at,
			  size_t bytes)
{
	size_t there = bytes / sizeof(*rank->sites);

	rank->nsites = h->sites < there ? h->sites : there;
	rank->sites = rank->nsites > 0 ? (struct record_site *)at : NULL;
	return at + (h->sites <= there ? h->sites * sizeof(*rank->sites) : bytes);
}

const char *saved_unpack(struct evidence_rank *rank, int number, void *image, size_t bytes,
			 struct saved_loss *loss)
{
	const struct saved_header *h = image;
	const char *fault = header_fault(h, number, bytes);
	char *end = (char *)image + bytes, *records;
	struct record_header *recorder;

	memset(loss, 0, sizeof(*loss));
	if (fault)
		return fault;
	recorder = (struct record_header *)((char *)image + sizeof(*h));
	records = (char *)(recorder + 1);
	if (h->has_recorder && !known_recorder(recorder))
		return "holds another recorder's version or layout";
	unpack_rank(rank, number, h);
	rank->recorder = h->has_recorder ? recorder : NULL;
	rank->run = h->has_recorder ? recorder->run : 0;
	rank->undated = h->has_recorder && recorder->undated;
	records = unpack_sites(rank, h, records, (size_t)(end - records));
	unpack_calls(rank, h, records, (size_t)(end - records), loss);
	evidence_index(rank);
	return NULL;
}
