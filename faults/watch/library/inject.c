/* inject.c: a fault that was asked for on hangar_run's command line, in the call that it names. */

#include "base/clock.h"
#include "library/library.h"

void inject_arm(struct session *s, const char *key)
{
	const char *text = getenv("HANGAR_FAULT"), *spec = text ? strchr(text, ' ') : NULL;

	/* an environment that was inherited from another run arms nothing */
	if (!spec || strncmp(text, key, (size_t)(spec - text)) != 0)
		return;
	s->armed = !session_by_profiler() && fault_spec_parse(&s->fault, spec + 1) == NULL;
}

static int type_as_wide(int type)
{
	static const int other[] = { 1, 0, 3, 2, 5, 4, 9, 2, 4, 6, 11, 10 }; /* ncclDataType_t */

	return type >= 0 && type < 12 ? other[type] : type;
}

/* On the stream, which waits for it. The pointer is the number of nanoseconds. */
static void sleep_on_stream(void *ns)
{
	clock_sleep((double)(uintptr_t)ns * 1e-9);
}

static void hold_stream(void *stream, double seconds)
{
	CALL(OF_CUDA, "cuLaunchHostFunc", (void *, void (*)(void *), void *),
	     (stream, sleep_on_stream, (void *)(uintptr_t)(seconds * 1e9)));
}

/* The rank stays alive and is slow. */
static void slow_down(struct session *s, const struct made *made)
{
	const struct slowdown *slow = &s->fault.slow;
	double seconds = slowdown_delay(slow, s->left > 0 ? clock_seconds() - s->left : 0);

	if (s->fault.fault == PRELOAD_CONTEND && slowdown_contend(slow->threads, slow->bound) < 0)
		say("no busy thread could be started");
	else if (s->fault.fault != PRELOAD_CONTEND && slow->on_gpu)
		hold_stream(made->stream, seconds);
	else if (s->fault.fault != PRELOAD_CONTEND)
		slowdown_spend(seconds, slow->sleeps);
}

void inject_corrupt(void)
{
	struct preload_corrupt *corrupt = &preload_thread.corrupt;

	if (corrupt->bytes > 0 &&
	    CALL(OF_CUDA, "cuMemsetD8Async", (uint64_t, unsigned char, size_t, void *),
		 ((uint64_t)(uintptr_t)corrupt->at, 0x5a, corrupt->bytes, corrupt->stream)) != 0)
		say("the output could not be overwritten");
	corrupt->bytes = 0;
}

/* Returns false where NCCL is not to see the call; then it returns *rc. */
static bool strike(struct session *s, struct made *made, int *rc)
{
	struct fault_spec *f = &s->fault;

	switch (f->fault) {
	case PRELOAD_SKIP:
		return false;
	case PRELOAD_LATE:
		clock_sleep(f->value);
		break;
	case PRELOAD_SLOW:
	case PRELOAD_PAUSE:
	case PRELOAD_CONTEND:
		slow_down(s, made);
		break;
	case PRELOAD_COUNT:
		made->count /= 2;
		break;
	case PRELOAD_DTYPE:
		made->type = type_as_wide(made->type);
		break;
	case PRELOAD_REDOP:
		made->op = made->op == 2 ? 3 : 2;
		break;
	case PRELOAD_ROOT:
		made->peer = made->peer == 0;
		break;
	case PRELOAD_EXTRA:
		made->twice = true;
		break;
	case PRELOAD_GPU:
		hold_stream(made->stream, f->value);
		break;
	case PRELOAD_WRONG: /* an element has a byte at least */
		if (made->recv)
			preload_thread.corrupt =
				(struct preload_corrupt){ made->recv, made->stream,
							  made->count < 16 ? made->count : 16 };
		break;
	case PRELOAD_ERROR:
		*rc = (int)f->value;
		return false;
	case PRELOAD_EXIT:
		exit((int)f->value);
	default:
		raise(f->fault == PRELOAD_KILL	 ? SIGKILL
		      : f->fault == PRELOAD_STOP ? SIGSTOP
						 : SIGABRT);
	}
	return true;
}

/* `kind` is -1 at set-up. */
static bool hits(struct session *s, int number, int size, int kind, uint64_t nth, uint64_t nth_kind)
{
	int rank = s->recorder.memory->header.rank;
	const char *name = s->recorder.memory->names[number];
	bool hit = s->armed &&
		   fault_spec_hits(&s->fault, &(struct fault_place){ rank, name, number, size, kind,
								     nth, nth_kind });

	if (hit && !__atomic_exchange_n(&s->struck, true, __ATOMIC_RELAXED))
		say("rank %d: the fault that was asked for strikes %s %lu (%s) of communicator %d "
		    "(%d ranks%s%s)",
		    rank, kind < 0 ? "set-up" : "call", nth,
		    kind < 0 ? "init" : call_kind_name((enum call_kind)kind), number, size,
		    *name ? ", " : "", name);
	return hit;
}

bool inject(struct made *made, int *rc)
{
	struct session *s = made->session;
	struct preload_comm *comm = &s->comms[made->number];

	bool made_on;

	comm->calls++;
	comm->kinds[made->kind]++;
	made_on = !hits(s, made->number, s->recorder.memory->header.inits[made->number].nranks,
			(int)made->kind, comm->calls, comm->kinds[made->kind]) ||
		  strike(s, made, rc);
	s->left = clock_seconds();
	return made_on;
}

void inject_init(struct session *s, int number, int *nranks, int *rank)
{
	if (!hits(s, number, nranks ? *nranks : -1, -1, (uint64_t)number + 1, 0))
		return;
	if (s->fault.fault == PRELOAD_INIT_LATE)
		clock_sleep(s->fault.value);
	else if (!nranks)
		say("a child's rank and size are its parent's: nothing is changed");
	else if (s->fault.fault == PRELOAD_INIT_RANK)
		*rank = (*rank + 1) % *nranks;
	else
		++*nranks;
}
