/* plugin.c: calls of an NCCL without wrappers in front (linked statically): it tells of them
 * itself, as to its profiler plugin: collectives, without their operator. */
#include <dlfcn.h>

#include "base/parse.h"
#include "profiler/nccl_profiler.h"
#include "library/library.h"

static __thread bool making;

bool session_by_profiler(void)
{
	return making;
}

/* Returns true if the wrappers stand in front of this NCCL: they see all of it. */
static bool is_wrapped(const void *word)
{
	static void *kept;
	void *known = resolve(OF_NCCL, "ncclGetVersion", &kept);
	Dl_info theirs, own;

	return known && dladdr(known, &theirs) && dladdr(word, &own) &&
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
		say_once("NCCL is part of the program: recorded is what its profiler tells, and no "
			 "fault reaches it");
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

static void group(bool begins)
{
	if (begins) {
		group_start();
	} else {
		group_ending();
		group_end(NCCL_SUCCESS, true);
	}
}

static void call(void *comm, const struct nccl_told *told)
{
	/* in the order of enum call_kind; types as NCCL numbers them */
	int kind = names_find("AllReduce AllGather ReduceScatter Broadcast Reduce", told->func);
	int type = names_find("ncclInt8 ncclUint8 ncclInt32 ncclUint32 ncclInt64 ncclUint64 "
			      "ncclFloat16 ncclFloat32 ncclFloat64 ncclBfloat16 ncclFloat8e4m3 "
			      "ncclFloat8e5m2",
			      told->datatype);
	struct made made = { .kind = (enum call_kind)kind,
			     .count = told->count,
			     .type = type,
			     .op = -1,
			     .peer = kind == CALL_BROADCAST || kind == CALL_REDUCE ? told->root
										   : -1,
			     .comm = comm,
			     .stream = told->stream };

	made.session = session_of(comm, &made.number);
	if (!made.session || kind < 0 || told->captured)
		return;
	call_record(&made);
	call_end(&made, NCCL_SUCCESS);
}

const struct nccl_listener nccl_listener = { comm_made, comm_gone, group, call };
