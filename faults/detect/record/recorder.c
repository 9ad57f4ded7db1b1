/* recorder.c: the writing side of the flight recorder: wait-free, no system call, no allocation. */
#include "record/recorder.h"

#include "base/call_value.h"
#include "base/clock.h"

_Static_assert(sizeof(struct record) == 64, "the saved format has 64-byte records");
_Static_assert(sizeof(struct record_site) == 128, "evidence has 128-byte sites");
_Static_assert(RECORD_COMM_INIT + COMM_LEFT == RECORD_COMM_LEFT, "states follow the events");
_Static_assert(RECORD_COMMS <= 256, "a sample has a byte for it");
_Static_assert(CALL_KIND_COUNT <= RECORD_KINDS, "each kind has its total");
_Static_assert((RECORD_RING & (RECORD_RING - 1)) == 0, "the ring is indexed by a mask");

#define FNV_PRIME 0x100000001b3ull

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * FNV_PRIME;
}

static uint64_t hash_call(uint64_t hash, const struct record *r, int32_t peer)
{
	hash = hash_word(hash, r->kind | (uint64_t)r->dtype << 16 | (uint64_t)(uint8_t)r->op << 24);
	hash = hash_word(hash, (uint32_t)peer);
	return hash_word(hash, r->count);
}

uint64_t record_hash(uint64_t hash, const struct record *r)
{
	return call_is_pair(r->kind) ? hash_word(hash, CALL_SEND) : hash_call(hash, r, r->peer);
}

uint64_t record_hash_strict(uint64_t hash, const struct record *r)
{
	return hash_call(hash, r, call_is_pair(r->kind) ? -1 : r->peer);
}

/* ftruncate() that a limit of file sizes fails, without the signal that would end the process. */
static int resize(int fd, off_t bytes)
{
	const struct timespec none = { 0 };
	sigset_t set, before, pending;
	int rc;

	sigpending(&pending);
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	rc = ftruncate(fd, bytes) < 0 ? -errno : 0;
	if (rc == -EFBIG && !sigismember(&pending, SIGXFSZ))
		sigtimedwait(&set, NULL, &none);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

int recorder_create(const char *program, struct record_memory **memory, int *fd, struct error *err)
{
	struct record_header *h;
	void *map;
	int rc;

	*fd = memfd_create("hangar-flight-recorder", MFD_CLOEXEC);
	rc = *fd < 0 ? -errno : resize(*fd, sizeof(**memory));
	if (rc < 0)
		goto fail;
	map = mmap(NULL, sizeof(**memory), PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	rc = map == MAP_FAILED ? -errno : 0;
	if (rc < 0)
		goto fail;
	*memory = map;
	h = &(*memory)->header;
	memcpy(h->magic, RECORD_MAGIC, sizeof(h->magic));
	h->version = RECORD_VERSION;
	h->header_bytes = sizeof(*h);
	h->record_bytes = sizeof(struct record);
	h->ring_records = RECORD_RING;
	h->rank = h->nranks = h->node = h->nnodes = h->local_rank = -1;
	h->outcome = h->exit_status = -1;
	snprintf(h->program, sizeof(h->program), "%s", program);
	gethostname(h->host, sizeof(h->host) - 1);
	return 0;

fail:
	if (*fd >= 0)
		close(*fd);
	return error_set(err, OUTCOME_INTERNAL, rc, "flight recorder memory: %s%s", strerror(-rc),
			 rc == -EFBIG ? ": 1.1 MB is more than ulimit -f allows" : "");
}

static void beat(struct record_header *h)
{
	record_put(&h->heartbeat, h->heartbeat + 1);
}

static void recorder_phase(void *ctx, enum phase phase)
{
	struct recorder *recorder = ctx;

	record_publish(&recorder->memory->header.phase, phase);
	beat(&recorder->memory->header);
}

static void begin_wait(struct recorder *recorder, const char *what, double seconds, bool work)
{
	struct record_wait *wait = &recorder->memory->header.wait;
	uint64_t now = clock_ns();

	/* -T may lengthen the time for work, but not cut it */
	if (seconds > 0 && recorder->timeout > (work ? seconds : 0))
		seconds = recorder->timeout;
	seconds *= recorder->stretch;
	recorder->wait_ticket = work ? UINT64_MAX : recorder->memory->header.issued_ticket;
	wait->since_ns = now;
	wait->work = work;
	wait->deadline_ns = seconds > 0 ? now + (uint64_t)(seconds * 1e9) : 0;
	strncpy(wait->what, what, sizeof(wait->what) - 1);
	/* odd, also should a wait begin inside another */
	record_publish(&wait->sequence, (wait->sequence + 1) | 1);
	beat(&recorder->memory->header);
}

static void recorder_enter(void *ctx, const char *what, double seconds)
{
	begin_wait(ctx, what, seconds, false);
}

static void recorder_work(void *ctx, const char *what, double seconds)
{
	begin_wait(ctx, what, seconds, true);
}

static void recorder_leave(void *ctx)
{
	struct recorder *recorder = ctx;
	struct record_wait *wait = &recorder->memory->header.wait;

	/* what came before a wait for all others makes no rank late to a call */
	if ((recorder->blocking || recorder->enqueued) && !recorder->inside &&
	    recorder->wait_ticket == recorder->memory->header.issued_ticket)
		recorder->end_ns = clock_ns();
	record_publish(&wait->deadline_ns, 0);
	record_publish(&wait->sequence, (wait->sequence + 1) & ~1u);
	beat(&recorder->memory->header);
}

static struct record *slot_of(struct record_memory *memory, uint64_t ticket)
{
	return &memory->ring[ticket & (RECORD_RING - 1)];
}

static void set_times(struct record_memory *memory, uint64_t ticket, uint64_t start_ns,
		      uint64_t end_ns)
{
	struct record_times *times = &memory->times[ticket & (RECORD_RING - 1)];

	record_put(&times->start_ns, start_ns);
	record_publish(&times->end_ns, end_ns);
}

static uint32_t at_most(size_t count)
{
	return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

/* A communicator of more than RECORD_PEERS ranks is left out. */
static void keep_counts(struct recorder *recorder, const struct call *call, uint64_t seq)
{
	struct record_header *h = &recorder->memory->header;
	struct record_counts *c = &h->counts[recorder->counted++ % RECORD_COUNTS];
	int n = h->inits[call->comm % RECORD_COMMS].nranks;

	if (n < 1 || n > RECORD_PEERS)
		return;
	record_put(&c->seq, 0);
	atomic_thread_fence(memory_order_release);
	c->comm = call->comm;
	c->n = (uint32_t)n;
	for (int i = 0; i < n; i++) {
		c->send[i] = at_most(call->send_counts[i]);
		c->recv[i] = at_most(call->recv_counts[i]);
	}
	record_publish(&c->seq, seq);
}

static void set_mark(struct record_mark *mark, uint64_t calls, uint64_t ticket, uint64_t hash)
{
	record_put(&mark->calls, 0);
	atomic_thread_fence(memory_order_release);
	record_put(&mark->ticket, ticket);
	record_put(&mark->hash, hash);
	record_publish(&mark->calls, calls);
}

uint64_t record_bytes(int kind, int dtype, uint64_t count, int nranks)
{
	bool all = kind == CALL_ALL_GATHER || kind == CALL_REDUCE_SCATTER ||
		   kind == CALL_ALLTOALL || kind == CALL_GATHER || kind == CALL_SCATTER;

	if (dtype < 0 || dtype >= DT_COUNT || nranks < 1)
		return 0;
	return count * dtype_size((enum dtype)dtype) * (all ? (uint64_t)nranks : 1);
}

static void count_total(struct record_memory *memory, const struct record *r)
{
	uint32_t comm = r->comm % RECORD_COMMS;
	struct record_total *total = &memory->totals[comm][r->kind % RECORD_KINDS];

	record_put(&total->calls, total->calls + 1);
	record_put(&total->bytes, total->bytes + record_bytes(r->kind, r->dtype, r->count,
							      memory->header.inits[comm].nranks));
}

/* Counts the call: collectives, which all ranks make alike, apart from sends and receives. */
static void count_call(struct record_memory *memory, const struct record *r, uint64_t ticket)
{
	uint32_t at = r->comm % RECORD_COMMS;
	struct record_comm *comm = &memory->header.comms[at];
	_Atomic uint64_t *pairs = &memory->header.pairs[at];
	uint64_t calls, hash;

	record_publish(&comm->seq, r->seq);
	if (call_is_pair(r->kind) || r->comm >= RECORD_COMMS) {
		record_publish(pairs, *pairs + 1);
		return;
	}
	hash = record_hash(comm->hash, r);
	record_put(&comm->hash, hash);
	calls = r->seq - *pairs;
	if (calls % RECORD_STRIDE == 0)
		set_mark((struct record_mark *)record_mark_of(memory, at, calls), calls, ticket,
			 hash);
}

#define OVERLAP_NS 1000 /* events are no more precise */
#define RATE_CALLS 256	/* from one look at the rate of calls to the next */

/* A call begins: the time since the last one ended was the rank's own. */
static void begin_own(struct recorder *recorder, uint64_t ticket, uint64_t now)
{
	uint64_t took = now - recorder->rate_ns;

	if ((recorder->blocking || recorder->enqueued) && !recorder->inside && recorder->end_ns)
		recorder->own_ns += now - recorder->end_ns;
	recorder->open = recorder->inside ? recorder->open + 1 : 1;
	recorder->inside = true;
	if (ticket % RATE_CALLS)
		return;
	for (recorder->shift = 0; recorder->shift < 20 && RATE_CALLS * 1000000000ull >>
								  recorder->shift >
								  took * RECORD_SAMPLE_MAX;)
		recorder->shift++;
	recorder->rate_ns = now;
}

static void put_sample(struct recorder *recorder, const struct record *r,
		       const struct record_sample *like)
{
	struct record_memory *memory = recorder->memory;
	uint64_t number = memory->sampled + 1;
	struct record_sample *sample = &memory->samples[number % RECORD_SAMPLES];

	record_put(&sample->number, 0);
	atomic_thread_fence(memory_order_release);
	sample->id = memory->header.inits[r->comm % RECORD_COMMS].id;
	sample->seq = r->seq;
	sample->arrived_ns = like->arrived_ns;
	sample->through_ns = like->through_ns;
	sample->own_ns = recorder->own_ns;
	sample->count = like->count;
	sample->comm = (uint8_t)r->comm;
	sample->calls = like->calls;
	sample->site = r->site;
	sample->kind = r->kind;
	sample->dtype = r->dtype;
	sample->clock = like->clock;
	sample->part = like->part;
	record_publish(&sample->number, number);
	record_publish(&memory->sampled, number);
}

/* A call is through. */
static void end_own(struct recorder *recorder, const struct record *r, uint64_t now)
{
	uint64_t id = recorder->memory->header.inits[r->comm % RECORD_COMMS].id;

	if (!recorder->blocking)
		return;
	if (recorder->depth == 0) {
		recorder->end_ns = now;
		recorder->inside = false;
	}
	/* a send of a group goes on after its return */
	if ((recorder->depth && call_is_pair(r->kind)) ||
	    !record_sampled(id, r->seq, recorder->shift))
		return;
	put_sample(recorder, r,
		   &(struct record_sample){ .arrived_ns = r->enqueued_ns,
					    .through_ns = now,
					    .count = r->count,
					    .calls = 1,
					    .clock = RECORD_CLOCK_HOST });
}

void recorder_stamp(struct recorder *recorder, uint64_t ticket, unsigned calls, uint8_t part,
		    uint64_t arrived_ns, uint64_t through_ns)
{
	const struct record *r = slot_of(recorder->memory, ticket);
	bool goes_on = recorder->stamped && part == recorder->part;
	/* the calls of a group have one span */
	bool overlaps = goes_on && through_ns != recorder->end_ns &&
			arrived_ns + OVERLAP_NS < recorder->end_ns;

	/* calls on several streams overlap: the rank's own time is between the end of all and
	 * the next */
	if (goes_on && arrived_ns > recorder->end_ns)
		recorder->own_ns += arrived_ns - recorder->end_ns;
	if (!goes_on || through_ns > recorder->end_ns)
		recorder->end_ns = through_ns;
	recorder->stamped = ticket;
	recorder->part = part;
	if (r->ticket == ticket && !call_is_pair(r->kind))
		put_sample(recorder, r,
			   &(struct record_sample){ .arrived_ns = arrived_ns,
						    .through_ns = through_ns,
						    .count = calls > 1 ? 0 : r->count,
						    .calls = (uint8_t)(calls < 255 ? calls : 255),
						    .clock = overlaps ? RECORD_CLOCK_OVERLAP
								      : RECORD_CLOCK_DEVICE,
						    .part = part });
}

void recorder_partner(struct recorder *recorder, uint64_t ticket, int peer)
{
	struct record *r = slot_of(recorder->memory, ticket);

	if (r->ticket == ticket)
		r->peer = peer;
}

static uint64_t recorder_call(void *ctx, const struct call *call)
{
	struct recorder *recorder = ctx;
	struct record_memory *memory = recorder->memory;
	struct record_header *h = &memory->header;
	struct record_comm *comm = &h->comms[call->comm % RECORD_COMMS];
	uint64_t ticket = h->issued_ticket + 1;
	struct record *r = slot_of(memory, ticket);

	record_put(&r->ticket, 0);
	atomic_thread_fence(memory_order_release);
	if (recorder->timed)
		set_times(memory, ticket, 0, 0);
	r->seq = comm->seq + 1;
	r->comm = (uint16_t)call->comm;
	r->kind = (uint8_t)call->kind;
	r->dtype = (uint8_t)call->dtype;
	r->op = (int8_t)call->op;
	r->peer = call->peer;
	r->stream = (uint8_t)call->stream;
	r->flags = recorder->depth == 0 ? RECORD_ALONE : 0;
	r->count = call->count;
	r->offset = call->offset & ((1ull << 48) - 1);
	r->site = call->site & (RECORD_SITES - 1);
	if (r->site)
		record_put(&memory->sites[r->site].calls, memory->sites[r->site].calls + 1);
	if (call->kind == CALL_ALLTOALLV && call->send_counts)
		keep_counts(recorder, call, r->seq);
	r->enqueued_ns = clock_ns();
	begin_own(recorder, ticket, r->enqueued_ns);
	record_put(&r->returned_ns, 0);
	record_put(&r->replays, 0);
	record_put(&r->state, RECORD_ISSUING);
	count_call(memory, r, ticket);
	count_total(memory, r);
	record_publish(&r->ticket, ticket);
	record_publish(&h->issued_ticket, ticket);
	beat(h);
	/* the next call's line comes while this one moves data */
	__builtin_prefetch(slot_of(memory, ticket + 1), 1);
	return ticket;
}

uint64_t record_hash_id(const void *id, size_t bytes)
{
	const unsigned char *at = id;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < bytes; i++)
		hash = hash_word(hash, at[i]);
	return hash ? hash : 1;
}

uint64_t record_again_id(uint64_t id, uint64_t times, unsigned char *wide)
{
	const uint64_t key[] = { id, times };

	memset(wide, 0, COMM_ID_BYTES);
	memcpy(wide, key, sizeof(key));
	return record_hash_id(wide, COMM_ID_BYTES);
}

static void recorder_comm(void *ctx, uint32_t comm, enum comm_event event,
			  const struct comm_request *request)
{
	struct recorder *recorder = ctx;
	struct record_header *h = &recorder->memory->header;
	struct record_init *init = &h->inits[comm % RECORD_COMMS];

	if (event == COMM_INIT) {
		init->rank = request->rank;
		init->nranks = request->nranks;
		init->id = record_hash_id(request->id, sizeof(request->id));
		init->born = h->issued_ticket;
		memset(recorder->memory->totals[comm % RECORD_COMMS], 0,
		       sizeof(recorder->memory->totals[0]));
		record_put(&init->asked, 0);
	}
	if (event == COMM_ABORTED)
		init->aborted_after = h->comms[comm % RECORD_COMMS].seq;
	record_publish(&init->state, RECORD_COMM_INIT + event);
	beat(h);
}

static void recorder_returned(void *ctx, uint64_t ticket, int rc)
{
	struct recorder *recorder = ctx;
	struct record *r = slot_of(recorder->memory, ticket);
	uint64_t now = clock_ns();

	if (rc < 0)
		r->flags |= RECORD_FAILED;
	record_put(&r->returned_ns, now);
	record_publish(&r->state, RECORD_RETURNED);
	end_own(recorder, r, now);
}

static void recorder_group(void *ctx, enum group_event event)
{
	struct recorder *recorder = ctx;
	struct record *r = slot_of(recorder->memory, recorder->memory->header.issued_ticket);

	recorder->depth += event == GROUP_BEGUN ? 1 : event == GROUP_ENDED ? -1 : 0;
	if (event != GROUP_BEGUN && recorder->depth == (event == GROUP_ENDING) && r->ticket != 0)
		record_publish(&r->state, event == GROUP_ENDING ? RECORD_CLOSING : RECORD_RETURNED);
	if (recorder->blocking && event == GROUP_ENDED && recorder->depth == 0) {
		recorder->end_ns = clock_ns();
		recorder->inside = false;
	}
}

/* All that was enqueued is through. When each of several calls began, the host does not see. */
static void end_enqueued(struct recorder *recorder)
{
	struct record_memory *memory = recorder->memory;
	const struct record *r = slot_of(memory, memory->header.issued_ticket);

	recorder->end_ns = clock_ns();
	recorder->inside = false;
	if (recorder->open == 1 && !call_is_pair(r->kind) &&
	    record_sampled(memory->header.inits[r->comm % RECORD_COMMS].id, r->seq,
			   recorder->shift))
		put_sample(recorder, r,
			   &(struct record_sample){ .arrived_ns = r->enqueued_ns,
						    .through_ns = recorder->end_ns,
						    .count = r->count,
						    .calls = 1,
						    .clock = RECORD_CLOCK_HOST });
}

static void recorder_completed(void *ctx)
{
	struct recorder *recorder = ctx;
	struct record_header *h = &recorder->memory->header;

	record_publish(&h->completed_ticket, h->issued_ticket);
	beat(h);
	if (recorder->enqueued && recorder->inside)
		end_enqueued(recorder);
}

static void recorder_replayed(void *ctx, uint32_t calls)
{
	struct recorder *recorder = ctx;
	struct record_header *h = &recorder->memory->header;
	uint64_t ticket = h->issued_ticket;

	for (uint32_t i = 0; i < calls && i < RECORD_RING && ticket > i; i++) {
		struct record *r = slot_of(recorder->memory, ticket - i);

		atomic_fetch_add_explicit(&r->replays, 1, memory_order_relaxed);
		count_total(recorder->memory, r);
	}
	beat(h);
}

static void recorder_asked(void *ctx, uint32_t comm, int code)
{
	struct recorder *recorder = ctx;

	if (comm < RECORD_COMMS && code >= 0 && code < INT32_MAX)
		record_put(&recorder->memory->header.inits[comm].asked, 1 + code);
}

static void recorder_device(void *ctx, bool waits)
{
	struct recorder *recorder = ctx;

	record_publish(&recorder->memory->header.device_wait,
		       waits ? RECORD_DEVICE_AWAITED : RECORD_DEVICE_LEFT);
}

static void recorder_device_times(void *ctx, uint64_t ticket, uint64_t start_ns, uint64_t end_ns)
{
	struct recorder *recorder = ctx;

	if (slot_of(recorder->memory, ticket)->ticket != ticket)
		return; /* overwritten since */
	recorder->timed = true;
	set_times(recorder->memory, ticket, start_ns, end_ns);
	/* calls without times came between where the tickets do not follow each other */
	if (end_ns)
		recorder_stamp(recorder, ticket, 1,
			       recorder->part + (uint8_t)(ticket != recorder->stamped + 1),
			       start_ns, end_ns);
}

/* The newest calls in a row that have this offset. A step of several calls has one for all. */
static void find_calls(struct record_memory *memory, uint64_t offset, struct record_wrong *wrong)
{
	uint64_t ticket = memory->header.issued_ticket, oldest;

	oldest = ticket > RECORD_RING ? ticket - RECORD_RING : 0;
	while (ticket > oldest && slot_of(memory, ticket)->offset != offset)
		ticket--;
	for (; ticket > oldest; ticket--) {
		const struct record *r = slot_of(memory, ticket);

		if (r->offset != offset || (wrong->seq && r->comm != wrong->comm))
			break;
		wrong->comm = r->comm;
		wrong->seq_last = wrong->seq ? wrong->seq_last : r->seq;
		wrong->seq = r->seq;
	}
}

static void recorder_wrong(void *ctx, const struct wrong_data *data)
{
	struct recorder *recorder = ctx;
	struct record_header *h = &recorder->memory->header;
	struct record_wrong *wrong = &h->wrong[h->wrongs];

	if (h->wrongs == RECORD_WRONGS)
		return;
	*wrong = (struct record_wrong){
		.index = data->index,
		.count = data->count,
		.expected = data->expected,
		.got = data->got,
		.from = data->from,
		.culprit = data->culprit,
		.dtype = (uint8_t)data->dtype,
		.sent = data->sent,
	};
	find_calls(recorder->memory, data->offset, wrong);
	record_publish(&h->wrongs, h->wrongs + 1);
}

void recorder_init(struct recorder *recorder, struct record_memory *memory, bool calls,
		   double timeout)
{
	*recorder = (struct recorder){
		.memory = memory, .calls = calls, .timeout = timeout, .stretch = 1
	};
	memory->header.pid = getpid();
}

struct watch recorder_watch(struct recorder *recorder)
{
	struct watch watch = {
		.ctx = recorder,
		.phase = recorder_phase,
		.enter = recorder_enter,
		.work = recorder_work,
		.leave = recorder_leave,
		.comm = recorder_comm,
		.asked = recorder_asked,
		.device = recorder_device,
	};

	if (recorder->calls) {
		watch.call = recorder_call;
		watch.returned = recorder_returned;
		watch.group = recorder_group;
		watch.completed = recorder_completed;
		watch.replayed = recorder_replayed;
		watch.device_times = recorder_device_times;
		watch.wrong = recorder_wrong;
	}
	return watch;
}

void recorder_identify(struct recorder *recorder, int rank, int nranks, int node, int nnodes,
		       int local_rank, const char *device, const char *library)
{
	struct record_header *h = &recorder->memory->header;

	snprintf(h->device, sizeof(h->device), "%s", device);
	snprintf(h->library, sizeof(h->library), "%s", library);
	h->local_rank = local_rank;
	h->nnodes = nnodes;
	h->node = node;
	h->nranks = nranks;
	record_publish(&h->rank, rank);
}

void record_settings(struct record_header *h, const char *text, uint64_t hash)
{
	snprintf(h->settings, sizeof(h->settings), "%s", text);
	record_publish(&h->settings_hash, hash);
}

int recorder_uplink_port(struct recorder *recorder)
{
	struct record_header *h = &recorder->memory->header;
	uint64_t give_up = clock_ns() + 2000000000ull;

	atomic_store(&h->uplink_wanted, 1);
	while (atomic_load(&h->uplink_port) == 0 && clock_ns() < give_up)
		clock_sleep(0.005);
	return atomic_load(&h->uplink_port) > 0 ? atomic_load(&h->uplink_port) : -ETIMEDOUT;
}

void recorder_uplink(struct recorder *recorder, const char *address, uint64_t token)
{
	struct record_header *h = &recorder->memory->header;

	snprintf(h->uplink_address, sizeof(h->uplink_address), "%s", address);
	h->uplink_token = token;
	record_publish(&h->uplink_ready, 1);
}

void recorder_finish(struct recorder *recorder, enum outcome outcome, const char *culprits,
		     const struct error *err)
{
	struct record_header *h = &recorder->memory->header;

	snprintf(h->culprits, sizeof(h->culprits), "%s", culprits);

	if (err && err->code) {
		snprintf(h->error, sizeof(h->error), "%.255s", err->text);
		record_put(&h->error_code, err->code);
	}
	recorder_phase(recorder, PHASE_DONE);
	record_publish(&h->outcome, (int32_t)outcome);
}
