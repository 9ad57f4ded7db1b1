/* model_parts.h: what the model's own files share; nobody else includes it. */
#ifndef HANGAR_MODEL_PARTS_H
#define HANGAR_MODEL_PARTS_H

#include "model.h"

/* Bytes per microsecond in 1 GB/s. */
#define GB 1e3

/* NCCL 2.28: a slice of a Simple ring is two steps of 512 KiB for all_reduce, all_gather and
 * reduce_scatter, one for broadcast, reduce and point to point; a looping chunk is two slices
 * (facts/nccl-internals.md 1.5). */
enum { STEP = 512 << 10, P2P_CHANNELS = 32 };

/* What crosses between two GPUs of a node, in words. */
const char *model_hop_name(const struct model *model);

/* GB/s of `net` that get past an oversubscribed leaf, when every node sends across or one in a leaf
 * does. */
double model_uplink(const struct model *model, double net, bool every_node_crosses);

/* The two halves of model_predict: collectives that NCCL tunes, and groups of sends and receives.
 */
int model_predict_tuned(const struct model *model, const struct predict_request *request,
			struct prediction *out);
int model_predict_p2p(const struct model *model, const struct predict_request *request,
		      struct prediction *out);

#endif
