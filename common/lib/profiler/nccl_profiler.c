/* nccl_profiler.c: the plugin's tables and the decoding of its events. The structures are those of
 * NCCL's src/include/plugin/profiler/profiler_v1.h to v6.h, which NCCL does not install: offsets in
 * the event's descriptor, on a 64-bit host. */
#include "profiler/nccl_profiler.h"
#include "profiler/next_profiler.h"

/* The order of profiler_v1. Later versions have the names in capitals, with '_' in between. */
static const char *const algos[] = { "Tree",	 "Ring", "CollNetDirect", "CollNetChain", "NVLS",
				     "NVLSTree", "PAT" };
static const char *const protos[] = { "LL", "LL128", "Simple" };
#define COUNT(table) ((int)LENGTH(table))

/* Bits of the mask, and an event's type. The type is one byte before profiler_v5. */
enum {
	EVENT_COLL = 1 << 1,
	EVENT_P2P = 1 << 2,
	EVENT_GROUP_API = 1 << 8,
	EVENT_COLL_API = 1 << 9,
	EVENT_P2P_API = 1 << 10,
	EVENT_LAUNCH = 1 << 11,
	EVENTS_HEARD = EVENT_P2P | EVENT_GROUP_API | EVENT_COLL_API | EVENT_P2P_API | EVENT_LAUNCH
};
/* An event's handle, in NEXT_OWN. */
enum { HANDLE_PAIR = 1, HANDLE_LAUNCH = 2, HANDLE_GROUP = 3 };
enum {
	AT_PEER = 56,
	AT_STREAM = 24,
	AT_DEPTH = 28
}; /* of a launched send, of a kernel, of a group */
enum { STATE_GROUP_ENDING = 24 };

/* Offsets in a version's descriptor of a launched collective. */
struct layout {
	bool numbered; /* algorithm and protocol are one-byte numbers, else names */
	size_t algo, proto;
	size_t channels; /* 0: absent */
};
static const struct layout layouts[] = {
	[1] = { true, 106, 107, 0 }, [2] = { false, 112, 120, 0 }, [3] = { false, 104, 112, 0 },
	[4] = { false, 88, 96, 80 }, [5] = { false, 88, 96, 80 },  [6] = { false, 88, 96, 80 },
};

static int *event_mask;	  /* owned by NCCL */
static bool asked, heard; /* heard: a communicator has a listener */
static __thread struct {
	bool any;
	struct nccl_choice choice;
} told;
static __thread struct { /* begins and ends on one thread */
	void *context, *stream;
} launch;

bool nccl_profiler_offer(void)
{
	setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 0);
	return strcasecmp(getenv("NCCL_PROFILER_PLUGIN"), "STATIC_PLUGIN") == 0;
}

const char *nccl_profiler_refusal(int version)
{
	if (version < 22300)
		return "this NCCL library has no profiler, which it has from 2.23 on";
	if (!nccl_profiler_offer())
		return "NCCL_PROFILER_PLUGIN is set: NCCL takes one profiler alone";
	return event_mask ? NULL : "NCCL did not take hangar's profiler plugin";
}

/* While a next plugin is there each group is an event, at which its mask is looked at. */
static void set_mask(void)
{
	int *mask = __atomic_load_n(&event_mask, __ATOMIC_ACQUIRE), next;

	next_profiler_asks(&next);
	if (mask)
		__atomic_store_n(mask,
				 (__atomic_load_n(&heard, __ATOMIC_RELAXED) ? EVENTS_HEARD : 0) |
					 (asked ? EVENT_COLL | EVENT_P2P : 0) |
					 (next_profiler_there() ? EVENT_GROUP_API | next : 0),
				 __ATOMIC_RELAXED);
}

void nccl_profiler_ask(bool on)
{
	asked = on;
	set_mask();
}

void nccl_profiler_take(struct nccl_choice *choice)
{
	*choice = told.any ? told.choice : (struct nccl_choice){ .channels = -1 };
	told.any = false;
}

/* The table entry with that name; NULL: none. */
static const char *find(const char *const *table, int n, const char *name)
{
	char plain[32];
	size_t len = 0;

	for (; name && *name && len + 1 < sizeof(plain); name++)
		if (*name != '_')
			plain[len++] = *name;
	plain[len] = '\0';
	for (int i = 0; i < n; i++)
		if (strcasecmp(table[i], plain) == 0)
			return table[i];
	return NULL;
}

static const char *read_name(const struct layout *layout, const unsigned char *at,
			     const char *const *table, int n)
{
	const char *name;

	if (layout->numbered)
		return *at < n ? table[*at] : NULL;
	memcpy(&name, at, sizeof(name));
	return find(table, n, name);
}

static void tell(const struct nccl_choice *choice)
{
	struct nccl_choice *all = &told.choice;

	if (!told.any)
		*all = *choice;
	told.any = true;
	all->algo = all->algo == choice->algo ? all->algo : NULL;
	all->proto = all->proto == choice->proto ? all->proto : NULL;
	all->channels = all->channels == choice->channels ? all->channels : -1;
}

/* A collective without channels uses a kernel of symmetric memory: no algorithm. */
static void launched(const struct layout *layout, const unsigned char *at)
{
	struct nccl_choice choice = { .channels = -1 };

	if (*at == EVENT_P2P) {
		choice.algo = "P2P";
	} else if (!layout->channels || at[layout->channels]) {
		choice.algo = read_name(layout, at + layout->algo, algos, COUNT(algos));
		choice.proto = read_name(layout, at + layout->proto, protos, COUNT(protos));
		choice.channels = layout->channels ? at[layout->channels] : -1;
	}
	tell(&choice);
}

/* Whatever communicator comes first in it. */
static unsigned begin_group(const void *event)
{
	int depth;

	memcpy(&depth, (const char *)event + AT_DEPTH, sizeof(depth));
	nccl_listener.group(depth > 1 ? NCCL_GROUP_BEGUN : NCCL_GROUP_ALONE);
	return HANDLE_GROUP;
}

/* The listener's part of an event: its handle, 0: no more is wanted of it; *pair is part of it. */
static unsigned listen_to(void *context, uint64_t type, const void *event, uint64_t *pair)
{
	const struct nccl_told *call = event;
	int peer;

	switch (type) {
	case EVENT_COLL_API:
		nccl_listener.call(context, call);
		return 0;
	case EVENT_P2P_API:
		*pair = nccl_listener.pair(context, event);
		return *pair ? HANDLE_PAIR : 0;
	case EVENT_P2P:
		memcpy(&peer, (const char *)event + AT_PEER, sizeof(peer));
		if (((uintptr_t)call->parent & NEXT_OWN) == HANDLE_PAIR)
			nccl_listener.peer(context, NEXT_TICKET(call->parent), peer);
		return 0;
	case EVENT_LAUNCH:
		launch.context = context;
		memcpy(&launch.stream, (const char *)event + AT_STREAM, sizeof(launch.stream));
		return HANDLE_LAUNCH;
	default:
		return 0;
	}
}

/* The listener's handle of an event. Contexts of other kinds may be another process's. */
static unsigned hear(void *context, uint64_t type, const void *event, uint64_t *pair)
{
	void *own = type & EVENTS_HEARD ? next_profiler_own(context) : NULL;

	return type == EVENT_GROUP_API && __atomic_load_n(&heard, __ATOMIC_RELAXED)
		       ? begin_group(event)
	       : own ? listen_to(own, type, event, pair)
		     : 0;
}

static int start_event(int version, void *context, void **handle, const void *event)
{
	uint64_t pair = 0, type = version < 5 ? *(const unsigned char *)event
					      : ((const struct nccl_told *)event)->type;
	unsigned own;
	int next;

	if (type == EVENT_COLL || type == EVENT_P2P)
		launched(&layouts[version], event);
	own = version < 5 ? 0 : hear(context, type, event, &pair);
	*handle = version < 5 ? NULL : next_profiler_start(context, event, own, pair);
	if (next_profiler_asks(&next))
		set_mask();
	return 0;
}

static int stop_event(void *handle)
{
	unsigned what = (uintptr_t)handle & NEXT_OWN;

	next_profiler_stop(handle);
	if (what == HANDLE_LAUNCH && launch.context)
		nccl_listener.launched(launch.context, launch.stream);
	if (what == HANDLE_LAUNCH)
		launch.context = NULL;
	else if (what == HANDLE_GROUP)
		nccl_listener.group(NCCL_GROUP_ENDED);
	return 0;
}

static int record_state(void *handle, int state, void *arguments)
{
	if (((uintptr_t)handle & NEXT_OWN) == HANDLE_GROUP && state == STATE_GROUP_ENDING)
		nccl_listener.group(NCCL_GROUP_ENDING);
	next_profiler_record(handle, state, arguments);
	return 0;
}

static int finalize(void *context)
{
	void *own = next_profiler_finalize(context);

	if (own)
		nccl_listener.gone(own);
	return 0;
}

static int init_1(void **context, int *mask)
{
	*context = NULL;
	__atomic_store_n(&event_mask, mask, __ATOMIC_RELEASE);
	set_mask();
	return 0;
}

static int init_4(void **context, int *mask, const char *name, uint64_t hash, int nnodes,
		  int nranks, int rank, void *logger)
{
	return init_1(context, mask);
}

static int init_5(void **context, uint64_t hash, int *mask, const char *name, int nnodes,
		  int nranks, int rank, void *logger)
{
	const struct next_made made = { hash, name, nnodes, nranks, rank, logger };
	void *comm = &nccl_listener ? nccl_listener.made(mask, hash, nranks, rank) : NULL;

	if (comm)
		__atomic_store_n(&heard, true, __ATOMIC_RELAXED);
	comm = &nccl_listener ? next_profiler_init(comm, &made, nccl_listener.say) : comm;
	init_1(context, mask);
	*context = comm;
	return 0;
}

/* All versions share this code except the descriptors and the arguments of init. */
#define PLUGIN(version, initialise)                                                                \
	static int start_##version(void *context, void **handle, void *event)                      \
	{                                                                                          \
		return start_event(version, context, handle, event);                               \
	}                                                                                          \
	extern const struct plugin_##version ncclProfiler_v##version;                              \
	__attribute__((visibility("default"))) const struct plugin_##version {                     \
		const char *name;                                                                  \
		__typeof__(initialise) *init;                                                      \
		__typeof__(start_##version) *start;                                                \
		__typeof__(stop_event) *stop;                                                      \
		__typeof__(record_state) *record;                                                  \
		__typeof__(finalize) *finalize;                                                    \
	} ncclProfiler_v##version = { "hangar",	  initialise,	start_##version,                   \
				      stop_event, record_state, finalize }

PLUGIN(1, init_1);
PLUGIN(2, init_1);
PLUGIN(3, init_1);
PLUGIN(4, init_4);
PLUGIN(5, init_5);
PLUGIN(6, init_5);
