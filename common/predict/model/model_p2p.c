/* model_p2p.c: groups of sends and receives: NCCL has no model of them; bytes over links. */
#include "model/model_parts.h"

/* A flow is split over channels, a part at least an eighth of a step of its protocol (LL: 64
 * KiB) and at most 32 steps, between nodes half a step and one; up to so many bytes for each
 * channel that a peer may have it goes by LL (enqueue.cc, one node). */
enum { LL_STEP = 64 << 10, P2P_LL_CHANNEL = 16 << 10 };

static const double NET_CHANNEL_GBS = 14;

/* Between nodes NCCL's threshold is the same; their latency decides there, and we take Simple. */
static int flow_proto(const struct model *model, const struct predict_request *request,
		      double bytes)
{
	if (request->proto >= 0)
		return request->proto;
	return model->nnodes == 1 && bytes <= (double)model->p2p_channels * P2P_LL_CHANNEL
		       ? MODEL_LL
		       : MODEL_SIMPLE;
}

static int pow2_up(double value)
{
	return (int)exp2(ceil(log2(fmax(1, value))));
}

/* Channels of all sends, as NCCL rounds its channels. */
static int all_channels(const struct model *model)
{
	return (int)fmin(P2P_CHANNELS, pow2_up(model->channels));
}

/* Most channels of a peer (NCCL.md, "Sends"): over several nodes those of a peer over the network,
 * for any peer. */
static int peer_channels(const struct model *model)
{
	const struct topo_system *sys = model->sys;
	double nics = fmax(1, sys->nnics / (double)sys->full_gpus);
	int most = 2, all = all_channels(model);

	if (model->nnodes == 1)
		return model->p2p_channels;
	if (sys->nccl >= 22900) {
		most = pow2_up(fmax(nics, ceil(nics * fmin(sys->nic[0].gbs, sys->nic[0].pcie_gbs) /
					       NET_CHANNEL_GBS)));
		while (most > 1 && most * ceil(model->nranks / 8.) > all)
			most /= 2;
		return most;
	}
	if (most * model->nranks > 4 * all)
		most = 1;
	return pow2_up(fmax(most, nics));
}

/* NCCL takes the fewest channels that let all peers run at once, and doubles while a part is too
 * large (enqueue.cc). */
static double flow_channels(const struct model *model, double bytes, int proto)
{
	int most = peer_channels(model), n = most;
	bool far = model->nnodes > 1;
	double step = proto == MODEL_LL ? LL_STEP : STEP;

	while (n > 1 && (double)n * model->nranks > all_channels(model))
		n /= 2;
	n = (int)fmax(1, fmin(n, ceil(bytes / (step / (far ? 2 : 8)))));
	while (bytes / n > step * (far ? 1 : 32) && n <= most / 2)
		n *= 2;
	return n;
}

/* GB/s of one channel. LL: what NCCL's tables give a ring on all of them. Over the network: the
 * figure that NCCL plans with (NCCL.md, "Sends"); its chunks are a quarter of NVLink's. */
static double channel_rate(const struct model *model, int proto, bool net)
{
	if (net)
		return NET_CHANNEL_GBS;
	if (proto == MODEL_LL)
		return model->tuning.bw[MODEL_BROADCAST][MODEL_RING][MODEL_LL] / model->channels;
	return model_channel(model);
}

struct flows {
	struct prediction *out;
	double bytes; /* of the size column */
	/* us of transfer in the node and over the network, at the wires' speed */
	double intra_raw, inter_raw;
	double part; /* bytes of one flow */
	double peers;
	int proto;
	enum fabric_traffic traffic; /* between nodes */
	bool one_way;		     /* one side only sends, the other only receives */
};

/* Flows share a link of `gbs` that `sent` bytes cross, the largest of them of `part` bytes. LL
 * sends a flag with every word of data. `fan`: fraction of link and channels that is left where
 * flows meet. */
static void shared_link(const struct model *model, const struct flows *flows, double gbs,
			double sent, double part, double fan)
{
	bool ll = flows->proto == MODEL_LL;

	model_term(flows->out, ll ? "protocol LL" : model_hop_names[model->hop],
		   "what each peer gets of a GPU's links", gbs);
	model_times(flows->out, ll ? .5 : 1, "LL: half are flags");
	model_times(flows->out, flows->bytes / sent, "size / bytes to a peer");
	model_times(flows->out, ll ? 1 : fan, "left where flows meet");
	model_term(flows->out, "channels", "a channel", channel_rate(model, flows->proto, false));
	model_times(flows->out, flow_channels(model, part, flows->proto), "channels of a flow");
	model_times(flows->out, flows->bytes / part, "size / bytes of a flow");
	model_times(flows->out, ll ? 1 : fan, "left where flows meet");
}

/* Terms of the network, where a load of 1 means `sent` bytes. */
static void net_links(const struct model *model, struct flows *flows, enum fabric_traffic traffic,
		      double sent)
{
	flows->traffic = traffic;
	flows->inter_raw =
		flows->bytes / (GB * model_network(model, traffic, model->nics, flows->bytes / sent,
						   "size / bytes of a load of 1", flows->out));
}

/* us that the proxy of a GPU spends on a message to, and one from, a rank of another node, however short: NCCL's overhead of a
 * network (graph/tuning.cc, getNetOverhead); of sockets two system calls each, and the message that tells a size before it. */
static double proxy_us(const struct topo_system *sys)
{
	return sys->transport == TOPO_TCP ? 8 : sys->amd ? 2 : 1;
}

/* The busiest proxy passes flows of `part` bytes of so many ranks on, one after the other. */
static void proxies(const struct model *model, double ranks, double part, const struct flows *flows)
{
	model_term(flows->out, "proxy thread of a GPU", "a flow in the overhead of a message",
		   part / (proxy_us(model->sys) * GB));
	model_times(flows->out, flows->bytes / (part * ranks), "size / bytes of all flows");
	flows->out->term[flows->out->nterms - 1].net = true;
}

/* Every rank sends `away` bytes to others, `part` of them to one of them. */
static void flows_spread(const struct model *model, double away, double part, struct flows *flows)
{
	double n = model->nranks, g = model->ppn, each = away / (n - 1), fan;

	/* Channels of different flows are not in step: the more there are, the less idles the link
	 * they share. The constant is of three peers. */
	fan = 1 - model->constants.fan_loss /
			  sqrt(flow_channels(model, part, MODEL_SIMPLE) * fmax(1, (g - 1) / 3));
	if (g > 1) {
		shared_link(model, flows, 1 / (model->spread * GB), each, part, fan);
		flows->intra_raw = each * model->spread_raw;
	}
	if (n > g) {
		fan = 1 - model->constants.fan_loss /
				  sqrt(flow_channels(model, part, flows->proto) * (n - g));
		net_links(model, flows, FABRIC_ALL, g * each * (n - g) / fan);
		proxies(model, n - g, part, flows);
	}
	flows->part = part;
	flows->peers = n;
}

/* One rank exchanges 1/n of the data with every other. Its own links are the narrow place, and they
 * do not idle, as its peers serve no other rank (gather on four H200, 2026-11-21: 372 GB/s from 128
 * MiB, all that stores get through). */
static void flows_root(const struct model *model, struct flows *flows)
{
	double g = model->ppn, n = model->nranks, part = flows->bytes / n;

	/* A Simple channel that only sends, or only receives, has all its threads for that. */
	if (g > 1) {
		shared_link(model, flows, 1 / (model->spread * GB), part,
			    flows->proto == MODEL_LL ? part : part / 2, 1);
		flows->intra_raw = part * model->spread_raw;
	}
	if (n > g) {
		net_links(model, flows, FABRIC_ROOT, part * (n - g));
		proxies(model, n - g, part, flows);
	}
	flows->part = part;
	flows->peers = n;
	flows->one_way = true;
}

/* All bytes to one peer, in the node, over the network, or of some ranks this and of others that; `sent`
 * as of net_links. */
static void flows_pair(const struct model *model, bool near, bool far, enum fabric_traffic traffic,
		       double sent, struct flows *flows)
{
	double bytes = flows->bytes;

	if (near) {
		shared_link(model, flows, model->pair, bytes, bytes, 1);
		flows->intra_raw = bytes / (model->pair_raw * GB);
	}
	if (far) {
		net_links(model, flows, traffic, sent);
		model_term(flows->out, "channels", "a channel over the network",
			   channel_rate(model, flows->proto, true));
		model_times(flows->out, flow_channels(model, bytes, flows->proto),
			    "channels of a flow");
		flows->out->term[flows->out->nterms - 1].net = true;
	}
	flows->part = bytes;
	flows->peers = 1;
}

/* Base and NCCL's hwLat. Back to back, data that go one way by LL do not wait for their way. */
static double p2p_latency(const struct model *model, enum fabric_traffic traffic, int proto,
			  bool hidden)
{
	const struct model_constants *c = &model->constants;
	double hop =
		model_hop_us(model, model->nnodes > 1, model->nnodes > 1 ? MODEL_SIMPLE : proto);

	if (hidden && model->nnodes == 1)
		return c->one_way_base_us + (proto == MODEL_LL ? 0 : hop);
	if (model->nnodes > 1)
		hop += model_net_latency(model, traffic, proto);
	else if (model->through_host > 0)
		hop += model_host_hop_us(proto);
	return c->p2p_base_us + hop + (proto == MODEL_SIMPLE ? c->p2p_simple_us : 0);
}

/* Host time of a group of sends to, and receives from, so many peers. */
static double p2p_launch(const struct model *model, double peers)
{
	const struct model_constants *c = &model->constants;

	return (c->p2p_launches + c->peer_launches * peers) * c->kernel_host_us;
}

/* us until a flow's last chunk arrives, after its transfer of `us`, at the same speed. LL has no
 * chunks to wait for: words carry their flags. */
static double last_chunk(const struct model *model, double bytes, double us, int proto, bool net)
{
	double part = bytes / flow_channels(model, bytes, proto), step = net ? STEP / 4 : STEP;

	return proto == MODEL_LL ? 0 : model->constants.p2p_fill * us * fmin(1, step / part);
}

/* us of transfer in the node or over the network: of the slowest term there. */
static double slowest(const struct flows *flows, bool net, int *winner)
{
	double min_gbs = INFINITY;

	for (int i = 0; i < flows->out->nterms; i++)
		if (flows->out->term[i].net == net && flows->out->term[i].gbs < min_gbs) {
			min_gbs = flows->out->term[i].gbs;
			*winner = i;
		}
	return flows->bytes / (min_gbs * GB);
}

/* Inside and outside run at the same time: the later of the two is the time. */
static void finish_flows(const struct model *model, const struct predict_request *request,
			 const struct flows *flows, struct prediction *out)
{
	bool hidden = flows->one_way && model->nnodes == 1 && request->mode != MODEL_ISOLATED;
	int near = 0, far = 0;
	double intra = slowest(flows, false, &near), inter = slowest(flows, true, &far);
	double fill = hidden ? 0 : last_chunk(model, flows->part, intra, flows->proto, false);
	double fill_net = last_chunk(model, flows->part, inter, flows->proto, true);
	bool net = inter + fill_net > intra + fill;

	out->proto = flows->proto;
	out->transfer_us = net ? inter : intra;
	out->fill_us = net ? fill_net : fill;
	out->channels = (int)flow_channels(model, flows->part, flows->proto);
	out->latency_us = p2p_latency(model, flows->traffic, flows->proto, hidden);
	out->launch_us = p2p_launch(model, flows->peers);
	out->winner = net ? far : near;
	out->limit = out->term[out->winner].limit;
}

/* log2(n) groups, each an exchange of all data so far with the rank 2^k away. Those beyond the
 * node's size go over the network. Returns us at the wires' speed. */
static double predict_hypercube(const struct model *model, const struct predict_request *request,
				struct prediction *out)
{
	double part = request->bytes / model->nranks, raw = 0;
	int beyond = FABRIC_EXCHANGE;

	if (!request->in_place) { /* a rank's own slice is copied first */
		out->launch_us = model->constants.kernel_host_us;
		out->latency_us = model->constants.kernel_device_us;
	}
	for (int k = 1; k < model->nranks; k *= 2, part *= 2) {
		struct prediction round = { .nterms = 0 };
		struct flows flows = { .out = &round,
				       .bytes = part,
				       .proto = flow_proto(model, request, part) };
		bool far = k >= model->ppn;

		flows_pair(model, !far, far, (enum fabric_traffic)(far ? beyond++ : beyond),
			   part * model->ppn, &flows);
		finish_flows(model, request, &flows, &round);
		out->proto = round.proto;
		out->channels = round.channels;
		out->latency_us += round.latency_us;
		out->transfer_us += round.transfer_us;
		out->fill_us += round.fill_us;
		out->launch_us += round.launch_us;
		out->term[out->nterms++] = round.term[round.winner];
		model_times(out, request->bytes / part, "size / bytes exchanged");
		raw += fmax(flows.intra_raw, flows.inter_raw);
	}
	out->in_turn = true;
	out->winner = out->nterms - 1;
	out->limit = out->term[out->winner].limit;
	return raw;
}

/* nccl-tests' pattern (traffic.c): a flow grows with its distance, nothing stays at home. */
static void predict_uneven(const struct model *model, const struct predict_request *request,
			   struct flows *flows, struct prediction *out)
{
	double away = request->away > 0 ? request->away : request->bytes;
	double part = request->away > 0 ? request->flow : 2 * request->bytes / model->nranks;

	flows->proto = flow_proto(model, request, part);
	flows_spread(model, away, part, flows);
	out->bus_factor = away / request->bytes;
}

int model_predict_p2p(const struct model *model, const struct predict_request *request,
		      struct prediction *out)
{
	double bytes = request->bytes, n = model->nranks, raw;
	struct flows flows = { .out = out, .bytes = bytes };

	if (request->algo >= 0 && request->algo != MODEL_P2P)
		return -EINVAL;
	if (request->proto == MODEL_LL128)
		return -EINVAL;
	out->algo = MODEL_P2P;
	out->nccl_us = -1;
	out->bus_factor = model_bus_factor(request->collective, model->nranks);
	if (request->collective == MODEL_HYPERCUBE) {
		raw = predict_hypercube(model, request, out);
	} else {
		flows.proto = flow_proto(model, request,
					 request->collective == MODEL_SENDRECV ? bytes : bytes / n);
		if (request->collective == MODEL_SENDRECV)
			flows_pair(model, model->ppn > 1, model->nnodes > 1, FABRIC_NEXT, bytes,
				   &flows);
		else if (request->collective == MODEL_GATHER ||
			 request->collective == MODEL_SCATTER)
			flows_root(model, &flows);
		else if (request->collective == MODEL_ALLTOALLV)
			predict_uneven(model, request, &flows, out);
		else
			flows_spread(model, bytes / n * (n - 1), bytes / n, &flows);
		finish_flows(model, request, &flows, out);
		raw = fmax(flows.intra_raw, flows.inter_raw);
	}
	out->alg_gbs = bytes / (out->transfer_us * GB);
	out->ceiling_busbw = bytes / (raw * GB) * out->bus_factor;
	return 0;
}
