/* recover_rank.c: one rank of recover_perf: breaks the communicator, or survives and makes a new one. CUDA's driver is found
 * at run time, as NCCL is. */
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include "backend/nccl/api.h"
#include "base/clock.h"
#include "base/error.h"
#include "recover/recover.h"

#define COUNT	    ((size_t)1 << 18) /* floats of the small all-reduce */
#define NOT_READY   600		      /* CUDA_ERROR_NOT_READY */
#define LARGE_CALLS 40
#define MID_SECONDS 0.01
#define WAIT_GEQ    0 /* CU_STREAM_WAIT_VALUE_GEQ */

/* Functions of the driver. */
/* clang-format off */
#define CUDA(row) \
	row(Init, "", (unsigned)) row(DeviceGetCount, "", (int *)) row(DeviceGet, "", (int *, int)) \
	row(DevicePrimaryCtxRetain, "", (void **, int)) row(CtxSetCurrent, "", (void *)) \
	row(MemAlloc, "_v2", (uint64_t *, size_t)) row(MemGetInfo, "_v2", (size_t *, size_t *)) \
	row(MemcpyHtoD, "_v2", (uint64_t, const void *, size_t)) row(MemcpyDtoH, "_v2", (void *, uint64_t, size_t)) \
	row(MemsetD32, "_v2", (uint64_t, unsigned, size_t)) \
	row(StreamCreate, "", (void **, unsigned)) row(StreamQuery, "", (void *)) \
	row(StreamWaitValue32, "_v2", (void *, uint64_t, unsigned, unsigned))
/* clang-format on */
#define CUDA_FIELD(name, suffix, arguments) int(*cu##name) arguments;

struct me {
	struct recover_shared *s;
	struct recover_slot *slot;
	int rank;
	struct {
		CUDA(CUDA_FIELD)
	} f;
	ncclComm_t comm, made;
	void *stream, *fresh; /* of the first communicator, and of the second */
	uint64_t small, large;
	float *host;
	size_t free_before;
	int files_before;
};

static bool failed(struct me *me, enum recover_result result, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static bool failed(struct me *me, enum recover_result result, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!me->slot->why[0])
		vsnprintf(me->slot->why, sizeof(me->slot->why), fmt, args);
	va_end(args);
	me->slot->result = result;
	return false;
}

/* Says in which call the rank is, for the parent. */
static void enter(struct me *me, const char *call)
{
	me->slot->call = call;
	me->slot->since = clock_seconds();
}

static void leave(struct me *me)
{
	me->slot->since = 0;
}

static bool load(struct me *me)
{
	struct error err = { 0 };
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!cuda)
		return failed(me, RECOVER_LACKS, "no CUDA driver");
	if (nccl_api_load(&me->s->version, &err) < 0)
		return failed(me, RECOVER_LACKS, "%.150s", err.text);
#define CUDA_FIND(name, suffix, arguments)                                                         \
	*(void **)&me->f.cu##name = dlsym(cuda, "cu" #name suffix);
	CUDA(CUDA_FIND)
	return true;
}

static ncclConfig_t blocks_not(void)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

	config.blocking = 0;
	return config;
}

static int count_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static bool cuda_open(struct me *me)
{
	void *context;
	int device, rc = me->f.cuInit(0);

	rc = rc ? rc : me->f.cuDeviceGet(&device, me->rank % me->s->nranks % me->s->gpus);
	rc = rc ? rc : me->f.cuDevicePrimaryCtxRetain(&context, device);
	rc = rc ? rc : me->f.cuCtxSetCurrent(context);
	rc = rc ? rc : me->f.cuStreamCreate(&me->stream, 1);
	rc = rc ? rc : me->f.cuStreamCreate(&me->fresh, 1);
	rc = rc ? rc : me->f.cuMemAlloc(&me->small, 2 * COUNT * sizeof(float));
	rc = rc ? rc : me->f.cuMemAlloc(&me->large, me->s->bytes);
	me->host = must(malloc(COUNT * sizeof(float)));
	return rc == 0 || failed(me, RECOVER_LACKS, "CUDA error %d at the start", rc);
}

/* Waits until `n` ranks came to this place. The parent ends a wait that takes too long. */
static void meet(struct me *me, int place, int n)
{
	enter(me, "meeting the others");
	atomic_fetch_add(&me->s->met[place], 1);
	while (me->s->met[place] < n)
		clock_sleep(1e-4);
	leave(me);
}

/* The communicator's asynchronous state. */
static ncclResult_t state_of(ncclComm_t comm)
{
	ncclResult_t state = ncclSuccess, rc = nccl_api.CommGetAsyncError(comm, &state);

	return rc ? rc : state;
}

/* The error of a call on a non-blocking communicator, 0 for none, when it is known. An error that the communicator had before
 * (`stale`) is not the call's: then the communicator that the call makes is asked, *made. With NULL for `made` the call counts as
 * done. */
static ncclResult_t await(struct me *me, ncclResult_t rc, ncclComm_t comm, ncclResult_t stale,
			  ncclComm_t *made)
{
	while ((rc == 0 || rc == ncclInProgress) && comm) {
		rc = state_of(comm);
		if (rc != 0 && rc == stale)
			rc = !made ? 0 : *made ? state_of(*made) : ncclInProgress;
		if (rc != ncclInProgress)
			break;
		clock_sleep(1e-4);
	}
	leave(me);
	return rc;
}

/* The same as a cell's result. */
static bool settle_new(struct me *me, const char *call, ncclResult_t rc, ncclComm_t comm,
		       ncclResult_t stale, ncclComm_t *made)
{
	bool at_once = rc != 0 && rc != ncclInProgress;

	rc = await(me, rc, comm, stale, made);
	if (rc)
		return failed(me, RECOVER_ERROR, "%s: NCCL error %d%s", call, rc,
			      at_once && stale ? " at once: the communicator had an error" : "");
	return true;
}

static bool settle(struct me *me, const char *call, ncclResult_t rc, ncclComm_t comm)
{
	return settle_new(me, call, rc, comm, 0, NULL);
}

static bool init(struct me *me, ncclComm_t *comm, const char *id, int n, int rank)
{
	ncclConfig_t config = blocks_not();
	ncclUniqueId unique;
	int rc;

	memcpy(&unique, id, sizeof(unique));
	enter(me, "ncclCommInitRank");
	rc = nccl_api.CommInitRankConfig(comm, n, unique, rank, &config);
	return settle(me, "ncclCommInitRank", rc, *comm);
}

static int fill(struct me *me, uint64_t at, float value)
{
	for (size_t i = 0; i < COUNT; i++)
		me->host[i] = value;
	return me->f.cuMemcpyHtoD(at, me->host, COUNT * sizeof(float));
}

/* Puts rank + 1 into each element and adds up over the communicator. No older sum is left in the result. Returns NCCL's error. */
static ncclResult_t begin_sum(struct me *me, ncclComm_t comm, void *stream)
{
	uint64_t sum = me->small + COUNT * sizeof(float);
	int rc;

	if (fill(me, sum, -1) || fill(me, me->small, (float)(me->rank + 1)))
		return ncclUnhandledCudaError;
	enter(me, "ncclAllReduce");
	rc = nccl_api.AllReduce((void *)me->small, (void *)sum, COUNT, ncclFloat, ncclSum, comm,
				stream);
	return await(me, rc, comm, 0, NULL);
}

static bool add_up(struct me *me, ncclComm_t comm, void *stream)
{
	int rc = begin_sum(me, comm, stream);

	return rc == 0 || failed(me, RECOVER_ERROR, "ncclAllReduce: NCCL error %d", rc);
}

/* Waits for a stream: 1 it is idle, 0 not within `seconds` (0: for ever), or the communicator has an error, -1 an error of CUDA. */
static int drain(struct me *me, void *stream, ncclComm_t comm, double seconds)
{
	double until = clock_seconds() + seconds;
	ncclResult_t state = ncclSuccess;

	enter(me, "waiting for the stream");
	for (;;) {
		int rc = me->f.cuStreamQuery(stream);

		if (rc != NOT_READY) {
			leave(me);
			return rc == 0 ? 1 : -1;
		}
		if (comm && nccl_api.CommGetAsyncError(comm, &state) == 0 && state != 0 &&
		    state != ncclInProgress)
			break;
		if (seconds > 0 && clock_seconds() > until)
			break;
		clock_sleep(1e-4);
	}
	leave(me);
	return 0;
}

/* The sum over the survivors, or over them and the process that has the place of the first rank that broke. */
static bool is_right(struct me *me, bool grown)
{
	int n = me->s->nranks - me->s->broken + grown;
	float sum = (float)(n * (n + 1) / 2);
	int rc = me->f.cuMemcpyDtoH(me->host, me->small + COUNT * sizeof(float),
				    COUNT * sizeof(float));

	if (rc)
		return failed(me, RECOVER_ERROR, "cuMemcpyDtoH: CUDA error %d", rc);
	for (size_t i = 0; i < COUNT; i++)
		if (me->host[i] != sum)
			return failed(me, RECOVER_WRONG, "element %zu is %g, not %g", i,
				      (double)me->host[i], (double)sum);
	return true;
}

/* ---- the rank that breaks ---- */

static void break_it(struct me *me)
{
	enum recover_break how = me->s->how;

	if (how == RECOVER_MID)
		clock_sleep(MID_SECONDS);
	if (how == RECOVER_GPU) {
		(void)me->f.cuMemsetD32(me->large, 0, 1);
		(void)me->f.cuStreamWaitValue32(me->stream, me->large, 1, WAIT_GEQ);
		(void)add_up(me, me->comm, me->stream);
	}
	me->slot->broke = clock_seconds();
	if (how == RECOVER_KILL || how == RECOVER_TWO || how == RECOVER_MID)
		kill(getpid(), SIGKILL);
	if (how == RECOVER_STOP)
		kill(getpid(), SIGSTOP);
	for (;;) /* until the parent ends it */
		pause();
}

/* ---- survivors ---- */

static bool shrink(struct me *me, int flags)
{
	int gone[RECOVER_RANKS], n = me->s->broken;
	ncclResult_t rc, stale = state_of(me->comm);
	ncclConfig_t config = blocks_not();

	for (int i = 0; i < n; i++)
		gone[i] = me->s->nranks - n + i;
	enter(me, "ncclCommShrink");
	rc = nccl_api.CommShrink(me->comm, gone, n, &me->made, &config, flags);
	return settle_new(me, "ncclCommShrink", rc, me->comm, stale, &me->made);
}

static bool abort_and_init(struct me *me)
{
	ncclUniqueId id;
	int rc;

	enter(me, "ncclCommAbort");
	rc = nccl_api.CommAbort(me->comm);
	leave(me);
	me->comm = NULL;
	if (rc)
		return failed(me, RECOVER_ERROR, "ncclCommAbort: NCCL error %d", rc);
	if (drain(me, me->stream, NULL, 0) < 0)
		return failed(me, RECOVER_ERROR, "the stream failed");
	me->slot->out = clock_seconds();
	if (me->rank == 0) {
		rc = nccl_api.GetUniqueId(&id);
		if (rc)
			return failed(me, RECOVER_ERROR, "ncclGetUniqueId: NCCL error %d", rc);
		memcpy(me->s->id[1], &id, sizeof(id));
	}
	meet(me, 3, me->s->nranks - me->s->broken);
	return init(me, &me->made, me->s->id[1], me->s->nranks - me->s->broken, me->rank);
}

static bool revoke_and_shrink(struct me *me)
{
	ncclResult_t rc, stale = state_of(me->comm);

	enter(me, "ncclCommRevoke");
	rc = nccl_api.CommRevoke(me->comm, 0);
	if (!settle_new(me, "ncclCommRevoke", rc, me->comm, stale, NULL))
		return false;
	if (drain(me, me->stream, NULL, 0) < 0)
		return failed(me, RECOVER_ERROR, "the stream failed");
	me->slot->out = clock_seconds();
	meet(me, 3, me->s->nranks - me->s->broken);
	return shrink(me, 0);
}

static bool split(struct me *me)
{
	ncclConfig_t config = blocks_not();
	ncclResult_t rc, stale = state_of(me->comm);

	enter(me, "ncclCommSplit");
	rc = nccl_api.CommSplit(me->comm, 0, me->rank, &me->made, &config);
	return settle_new(me, "ncclCommSplit", rc, me->comm, stale, &me->made);
}

/* The survivors' part of growing by one, or, in the process that joins, its own. */
static bool grow(struct me *me, bool joins)
{
	int n = me->s->nranks - me->s->broken + 1;
	ncclResult_t rc = ncclSuccess;
	ncclConfig_t config = blocks_not();
	ncclComm_t grown = NULL;
	ncclUniqueId id;

	if (!joins && me->rank == 0) {
		rc = nccl_api.CommGetUniqueId(me->made, &id);
		memcpy(me->s->id[1], &id, sizeof(id));
	}
	if (rc)
		return failed(me, RECOVER_ERROR, "ncclCommGetUniqueId: NCCL error %d", rc);
	meet(me, 4, n);
	memcpy(&id, me->s->id[1], sizeof(id));
	enter(me, "ncclCommGrow");
	rc = nccl_api.CommGrow(me->made, n, joins || me->rank == 0 ? &id : NULL,
			       joins ? me->rank : -1, &grown, &config);
	if (!settle(me, "ncclCommGrow", rc, grown))
		return false;
	if (!joins)
		(void)nccl_api.CommDestroy(me->made);
	me->made = grown;
	return true;
}

static bool cure(struct me *me)
{
	enum recover_cure how = me->s->cure;
	bool shrinks = how == RECOVER_CURE_SHRINK_ABORT || how == RECOVER_CURE_GROW;

	if (shrinks			 ? !shrink(me, 1)
	    : how == RECOVER_CURE_ABORT	 ? !abort_and_init(me)
	    : how == RECOVER_CURE_SHRINK ? !shrink(me, 0)
	    : how == RECOVER_CURE_REVOKE ? !revoke_and_shrink(me)
					 : !split(me))
		return false;
	if (how == RECOVER_CURE_GROW && !grow(me, false))
		return false;
	if (!me->slot->out && drain(me, me->stream, NULL, 0) < 0)
		return failed(me, RECOVER_ERROR, "the stream failed");
	me->slot->made = clock_seconds();
	if (!me->slot->out)
		me->slot->out = me->slot->made;
	return true;
}

/* Meets the others in the new communicator; then gives all back. */
static bool prove(struct me *me)
{
	bool grown = me->s->cure == RECOVER_CURE_GROW;
	size_t left, total;

	if (!add_up(me, me->made, me->fresh))
		return false;
	if (drain(me, me->fresh, me->made, 0) < 1)
		return failed(me, RECOVER_ERROR, "the first all-reduce failed");
	if (!is_right(me, grown))
		return false;
	me->slot->first = clock_seconds();
	meet(me, 5, me->s->nranks - me->s->broken + grown);
	enter(me, "ncclCommDestroy");
	(void)nccl_api.CommDestroy(me->made);
	leave(me);
	enter(me, "ncclCommAbort of the first communicator");
	if (me->comm)
		(void)nccl_api.CommAbort(me->comm);
	leave(me);
	meet(me, 6, me->s->nranks - me->s->broken + grown);
	enter(me, "waiting until the broken ranks are gone");
	while (!me->s->cleared)
		clock_sleep(1e-3);
	leave(me);
	if (me->f.cuMemGetInfo(&left, &total) == 0)
		me->slot->lost = (int64_t)me->free_before - (int64_t)left;
	me->slot->files = count_files() - me->files_before;
	return true;
}

/* Notes free memory and open descriptors, after a communicator of all ranks that came and went: things that a process keeps for
 * all of its communicators, such as loaded kernels, do not count. */
static bool take_stock(struct me *me)
{
	struct recover_shared *s = me->s;
	ncclComm_t before = NULL;
	size_t total;
	ncclUniqueId id;

	if (me->rank == 0) {
		if (nccl_api.GetUniqueId(&id))
			return failed(me, RECOVER_ERROR, "ncclGetUniqueId failed");
		memcpy(s->id[1], &id, sizeof(id));
	}
	meet(me, 7, s->nranks);
	if (!init(me, &before, s->id[1], s->nranks, me->rank) || !add_up(me, before, me->stream))
		return false;
	if (drain(me, me->stream, before, 0) < 1)
		return failed(me, RECOVER_ERROR, "the very first all-reduce failed");
	enter(me, "ncclCommDestroy");
	(void)nccl_api.CommDestroy(before);
	leave(me);
	(void)me->f.cuMemGetInfo(&me->free_before, &total);
	me->files_before = count_files();
	return true;
}

/* The first communicator, and a call that is right. */
static bool begin(struct me *me)
{
	struct recover_shared *s = me->s;
	ncclUniqueId id;

	if (!take_stock(me))
		return false;
	if (me->rank == 0) {
		if (nccl_api.GetUniqueId(&id))
			return failed(me, RECOVER_ERROR, "ncclGetUniqueId failed");
		memcpy(s->id[0], &id, sizeof(id));
	}
	meet(me, 0, s->nranks);
	if (s->how == RECOVER_INIT && recover_breaks(s, me->rank))
		return true;
	if (s->how == RECOVER_INIT) { /* it can't be made: started, and left */
		ncclConfig_t config = blocks_not();

		enter(me, "ncclCommInitRank");
		memcpy(&id, s->id[0], sizeof(id));
		(void)nccl_api.CommInitRankConfig(&me->comm, s->nranks, id, me->rank, &config);
		leave(me);
		return true;
	}
	if (!init(me, &me->comm, s->id[0], s->nranks, me->rank) ||
	    !add_up(me, me->comm, me->stream))
		return false;
	if (drain(me, me->stream, me->comm, 0) < 1)
		return failed(me, RECOVER_ERROR, "the all-reduce before the break failed");
	meet(me, 1, s->nranks);
	for (int i = 0; s->how == RECOVER_MID && i < LARGE_CALLS; i++)
		if (nccl_api.AllReduce((void *)me->large, (void *)me->large,
				       s->bytes / sizeof(float), ncclFloat, ncclSum, me->comm,
				       me->stream) == ncclInProgress &&
		    !settle(me, "ncclAllReduce", ncclInProgress, me->comm))
			return false;
	return true;
}

/* Waits as a program waits: for the call that does not end, until it is called a hang or has an error. */
static bool notice(struct me *me)
{
	struct recover_shared *s = me->s;

	if (s->how == RECOVER_INIT)
		clock_sleep(s->notice);
	else if (s->how != RECOVER_NONE) {
		/* an error of the call is the notice, too */
		if (begin_sum(me, me->comm, me->stream) == 0 &&
		    drain(me, me->stream, me->comm, s->notice) == 1)
			return failed(me, RECOVER_ERROR, "the call ended: nothing broke");
	}
	me->slot->noticed = clock_seconds();
	meet(me, 2, s->nranks - s->broken);
	return true;
}

int recover_probe(struct recover_shared *s)
{
	struct me me = { .s = s, .slot = &s->slots[0] };

	if (!load(&me))
		return 1;
	if (me.f.cuInit(0) || me.f.cuDeviceGetCount(&s->gpus) || s->gpus < 1)
		return !failed(&me, RECOVER_LACKS, "no GPU");
	s->lacks = (nccl_api.CommShrink
			    ? 0
			    : 1u << RECOVER_CURE_SHRINK | 1u << RECOVER_CURE_SHRINK_ABORT) |
		   (nccl_api.CommRevoke && nccl_api.CommShrink ? 0 : 1u << RECOVER_CURE_REVOKE) |
		   (nccl_api.CommGrow && nccl_api.CommGetUniqueId ? 0 : 1u << RECOVER_CURE_GROW);
	return 0;
}

int recover_rank(struct recover_shared *s, int rank)
{
	bool joins = rank == s->nranks;
	struct me me = { .s = s,
			 .slot = &s->slots[rank],
			 .rank = joins ? s->nranks - s->broken : rank };

	if (s->gpus < s->nranks) { /* as if each were a host of its own */
		char host[32];

		snprintf(host, sizeof(host), "recover-%d", rank);
		setenv("NCCL_HOSTID", host, 1);
		setenv("NCCL_NET", "Socket", 1);
		setenv("NCCL_SOCKET_IFNAME", "lo", 0);
	}
	if (!load(&me) || !cuda_open(&me))
		return 1;
	if (joins) {
		if (grow(&me, true) && prove(&me))
			me.slot->result = RECOVER_RIGHT;
	} else if (begin(&me)) {
		if (recover_breaks(s, rank))
			break_it(&me);
		if (notice(&me) && cure(&me) && prove(&me))
			me.slot->result = RECOVER_RIGHT;
	}
	free(me.host);
	return me.slot->result != RECOVER_RIGHT;
}
