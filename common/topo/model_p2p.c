/* model_p2p.c: groups of sends and receives: NCCL has no model of them; bytes over links. */
#include "model_parts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* A flow is split over channels; a part is at least and at most this large (enqueue.cc, one node).
 */
enum { P2P_PART_LEAST = STEP / 8, P2P_PART_MOST = STEP * 32 };

/* NCCL takes the fewest channels that let all peers run at once, and doubles while a part is too
 * large (enqueue.cc). */
static double flow_channels(const struct model *model, double bytes, bool net)
{
	int most = net ? 2 : model->p2p_channels, n;
	double part_most = model->nnodes > 1 ? STEP : P2P_PART_MOST;

	if (net && most * model->nranks > 4 * P2P_CHANNELS)
		most = 1;
	n = most;
	while (n > 1 && (double)n * model->nranks > P2P_CHANNELS)
		n /= 2;
	n = (int)fmax(1, fmin(n, ceil(bytes / P2P_PART_LEAST)));
	while (bytes / n > part_most && n <= most / 2)
		n *= 2;
	return n;
}

struct flows {
	double intra, inter;	     /* us of transfer inside the node and over the network */
	double intra_raw, inter_raw; /* the same for the ceiling */
	double part;		     /* bytes of one flow */
	double peers;
};

/* Every rank sends 1/n of its data to every rank. */
static void flows_spread(const struct model *model, double bytes, struct flows *flows)
{
	double n = model->nranks, g = model->ppn, each = bytes / n, away = (n - g) / n * bytes;
	double net = model_uplink(model, model->net, true) / g, fan;

	/* Channels of different flows are not in step: the more there are, the less idles the link
	 * they share. */
	fan = 1 - model->constants.fan_loss / sqrt(flow_channels(model, each, false));
	flows->intra = g > 1 ? each * model->spread / fan : 0;
	flows->intra_raw = g > 1 ? each * model->spread_raw : 0;
	flows->inter = away > 0 ? away / (net * GB) : 0;
	flows->inter_raw = away > 0 ? away / (model->net_raw / g * GB) : 0;
	flows->part = each;
	flows->peers = n;
}

/* One rank exchanges 1/n of the data with every other; its own links are the narrow place, and as no peer has anybody
 * else to serve, they do not idle (gather on four H200, 2026-11-21: 372 GB/s from 128 MiB, all that stores get through). */
static void flows_root(const struct model *model, double bytes, struct flows *flows)
{
	double g = model->ppn;

	flows_spread(model, bytes, flows);
	flows->intra = g > 1 ? bytes / model->nranks * model->spread : 0;
	if (model->nnodes > 1) {
		flows->inter *= model->net / g / model->nic;
		flows->inter_raw *= model->net_raw / g / model->nic_raw;
	}
}

static void flows_next(const struct model *model, double bytes, struct flows *flows)
{
	double cap = flow_channels(model, bytes, false) * model->constants.channel_gbs;
	double net = flow_channels(model, bytes, true) * model->constants.channel_gbs;

	flows->intra = model->ppn > 1 ? bytes / (fmin(model->pair, cap) * GB) : 0;
	flows->intra_raw = model->ppn > 1 ? bytes / (model->pair_raw * GB) : 0;
	flows->inter = model->nnodes > 1
			       ? bytes / (fmin(model_uplink(model, model->nic, false), net) * GB)
			       : 0;
	flows->inter_raw = model->nnodes > 1 ? bytes / (model->nic_raw * GB) : 0;
	flows->part = bytes;
	flows->peers = 1;
}

static double p2p_latency(const struct model *model)
{
	static const double hop[] = { [MODEL_HOP_NONE] = 14,
				      [MODEL_HOP_NVLINK] = 3.4,
				      [MODEL_HOP_PCIE] = 5.7,
				      [MODEL_HOP_SHM] = 5.7 };

	return model->constants.p2p_base_us +
	       (model->nnodes > 1 ? 14 : hop[model->hop]); /* NCCL's hwLat, Simple */
}

/* log2(n) groups, each an exchange of what was gathered so far with the rank 2^k away; those beyond
 * the node's size go over the network. */
static void predict_hypercube(const struct model *model, double bytes, struct prediction *out,
			      double *raw)
{
	double part = bytes / model->nranks;

	for (int k = 1; k < model->nranks; k *= 2, part *= 2) {
		bool net = k >= model->ppn;
		double cap = flow_channels(model, part, net) * model->constants.channel_gbs;
		double link = net ? model->net / model->ppn : model->pair;

		out->transfer_us += part / (fmin(link, cap) * GB);
		out->latency_us += p2p_latency(model);
		*raw += part / ((net ? model->net_raw / model->ppn : model->pair_raw) * GB);
		out->launch_us += model->constants.launch_p2p_us + model->constants.launch_peer_us;
		out->channels = (int)flow_channels(model, part, net);
		out->link_gbs = fmin(link, cap);
		out->limit = net ? "NIC of a GPU" : model_hop_name(model);
	}
	out->formula = "sum over log2(n) exchanges of bytes 2^k / n / link";
}

/* us until a flow's last chunk is where it belongs, after its transfer. */
static double last_chunk(const struct model *model, double part, bool net)
{
	double chunk = fmin(net ? STEP / 4 : STEP, part / flow_channels(model, part, net));

	return model->constants.fill * chunk / (model->constants.channel_gbs * GB);
}

/* Inside and outside run at the same time: the later of the two is the time. */
static void finish_flows(const struct model *model, const struct predict_request *request,
			 const struct flows *flows, struct prediction *out)
{
	double fill = model->ppn > 1 ? last_chunk(model, flows->part, false) : 0;
	double fill_net = model->nnodes > 1 ? last_chunk(model, flows->part, true) : 0;
	bool net = flows->inter + fill_net > flows->intra + fill;

	out->transfer_us = net ? flows->inter : flows->intra;
	out->fill_us = net ? fill_net : fill;
	out->channels = request->channels > 0 ? request->channels
					      : (int)flow_channels(model, flows->part, net);
	out->latency_us = p2p_latency(model);
	out->launch_us =
		model->constants.launch_p2p_us + model->constants.launch_peer_us * flows->peers;
	out->limit = net ? "NIC" : model_hop_name(model);
	out->formula = "larger of bytes in the node / link and bytes over the network / NIC";
	out->link_gbs = request->bytes / (out->transfer_us * GB) *
			model_bus_factor(request->collective, model->nranks);
}

int model_predict_p2p(const struct model *model, const struct predict_request *request,
		      struct prediction *out)
{
	struct flows flows = { .intra = 0 };
	double bytes = request->bytes, raw = 0;

	if (request->algo >= 0 && request->algo != MODEL_P2P)
		return -EINVAL;
	if (request->proto >= 0 && request->proto != MODEL_SIMPLE)
		return -EINVAL;
	out->algo = MODEL_P2P;
	out->proto = MODEL_SIMPLE;
	out->nccl_us = -1;
	if (request->collective == MODEL_HYPERCUBE) {
		predict_hypercube(model, bytes, out, &raw);
	} else {
		if (request->collective == MODEL_SENDRECV)
			flows_next(model, bytes, &flows);
		else if (request->collective == MODEL_GATHER ||
			 request->collective == MODEL_SCATTER)
			flows_root(model, bytes, &flows);
		else
			flows_spread(model, bytes, &flows);
		finish_flows(model, request, &flows, out);
		raw = fmax(flows.intra_raw, flows.inter_raw);
	}
	out->alg_gbs = bytes / (out->transfer_us * GB);
	out->ceiling_busbw =
		bytes / (raw * GB) * model_bus_factor(request->collective, model->nranks);
	return 0;
}
