/* model.c: from a topology to a time: the slowest link on the way, launch, hops, and the filling of the pipeline. */
#include "model.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static const double GB = 1e3; /* bytes per microsecond in 1 GB/s */

/* NCCL 2.28: a slice of a Simple ring is two steps of 512 KiB for all_reduce, all_gather and reduce_scatter, one for
 * broadcast, reduce and point to point; a looping chunk is two slices (facts/nccl-internals.md 1.5). */
enum { STEP = 512 << 10, P2P_PART_LEAST = STEP / 8, P2P_PART_MOST = STEP * 32, P2P_CHANNELS = 32 };

/* Share of a link under NVLS: NCCL's nvlsEfficiency (tuning.cc:180), Hopper and Blackwell. And what its NVLSTree channels
 * reach over the network (perChMaxNVLSTree, 2 nodes and more; Blackwell's second from 2.30). */
static const struct {
	double share, tree[2];
} nvls[2] = { { .85, { 57.7, 45.5 } }, { .74, { 96, 80 } } };

/* Copy engines and NICs reach 55.4 of PCIe 5's 63 GB/s (vendor_specs.csv, pcie_measured). */
static const double DMA_SHARE = .88;

static int nvls_row(const struct model *model)
{
	return model->sys->gpu[0].model->sm >= 100;
}

/* ---- the node -------------------------------------------------------------------------------- */
static void init_ring(struct model *model)
{
	const struct topo_system *sys = model->sys;
	const struct topo_gpu_model *gpu = sys->gpu[0].model;
	int links = topo_ring_links(sys);
	bool sockets = false;
	double pcie = sys->gpu[0].pcie_gbs;

	if (links > 0) {
		model->hop = MODEL_HOP_NVLINK;
		model->link_nccl = links * gpu->link_sm;
		model->ring = model->link_nccl * model->constants.nvlink_efficiency;
		model->ring_raw = links * gpu->link_raw;
		return;
	}
	for (int i = 0; i < sys->ngpus; i++) {
		pcie = fmin(pcie, sys->gpu[i].pcie_gbs);
		sockets |= sys->gpu[i].cpu != sys->gpu[0].cpu;
	}
	/* On the wire a generation carries 15.75 GB/s where NCCL counts 12 (vendor_specs.csv). */
	model->ring_raw = sockets ? fmin(pcie * 15.75 / 12, sys->cpu_link_gbs * 1.25) : pcie * 15.75 / 12;
	model->ring = sockets ? fmin(pcie, sys->cpu_link_gbs) : pcie;
	model->hop = sys->p2p == TOPO_P2P_NONE ? MODEL_HOP_SHM : MODEL_HOP_PCIE;
	/* Through host memory each byte crosses PCIe twice, and the second crossing waits for the first. */
	if (model->hop == MODEL_HOP_SHM)
		model->ring /= 2;
	model->link_nccl = model->ring;
}

/* Neighbours in a send/receive chain, and all to all: what a byte from each GPU to each other one costs. */
static void init_pairs(struct model *model)
{
	const struct topo_system *sys = model->sys;
	const struct topo_gpu_model *gpu = sys->gpu[0].model;
	double raw = gpu->link_raw, sm = gpu->link_sm * model->constants.nvlink_efficiency;
	double shm = sys->p2p == TOPO_P2P_NONE ? 2 : 1;
	int first = 0;

	model->pair = model->pair_raw = INFINITY;
	for (int i = 0; i < sys->ngpus; i++) {
		int next = (i + 1) % sys->ngpus, links = topo_pair_links(sys, i, next), far = 0;
		double slow = 0, slow_raw = 0, pcie = sys->gpu[i].pcie_gbs;

		model->pair = fmin(model->pair, links > 0 ? links * sm : fmin(model->ring, pcie / shm));
		model->pair_raw = fmin(model->pair_raw, links > 0 ? links * raw : pcie * 15.75 / 12);
		for (int j = 0; j < sys->ngpus; j++) {
			int direct = sys->gpu[i].switch_links > 0 ? 0 : sys->gpu[i].links[j];

			if (i == j)
				continue;
			if (direct > 0) {
				slow = fmax(slow, 1 / (direct * sm));
				slow_raw = fmax(slow_raw, 1 / (direct * raw));
			}
			far += direct == 0;
		}
		if (sys->gpu[i].switch_links > 0) {
			slow = far / (sys->gpu[i].switch_links * sm);
			slow_raw = far / (sys->gpu[i].switch_links * raw);
		} else if (far > 0) {
			slow = fmax(slow, far * shm / pcie);
			slow_raw = fmax(slow_raw, far / (pcie * 15.75 / 12));
		}
		model->spread = fmax(model->spread, slow / GB);
		model->spread_raw = fmax(model->spread_raw, slow_raw / GB);
		first += sys->gpu[i].cpu == sys->gpu[0].cpu;
	}
	if (model->hop != MODEL_HOP_NVLINK) /* pairs on different sockets share the link between them */
		model->spread = fmax(model->spread, first * (sys->ngpus - first) / (sys->cpu_link_gbs * GB));
}

static void init_net(struct model *model)
{
	const struct topo_system *sys = model->sys;
	double all = 0, all_raw = 0, efficiency = model_net_efficiency(sys->transport);
	double share = (double)sys->ngpus / sys->full_gpus;
	int mine;

	if (sys->nnics == 0)
		return;
	for (int i = 0; i < sys->nnics; i++) {
		all += fmin(sys->nic[i].gbs * efficiency, sys->nic[i].pcie_gbs * 15.75 / 12 * DMA_SHARE);
		all_raw += fmin(sys->nic[i].gbs, sys->nic[i].pcie_gbs * 15.75 / 12);
	}
	/* A GPU reaches the NICs on its own PCIe switch; the NICs of unused GPUs stay idle, but one is always reached. */
	mine = (int)fmax(1, round(sys->nnics * share));
	model->net = all * mine / sys->nnics;
	model->net_raw = all_raw * mine / sys->nnics;
	mine = (int)fmax(1, (double)sys->nnics / sys->full_gpus);
	model->nic = all * mine / sys->nnics;
	model->nic_raw = all_raw * mine / sys->nnics;
}

static int pow2_floor(double value, int most)
{
	int pow2 = 1;

	while (2 * pow2 <= value && pow2 < most)
		pow2 *= 2;
	return pow2;
}

int model_init(struct model *model, const struct topo_system *sys, const struct model_constants *constants, int ppn,
               bool no_nvls, struct error *err)
{
	memset(model, 0, sizeof(*model));
	if (ppn > 0 && ppn != sys->ngpus)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%s has %d GPUs a node, not %d: reshape it first", sys->name,
		                 sys->ngpus, ppn);
	model->sys = sys;
	model->constants = *constants;
	model->ppn = sys->ngpus;
	model->nvswitch = sys->gpu[0].switch_links > 0;
	model->nvls = sys->nvls && !no_nvls && model->nvswitch && sys->gpu[0].model->sm >= 90 && sys->ngpus > 1;
	if (sys->ngpus > 1) {
		init_ring(model);
		init_pairs(model);
		model->p2p_channels = model->hop == MODEL_HOP_NVLINK
		                              ? pow2_floor(2 * model->pair / sys->gpu[0].model->link_sm, P2P_CHANNELS)
		                              : 2;
	}
	init_net(model);
	model_scale(model, sys->nnodes);
	return 0;
}

void model_scale(struct model *model, int nnodes)
{
	model->nnodes = nnodes;
	model->nranks = nnodes * model->ppn;
	model_tuning_fill(&model->tuning, model);
	/* NCCL runs twice the channels it found, at most 64. */
	model->channels = (int)fmin(64, 2 * model->tuning.search_channels);
}

/* ---- bandwidth ------------------------------------------------------------------------------- */
struct rate {
	double gbs, raw; /* algorithm bandwidth: bytes of the size column over time */
	double link;
	const char *limit, *formula;
};

static const char *hop_name(const struct model *model)
{
	static const char *const names[] = { [MODEL_HOP_NONE] = "no link", [MODEL_HOP_NVLINK] = "NVLink of a GPU",
		                             [MODEL_HOP_PCIE] = "PCIe between GPUs",
		                             [MODEL_HOP_SHM] = "PCIe through host memory" };

	return names[model->hop];
}

/* On a fat tree with its uplinks oversubscribed, a leaf of m nodes shares m NICs' worth divided by the factor. */
static double uplink(const struct model *model, double net, bool every_node_crosses)
{
	const struct topo_system *sys = model->sys;
	int m = sys->leaf_nodes;

	if (sys->fabric == TOPO_RAIL || model->nnodes <= m || sys->oversubscription <= 1)
		return net;
	return fmin(net, net * (every_node_crosses ? 1 : m) / sys->oversubscription);
}

/* The slower of the node's links and the network's share. */
static void pick(const struct model *model, struct rate *rate, double intra, double intra_raw, double inter,
                 double inter_raw, double nic)
{
	bool net = model->nnodes > 1 && inter < intra;

	rate->gbs = net ? inter : intra;
	rate->raw = model->nnodes > 1 ? fmin(intra_raw, inter_raw) : intra_raw;
	rate->limit = net ? "NICs of a node" : hop_name(model);
	rate->link = net ? nic : model->ring;
}

static void rate_ring(const struct model *model, enum model_coll coll, struct rate *rate)
{
	double n = model->nranks, one = INFINITY;
	double factor = coll == MODEL_ALL_REDUCE ? n / (2 * (n - 1)) : coll <= MODEL_REDUCE ? 1 : n / (n - 1);
	double net = uplink(model, model->net, false), intra = model->ppn > 1 ? model->ring : one;

	pick(model, rate, intra * factor, (model->ppn > 1 ? model->ring_raw : one) * factor, net * factor,
	     model->net_raw * factor, net);
	rate->formula = coll == MODEL_ALL_REDUCE  ? "link * n / (2 (n-1))"
	                : coll <= MODEL_REDUCE ? "link"
	                                       : "link * n / (n-1)";
}

/* Up and down a chain in the node: every GPU sends the data twice. Two nodes exchange them once; in a double binary
 * tree of more, a node with two children in one of the trees sends them twice. */
static void rate_tree(const struct model *model, struct rate *rate)
{
	double hops = model->nnodes > 2 ? 2 : 1, one = INFINITY;
	double net = uplink(model, model->net, true);

	pick(model, rate, model->ppn > 1 ? model->ring / 2 : one, model->ppn > 1 ? model->ring_raw / 2 : one, net / hops,
	     model->net_raw / hops, net);
	rate->formula = "min(node link / 2, NICs / (1 at 2 nodes, else 2))";
}

/* In-switch reduction: a GPU's link carries its whole data once and 1/n of the result. */
static void rate_nvls(const struct model *model, enum model_coll coll, bool tree, struct rate *rate)
{
	double g = model->ppn, n = model->nranks, hops = model->nnodes > 2 ? 2 : 1;
	double factor = coll == MODEL_ALL_REDUCE ? 1 / (1 + 1 / g) : 1;
	double intra = model->link_nccl * nvls[nvls_row(model)].share * factor;
	double net = uplink(model, model->net, tree);

	if (tree)
		intra = fmin(intra, g * nvls[nvls_row(model)].tree[model->nnodes > 2] * n / (2 * (n - 1)));
	else
		hops = 1; /* the network reduces too */
	pick(model, rate, intra, model->ring_raw * factor, net / hops, model->net_raw / hops, net);
	rate->formula = tree ? "min(node link * NVLS share / (1 + 1/g), NVLSTree channels, NICs / hops)"
	                     : "node link * NVLS share / (1 + 1/g)";
}

static void rate_collnet(const struct model *model, struct rate *rate)
{
	double g = model->ppn, factor = g > 1 ? g / (2 * (g - 1)) : INFINITY;
	double intra = g > 1 ? model->ring * factor : INFINITY, raw = g > 1 ? model->ring_raw * factor : INFINITY;
	double net = uplink(model, model->net, false);

	pick(model, rate, intra, raw, net, model->net_raw, net);
	rate->formula = "min(node link * g / (2 (g-1)), NICs)";
}

static void rate_algo(const struct model *model, enum model_coll coll, int algo, struct rate *rate)
{
	if (algo == MODEL_TREE)
		rate_tree(model, rate);
	else if (algo == MODEL_NVLS || algo == MODEL_NVLS_TREE)
		rate_nvls(model, coll, algo == MODEL_NVLS_TREE, rate);
	else if (algo == MODEL_COLLNET_DIRECT || algo == MODEL_COLLNET_CHAIN)
		rate_collnet(model, rate);
	else
		rate_ring(model, coll, rate);
	if (algo == MODEL_PAT)
		rate->gbs *= .75; /* tuning.cc:310 */
}

/* ---- tuned collectives ----------------------------------------------------------------------- */
static void choose(const struct model *model, const struct predict_request *request, struct prediction *out)
{
	double best = INFINITY;

	out->algo = out->proto = -1;
	for (int a = 0; a < MODEL_NCCL_ALGOS; a++)
		for (int p = 0; p < MODEL_PROTOS; p++) {
			double time;

			if ((request->algo >= 0 && request->algo != a) || (request->proto >= 0 && request->proto != p))
				continue;
			time = model_nccl_time(model, request->collective, a, p, request->bytes);
			if (time < 0 || time >= best)
				continue;
			best = time;
			out->algo = a;
			out->proto = p;
		}
	out->nccl_us = out->algo < 0 ? -1 : best;
}

/* Simple rings: NCCL's latency with our base and hop; the first slice fills the pipe, and every loop ends in a bubble. */
static void ring_simple(const struct model *model, enum model_coll coll, double bytes, struct prediction *out)
{
	const struct model_constants *c = &model->constants;
	bool loops = coll > MODEL_REDUCE;
	double share = bytes / out->channels / (loops ? model->nranks : 1);
	double slice = fmin(loops ? 2 * STEP : STEP, loops ? share / 2 : share);
	double link = out->link_gbs, hops;

	if (loops && model->hop == MODEL_HOP_NVLINK) {
		hops = (coll == MODEL_ALL_REDUCE ? 2 : 1) * (double)(model->nranks - model->nnodes);
		out->latency_us += c->simple_base_us - 8.4;
		if (model->nnodes == 1)
			out->latency_us += hops * (c->simple_hop_us - 3.4);
	}
	out->fill_us = c->fill * slice * out->channels / (link * GB);
	if (loops)
		out->fill_us += c->loop_bubble * share / 2 * out->channels / (link * GB);
}

static int running_channels(const struct model *model, const struct predict_request *request, int algo, int proto)
{
	int row = nvls_row(model), n = model->channels, threads = proto == MODEL_LL128 ? 640 : 512;
	int threshold = proto == MODEL_SIMPLE ? 64 : 8;

	if (request->channels > 0)
		return request->channels;
	if (algo == MODEL_NVLS || algo == MODEL_NVLS_TREE)
		return row == 0 ? 16 : model->nnodes > 1 ? 32 : 24;
	if (algo == MODEL_RING && proto == MODEL_LL)
		threshold *= model->nranks;
	while (n > 1 && request->bytes < (double)n * threads * threshold)
		n--;
	return n;
}

static int predict_tuned(const struct model *model, const struct predict_request *request, struct prediction *out)
{
	enum model_coll coll = request->collective;
	struct rate rate = { .gbs = 0 };
	double bw, bytes = request->bytes;

	choose(model, request, out);
	if (out->algo < 0)
		return -EINVAL;
	rate_algo(model, coll, out->algo, &rate);
	out->channels = running_channels(model, request, out->algo, out->proto);
	bw = rate.gbs;
	if (out->proto != MODEL_SIMPLE) /* what LL and LL128 add to every 8 and 120 bytes, as NCCL counts it */
		bw = fmin(bw, model->tuning.bw[coll][out->algo][out->proto]);
	if (out->algo == MODEL_TREE)
		bw *= model_tree_correction(out->proto, bytes);
	out->alg_gbs = bw;
	out->link_gbs = rate.link;
	out->limit = rate.limit;
	out->formula = rate.formula;
	out->latency_us = model->tuning.lat[coll][out->algo][out->proto];
	out->transfer_us = bytes / (bw * GB);
	if (out->algo == MODEL_RING && out->proto == MODEL_SIMPLE)
		ring_simple(model, coll, bytes, out);
	out->launch_us = model->constants.launch_us;
	out->ceiling_busbw = rate.raw * model_bus_factor(coll, model->nranks);
	return 0;
}

/* ---- groups of sends and receives ------------------------------------------------------------ */
/* NCCL takes the fewest channels that let all peers run at once, and doubles while a part is too large (enqueue.cc). */
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
	double intra, inter;         /* us of transfer inside the node and over the network */
	double intra_raw, inter_raw; /* the same for the ceiling */
	double part;                 /* bytes of one flow */
	double peers;
};

/* Every rank sends 1/n of its data to every rank. */
static void flows_spread(const struct model *model, double bytes, struct flows *flows)
{
	double n = model->nranks, g = model->ppn, each = bytes / n, away = (n - g) / n * bytes;
	double net = uplink(model, model->net, true) / g, fan;

	/* Channels of different flows are not in step: the more there are, the less idles the link they share. */
	fan = 1 - model->constants.fan_loss / sqrt(flow_channels(model, each, false));
	flows->intra = g > 1 ? each * model->spread / fan : 0;
	flows->intra_raw = g > 1 ? each * model->spread_raw : 0;
	flows->inter = away > 0 ? away / (net * GB) : 0;
	flows->inter_raw = away > 0 ? away / (model->net_raw / g * GB) : 0;
	flows->part = each;
	flows->peers = n;
}

/* One rank exchanges 1/n of the data with every other; its own links are the narrow place. */
static void flows_root(const struct model *model, double bytes, struct flows *flows)
{
	double g = model->ppn;

	flows_spread(model, bytes, flows);
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
	flows->inter = model->nnodes > 1 ? bytes / (fmin(uplink(model, model->nic, false), net) * GB) : 0;
	flows->inter_raw = model->nnodes > 1 ? bytes / (model->nic_raw * GB) : 0;
	flows->part = bytes;
	flows->peers = 1;
}

static double p2p_latency(const struct model *model)
{
	static const double hop[] = { [MODEL_HOP_NONE] = 14, [MODEL_HOP_NVLINK] = 3.4, [MODEL_HOP_PCIE] = 5.7,
		                      [MODEL_HOP_SHM] = 5.7 };

	return model->constants.p2p_base_us + (model->nnodes > 1 ? 14 : hop[model->hop]); /* NCCL's hwLat, Simple */
}

/* log2(n) groups, each an exchange of what was gathered so far with the rank 2^k away; those beyond the node's size go
 * over the network. */
static void predict_hypercube(const struct model *model, double bytes, struct prediction *out, double *raw)
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
		out->limit = net ? "NIC of a GPU" : hop_name(model);
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
static void finish_flows(const struct model *model, const struct predict_request *request, const struct flows *flows,
                         struct prediction *out)
{
	double fill = model->ppn > 1 ? last_chunk(model, flows->part, false) : 0;
	double fill_net = model->nnodes > 1 ? last_chunk(model, flows->part, true) : 0;
	bool net = flows->inter + fill_net > flows->intra + fill;

	out->transfer_us = net ? flows->inter : flows->intra;
	out->fill_us = net ? fill_net : fill;
	out->channels = request->channels > 0 ? request->channels : (int)flow_channels(model, flows->part, net);
	out->latency_us = p2p_latency(model);
	out->launch_us = model->constants.launch_p2p_us + model->constants.launch_peer_us * flows->peers;
	out->limit = net ? "NIC" : hop_name(model);
	out->formula = "larger of bytes in the node / link and bytes over the network / NIC";
	out->link_gbs = request->bytes / (out->transfer_us * GB) * model_bus_factor(request->collective, model->nranks);
}

static int predict_p2p(const struct model *model, const struct predict_request *request, struct prediction *out)
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
		else if (request->collective == MODEL_GATHER || request->collective == MODEL_SCATTER)
			flows_root(model, bytes, &flows);
		else
			flows_spread(model, bytes, &flows);
		finish_flows(model, request, &flows, out);
		raw = fmax(flows.intra_raw, flows.inter_raw);
	}
	out->alg_gbs = bytes / (out->transfer_us * GB);
	out->ceiling_busbw = bytes / (raw * GB) * model_bus_factor(request->collective, model->nranks);
	return 0;
}

/* ---- a point --------------------------------------------------------------------------------- */
int model_predict(const struct model *model, const struct predict_request *request, struct prediction *out)
{
	double device;
	int rc;

	memset(out, 0, sizeof(*out));
	if (model->nranks < 2 || !isfinite(request->bytes) || request->bytes <= 0 || request->bytes > 1e18 ||
	    (unsigned)request->collective >= MODEL_COLLS || request->channels < 0)
		return -ERANGE;
	if (model->nnodes > 1 && model->net <= 0)
		return -ERANGE;
	out->fitted = model->constants.fitted;
	rc = request->collective < MODEL_TUNED ? predict_tuned(model, request, out) : predict_p2p(model, request, out);
	if (rc != 0)
		return rc;
	device = out->latency_us + out->transfer_us + out->fill_us;
	out->time_us = fmax(out->launch_us, device);
	out->algbw = request->bytes / (out->time_us * GB);
	out->busbw = out->algbw * model_bus_factor(request->collective, model->nranks);
	return 0;
}

int predict(const struct topo_system *sys, const struct predict_request *request, struct prediction *prediction)
{
	static const struct topo_change nothing;
	struct topo_change change = nothing;
	struct topo_system copy = *sys;
	struct model_constants constants;
	struct error err = { .outcome = OUTCOME_OK };
	struct model model;
	int rc;

	change.nnodes = request->nnodes > 0 ? request->nnodes : sys->nnodes;
	if (request->nranks > 0)
		change.gpus = (request->nranks + change.nnodes - 1) / change.nnodes;
	rc = topo_reshape(&copy, &change, &err);
	if (rc == 0)
		rc = model_load_constants(&constants, NULL, &err);
	if (rc == 0)
		rc = model_init(&model, &copy, &constants, 0, request->no_nvls, &err);
	return rc != 0 ? rc : model_predict(&model, request, prediction);
}
