/* tool_corrupt.c: a *_perf program with results corrupted in a named way: proves the data check.
 *
 * HANGAR_CORRUPT=COLLECTIVE:KIND:RANK:ELEMENT[:CULPRIT], with the options of a *_perf binary.
 *   COLLECTIVE  all_reduce, all_gather, reduce_scatter, broadcast or alltoall
 *   KIND        zero, stale, shifted, missing, doubled, nan: what RANK receives, from ELEMENT;
 *               guard: a byte ELEMENT bytes behind what it receives; send: its send buffer;
 *               unsent, twice: the culprit really sends zeros, or its data doubled (float);
 *               none: nothing at all
 *   CULPRIT     whose contribution, for missing, doubled, unsent and twice
 * Every call is corrupted, through the backend's own hooks. The seed is --seed's default. */

#include "bench/perf_main.h"
#include "check/check.h"
#include "rig/check_corrupt.h"
#include "backend/collective.h"
#include "backend/job.h"

#define CORRUPTED 32 /* elements: enough to tell the kinds apart in types of few values */
#define MAX_RANKS 64

enum deed { DEED_NONE, DEED_RECEIVED, DEED_GUARD, DEED_SEND, DEED_UNSENT, DEED_TWICE };

struct corruption {
	const struct collective *collective;
	enum deed deed;
	enum wrong_kind kind; /* DEED_RECEIVED */
	int rank, culprit;
	size_t element;
	/* DEED_SEND: what the next call must find in the send buffer again */
	struct {
		void *at;
		enum dtype dtype;
		enum redop op;
		unsigned char bytes[8];
	} lent;
};

/* The content of this rank's buffers in a call, worked out from the call alone. */
struct scene {
	struct check_data data;
	struct shape shape;
	struct segment segments[MAX_RANKS];
	int n;
	size_t elsize;
	uint64_t base;
};

static const struct {
	const char *name;
	enum deed deed;
	enum wrong_kind kind;
} deeds[] = {
	{ "none", DEED_NONE, WRONG_NONE },	     { "zero", DEED_RECEIVED, WRONG_ZERO },
	{ "stale", DEED_RECEIVED, WRONG_STALE },     { "shifted", DEED_RECEIVED, WRONG_SHIFTED },
	{ "missing", DEED_RECEIVED, WRONG_MISSING }, { "doubled", DEED_RECEIVED, WRONG_DOUBLED },
	{ "nan", DEED_RECEIVED, WRONG_NAN },	     { "guard", DEED_GUARD, WRONG_GUARD },
	{ "send", DEED_SEND, WRONG_SEND },	     { "unsent", DEED_UNSENT, WRONG_MISSING },
	{ "twice", DEED_TWICE, WRONG_DOUBLED },
};

static void set_scene(struct scene *s, const struct corruption *c, const struct call *call,
		      const struct backend *be)
{
	struct geometry g = {
		.rank = be->job->group_rank,
		.nranks = be->job->group_size,
		.root = call->peer,
		.elsize = dtype_size(call->dtype),
		.align = 1,
	};
	bool whole = call->kind == CALL_ALL_REDUCE || call->kind == CALL_BROADCAST;

	g.bytes = call->count * g.elsize * (whole ? 1 : (size_t)g.nranks);
	s->elsize = g.elsize;
	s->base = call->offset / g.elsize;
	s->data = (struct check_data){
		.seed = 1,
		.dtype = call->dtype,
		.op = call->op,
		.nranks = g.nranks,
		.avg_premultiplies = be->ops->flags & BACKEND_AVG_FIRST,
	};
	c->collective->shape(&g, &s->shape);
	s->n = c->collective->segments(&g, &s->shape, s->segments);
}

/* Overwrite buffer memory and wait until that is done. */
static int put(struct backend *be, void *at, const void *bytes, size_t n)
{
	int rc = be->ops->store(be, at, bytes, n);

	return rc < 0 ? rc : be->ops->wait(be);
}

static int flip(struct backend *be, void *at, size_t n, unsigned char *was)
{
	unsigned char now[8];
	int rc = be->ops->fetch(be, was, at, n);

	for (size_t i = 0; i < n; i++)
		now[i] = (unsigned char)~was[i];
	return rc < 0 ? rc : put(be, at, now, n);
}

static bool in_place(const struct scene *s, const struct call *call)
{
	const char *send = call->send, *recv = call->recv;

	return send < recv + s->shape.recv * s->elsize && recv < send + s->shape.send * s->elsize;
}

static int corrupt_received(struct corruption *c, const struct scene *s, const struct call *call,
			    struct backend *be)
{
	unsigned char good[CORRUPTED * 8], bad[CORRUPTED * 8];
	const struct segment *segment = s->segments;
	size_t n;
	char *at = (char *)call->recv + c->element * s->elsize;
	int rc;

	while (segment < s->segments + s->n && c->element >= segment->at + segment->count)
		segment++;
	if (segment == s->segments + s->n)
		return 0; /* a size without this element */
	n = segment->at + segment->count - c->element;
	n = n < CORRUPTED ? n : CORRUPTED;
	rc = be->ops->fetch(be, good, at, n * s->elsize);
	if (rc < 0)
		return rc;
	if (check_corrupt(&s->data, c->kind, segment, s->base, c->culprit, good, c->element, n,
			  bad))
		return 0;
	return put(be, at, bad, n * s->elsize);
}

static int corrupt_send(struct corruption *c, const struct scene *s, const struct call *call,
			struct backend *be)
{
	char *at = (char *)(uintptr_t)call->send + c->element * s->elsize;

	if (in_place(s, call) || c->element >= s->shape.send)
		return 0;
	c->lent.at = at;
	c->lent.dtype = call->dtype;
	c->lent.op = call->op;
	return flip(be, at, s->elsize, c->lent.bytes);
}

/* The send pool serves all calls of one type and operator; for others it is filled anew. */
static int restore_send(struct corruption *c, const struct call *call, struct backend *be)
{
	void *at = c->lent.at;

	c->lent.at = NULL;
	if (!at || c->lent.dtype != call->dtype || c->lent.op != call->op)
		return 0;
	return put(be, at, c->lent.bytes, dtype_size(call->dtype));
}

/* Where the check sees it: around a whole buffer. */
static int corrupt_guard(const struct corruption *c, const struct scene *s, const struct call *call,
			 struct backend *be)
{
	size_t bytes = s->shape.recv * s->elsize;
	unsigned char was[8];

	if (in_place(s, call) && bytes != s->shape.bytes)
		return 0;
	return flip(be, (char *)call->recv + bytes + c->element, 1, was);
}

/* Sends zeros or doubled floats, and puts the send buffer right again unless results lie in it. */
static int send_wrongly(const struct corruption *c, const struct scene *s, const struct call *call,
			struct chain *chain)
{
	struct backend *be = chain->backend;
	size_t bytes = s->shape.send * s->elsize;
	void *send = (void *)(uintptr_t)call->send;
	char *good = malloc(bytes), *bad = calloc(1, bytes);
	int rc = good && bad ? be->ops->fetch(be, good, send, bytes) : -ENOMEM;

	for (size_t i = 0; rc == 0 && c->deed == DEED_TWICE && i < s->shape.send; i++) {
		float value;

		memcpy(&value, good + i * sizeof(value), sizeof(value));
		value *= 2;
		memcpy(bad + i * sizeof(value), &value, sizeof(value));
	}
	if (rc == 0)
		rc = put(be, send, bad, bytes);
	if (rc == 0)
		rc = chain_emit(chain, call);
	if (rc == 0)
		rc = be->ops->wait(be);
	if (rc == 0 && !in_place(s, call))
		rc = put(be, send, good, bytes);
	free(good);
	free(bad);
	return rc;
}

static int issue(void *state, const struct call *call, struct chain *chain)
{
	struct corruption *c = state;
	struct backend *be = chain->backend;
	bool sends = c->deed == DEED_UNSENT || c->deed == DEED_TWICE;
	struct scene s;
	int rc;

	if (c->deed == DEED_NONE || be->job->group_rank != (sends ? c->culprit : c->rank))
		return chain_emit(chain, call);
	set_scene(&s, c, call, be);
	if (sends)
		return send_wrongly(c, &s, call, chain);
	rc = restore_send(c, call, be);
	if (rc == 0)
		rc = chain_emit(chain, call);
	if (rc == 0)
		rc = be->ops->wait(be);
	if (rc == 0 && c->deed == DEED_RECEIVED)
		rc = corrupt_received(c, &s, call, be);
	else if (rc == 0 && c->deed == DEED_SEND)
		rc = corrupt_send(c, &s, call, be);
	else if (rc == 0)
		rc = corrupt_guard(c, &s, call, be);
	return rc;
}

static int parse(const char *text, struct corruption *c)
{
	static const struct collective *const known[] = { &all_gather, &all_reduce, &alltoall,
							  &broadcast, &reduce_scatter };
	char collective[32], deed[16];
	int fields;

	memset(c, 0, sizeof(*c));
	c->culprit = -1;
	fields = text ? sscanf(text, "%31[^:]:%15[^:]:%d:%zu:%d", collective, deed, &c->rank,
			       &c->element, &c->culprit)
		      : 0;
	for (size_t i = 0; fields >= 4 && i < LENGTH(known); i++)
		if (strcmp(known[i]->name, collective) == 0)
			c->collective = known[i];
	for (size_t i = 0; c->collective && i < LENGTH(deeds); i++) {
		if (strcmp(deeds[i].name, deed) == 0) {
			c->deed = deeds[i].deed;
			c->kind = deeds[i].kind;
			return 0;
		}
	}
	return -EINVAL;
}

int main(int argc, char **argv)
{
	struct corruption corruption;
	struct call_filter filter = { .state = &corruption, .issue = issue };

	if (parse(getenv("HANGAR_CORRUPT"), &corruption) < 0) {
		fputs("HANGAR_CORRUPT must be COLLECTIVE:KIND:RANK:ELEMENT[:CULPRIT]\n", stderr);
		return 2;
	}
	return perf_main_hooked(corruption.collective, &(struct perf_hooks){ .filter = &filter },
				argc, argv);
}
