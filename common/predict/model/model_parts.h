/* model_parts.h: declarations that the model's own files share. Internal to topo. */
#pragma once

#include "model/model.h"

/* Bytes per microsecond in 1 GB/s. */
#define GB 1e3

/* NCCL 2.28: a slice of a Simple ring is two steps of 512 KiB for all_reduce, all_gather and
 * reduce_scatter, one for broadcast, reduce and point to point; a looping chunk is two slices
 * (NCCL.md, "Steps"). */
enum { STEP = 512 << 10, LL_CHUNK = 32 << 10, P2P_CHANNELS = 32 };

enum model_arch model_arch(const struct model *model);

/* Names of the ways between two GPUs of a node. */
extern const char *const model_hop_names[];

/* us of a hop of NCCL's rings, in the node or over the network. */
double model_hop_us(const struct model *model, bool net, int proto);

/* us that a hop through host memory takes beyond one into a GPU's. */
double model_host_hop_us(int proto);

/* Adds the terms of the NICs of a node and, where uplinks are narrower, of those of a leaf, at the
 * most loaded place of a traffic. The node uses `used` of its NICs. A load of 1 carries `factor`
 * times GB/s of the size column. Returns the capacity of their wires; infinity on one node. */
double model_network(const struct model *model, enum fabric_traffic traffic, double used,
		     double factor, const char *what, struct prediction *out);

/* fabric.c: fill model->busiest of two nodes and more, placed as sys->place says. */
void model_fabric(struct model *model);

/* Add a term of `base` GB/s, and multiply the latest one; a factor of 1 leaves no trace. */
void model_term(struct prediction *out, const char *limit, const char *what, double base);
void model_times(struct prediction *out, double value, const char *what);

/* Take the slowest term for the winner. Returns its GB/s. */
double model_slowest(struct prediction *out);

/* The terms of a tuned collective; returns the algorithm bandwidth that the wires of its links
 * carry. */
double model_rate(const struct model *model, enum model_coll coll, struct prediction *out);

/* A ring's algorithm bandwidth over that of its slowest link, and how it is written. */
double model_ring_factor(enum model_coll coll, double nranks, const char **what);

/* GB/s that one channel copies to a peer. Twice that from Blackwell on, as NCCL has it
 * (perChMaxRingLL128). */
double model_channel(const struct model *model);

/* The terms of NCCL's own bandwidth in a version: the slowest of them is tuning.bw. Version 0:
 * NCCL's fractions of today, for times. */
void model_nccl_terms(const struct model *model, int version, enum model_coll coll, int algo,
		      int proto, struct prediction *out);

/* The half of model_predict that is about groups of sends and receives. */
int model_predict_p2p(const struct model *model, const struct predict_request *request,
		      struct prediction *out);

/* The same for hosts, whose pairs were measured (topo_is_host). Sets the time, too. */
int model_predict_host(const struct model *model, const struct predict_request *request,
		       struct prediction *out);

/* Measured pairs of GPUs replace the expected figures of their links. */
void model_take_pairs(struct model *model);
