/* host_model.h: what a collective over the memory of hosts should take: MPI's ranks, messages
 * between them, copies.
 *
 * A collective is a list of stages; in a stage every rank that takes part gets some bytes from
 * another one, in so many messages. A stage takes flags (latency), copies (as many as the library's
 * way needs), the network where the message crosses hosts, and arithmetic. The algorithms that Open
 * MPI 4.1 has in use are written down so, and the fastest one is the prediction: what it would do
 * if it always chose well, on what the host was measured to do. */
#ifndef HANGAR_HOST_MODEL_H
#define HANGAR_HOST_MODEL_H

#include "topo/host_calibrate.h"
#include "topo/host_topo.h"
#include "topo/model.h"

/* What no measurement of memory says. Few, and each with its source (host_model.c). */
struct host_constants {
	double call_us;	   /* what a call costs before its first message */
	double message_us; /* the library's work for one message */
	double handshakes; /* flags of a message whose sender waits until it was read */
};
extern const struct host_constants host_constants;

struct host_model {
	struct host_topo topo;
	struct host_library library;
	struct host_figures figures;
	int nranks, nnodes, ppn; /* ppn: ranks of a host, alike on all */
	double share;		 /* ranks per core */
	double net_gbs;		 /* payload, GB/s of a host and direction; 0: unknown */
	double net_us;		 /* latency of a message over it */
};

struct host_request {
	enum model_coll collective;
	double bytes; /* nccl-tests' size column */
	enum dtype dtype;
	enum redop op;
	bool in_place;
};

struct host_prediction {
	double time_us, busbw;
	double ceiling_busbw; /* one copy of what must move, by all ranks at once; the prediction
	                       * where pieces that stay in a cache beat that */
	const char *algo;     /* "ring" "doubling" ... */
	const char *way;      /* "cma" "copy" "net": how its largest messages travel */
	double latency_us, copy_us, net_us, reduce_us; /* time_us is their sum */
};

/* -ERANGE: fewer than two ranks, or a size that gives them nothing. -ENOTSUP: several hosts and no
 * known network. */
int host_predict(const struct host_model *model, const struct host_request *request,
		 struct host_prediction *prediction);

#endif
