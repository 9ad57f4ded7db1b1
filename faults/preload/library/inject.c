/* inject.c: a fault that was asked for on hangar_run's command line, in the call that it names. */
#include <signal.h>

#include "base/clock.h"
#include "preload/library/library.h"

void inject_arm(struct session *s, const char *key)
{
	const char *text = getenv("HANGAR_FAULT"), *spec = text ? strchr(text, ' ') : NULL;

	/* an environment that was inherited from another run arms nothing */
	if (!spec || strncmp(text, key, (size_t)(spec - text)) != 0)
		return;
	s->armed = fault_spec_parse(&s->fault, spec + 1) == NULL;
}

static int type_as_wide(int type)
{
	static const int other[] = { 1, 0, 3, 2, 5, 4, 9, 2, 4, 6, 11, 10 }; /* ncclDataType_t */

	return type >= 0 && type < 12 ? other[type] : type;
}

/* Returns false where NCCL is not to see the call; then it returns *rc. */
static bool strike(struct session *s, struct made *made, int *rc)
{
	const struct fault_spec *f = &s->fault;

	switch (f->fault) {
	case PRELOAD_SKIP:
		return false;
	case PRELOAD_LATE:
	case PRELOAD_SLOW:
		clock_nap(f->value);
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

bool inject(struct session *s, struct made *made, int *rc)
{
	const struct record_header *h = &s->recorder.memory->header;
	uint64_t nth_kind = ++s->comms[made->number].kinds[made->kind],
		 nth = ++s->comms[made->number].calls;
	bool hit = fault_spec_hits(&s->fault, h->rank, made->number, h->inits[made->number].nranks,
				   (int)made->kind, nth, nth_kind);

	if (!hit)
		return true;
	say_once("rank %d: the fault that was asked for strikes call %" PRIu64
		 " (%s) of communicator %d",
		 h->rank, nth, call_kind_name(made->kind), made->number);
	return strike(s, made, rc);
}
