/* model_p2p.c: groups of sends and receives: NCCL has no model of them; bytes over links. */
#include "model_parts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A flow is split over channels, a part at least an eighth of a step of its protocol (LL: 64 KiB) and at most 32 steps;
 * up to so many bytes for each channel that a peer may have it goes by LL (enqueue.cc, one node). */
enum { LL_STEP = 64 << 10, P2P_PART_MOST = STEP * 32, P2P_LL_CHANNEL = 16 << 10 };

/* Between nodes NCCL's threshold is the same; their latency decides there, and we take Simple. */
static int flow_proto(const struct model *model, const struct predict_request *request, double bytes)
{
	if (request->proto >= 0)
		return request->proto;
	return model->nnodes == 1 && bytes <= (double)model->p2p_channels * P2P_LL_CHANNEL
		       ? MODEL_LL
		       : MODEL_SIMPLE;
}

/* NCCL takes the fewest channels that let all peers run at once, and doubles while a part is too
 * large (enqueue.cc). */
static double flow_channels(const struct model *model, double bytes, int proto, bool net)
{
	int most = net ? 2 : model->p2p_channels, n;
	double part_most = model->nnodes > 1 ? STEP : P2P_PART_MOST;
	double part_least = (proto == MODEL_LL ? LL_STEP : STEP) / 8;

	if (net && most * model->nranks > 4 * P2P_CHANNELS)
		most = 1;
	n = most;
	while (n > 1 && (double)n * model->nranks > P2P_CHANNELS)
		n /= 2;
	n = (int)fmax(1, fmin(n, ceil(bytes / part_least)));
	while (bytes / n > part_most && n <= most / 2)
		n *= 2;
	return n;
}

/* GB/s of one channel. LL: what NCCL's tables give a ring on all of them. */
static double channel_rate(const struct model *model, int proto)
{
	if (proto == MODEL_LL)
		return model->tuning.bw[MODEL_BROADCAST][MODEL_RING][MODEL_LL] / model->channels;
	return model->constants.channel_gbs;
}

struct flows {
	double intra, inter;	     /* us of transfer inside the node and over the network */
	double intra_raw, inter_raw; /* the same for the ceiling */
	double part;		     /* bytes of one flow */
	double peers;
	int proto;
	bool one_way; /* one side only sends, the other only receives */
};

/* us that `link` us of traffic take on a link which flows share, the largest of them of `part` bytes. LL sends a flag
 * with every word of data. `fan`: share of link and channels that is left where flows meet. */
static double shared_link(const struct model *model, double link, double part, int proto, double fan)
{
	double channels = flow_channels(model, part, proto, false);
	double flow = part / (channels * channel_rate(model, proto) * GB);

	return proto == MODEL_LL ? fmax(2 * link, flow) : fmax(link, flow) / fan;
}

/* Every rank sends `away` bytes to others, `part` of them to one of them. */
static void flows_spread(const struct model *model, const struct predict_request *request, double away,
			 double part, struct flows *flows)
{
	double n = model->nranks, g = model->ppn, each = away / (n - 1), out = each * (n - g), fan;
	double net = model_uplink(model, model->net, true) / g;

	flows->proto = flow_proto(model, request, part);
	/* Channels of different flows are not in step: the more there are, the less idles the link
	 * they share. */
	fan = 1 - model->constants.fan_loss /
			  sqrt(flow_channels(model, part, MODEL_SIMPLE, false));
	if (g > 1) {
		flows->intra = shared_link(model, each * model->spread, part, flows->proto, fan);
		flows->intra_raw = each * model->spread_raw;
	}
	if (out > 0) {
		flows->inter = out / (net * GB);
		flows->inter_raw = out / (model->net_raw / g * GB);
	}
	flows->part = part;
	flows->peers = n;
}

/* One rank exchanges 1/n of the data with every other; its own links are the narrow place, and as no peer has anybody
 * else to serve, they do not idle (gather on four H200, 2026-11-21: 372 GB/s from 128 MiB, all that stores get through). */
static void flows_root(const struct model *model, const struct predict_request *request,
		       struct flows *flows)
{
	double g = model->ppn, n = model->nranks, part = request->bytes / n;

	flows_spread(model, request, part * (n - 1), part, flows);
	/* A Simple channel that only sends, or only receives, has all its threads for that. */
	if (g > 1)
		flows->intra = shared_link(model, part * model->spread,
					   flows->proto == MODEL_LL ? part : part / 2, flows->proto,
					   1);
	if (model->nnodes > 1) {
		flows->inter *= model->net / g / model->nic;
		flows->inter_raw *= model->net_raw / g / model->nic_raw;
	}
	flows->one_way = true;
}

static void flows_next(const struct model *model, const struct predict_request *request,
		       struct flows *flows)
{
	double bytes = request->bytes, net;

	flows->proto = flow_proto(model, request, bytes);
	net = flow_channels(model, bytes, flows->proto, true) * channel_rate(model, flows->proto);
	if (model->ppn > 1) {
		flows->intra = shared_link(model, bytes / (model->pair * GB), bytes, flows->proto, 1);
		flows->intra_raw = bytes / (model->pair_raw * GB);
	}
	if (model->nnodes > 1) {
		flows->inter = bytes / (fmin(model_uplink(model, model->nic, false), net) * GB);
		flows->inter_raw = bytes / (model->nic_raw * GB);
	}
	flows->part = bytes;
	flows->peers = 1;
}

/* Base and NCCL's hwLat. Back to back, what goes one way by LL does not wait for its way. */
static double p2p_latency(const struct model *model, int proto, bool hidden)
{
	const struct model_constants *c = &model->constants;
	static const double simple[] = { [MODEL_HOP_NONE] = 14,
					 [MODEL_HOP_NVLINK] = 3.4,
					 [MODEL_HOP_PCIE] = 5.7,
					 [MODEL_HOP_SHM] = 5.7 };
	static const double ll[] = { [MODEL_HOP_NONE] = 2.7,
				     [MODEL_HOP_NVLINK] = .6,
				     [MODEL_HOP_PCIE] = 1,
				     [MODEL_HOP_SHM] = 1 };
	double hop = proto == MODEL_LL ? ll[model->hop] : simple[model->hop];

	if (model->nnodes > 1)
		return c->p2p_base_us + simple[MODEL_HOP_NONE];
	if (hidden)
		return c->one_way_base_us + (proto == MODEL_LL ? 0 : hop);
	return c->p2p_base_us + hop;
}

/* What the host spends on a group of sends to, and receives from, so many peers. */
static double p2p_launch(const struct model *model, double peers)
{
	const struct model_constants *c = &model->constants;

	return (c->p2p_launches + c->peer_launches * peers) * c->kernel_host_us;
}

/* us until a flow's last chunk is where it belongs, after its transfer. LL has no chunks to wait for: words carry their
 * flags. */
static double last_chunk(const struct model *model, double bytes, int proto, bool net)
{
	double part = bytes / flow_channels(model, bytes, proto, net);

	if (proto == MODEL_LL)
		return 0;
	return model->constants.fill * fmin(net ? STEP / 4 : STEP, part) /
	       (model->constants.channel_gbs * GB);
}

/* log2(n) groups, each an exchange of what was gathered so far with the rank 2^k away; those beyond
 * the node's size go over the network. */
static void predict_hypercube(const struct model *model, const struct predict_request *request,
			      struct prediction *out, double *raw)
{
	double part = request->bytes / model->nranks;

	if (!request->in_place) { /* a rank's own share is copied first */
		out->launch_us = model->constants.kernel_host_us;
		out->latency_us = model->constants.kernel_device_us;
	}
	for (int k = 1; k < model->nranks; k *= 2, part *= 2) {
		bool net = k >= model->ppn;
		int proto = flow_proto(model, request, part);
		double n = flow_channels(model, part, proto, net);
		double link = net ? model->net / model->ppn : model->pair;
		double wire = proto == MODEL_LL ? link / 2 : link;

		out->proto = proto;
		out->channels = (int)n;
		out->link_gbs = fmin(wire, n * channel_rate(model, proto));
		out->transfer_us += part / (out->link_gbs * GB);
		out->latency_us += p2p_latency(model, proto, false);
		out->fill_us += last_chunk(model, part, proto, net);
		*raw += part / ((net ? model->net_raw / model->ppn : model->pair_raw) * GB);
		out->launch_us += p2p_launch(model, 1);
		out->limit = net ? "NIC of a GPU" : model_hop_name(model);
	}
	out->formula = "sum over log2(n) exchanges of bytes 2^k / n / link";
}

/* Inside and outside run at the same time: the later of the two is the time. */
static void finish_flows(const struct model *model, const struct predict_request *request,
			 const struct flows *flows, struct prediction *out)
{
	bool hidden = flows->one_way && model->nnodes == 1 && request->mode != MODEL_ISOLATED;
	double fill = model->ppn > 1 && !hidden ? last_chunk(model, flows->part, flows->proto, false)
						: 0;
	double fill_net =
		model->nnodes > 1 ? last_chunk(model, flows->part, flows->proto, true) : 0;
	bool net = flows->inter + fill_net > flows->intra + fill;

	out->proto = flows->proto;
	out->transfer_us = net ? flows->inter : flows->intra;
	out->fill_us = net ? fill_net : fill;
	out->channels = request->channels > 0
				? request->channels
				: (int)flow_channels(model, flows->part, flows->proto, net);
	out->latency_us = p2p_latency(model, flows->proto, hidden);
	out->launch_us = p2p_launch(model, flows->peers);
	out->limit = net ? "NIC" : model_hop_name(model);
	out->formula = "larger of bytes in the node / link and bytes over the network / NIC";
	out->link_gbs = request->bytes / (out->transfer_us * GB) * out->bus_factor;
}

/* nccl-tests' pattern (traffic.c): a flow grows with its distance, nothing stays at home. */
static void predict_uneven(const struct model *model, const struct predict_request *request,
			   struct flows *flows, struct prediction *out)
{
	double away = request->away > 0 ? request->away : request->bytes;
	double part = request->away > 0 ? request->flow : 2 * request->bytes / model->nranks;

	flows_spread(model, request, away, part, flows);
	out->bus_factor = away / request->bytes;
}

int model_predict_p2p(const struct model *model, const struct predict_request *request,
		      struct prediction *out)
{
	struct flows flows = { .intra = 0 };
	double bytes = request->bytes, n = model->nranks, raw = 0;

	if (request->algo >= 0 && request->algo != MODEL_P2P)
		return -EINVAL;
	if (request->proto == MODEL_LL128)
		return -EINVAL;
	out->algo = MODEL_P2P;
	out->nccl_us = -1;
	out->bus_factor = model_bus_factor(request->collective, model->nranks);
	if (request->collective == MODEL_HYPERCUBE) {
		predict_hypercube(model, request, out, &raw);
	} else {
		if (request->collective == MODEL_SENDRECV)
			flows_next(model, request, &flows);
		else if (request->collective == MODEL_GATHER ||
			 request->collective == MODEL_SCATTER)
			flows_root(model, request, &flows);
		else if (request->collective == MODEL_ALLTOALLV)
			predict_uneven(model, request, &flows, out);
		else
			flows_spread(model, request, bytes / n * (n - 1), bytes / n, &flows);
		finish_flows(model, request, &flows, out);
		raw = fmax(flows.intra_raw, flows.inter_raw);
	}
	out->alg_gbs = bytes / (out->transfer_us * GB);
	out->ceiling_busbw = bytes / (raw * GB) * out->bus_factor;
	return 0;
}
