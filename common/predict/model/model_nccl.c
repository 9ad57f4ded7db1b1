/* model_nccl.c: NCCL 2.28's tuning model as it is: its choice of algorithm and protocol, and its
 * own estimate. Tables and formulas are those of src/graph/tuning.cc, search.cc and enqueue.cc.
 * NCCL.md has them in words, with the differences of older versions. */
#include "model/model_parts.h"

enum { NOW = 22809 };

static const double base_lat[MODEL_NCCL_ALGOS][MODEL_PROTOS] = {
	[MODEL_TREE] = { 6.8, 14, 8.4 },
	[MODEL_RING] = { 6.6, 14, 8.4 },
	[MODEL_PAT] = { 8, 8, 8 },
};

enum hw { HW_NVLINK, HW_PCI, HW_NET, HWS };
static const double hw_lat[HWS][MODEL_NCCL_ALGOS][MODEL_PROTOS] = {
	[HW_NVLINK] = { { .6, 1.25, 4.0 },
			{ .6, 1.9, 3.4 },
			{ 0, 0, 3.7 },
			{ 0, 0, 2.8 },
			{ 0, 0, 25 },
			{ 0, 0, 25 },
			{ 0, 0, 4 } },
	[HW_PCI] = { { 1, 1.9, 4.0 },
		     { 1, 2.5, 5.7 },
		     { 0, 0, 3.7 },
		     { 0, 0, 2.8 },
		     { 0 },
		     { 0 },
		     { 0, 0, 4 } },
	[HW_NET] = { { 5, 8.5, 14 },
		     { 2.7, 4, 14 },
		     { 0, 0, 31 },
		     { 0, 0, 30 },
		     { 0, 0, 18 },
		     { 0, 0, 20.9 },
		     { 0, 0, 14 } },
};

/* By number of nodes: 1, 2, more. */
static const double ll_max[MODEL_ARCHS][3] = {
	{ 39, 39, 20.4 }, { 87.7, 22.5, 19 }, { 141, 45, 35 }, { 282, 90, 70 }
};
static const double ring_ll128_max[MODEL_ARCHS][3] = {
	{ 20, 20, 20 }, { 20, 20, 20 }, { 36.7, 36.7, 36.7 }, { 73.4, 34.6, 73.4 }
};
static const double tree_ll128_max[MODEL_ARCHS][3] = {
	{ 20, 20, 20 }, { 20, 20, 20 }, { 36.7, 36.7, 29 }, { 55.6, 31.67, 20 }
};
static const double tree_max[MODEL_ARCHS][3] = {
	{ 26.5, 18.5, 10 }, { 24, 23.6, 17.8 }, { 38.7, 41.4, 36 }, { 70, 42.8, 24 }
};
static const double nvls_tree_max[MODEL_ARCHS][3] = {
	{ 26.5, 18.5, 10 }, { 24, 23.6, 17.8 }, { 0, 57.7, 45.5 }, { 0, 96, 80 }
}; /* Blackwell, more than two: 2.30's value */
static const double nvls_efficiency[MODEL_ARCHS] = { 0, 0, .85, .74 };

static const float tree_correction[MODEL_PROTOS][23] = {
	{ 1,   1,   1,	 1,   .9f, .8f, .7f, .7f, .7f, .7f, .6f, .5f,
	  .4f, .4f, .5f, .6f, .7f, .8f, .9f, 1,	  1,   1,   1 },
	{ 1,   1,   1,	 1,   1,   .9f, .8f, .8f, .8f, .7f, .6f, .6f,
	  .6f, .6f, .6f, .6f, .8f, .9f, .9f, .9f, .9f, 1,   1 },
	{ .9f, .9f, .9f, .9f, .9f, .9f, .9f, .8f, .7f, .6f, .6f, .5f,
	  .5f, .5f, .5f, .6f, .7f, .8f, .7f, .7f, .8f, .9f, .9f },
};

static double base_of(int version, int algo, int proto)
{
	return version < 22300 && algo == MODEL_TREE && proto == MODEL_SIMPLE
		       ? 0
		       : base_lat[algo][proto];
}

static double hop_of(int version, enum hw hw, int algo, int proto)
{
	if (version < 22800 && hw == HW_NET && algo == MODEL_NVLS_TREE)
		return 14;
	/* 2.18.3 to 2.18.6 had today's figures already, but for PCIe. */
	if (version < 22300 && algo == MODEL_TREE && proto == MODEL_SIMPLE &&
	    !(version >= 21803 && version < 21900))
		return 28;
	return hw_lat[hw][algo][proto];
}

/* GB/s of a channel that the search tries, in a node and between nodes. */
enum { SPEEDS = 20 };
static const double speeds_intra[MODEL_ARCHS][SPEEDS] = {
	[MODEL_VOLTA... MODEL_AMPERE] = { 40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3 },
	[MODEL_HOPPER] = { 60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3 },
	[MODEL_BLACKWELL] = { 90, 80, 70, 60, 50, 40, 30, 24, 20, 19, 18 },
};
static const double speeds_inter[MODEL_ARCHS][SPEEDS] = {
	[MODEL_VOLTA... MODEL_AMPERE] = { 48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4,
					  1.2, .24, .12 },
	[MODEL_HOPPER] = { 48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, .24, .12 },
	[MODEL_BLACKWELL] = { 96, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2,
			      .24, .12 },
};

enum model_arch model_arch(const struct model *model)
{
	int sm = model->sys->gpu[0].model->sm;

	return sm >= 100  ? MODEL_BLACKWELL
	       : sm >= 90 ? MODEL_HOPPER
	       : sm >= 80 ? MODEL_AMPERE
			  : MODEL_VOLTA;
}

static enum hw hw_intra(const struct model *model)
{
	return model->hop == MODEL_HOP_NVLINK ? HW_NVLINK : HW_PCI;
}

static double largest(const double *speeds, double limit)
{
	for (; *speeds > 0; speeds++)
		if (*speeds <= limit)
			return *speeds;
	return 0.1; /* NCCL's last resort */
}

/* Channels of a speed: as many as the GPU's links carry and, over the network, as the NICs carry.
 * Most bandwidth wins, the faster channels when equal. NCCL stops once a speed falls below half of
 * the best. */
static void search_channels(const struct model *model, struct model_search *search)
{
	const struct topo_nic *first = model->sys->nic;
	double nic = fmin(first->gbs, first->pcie_gbs); /* NCCL takes the slower of the way */
	double link = model->ppn > 1 ? model->link_nccl : 1e9, best = 0;
	int most = model->hop == MODEL_HOP_NVLINK || model->ppn == 1 ? 32 : 1;

	for (const double *s = search->speeds; *s > 0; s++) {
		int n = (int)fmin(most, floor(link / *s + 1e-9));

		if (model->nnodes > 1)
			n = (int)fmin(n, model->nics * floor(nic / *s + 1e-9));
		if (n * *s > best) {
			best = n * *s;
			search->channels = n;
			search->intra = search->inter = *s;
		}
		if (search->channels > 0 && s[1] / search->intra <= .49)
			break;
	}
	if (search->channels == 0) {
		search->channels = 1;
		search->intra = search->inter = fmin(link, model->nnodes > 1 ? model->net : link);
	}
	search->nics = search->channels;
	search->tree_intra = search->tree_inter = search->intra;
	if (model->nnodes > 1 && model->ppn > 1)
		search->tree_intra =
			fmax(search->intra, largest(search->speeds, fmin(2 * search->inter,
									 link / search->channels)));
	/* search.cc, ncclTopoDupChannels: from Hopper on, few or very fast channels alone. */
	if (search->intra >= 25 && search->channels <= 16 &&
	    (search->arch < MODEL_HOPPER || search->intra >= 50 || search->channels <= 4)) {
		search->channels *= 2;
		search->intra /= 2;
		search->inter /= 2;
		search->tree_intra /= 2;
		search->tree_inter /= 2;
	}
}

/* GPUs that a switch reduces for: NCCL_MAX_NVLS_ARITY is 32 (device.h). */
static int heads(const struct model *model)
{
	return model->ppn < 32 ? model->ppn : 32;
}

static void search_nvls(const struct model *model, struct model_search *search)
{
	const double *intra = speeds_intra[search->arch];

	if (!model->nvls)
		return;
	search->nvls_intra = largest(intra, model->link_nccl / (heads(model) + 1));
	search->nvls_inter = fmin(2 * search->nvls_intra, intra[0]);
	if (model->nnodes > 1)
		search->nvls_inter = largest(search->speeds, model->net_raw / heads(model));
}

static void search_all(const struct model *model, struct model_search *search)
{
	memset(search, 0, sizeof(*search));
	search->arch = model_arch(model);
	search->nodes_index = model->nnodes > 2 ? 2 : model->nnodes - 1;
	search->speeds = (model->nnodes > 1 ? speeds_inter : speeds_intra)[search->arch];
	search_channels(model, search);
	search_nvls(model, search);
}

static int ring_steps(enum model_coll coll, int n)
{
	return coll == MODEL_ALL_REDUCE ? 2 * (n - 1) : coll <= MODEL_REDUCE ? n : n - 1;
}

static int version_of(const struct model *model)
{
	return model->sys->nccl > 0 ? model->sys->nccl : NOW;
}

const char *model_refusal(const struct model *model, enum model_coll coll, int algo, int proto)
{
	bool sums = coll == MODEL_ALL_REDUCE, several = model->nnodes > 1;
	bool sharp = model->sys->sharp && several, sends = algo == MODEL_P2P;
	bool collnet = algo == MODEL_COLLNET_DIRECT || algo == MODEL_COLLNET_CHAIN;
	bool trees = algo == MODEL_NVLS_TREE, nvls = algo == MODEL_NVLS, pat = algo == MODEL_PAT;
	int sm = model->sys->gpu[0].model->sm, version = version_of(model);
	bool wired = sm >= 70 && (sm % 10 == 0 || version >= 22700) &&
		     (model->ppn == 1 || model->hop == MODEL_HOP_NVLINK);
	bool at_cpu = model->sys->staged || (model->sys->gpu[0].pci_switch < 0 &&
					     (!model->sys->grace || version < 22700));
	const struct {
		bool lacking;
		const char *why;
	} rules[] = {
		{ model->nranks < 2, "there are fewer than two ranks" },
		{ topo_is_host(model->sys),
		  "of measured processes neither algorithm nor nodes are a choice" },
		{ coll >= MODEL_TUNED && !sends, "it is a group of sends, P2P alone" },
		{ coll < MODEL_TUNED && sends, "it is no group of sends" },
		{ sends && proto == MODEL_LL128, "sends have no LL128" },
		{ proto != MODEL_SIMPLE && (collnet || trees || nvls || pat),
		  "it has Simple alone" },
		{ proto == MODEL_LL128 && !wired, "LL128 needs sm 70 and NVLink" },
		{ proto == MODEL_LL128 && several && at_cpu,
		  "LL128 over the network needs GPUDirect by a NIC below the GPU's PCIe switch, "
		  "or, "
		  "from 2.27 on, C2C" },
		{ !sums && (algo == MODEL_TREE || collnet || trees), "it is for all_reduce" },
		{ collnet && !sharp, "CollNet needs several nodes and --sharp" },
		{ algo == MODEL_COLLNET_DIRECT && !model->nvswitch, "it needs an NVSwitch" },
		{ nvls && coll <= MODEL_REDUCE,
		  "it is for all_reduce, all_gather, reduce_scatter" },
		{ (nvls || trees) && !model->nvls && model->sys->nvls && model->ppn > 1,
		  "NVLS is switched off" },
		{ (nvls || trees) && !model->nvls, "it needs an NVSwitch that reduces (sm 90)" },
		{ nvls && several && !(sharp && sums), "several nodes: all_reduce with --sharp" },
		{ trees && !several, "it needs several nodes" },
		{ pat && coll != MODEL_ALL_GATHER && coll != MODEL_REDUCE_SCATTER,
		  "it is for all_gather and reduce_scatter" },
		{ pat && (model->ppn > 1 || !several),
		  "it needs several nodes of one GPU (--gpus 1)" },
		{ several && !sends && model->sys->transport == TOPO_TCPXO &&
			  (nvls || trees || proto == MODEL_LL),
		  "GPUDirect-TCPXO runs with NCCL_ALGO=Ring,Tree, NCCL_PROTO=Simple,LL128 and "
		  "without NVLS (its own settings)" },
		{ several && !sends && model->sys->transport == TOPO_TCPX &&
			  !(algo == MODEL_RING && proto == MODEL_SIMPLE),
		  "GPUDirect-TCPX runs with NCCL_ALGO=Ring and NCCL_PROTO=Simple (its own "
		  "settings)" },
		{ several && model->sys->transport == TOPO_EFA && model_old_efa(model) &&
			  proto != MODEL_SIMPLE,
		  "the plugin of EFA sets NCCL_PROTO=Simple without GPUDirect, and for NICs "
		  "that do not keep the order of bytes (to P4d)" },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].lacking)
			return rules[i].why;
	return NULL;
}

/* A bandwidth a channel, the number of channels, NCCL's fraction of that, and the way from bus to
 * algorithm bandwidth. */
struct bus {
	double channels, factor;
	const char *what;
	struct prediction *out;
};

static void bus_term(const struct bus *bus, const char *limit, const char *what, double base,
		     double fraction, const char *why)
{
	model_term(bus->out, limit, what, base);
	model_times(bus->out, bus->channels, "channels");
	model_times(bus->out, fraction, why);
	model_times(bus->out, bus->factor, bus->what);
}

static void ll128_most(const struct bus *bus, double gbs)
{
	bus_term(bus, "channels", "NCCL's most for a channel of LL128", gbs, 1, "");
}

static void ll_most(const struct model *model, int version, const struct bus *bus)
{
	const struct model_search *search = &model->tuning.search;
	int row = model->nnodes == 1 ? search->arch : model->sys->amd ? 1 : 0;

	if (version > 0 && version < 22100 && row > MODEL_AMPERE)
		row = MODEL_AMPERE;

	model_term(bus->out, "protocol LL", "NCCL's most for LL here",
		   ll_max[row][search->nodes_index]);
	model_times(bus->out, bus->factor, bus->what);
}

/* Threads of LL move each part of the data that a rank receives, sends, or reduces: 2n-1 of n for
 * all_reduce, n of n else. Two H200 (results/prediction) move 1.24 times NCCL's most. */
static void ll_parts(const struct model *model, enum model_coll coll, struct prediction *out)
{
	double n = model->nranks;

	model_term(out, "protocol LL", "what threads of LL move, 1.24 times NCCL's most",
		   1.24 * ll_max[model->tuning.search.arch][0]);
	model_times(out, coll == MODEL_ALL_REDUCE ? n / (2 * n - 1) : 1, "n / (2n-1)");
}

/* tuning.cc:284-323 of NVLS and NVLSTree: heads instead of channels. */
static void nvls_terms(const struct model *model, enum model_coll coll, int algo, struct bus *bus)
{
	const struct model_search *search = &model->tuning.search;
	double ppn = model->ppn, n = heads(model), both = coll == MODEL_ALL_REDUCE;
	bool tree = algo == MODEL_NVLS_TREE;

	bus->channels = n;
	bus_term(bus, "channels", "an NVLS head in the node", search->nvls_intra,
		 nvls_efficiency[search->arch] * (n - 1) / n * (both ? 2 : (ppn - 1) / ppn),
		 both ? "NVLS share * (heads-1) / heads * 2"
		      : "NVLS share * (heads-1) / heads * (g-1) / g");
	bus_term(bus, "channels", "an NVLS head over the network", search->nvls_inter,
		 model->nnodes <= 2 && tree ? 2 : 1, "both ways");
	if (tree)
		bus_term(bus, "channels", "NCCL's most for an NVLSTree head",
			 nvls_tree_max[search->arch][search->nodes_index], 1, "");
}

/* tuning.cc:284-323 of Tree. */
static void tree_terms(const struct model *model, int version, int proto, const struct bus *bus)
{
	const struct model_search *search = &model->tuning.search;
	int a = search->arch, i = search->nodes_index;
	double channel = model->nnodes <= 2 ? search->tree_intra : search->tree_inter;
	double fraction = proto == MODEL_LL	  ? 1 / 3.8
			  : proto == MODEL_SIMPLE ? 1
			  : model->nnodes == 1	  ? 7. / 9
						  : 120. / 128;
	const char *names[] = { "protocol LL", "protocol LL128", "channels" };
	const char *why[] = { "0.92 of Tree, 1 / 3.8 of LL", "0.92 of Tree, LL128's share",
			      "0.92 of Tree" };
	double tree = version == 0 && proto == MODEL_SIMPLE
			      ? 1
			      : .92; /* two nodes of eight A100 reach all */

	bus_term(bus, names[proto], "a channel of NCCL's search", channel, tree * fraction,
		 why[proto]);
	bus_term(bus, "channels", "NCCL's most for a channel of Tree", tree_max[a][i], fraction,
		 proto == MODEL_LL ? "1 / 3.8 of LL" : "LL128's share");
	if (proto == MODEL_LL)
		ll_most(model, version, bus);
	if (proto == MODEL_LL128)
		ll128_most(bus, tree_ll128_max[a][i]);
}

/* tuning.cc:284-323. */
void model_nccl_terms(const struct model *model, int version, enum model_coll coll, int algo,
		      int proto, struct prediction *out)
{
	const struct model_search *search = &model->tuning.search;
	int a = search->arch, i = search->nodes_index;
	double channel = model->nnodes <= 2 ? search->intra : search->inter;
	bool nvls = algo == MODEL_NVLS || algo == MODEL_NVLS_TREE, ring = algo == MODEL_RING;
	struct bus bus = { search->channels, 1, "", out };
	double flags =
		version > 0 && version < 22100
			? (model->nnodes > 1 || coll == MODEL_ALL_REDUCE || coll == MODEL_REDUCE
				   ? .25
				   : 1. / 3)
			: .5;
	static const char own[] = "a channel of NCCL's search";

	if (ring || (nvls && coll == MODEL_ALL_REDUCE)) {
		bus.factor = (double)model->nranks / ring_steps(coll, model->nranks);
		model_ring_factor(coll, model->nranks, &bus.what);
	} else if (coll == MODEL_ALL_REDUCE) {
		bus.factor = .5;
		bus.what = "1/2: up and down";
	}
	if (nvls) {
		nvls_terms(model, coll, algo, &bus);
	} else if (algo == MODEL_TREE) {
		tree_terms(model, version, proto, &bus);
	} else if (ring && proto == MODEL_LL) {
		bus_term(&bus, "protocol LL", own, channel, flags, "LL: half are flags");
		ll_most(model, version, &bus);
		if (version == 0 && model->nnodes == 1 && coll > MODEL_REDUCE)
			ll_parts(model, coll, out);
	} else if (ring && proto == MODEL_LL128) {
		bus_term(&bus, "protocol LL128", own, channel, .92, "LL128's share");
		ll128_most(&bus, ring_ll128_max[a][i]);
	} else {
		bus_term(&bus, "channels", own, channel,
			 algo == MODEL_PAT				     ? .75
			 : algo == MODEL_COLLNET_DIRECT && a >= MODEL_HOPPER ? .85
									     : 1,
			 "NCCL's share for this algorithm");
	}
}

double model_hop_us(const struct model *model, bool net, int proto)
{
	return hw_lat[net ? HW_NET : hw_intra(model)][MODEL_RING][proto];
}

/* tuning.cc:353-398. */
static double latency(const struct model *model, int version, double announced,
		      enum model_coll coll, int algo, int proto)
{
	int n = model->nranks, nnodes = model->nnodes, ppn = model->ppn;
	double intra = hop_of(version, hw_intra(model), algo, proto);
	double inter = hop_of(version, HW_NET, ppn == 1 ? MODEL_TREE : algo, proto) +
		       announced * (proto == MODEL_SIMPLE ? 2 : 1);
	double lat = base_of(version, algo, proto), overhead, rounds = floor(log2(nnodes));
	int net_steps = nnodes == 1 ? 0 : coll == MODEL_ALL_REDUCE ? 2 * (nnodes - 1) : nnodes - 1;

	switch (algo) {
	case MODEL_RING:
		if (coll <= MODEL_REDUCE)
			return lat + (nnodes > 1 ? announced : 0) +
			       model_hop_us(model, nnodes > 1, proto);
		overhead = nnodes > 1 ? (model->sys->amd ? 2 : 1) * (proto == MODEL_SIMPLE ? 3 : 1)
				      : 0;
		return lat + (ring_steps(coll, n) - net_steps) * fmax(intra, overhead) +
		       net_steps * inter;
	case MODEL_TREE:
		return lat + 2 * ((ppn - 1) * intra + rounds * inter);
	case MODEL_COLLNET_DIRECT:
		return lat + 2 * ((ppn > 1) * intra + (ppn - 1) * .4) + inter;
	case MODEL_COLLNET_CHAIN:
		return lat + 2 * (ppn - 1) * intra + inter;
	case MODEL_NVLS:
		return intra + (nnodes > 1 ? inter : 0);
	case MODEL_NVLS_TREE:
		return lat + intra + 2 * rounds * inter;
	default:
		return lat + rounds * inter / 3.5 + 2.8 * n;
	}
}

static void fill(struct model *model, int version, double announced, struct model_tuning *tuning)
{
	struct prediction terms;

	for (int c = 0; c < MODEL_TUNED; c++)
		for (int a = 0; a < MODEL_NCCL_ALGOS; a++)
			for (int p = 0; p < MODEL_PROTOS; p++) {
				enum model_coll coll = (enum model_coll)c;

				if (model_refusal(model, coll, a, p) != NULL)
					continue;
				terms.nterms = 0;
				model_nccl_terms(model, version, coll, a, p, &terms);
				tuning->bw[c][a][p] = model_slowest(&terms);
				tuning->lat[c][a][p] =
					latency(model, version, announced, coll, a, p);
			}
}

void model_tuning_fill(struct model *model)
{
	memset(&model->tuning, 0, sizeof(model->tuning));
	memset(&model->choice, 0, sizeof(model->choice));
	if (model->nranks < 2)
		return;
	search_all(model, &model->tuning.search);
	fill(model, NOW, 0, &model->tuning);
	fill(model, version_of(model), model_announced_latency(model), &model->choice);
}

double model_tree_correction(int proto, double bytes)
{
	int index = bytes < 64 ? 0 : (int)floor(log2(bytes / 64));

	return index > 22 ? 1 : tree_correction[proto][index];
}

/* Microseconds, or -1 where NCCL would not take it. tuning.cc:578-601. */
double model_nccl_time(const struct model *model, enum model_coll coll, int algo, int proto,
		       double bytes)
{
	double bw = model->choice.bw[coll][algo][proto], lat = model->choice.lat[coll][algo][proto];

	if (bw <= 0)
		return -1;
	if (algo == MODEL_TREE)
		bw *= model_tree_correction(proto, bytes);
	if (algo == MODEL_RING && coll == MODEL_ALL_REDUCE && proto == MODEL_SIMPLE &&
	    model->nnodes > 1 && bytes / (model->channels * (double)model->nranks) >= 64)
		lat *= model->sys->gpu[0].model->sm < 80 ? 1.9 : 1.4;
	return lat + bytes / (1000 * bw);
}
