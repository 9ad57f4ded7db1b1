/* cuda.c: a test double of libcuda.so.1: streams, graphs and the few calls that libhangar.so makes. */
#include <pthread.h>

#include "double.h"

#define ROOM 65536

struct item {
	double_work *work;
	void *arg;
	uint64_t address, value;
};

struct graph {
	struct item items[256];
	size_t n;
	uint64_t id;
};

struct stream {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct item *items;
	uint64_t put, got; /* items enqueued, carried out */
	struct graph *captured;
};

static struct stream standard = { .mutex = PTHREAD_MUTEX_INITIALIZER,
				  .changed = PTHREAD_COND_INITIALIZER };
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *carry_out(void *arg)
{
	struct stream *s = arg;

	for (;;) {
		struct item item;

		pthread_mutex_lock(&s->mutex);
		while (s->put == s->got)
			pthread_cond_wait(&s->changed, &s->mutex);
		item = s->items[s->got % ROOM];
		pthread_mutex_unlock(&s->mutex);
		if (item.work)
			item.work(item.arg);
		else
			__atomic_store_n((uint64_t *)item.address, item.value, __ATOMIC_RELEASE);
		pthread_mutex_lock(&s->mutex);
		s->got++;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->mutex);
	}
	return NULL;
}

static void start(struct stream *s)
{
	pthread_t thread;

	s->items = calloc(ROOM, sizeof(*s->items));
	if (!s->items || pthread_create(&thread, NULL, carry_out, s) != 0)
		abort();
	pthread_detach(thread);
}

static void start_standard(void)
{
	start(&standard);
}

static struct stream *stream_of(void *handle)
{
	if ((uintptr_t)handle > 2)
		return handle;
	pthread_once(&once, start_standard);
	return &standard;
}

static void put(void *handle, struct item item)
{
	struct stream *s = stream_of(handle);

	pthread_mutex_lock(&s->mutex);
	if (s->captured) {
		s->captured->items[s->captured->n++ % 256] = item;
	} else {
		while (s->put - s->got == ROOM)
			pthread_cond_wait(&s->changed, &s->mutex);
		s->items[s->put++ % ROOM] = item;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->mutex);
}

void double_push(void *stream, double_work *work, void *arg)
{
	put(stream, (struct item){ .work = work, .arg = arg });
}

int cuStreamCreate(void **stream, unsigned flags)
{
	struct stream *s = calloc(1, sizeof(*s));

	(void)flags;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->changed, NULL);
	start(s);
	*stream = s;
	return 0;
}

int cuStreamSynchronize(void *stream)
{
	struct stream *s = stream_of(stream);
	uint64_t until;

	pthread_mutex_lock(&s->mutex);
	until = s->put;
	while (s->got < until)
		pthread_cond_wait(&s->changed, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
	return 0;
}

int cuStreamBeginCapture_v2(void *stream, int mode)
{
	static uint64_t ids;

	(void)mode;
	stream_of(stream)->captured = calloc(1, sizeof(struct graph));
	stream_of(stream)->captured->id = ++ids;
	return 0;
}

int cuStreamEndCapture(void *stream, void **graph)
{
	*graph = stream_of(stream)->captured;
	stream_of(stream)->captured = NULL;
	return 0;
}

int cuStreamIsCapturing(void *stream, int *status)
{
	*status = stream_of(stream)->captured != NULL;
	return 0;
}

int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph,
			      const void **nodes, size_t *n)
{
	struct graph *g = stream_of(stream)->captured;

	*status = g != NULL;
	if (g && id)
		*id = g->id;
	if (g && graph)
		*graph = g;
	if (nodes)
		*nodes = NULL;
	if (n)
		*n = 0;
	return 0;
}

int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
	(void)flags;
	*exec = malloc(sizeof(struct graph));
	memcpy(*exec, graph, sizeof(struct graph));
	return 0;
}

int cuGraphLaunch(void *exec, void *stream)
{
	struct graph *g = exec;

	for (size_t i = 0; i < g->n; i++)
		put(stream, g->items[i]);
	return 0;
}

int cuGraphExecDestroy(void *exec)
{
	free(exec);
	return 0;
}

int cuStreamWriteValue64_v2(void *stream, uint64_t address, uint64_t value, unsigned flags)
{
	(void)flags;
	put(stream, (struct item){ .address = address, .value = value });
	return 0;
}

int cuLaunchHostFunc(void *stream, double_work *work, void *arg)
{
	double_push(stream, work, arg);
	return 0;
}

/* In order of the stream, and 8 bytes at least: the subject's buffers have them. */
int cuMemsetD8Async(uint64_t address, unsigned char value, size_t bytes, void *stream)
{
	(void)bytes;
	put(stream, (struct item){ .address = address, .value = 0x0101010101010101 * value });
	return 0;
}

int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
	const char *broken = getenv("DOUBLE_NO_REGISTER");

	(void)memory;
	return bytes % 4096 == 0 && flags == 3 && !broken ? 0 : 1;
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags)
{
	(void)flags;
	*address = (uint64_t)(uintptr_t)memory;
	return 0;
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
	*mode = 0;
	return 0;
}

struct event {
	_Atomic int pending; /* records that are not carried out yet */
	_Atomic uint64_t ns;
};

static void set_event(void *arg)
{
	struct event *e = arg;
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	e->ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	e->pending--;
}

int cuEventCreate(void **event, unsigned flags)
{
	const char *broken = getenv("DOUBLE_NO_EVENTS");

	*event = calloc(1, sizeof(struct event));
	return flags || broken ? 1 : 0;
}

int cuEventRecord(void *event, void *stream)
{
	((struct event *)event)->pending++;
	double_push(stream, set_event, event);
	return 0;
}

int cuEventElapsedTime(float *ms, void *from, void *to)
{
	if (((struct event *)from)->pending || ((struct event *)to)->pending)
		return 600;
	*ms = (float)(((double)((struct event *)to)->ns - (double)((struct event *)from)->ns) *
		      1e-6);
	return 0;
}

int cuCtxGetCurrent(void **context)
{
	*context = &standard;
	return 0;
}

static __thread int device;

int cudaSetDevice(int number)
{
	device = number;
	return 0;
}

int cuCtxGetDevice(int *number)
{
	*number = device;
	return 0;
}

int cuCtxPushCurrent_v2(void *context)
{
	return context ? 0 : 1;
}

int cuCtxPopCurrent_v2(void **context)
{
	*context = &standard;
	return 0;
}

#define PIECES 64
static struct {
	uint64_t at;
	size_t bytes;
} pieces[PIECES];
static int npieces;

bool double_owns(const void *memory)
{
	for (int i = 0; i < npieces; i++)
		if ((uintptr_t)memory - pieces[i].at < pieces[i].bytes)
			return true;
	return false;
}

int cuInit(unsigned flags)
{
	(void)flags;
	return 0;
}

int cuDeviceGetCount(int *n)
{
	*n = 4;
	return 0;
}

int cuDeviceGet(int *number, int wanted)
{
	*number = device = wanted;
	return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int number)
{
	(void)number;
	*context = &standard;
	return 0;
}

int cuCtxSetCurrent(void *context)
{
	return context ? 0 : 1;
}

int cuMemAlloc_v2(uint64_t *at, size_t bytes)
{
	void *memory = malloc(bytes);

	*at = (uintptr_t)memory;
	if (memory && npieces < PIECES) {
		pieces[npieces].at = *at;
		pieces[npieces++].bytes = bytes;
	}
	return memory ? 0 : 2;
}

int cuMemGetInfo_v2(size_t *left, size_t *total)
{
	*left = *total = (size_t)1 << 30;
	return 0;
}

int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	memcpy((void *)to, from, bytes);
	return 0;
}

int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	memcpy(to, (void *)from, bytes);
	return 0;
}

int cuMemsetD32_v2(uint64_t at, unsigned value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((unsigned *)at)[i] = value;
	return 0;
}

int cuStreamQuery(void *stream)
{
	struct stream *s = stream_of(stream);
	bool idle;

	pthread_mutex_lock(&s->mutex);
	idle = s->got == s->put;
	pthread_mutex_unlock(&s->mutex);
	return idle ? 0 : 600;
}

static void wait_word(void *arg)
{
	while (!__atomic_load_n((unsigned *)arg, __ATOMIC_ACQUIRE))
		usleep(200);
}

int cuStreamWaitValue32_v2(void *stream, uint64_t address, unsigned value, unsigned flags)
{
	(void)value;
	(void)flags;
	double_push(stream, wait_word, (void *)address);
	return 0;
}
