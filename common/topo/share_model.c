/* share_model.c: time slices and loopback sockets. Checked against recorded runs of two and four
 * ranks on one H200. */
#include "topo/share_model.h"

#include <errno.h>
#include <math.h>

#define GB 1e3 /* bytes per us in a GB/s */

/* Slices that a call waits for before its data have been everywhere. */
static double slices(const struct share_model *m, enum model_coll coll)
{
	double n = m->nranks, k = m->per_gpu, hop = k > 1 ? k / 2 : 0;

	switch (coll) {
	case MODEL_ALL_GATHER:
	case MODEL_REDUCE_SCATTER:
		return (n - 1) * hop;
	case MODEL_ALL_REDUCE:
		return 2 * (n - 1) * hop;
	case MODEL_HYPERCUBE:
		return log2(n) * hop;
	case MODEL_ALLTOALL:
	case MODEL_ALLTOALLV:
	case MODEL_SENDRECV:
		return k - 1;
	default:
		return 0;
	}
}

static bool one_way(enum model_coll coll)
{
	return coll == MODEL_BROADCAST || coll == MODEL_REDUCE || coll == MODEL_GATHER ||
	       coll == MODEL_SCATTER;
}

/* Turns that the bytes on one connection have to be shared out over: ranks of a GPU that all send,
 * or the hops of a chain. */
static double turns(const struct share_model *m, enum model_coll coll)
{
	bool chain = coll == MODEL_BROADCAST || coll == MODEL_REDUCE;

	return chain && m->per_gpu > 1 ? m->per_gpu - 1 : m->per_gpu;
}

/* Bytes on the busiest connection. A root has one to each peer, and they fill side by side. */
static double sent(const struct share_model *m, enum model_coll coll, double bytes)
{
	if (coll == MODEL_GATHER || coll == MODEL_SCATTER)
		return bytes / m->nranks;
	return bytes * model_bus_factor(coll, m->nranks);
}

int share_predict(const struct share_model *m, enum model_coll coll, double bytes,
		  struct share_prediction *p)
{
	double transfer, wait, factor;

	if (m->nranks < 2 || (int)coll < 0 || coll >= MODEL_COLLS || !(bytes > 0))
		return -ERANGE;
	factor = model_bus_factor(coll, m->nranks);
	p->slices = slices(m, coll);
	wait = p->slices * m->slice_us;
	transfer = turns(m, coll) * sent(m, coll, bytes) / (m->socket_gbs * GB);
	p->time_us = fmax(wait, transfer);
	if (m->per_gpu > 1 && one_way(coll) && transfer < m->slice_us)
		p->time_us = NAN;
	p->busbw = bytes / p->time_us / GB * factor;
	p->ceiling_busbw = m->socket_gbs * factor * bytes / sent(m, coll, bytes);
	return 0;
}
