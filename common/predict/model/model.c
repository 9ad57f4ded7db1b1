/* model.c: from a topology to a time: the slowest link on the way, launch, hops, and the filling of
 * the pipeline. */
#include "model/model_parts.h"

/* ---- tuned collectives ----------------------------------------------------------------------- */
static void choose(const struct model *model, const struct predict_request *request,
		   struct prediction *out)
{
	double best = INFINITY;

	out->algo = out->proto = -1;
	for (int a = 0; a < MODEL_NCCL_ALGOS; a++)
		for (int p = 0; p < MODEL_PROTOS; p++) {
			double time;

			if ((request->algo >= 0 && request->algo != a) ||
			    (request->no_nvls && (a == MODEL_NVLS || a == MODEL_NVLS_TREE)) ||
			    (request->proto >= 0 && request->proto != p))
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

/* Data run one way along the chain. Back to back, no rank waits for the end of the call before. */
static bool one_way(const struct predict_request *request)
{
	return request->collective <= MODEL_REDUCE && request->mode != MODEL_ISOLATED;
}

/* NVLinks that the first byte of a ring's loop crosses one after the other. */
static double ring_hops(const struct model *model, enum model_coll coll)
{
	return (coll == MODEL_ALL_REDUCE ? 2 : 1) * (double)(model->nranks - model->nnodes);
}

/* Simple rings: NCCL's latency with our base and hop; the first slice fills the pipe, and every
 * loop ends in a bubble. */
static void ring_simple(const struct model *model, const struct predict_request *request,
			struct prediction *out)
{
	const struct model_constants *c = &model->constants;
	enum model_coll coll = request->collective;
	double bytes = request->bytes;
	bool loops = coll > MODEL_REDUCE;
	double part = bytes / out->channels / (loops ? model->nranks : 1);
	double slice = fmin(loops ? 2 * STEP : STEP, loops ? part / 2 : part);
	double link = out->alg_gbs / model_ring_factor(coll, model->nranks, NULL);

	if (loops && model->hop == MODEL_HOP_NVLINK) {
		out->latency_us += c->simple_base_us - 8.4;
		if (model->nnodes == 1 && model_arch(model) >= MODEL_HOPPER)
			out->latency_us += ring_hops(model, coll) * (c->simple_hop_us - 3.4);
	}
	out->fill_us = c->fill * slice * out->channels / (link * GB);
	if (one_way(request)) /* the next call fills while this one drains */
		out->fill_us /= 2;
	if (!loops)
		out->fill_us += c->step_us * floor(part / STEP);
	if (loops) /* a network has eight steps under way, and half of it overlaps */
		out->fill_us += c->loop_bubble * part / (model->nnodes > 1 ? 4 : 2) *
				out->channels / (link * GB);
}

/* An NVLS call goes through stages: scatter, reduction, way up and down the tree, gather. All
 * stages but one fill and drain with a loop, in which a head of a channel takes a chunk. Chunks are
 * smaller where there would be few loops (enqueue.cc, calcCollChunking of 2.28). A stage has the
 * links to itself while the others have no loop. */
static double nvls_ramp(const struct model *model, const struct prediction *out, double bytes)
{
	bool tree = out->algo == MODEL_NVLS_TREE;
	double stages = 2 + floor(log2(model->nnodes)), heads = fmin(model->ppn, 32);
	double kib = bytes / 1024 / (out->channels * heads), loops, wait;
	double chunk = tree && model->nnodes >= 4 ? 64 : 128;

	if (kib < (tree ? 4 : 64) * chunk)
		chunk = 64;
	if (kib < (tree ? 1 : 8) * chunk)
		chunk = 32;
	if (!tree && kib < 2 * chunk)
		chunk = 16;
	loops = kib / chunk;
	wait = tree ? 0
		    : model->constants.nvls_loop_us * out->channels / 16 * fmin(1, 32 / chunk) *
			       fmax(1, loops);
	return wait + model->constants.nvls_fill * stages * (out->transfer_us + wait) /
			      fmax(1, loops) * loops / (loops + 1);
}

/* Hops over the network that follow each other. */
static double net_hops(const struct model *model, enum model_coll coll, int algo)
{
	double nodes = model->nnodes;

	if (nodes == 1)
		return 0;
	if (algo == MODEL_RING)
		return coll == MODEL_ALL_REDUCE ? 2 * (nodes - 1) : nodes - 1;
	if (algo == MODEL_TREE || algo == MODEL_NVLS_TREE)
		return 2 * floor(log2(nodes));
	return algo == MODEL_PAT ? floor(log2(nodes)) : 1;
}

static int running_channels(const struct model *model, const struct predict_request *request,
			    int algo, int proto)
{
	int n = model->channels, threads = proto == MODEL_LL128 ? 640 : 512;
	int threshold = proto == MODEL_SIMPLE ? 64 : 8;

	if (algo == MODEL_NVLS || algo == MODEL_NVLS_TREE)
		return model->sys->gpu[0].model->sm < 100 ? 16 : model->nnodes > 1 ? 32 : 24;
	if (algo == MODEL_RING && proto == MODEL_LL)
		threshold *= model->nranks;
	while (n > 1 && request->bytes < (double)n * threads * threshold)
		n--;
	return n;
}

/* us that a tree's LL chunks add to its hops over a network, which follow each other: a NIC sends what a channel has of a chunk as
 * one message, after the GPU has written it and before the next one reads it. Both go by 16 B lines, 2.5 GB/s of data (sweeps of 2
 * and 4 nodes: 1.5 to 3 us more a hop from 4 KiB a channel on, and NCCL gives it no less until all channels run). */
static double ll_chunks(const struct model *model, const struct prediction *out, double bytes)
{
	return net_hops(model, MODEL_ALL_REDUCE, MODEL_TREE) *
	       fmin(bytes / out->channels, LL_CHUNK) / (2.5 * GB);
}

/* us that a hop of a Ring LL128 takes less than NCCL's hwLat, which is that of its second plateau (tuning.cc). */
static const double LL128_PLATEAU = .4;

/* Bytes that a channel sends over the network at once, where calls are small; by LL half of them are flags. */
static double message_of(const struct model *model, const struct prediction *out, double bytes)
{
	return bytes / out->channels / (out->algo == MODEL_RING ? model->nranks : 1) *
	       (out->proto == MODEL_LL ? 2 : 1);
}

static int predict_tuned(const struct model *model, const struct predict_request *request,
			 struct prediction *out)
{
	static const enum fabric_traffic traffic[MODEL_NCCL_ALGOS] = {
		[MODEL_TREE] = FABRIC_TREE,
		[MODEL_COLLNET_DIRECT] = FABRIC_SWITCH,
		[MODEL_COLLNET_CHAIN] = FABRIC_SWITCH,
		[MODEL_NVLS] = FABRIC_SWITCH,
		[MODEL_NVLS_TREE] = FABRIC_TREE,
		[MODEL_PAT] = FABRIC_PAT,
	};
	enum model_coll coll = request->collective;
	double bytes = request->bytes, raw;
	bool ll_tree;

	choose(model, request, out);
	if (out->algo < 0)
		return -EINVAL;
	out->channels = running_channels(model, request, out->algo, out->proto);
	raw = model_rate(model, coll, out);
	ll_tree = out->algo == MODEL_TREE && out->proto == MODEL_LL && model->nnodes > 1;
	if (out->algo == MODEL_TREE && !ll_tree) /* NCCL's correction is of its chunks, too */
		out->correction = model_tree_correction(out->proto, bytes);
	out->alg_gbs = model_slowest(out) * out->correction;
	out->latency_us = model->tuning.lat[coll][out->algo][out->proto] +
			  net_hops(model, coll, out->algo) *
				  (model_net_latency(model, traffic[out->algo], out->proto) +
				   model_round_trip_us(model, message_of(model, out, bytes)));
	if (out->proto == MODEL_LL128 && out->algo == MODEL_RING && model->nnodes == 1)
		out->latency_us -= LL128_PLATEAU * ring_hops(model, coll);
	if (out->proto == MODEL_LL && out->algo == MODEL_RING)
		out->latency_us += (one_way(request) ? model->constants.one_way_base_us
						     : model->constants.ll_base_us) -
				   6.6; /* NCCL's baseLat */
	if (out->algo == MODEL_RING && !one_way(request))
		out->latency_us += ring_hops(model, coll) * model->through_host *
				   model_host_hop_us(out->proto);
	out->transfer_us = bytes / (out->alg_gbs * GB);
	if (out->algo == MODEL_RING && out->proto == MODEL_SIMPLE)
		ring_simple(model, request, out);
	if (ll_tree)
		out->fill_us = ll_chunks(model, out, bytes);
	if (out->algo == MODEL_NVLS || out->algo == MODEL_NVLS_TREE)
		out->fill_us = nvls_ramp(model, out, bytes);
	out->launch_us = model->constants.call_launches * model->constants.kernel_host_us;
	out->bus_factor = model_bus_factor(coll, model->nranks);
	out->ceiling_busbw = raw * out->bus_factor;
	return 0;
}

/* Collectives whose size is split over the ranks. */
static bool is_sliced(enum model_coll coll)
{
	return coll != MODEL_ALL_REDUCE && coll != MODEL_BROADCAST && coll != MODEL_REDUCE &&
	       coll != MODEL_SENDRECV;
}

/* ---- error bars: how far measurements lay from predictions ------------------------------------ */
static const char *network_class(const struct model *model)
{
	static const char *const by_transport[TOPO_TRANSPORTS] = {
		[TOPO_EFA] = "network-efa",   [TOPO_SLINGSHOT] = "network-slingshot",
		[TOPO_TCP] = "network-tcp",   [TOPO_TCPX] = "network-tcp",
		[TOPO_TCPXO] = "network-tcp",
	};
	const char *name = by_transport[model->sys->transport];

	if (model->sys->oversubscription > 1)
		return "network-uplinks";
	if (name != NULL)
		return name;
	if (model->ppn > 1 && model->hop != MODEL_HOP_NVLINK)
		return "network-pcie";
	return model_arch(model) == MODEL_HOPPER ? "network-hopper" : "network-other";
}

const char *model_class(const struct model *model, int algo)
{
	enum model_arch arch = model_arch(model);
	bool live = model->constants.calibrated;

	if (topo_is_host(model->sys))
		return model->nnodes > 1 || model->nranks > 16 ? "hosts" : "host";
	if (model->sys->own.name[0] != '\0')
		return "own-gpu";
	if (model->hop == MODEL_HOP_NVLINK && model->ppn > 16)
		return "rack";
	if (model->hop == MODEL_HOP_SHM && model->ppn > 1 && model->sys->gpu[0].model->sm > 80 &&
	    arch < MODEL_HOPPER)
		return "node-geforce"; /* from loads across PCIe to copies by its engines */
	if (model->hop == MODEL_HOP_SHM && model->ppn > 1)
		return "node-shm"; /* its mechanisms differ more than networks do */
	if (model->nnodes > 1)
		return network_class(model);
	if (model->hop != MODEL_HOP_NVLINK)
		return "node-pcie";
	if (algo == MODEL_NVLS)
		return "node-nvls";
	if (arch == MODEL_HOPPER && model->nranks == 2)
		return live ? "two-hopper-live" : "two-hopper";
	if (arch == MODEL_HOPPER)
		return live ? "node-hopper-live" : "node-hopper";
	return arch == MODEL_BLACKWELL ? "node-blackwell" : "node-older";
}

/* The error bar of a prediction, once its bus bandwidth is known. Large calls of like clusters differ by a
 * tenth over two nodes, and by a sixth over more (issue 35). */
static const struct model_bar *find_bar(const struct model *model, int algo, int sizes)
{
	const char *name = model_class(model, algo);

	for (int i = 0; i < model->constants.nbars; i++) {
		const struct model_bar *bar = &model->constants.bar[i];

		if (bar->sizes == sizes && strcmp(bar->name, name) == 0)
			return bar;
	}
	return NULL;
}

double model_floor(const struct model *model, const struct prediction *prediction, double bytes,
		   const struct model_bar **bar)
{
	*bar = find_bar(model, prediction->algo, 2);
	if (bytes < MODEL_FLOOR_FROM || *bar == NULL || (*bar)->sweeps < MODEL_FLOOR_SWEEPS)
		return NAN;
	return prediction->busbw * (*bar)->floor;
}

static void set_bar(const struct model *model, const struct predict_request *request,
		    struct prediction *out)
{
	int sizes = request->bytes < 1 << 20 ? 0 : request->bytes <= 64 << 20 ? 1 : 2;
	double least = model->nnodes == 1 ? 1 : model->nnodes == 2 ? .9 : .84;
	const struct model_bar *found = find_bar(model, out->algo, sizes);

	out->bar = found ? found : out->bar; /* a host has its own */
	out->low_busbw = out->bar != NULL ? out->busbw * fmin(least, out->bar->low) : NAN;
	out->high_busbw = out->bar != NULL ? out->busbw * out->bar->high : NAN;
}

/* A call of a host of GB200 takes 16 to 30 us. */
static const double GRACE_LAUNCH = 2.2;

/* Before 2.9 a process with several GPUs launches on all at once, when all are idle (NCCL_LAUNCH_MODE GROUP, init.cc): half of
 * what launches in turn cost, and as much again for all channels (the sweeps of eight V100, and of eight A100). */
static double at_once(const struct model *model, const struct prediction *out)
{
	double channels = out->algo == MODEL_P2P ? 1 : out->channels / (double)model->channels;

	return out->launch_us * (1 + channels) / 2 + out->latency_us + out->transfer_us +
	       out->fill_us;
}

/* ---- a point --------------------------------------------------------------------------------- */
static double time_of(const struct model_constants *c, enum model_mode mode,
		      const struct prediction *p)
{
	double device = p->latency_us + p->transfer_us + p->fill_us;

	switch (mode) {
	case MODEL_GRAPH:
		return device;
	case MODEL_ISOLATED:
		return c->kernel_latency_us + fmax(0, p->launch_us - c->kernel_host_us) +
		       fmax(0, device - c->kernel_device_us);
	default:
		return fmax(p->launch_us, device);
	}
}

static int predict_plain(const struct model *model, const struct predict_request *request,
			 struct prediction *out)
{
	int rc;

	memset(out, 0, sizeof(*out));
	out->by_rows = 1;
	if (model->nranks < 2 || !isfinite(request->bytes) || request->bytes <= 0 ||
	    request->bytes > 1e18 || (unsigned)request->collective >= MODEL_COLLS)
		return -ERANGE;
	if (model->nnodes > 1 && model->net <= 0)
		return -ERANGE;
	if (is_sliced(request->collective) &&
	    request->bytes < (double)request->elsize * model->nranks)
		return -ERANGE;
	out->fitted = model->constants.fitted;
	out->correction = 1;
	if (topo_is_host(model->sys)) {
		rc = model_predict_host(model, request, out);
		set_bar(model, request, out);
		return rc;
	}
	rc = request->collective < MODEL_TUNED ? predict_tuned(model, request, out)
					       : model_predict_p2p(model, request, out);
	if (rc != 0)
		return rc;
	if (request->process_gpus > 1)
		out->launch_us *= request->process_gpus * model->constants.grouped;
	if (model->sys->grace && model_arch(model) >= MODEL_BLACKWELL &&
	    !model->constants.calibrated)
		out->launch_us *= GRACE_LAUNCH;
	out->time_us = time_of(&model->constants, request->mode, out);
	if (request->process_gpus > 1 && request->mode == MODEL_STREAM && model->sys->nccl > 0 &&
	    model->sys->nccl < 20900)
		out->time_us = at_once(model, out);
	out->algbw = request->bytes / (out->time_us * GB);
	out->busbw = out->algbw * out->bus_factor;
	set_bar(model, request, out);
	return 0;
}

int model_predict(const struct model *model, const struct predict_request *request,
		  struct prediction *out)
{
	int rc = predict_plain(model, request, out);

	if (rc != 0 || (out->by_rows = model_rows_factor(model->rows, request)) == 1)
		return rc;
	out->time_us *= out->by_rows;
	out->algbw /= out->by_rows;
	out->busbw /= out->by_rows;
	out->low_busbw /= out->by_rows;
	out->high_busbw /= out->by_rows;
	return 0;
}

/* ---- names, bus factors ---------------------------------------------------------------------- */
const char *const model_coll_names[MODEL_COLLS] = { "broadcast",      "reduce",	    "all_gather",
						    "reduce_scatter", "all_reduce", "alltoall",
						    "alltoallv",      "gather",	    "scatter",
						    "sendrecv",	      "hypercube" };

const char *const model_algo_names[MODEL_ALGOS] = { "Tree",	    "Ring", "CollNetDirect",
						    "CollNetChain", "NVLS", "NVLSTree",
						    "PAT",	    "P2P" };

const char *const model_proto_names[MODEL_PROTOS] = { "LL", "LL128", "Simple" };

int model_find(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcasecmp(names[i], name) == 0)
			return i;
	return -1;
}

/* As nccl-tests reports it (NCCL.md, "Bus bandwidth"). */
double model_bus_factor(enum model_coll coll, int nranks)
{
	double n = nranks;

	if (coll == MODEL_ALL_REDUCE)
		return 2 * (n - 1) / n;
	return is_sliced(coll) ? (n - 1) / n : 1;
}
