/* plugin.c: calls as NCCL itself tells of them, to its profiler plugin: of an NCCL that is
 * linked statically, or where this library is loaded as the plugin alone. It does not tell of
 * calls without elements, of a communicator of one rank, of puts and signals, of calls whose
 * arguments it refuses, of operators, and of roots of gathers and scatters. */
#include <dlfcn.h>

#include "base/parse.h"
#include "profiler/nccl_profiler.h"
#include "library/library.h"

static __thread bool making;

bool session_by_profiler(void)
{
	return making;
}

bool plugin_alone(void)
{
	/* RTLD_DEFAULT would find it in this library's own scope */
	static void *program;
	void *own = __atomic_load_n(&program, __ATOMIC_RELAXED);

	own = own ? own : dlopen(NULL, RTLD_NOW | RTLD_LOCAL);
	__atomic_store_n(&program, own, __ATOMIC_RELAXED);
	return !symbol_in(own, "hangar_pause");
}

/* Returns true if the wrappers stand in front of this NCCL: they see all of it. */
static bool is_wrapped(const void *word)
{
	static void *kept;
	void *known = resolve(OF_NCCL, "ncclGetVersion", &kept);
	Dl_info theirs, own;

	return !plugin_alone() && known && dladdr(known, &theirs) && dladdr(word, &own) &&
	       theirs.dli_fbase == own.dli_fbase;
}

static void *comm_made(const void *word, uint64_t hash, int nranks, int rank)
{
	void *comm = is_wrapped(word) ? NULL : calloc(1, 1); /* an address of its own, no more */
	struct nccl_id id = { { 0 } };
	struct making m;

	if (!comm)
		return NULL;
	memcpy(id.bytes, &hash, sizeof(hash));
	making = true;
	make_begin(&m, &comm, &id, &rank, &nranks, NULL);
	making = false;
	make_end(&m, NCCL_SUCCESS);
	if (m.number >= 0) {
		m.session->comms[m.number].told = true;
		__atomic_store_n(&m.session->recorder.memory->header.told, 1, __ATOMIC_RELAXED);
		if (!plugin_alone())
			say_once("NCCL is part of the program: recorded is what its profiler "
				 "tells, and no fault reaches it");
		return comm;
	}
	free(comm);
	return NULL;
}

static void comm_gone(void *comm)
{
	comm_ends(comm, COMM_LEFT);
	free(comm);
}

/* This thread's outermost group. */
static __thread struct {
	bool open, alone;	   /* alone: of one function of NCCL's */
	bool pending;		   /* `made` returns when it ends */
	struct made made;	   /* a collective */
	struct preload_comm *comm; /* of its newest call */
} outermost;

/* NCCL_IN_PROGRESS where a thread of NCCL's launches the kernels later. */
static int result(void)
{
	return outermost.comm && __atomic_load_n(&outermost.comm->later, __ATOMIC_RELAXED)
		       ? NCCL_IN_PROGRESS
		       : NCCL_SUCCESS;
}

static void end_group(void)
{
	if (outermost.pending)
		call_end(&outermost.made, result());
	if (!outermost.alone)
		group_end(result(), true);
	outermost.open = outermost.pending = false;
	outermost.comm = NULL;
}

static void group(enum nccl_group event)
{
	switch (event) {
	case NCCL_GROUP_ALONE:
	case NCCL_GROUP_BEGUN:
		outermost.open = true;
		outermost.alone = event == NCCL_GROUP_ALONE;
		if (!outermost.alone)
			group_start();
		break;
	case NCCL_GROUP_ENDING:
		if (outermost.open && !outermost.alone)
			group_ending();
		break;
	case NCCL_GROUP_ENDED:
		if (outermost.open)
			end_group();
		break;
	}
}

/* Names as NCCL has them, in the order of its numbers. */
static int type_of(const char *name)
{
	return names_find("ncclInt8 ncclUint8 ncclInt32 ncclUint32 ncclInt64 ncclUint64 "
			  "ncclFloat16 ncclFloat32 ncclFloat64 ncclBfloat16 ncclFloat8e4m3 "
			  "ncclFloat8e5m2",
			  name);
}

/* Returns the call's ticket, 0: it is not recorded. */
static uint64_t record(struct made *made)
{
	made->session = session_of(made->comm, &made->number);
	if (!made->session)
		return 0;
	outermost.comm = &made->session->comms[made->number];
	call_record(made);
	if (outermost.open && outermost.alone && !outermost.pending) {
		outermost.made = *made;
		outermost.pending = true;
	} else {
		call_end(made, result());
	}
	return made->ticket;
}

/* An alltoall, a gather or a scatter is a group of sends and receives, as NCCL tells it. */
static void spread(void)
{
	if (!outermost.open || !outermost.alone)
		return;
	outermost.alone = false;
	group_start();
}

static void call(void *comm, const struct nccl_told *told)
{
	/* in the order of enum call_kind */
	int kind = names_find("AllReduce AllGather ReduceScatter Broadcast Reduce", told->func);
	struct made made = { .kind = (enum call_kind)kind,
			     .count = told->count,
			     .type = type_of(told->datatype),
			     .op = -1,
			     .peer = kind == CALL_BROADCAST || kind == CALL_REDUCE ? told->root
										   : -1,
			     .comm = comm,
			     .stream = told->stream };

	if (kind >= 0 && !told->captured)
		record(&made);
}

static uint64_t pair(void *comm, const struct nccl_told_pair *told)
{
	struct made made = { .kind = strcmp(told->func, "Send") == 0 ? CALL_SEND : CALL_RECV,
			     .count = told->count,
			     .type = type_of(told->datatype),
			     .op = -1,
			     .peer = -1,
			     .comm = comm,
			     .stream = told->stream };

	if (told->captured)
		return 0;
	spread();
	return record(&made);
}

/* It is known by the ticket's lowest 16 bits, many more than there are records. */
static void peer(void *comm, uint64_t low, int peer)
{
	int number;
	struct session *s = session_of(comm, &number);
	uint64_t newest;

	if (!s)
		return;
	newest = record_get(&s->recorder.memory->header.issued_ticket);
	recorder_partner(&s->recorder, newest - ((newest - low) & 0xffff), peer);
}

/* Outside of groups the kernel is one of a non-blocking communicator's, of calls that were held
 * for it. */
static void launched(void *comm, void *stream)
{
	int number;
	struct session *s = session_of(comm, &number);

	(void)stream;
	if (!s || outermost.open)
		return;
	__atomic_store_n(&s->comms[number].later, true, __ATOMIC_RELAXED);
	calls_release_held(s, number);
}

static void say_line(const char *line)
{
	say("%s", line);
}

const struct nccl_listener nccl_listener = { comm_made, comm_gone, group,    call,
					     pair,	peer,	   launched, say_line };
