/* share_model.h: what a collective takes when several ranks share a GPU (--share-gpu): NCCL takes
 * them for hosts of their own, so data go through sockets over loopback, and the GPU runs one
 * process at a time.
 *
 * A kernel that waits for data spins until its time slice ends; then the next process has its turn.
 * With k ranks on a GPU: an exchange in which everybody waits for somebody takes k - 1 slices, a
 * hop of a ring k / 2 (the next rank's turn comes after 1 to k - 1 of them), an exchange of pairs
 * the same. A rank fills its connection only in its own slices, so that k ranks that send together
 * take k times as long. A sender of a rooted collective ends without waiting: what its small calls
 * take is chance, and not predicted. */
#ifndef HANGAR_SHARE_MODEL_H
#define HANGAR_SHARE_MODEL_H

#include "topo/model.h"

struct share_model {
	int nranks, per_gpu; /* per_gpu: ranks of the GPU that has most */
	double slice_us;     /* model_constants */
	double socket_gbs;
	bool fitted;
};

struct share_prediction {
	double time_us, busbw; /* NaN: not predicted */
	double ceiling_busbw;  /* one connection per rank, that never waits for a slice */
	double slices;	       /* waited for */
};

/* -ERANGE: fewer than two ranks, no such collective, or a size that is no size. */
int share_predict(const struct share_model *model, enum model_coll coll, double bytes,
		  struct share_prediction *prediction);

#endif
