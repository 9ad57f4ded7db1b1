/* model_node.c: the sum of the links of a node and of its NICs. */
#include "model/model_parts.h"

/* Copy engines and NICs reach 55.4 of PCIe 5's 63 GB/s (vendor_specs.csv, pcie_measured). */
static const double DMA_SHARE = .88;

/* Payload over wire bytes. InfiniBand: 4096 + LRH, BTH, RETH/CRCs, 64b/66b gaps (82); RoCE v2:
 * Ethernet, IP and UDP on top (94), likewise EFA with 8928 + 150; Slingshot: 2048-byte packets, 94
 * + switch framing; TCP: 1448 of 1538, and one copy through host memory in each direction. */
static const double net_efficiency[TOPO_TRANSPORTS] = {
	[TOPO_IB] = 4096. / (4096 + 82),    [TOPO_ROCE] = 4096. / (4096 + 94),
	[TOPO_EFA] = 8928. / (8928 + 150),  [TOPO_SLINGSHOT] = 2048. / (2048 + 94),
	[TOPO_TCP] = 1448. / 1538 * .9,	    [TOPO_TCPX] = 4096. / (4096 + 94) * .9,
	[TOPO_TCPXO] = 4096. / (4096 + 94),
};

/* GB/s of a socket's memory: three quarters of eight channels of DDR4-3200, or of DDR5-4800 where PCIe is of generation 5; of LPDDR5X. */
static double memory_gbs(const struct topo_system *sys)
{
	return sys->grace ? 400 : sys->gpu[0].pcie_gbs > 24 ? 230 : 150;
}

/* The share of `nics` GB/s that is left without GPUDirect: bytes each way are written to host memory once and read once. Over EFA a
 * lone GPU both sends and receives so, by a quarter of its PCIe each way (3.1 GB/s of PCIe 3, 12.4 of PCIe 5, published); several
 * share that (8.8 of 12.5 GB/s). */
static double staged_share(const struct topo_system *sys, double nics)
{
	if (!sys->staged || sys->transport == TOPO_TCP)
		return 1;
	if (sys->transport == TOPO_EFA)
		return sys->ngpus > 1 ? .75 : fmin(1, sys->gpu[0].pcie_gbs / (4 * nics));
	return fmin(1, sys->ncpus * memory_gbs(sys) / (4 * nics));
}

/* GB/s that a thread of a proxy moves through the kernel, one way: a copy and TCP's own work. A
 * lone GPU's proxy both sends and receives: 2.4 GB/s of all_reduce between two namespaces
 * (results/hosts/sweeps). Threads beside it (NCCL_SOCKET_NTHREADS, or the NICs of two clouds) each
 * move as much for one way of one connection. */
static const double SOCKET_GBS = 5.2;

static double socket_gbs(const struct topo_system *sys)
{
	if (sys->transport != TOPO_TCP)
		return INFINITY;
	if (sys->socket_threads > 0)
		return SOCKET_GBS * sys->socket_threads;
	return sys->ngpus > sys->nnics ? SOCKET_GBS : SOCKET_GBS / 2;
}

/* ---- the node -------------------------------------------------------------------------------- */
/* graph/paths.cc, ncclTopoCheckP2p: without NVLink GPUs reach each other below a common PCIe switch, two of an AMD host through its
 * CPU, and before 2.23 all of it; all others through host memory. */
static bool by_host(const struct topo_system *sys, int a, int b)
{
	bool amd = sys->amd && (sys->ngpus <= 2 || (sys->nccl > 0 && sys->nccl < 22300));
	int at = sys->gpu[a].pci_switch;

	return sys->p2p == TOPO_P2P_NONE || (!amd && (at < 0 || at != sys->gpu[b].pci_switch));
}

static bool crosses_host(const struct topo_system *sys, int a, int b)
{
	return topo_pair_links(sys, a, b) == 0 && by_host(sys, a, b);
}

/* The share of PCIe that a ring gets through host memory. Each byte crosses PCIe twice, and the second crossing waits for the first: a half,
 * up to three quarters on newer chipsets. GeForce and cards of Ampere and Ada load and store across it: 1.4 to 2.6 GB/s of four
 * published hosts. A GPU that has one of its neighbours by NVLink or a switch crosses once a ring (`both` is false), and the reverse
 * ring has the other direction. NCCL counts none of this. */
static double host_share(const struct topo_system *sys, bool both)
{
	int sm = sys->gpu[0].model->sm;

	if (sys->p2p == TOPO_P2P_NONE && sm > 80 && sm < 90)
		return .1;
	return both ? .5 : 1;
}

/* GB/s between sockets. NCCL's figures (topo.h) choose paths; two sockets with PCIe 5 carried 49.7 GB/s, published. */
static double between_cpus(const struct topo_system *sys)
{
	return sys->cpu_link_gbs * (sys->gpu[0].pcie_gbs > 24 ? 2.5 : 1);
}

static void init_ring(struct model *model)
{
	const struct topo_system *sys = model->sys;
	const struct topo_gpu_model *gpu = sys->gpu[0].model;
	int links = topo_ring_links(sys);
	bool sockets = false, both = false;
	double pcie = sys->gpu[0].pcie_gbs;
	int hosts = 0;

	model->paths = topo_mesh_links(sys) > 0 ? sys->ngpus / (sys->ngpus - 1.) : 1;
	if (links > 0) {
		model->hop = MODEL_HOP_NVLINK;
		model->link_nccl = links * gpu->link_sm;
		model->ring = model->link_nccl * model->constants.nvlink_efficiency;
		if (model_arch(model) == MODEL_VOLTA)
			model->ring *= model->constants.volta_link;
		model->ring_raw = links * gpu->link_raw;
		return;
	}
	for (int i = 0; i < sys->ngpus; i++) {
		int next = (i + 1) % sys->ngpus;

		pcie = fmin(pcie, sys->gpu[i].pcie_gbs);
		sockets |= sys->gpu[i].cpu != sys->gpu[0].cpu;
		hosts += crosses_host(sys, i, next);
		both |= crosses_host(sys, i, next) &&
			crosses_host(sys, (i + sys->ngpus - 1) % sys->ngpus, i);
	}
	/* On the wire a generation carries 15.75 GB/s where NCCL counts 12 (vendor_specs.csv). */
	model->ring_raw =
		sockets ? fmin(pcie * 15.75 / 12, between_cpus(sys) * 1.25) : pcie * 15.75 / 12;
	model->link_nccl = sockets ? fmin(pcie, sys->cpu_link_gbs) : pcie;
	model->hop = sys->p2p == TOPO_P2P_NONE ? MODEL_HOP_SHM : MODEL_HOP_PCIE;
	model->through_host = (double)hosts / sys->ngpus;
	model->ring = fmin(sockets ? fmin(pcie, between_cpus(sys)) : pcie,
			   pcie * (hosts > 0 ? host_share(sys, both) : 1));
}

/* Neighbours in a send/receive chain, and all to all: the cost of a byte from each GPU to each
 * other one. */
static void init_pairs(struct model *model)
{
	const struct topo_system *sys = model->sys;
	const struct topo_gpu_model *gpu = sys->gpu[0].model;
	double raw = gpu->link_raw, sm = gpu->link_sm * model->constants.nvlink_efficiency;
	int first = 0;

	model->pair = model->pair_raw = INFINITY;
	for (int i = 0; i < sys->ngpus; i++) {
		int next = (i + 1) % sys->ngpus, links = topo_pair_links(sys, i, next), far = 0;
		double slow = 0, slow_raw = 0, pcie = sys->gpu[i].pcie_gbs, crossings = 0;

		model->pair = fmin(model->pair, links > 0 ? links * sm : fmin(model->ring, pcie));
		model->pair_raw =
			fmin(model->pair_raw, links > 0 ? links * raw : pcie * 15.75 / 12);
		for (int j = 0; j < sys->ngpus; j++) {
			int direct = sys->gpu[i].switch_links > 0 ? 0 : sys->gpu[i].links[j];

			if (i == j)
				continue;
			if (direct > 0) {
				slow = fmax(slow, 1 / (direct * sm));
				slow_raw = fmax(slow_raw, 1 / (direct * raw));
			}
			far += direct == 0;
			/* a mesh passes on by NVLink what PCIe would (NVB) */
			crossings += direct > 0						    ? 0
				     : model->hop != MODEL_HOP_NVLINK && by_host(sys, i, j) ? 2
											    : 1;
		}
		if (sys->gpu[i].switch_links > 0) {
			slow = far / (sys->gpu[i].switch_links * sm);
			slow_raw = far / (sys->gpu[i].switch_links * raw);
		} else if (far > 0) {
			slow = fmax(slow, crossings / pcie);
			slow_raw = fmax(slow_raw, far / (pcie * 15.75 / 12));
		}
		model->spread = fmax(model->spread, slow / GB);
		model->spread_raw = fmax(model->spread_raw, slow_raw / GB);
		first += sys->gpu[i].cpu == sys->gpu[0].cpu;
	}
	/* Pairs on different sockets share the link between them. */
	if (model->hop != MODEL_HOP_NVLINK && first < sys->ngpus) {
		double across = first * (sys->ngpus - first) / (between_cpus(sys) * GB);

		model->spread = fmax(model->spread, across);
		model->spread_raw = fmax(model->spread_raw, across / 1.25);
	}
}

/* NICs beside GPUs that are used, or an even share of all. */
static double nics_in_reach(const struct topo_system *sys, double fraction)
{
	int beside = 0;

	if (sys->nic[0].gpu == 0)
		return sys->nnics * fraction;
	for (int i = 0; i < sys->nnics; i++)
		beside += sys->nic[i].gpu <= sys->ngpus;
	return beside;
}

static void init_net(struct model *model)
{
	const struct topo_system *sys = model->sys;
	double all = 0, all_raw = 0, wires = 0, share;
	double fraction = (double)sys->ngpus / sys->full_gpus;
	int mine;

	if (sys->nnics == 0)
		return;
	/* A GPU reaches the NICs on its own PCIe switch; the NICs of unused GPUs stay idle, but one
	 * is always reached. */
	mine = (int)fmax(1, round(nics_in_reach(sys, fraction)));
	share = staged_share(sys, mine * sys->nic[0].gbs);
	for (int i = 0; i < sys->nnics; i++) {
		double wire = sys->nic[i].gbs * net_efficiency[sys->transport];

		wires += wire;
		all += fmin(fmin(wire * share, socket_gbs(sys)),
			    sys->nic[i].pcie_gbs * 15.75 / 12 * DMA_SHARE);
		all_raw += fmin(sys->nic[i].gbs, sys->nic[i].pcie_gbs * 15.75 / 12);
	}
	model->nics = mine < sys->nnics ? mine : sys->nnics;
	model->net = all * mine / sys->nnics;
	model->net_raw = all_raw * mine / sys->nnics;
	model->wires = wires * fmin((double)mine / sys->nnics, 1. / fmax(1, sys->groups));
	if (sys->groups > 1) {
		model->net = fmin(model->net, all / sys->groups);
		model->net_raw = fmin(model->net_raw, all_raw / sys->groups);
	}
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

void model_init(struct model *model, const struct topo_system *sys,
		const struct model_constants *constants, bool no_nvls)
{
	memset(model, 0, sizeof(*model));
	model->sys = sys;
	model->constants = *constants;
	if (sys->own.launch_us > 0 && !constants->calibrated)
		model->constants.kernel_host_us = sys->own.launch_us;
	model->ppn = sys->ngpus;
	model->nvswitch = sys->gpu[0].switch_links > 0;
	model->nvls = sys->nvls && !no_nvls && model->nvswitch && sys->gpu[0].model->sm >= 90 &&
		      sys->ngpus > 1;
	if (sys->ngpus > 1) {
		init_ring(model);
		init_pairs(model);
		model_take_pairs(model);
		model->p2p_channels =
			model->hop == MODEL_HOP_NVLINK
				? pow2_floor(2 * model->pair / sys->gpu[0].model->link_sm,
					     P2P_CHANNELS)
				: 2;
	}
	init_net(model);
	model_scale(model, sys->nnodes);
}

void model_scale(struct model *model, int nnodes)
{
	model->nnodes = nnodes;
	model->nranks = model->sys->nranks > 0 ? model->sys->nranks : nnodes * model->ppn;
	if (nnodes > 1 && model->net > 0)
		model_fabric(model);
	model_tuning_fill(model);
	/* NCCL runs twice the channels it found, at most 64. */
	model->channels = (int)fmin(64, 2 * model->tuning.search.channels);
	if (model->sys->own.sms > 0)
		model->channels = (int)fmin(model->channels, model->sys->own.sms);
}

const char *const model_hop_names[] = { [MODEL_HOP_NONE] = "no link",
					[MODEL_HOP_NVLINK] = "NVLink of a GPU",
					[MODEL_HOP_PCIE] = "PCIe between GPUs",
					[MODEL_HOP_SHM] = "PCIe through host memory" };
