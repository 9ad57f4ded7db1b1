/* model_constants.c: the physical constants with their sources, and the reader of the fitted ones.
 */
#include "model/model_parts.h"

#include <jansson.h>

#include "backend/nccl/kernel_cost.h"

/* One row per constant. Physical values are what one would write down before any measurement. */
static const struct {
	const char *name;
	size_t at;
	double physical, min, most;
	const char *source;
} constants_table[] = {
#define AT(field)	offsetof(struct model_constants, field)
#define CONSTANT(field) #field, AT(field)
	{ CONSTANT(nvlink_efficiency), 1.0, .3, 1.2,
	  "NCCL's SMxx_NVLINK_BW already is what kernels get (topo.h)" },
	{ CONSTANT(loop_bubble), .5, 0, 4,
	  "a loop's last slice overlaps with nothing; half of it by the next loop" },
	{ CONSTANT(fill), 1.0, 0, 4, "the first slice moves alone" },
	{ CONSTANT(step_us), 0, 0, 10, "eight steps are under way: none waits" },
	{ CONSTANT(channel_gbs), 20.0, 1, 200,
	  "NCCL's perChMaxRingLL128 of Ampere: one channel, 20 GB/s" },
	{ CONSTANT(fan_loss), 0, 0, .9, "flows share a link without loss" },
	{ CONSTANT(simple_base_us), 8.4, 0, 100, "NCCL baseLat, Ring Simple" },
	{ CONSTANT(simple_hop_us), 3.4, 0, 50, "NCCL hwLat, NVLink Ring Simple" },
	{ CONSTANT(p2p_base_us), 8.4, 0, 100,
	  "NCCL baseLat, Ring Simple: a group of sends is one such kernel" },
	{ CONSTANT(ll_base_us), 6.6, 0, 100, "NCCL baseLat, Ring LL" },
	{ CONSTANT(one_way_base_us), 6.6, 0, 100, "the same" },
	{ CONSTANT(kernel_host_us), 3.0, .2, 200, "a kernel launch through the runtime" },
	{ CONSTANT(kernel_device_us), 2.0, .2, 200, "start and end of a grid" },
	{ CONSTANT(kernel_latency_us), 8.0, .2, 500,
	  "launch, doorbell, grid, completion seen by the host" },
	{ CONSTANT(call_launches), 2.3, 1, 20, "the launch, and NCCL's planning (4 us)" },
	{ CONSTANT(p2p_launches), 2.3, 1, 20, "the same" },
	{ CONSTANT(peer_launches), .07, 0, 5, "a task of a group, about 200 ns of host work" },
	{ CONSTANT(grouped), .5, .1, 1, "planning is done once for a group" },
	{ CONSTANT(nvls_fill), 1, 0, 4, "a loop in each stage that nothing overlaps" },
	{ CONSTANT(nvls_net), 1, .3, 1, "NICs carry what they carry for rings" },
	{ CONSTANT(volta_link), 1, .8, 1.25, "NCCL's SM70_NVLINK_BW" },
	{ CONSTANT(nvls_loop_us), 4, 0, 20,
	  "NCCL hwLat, NVLink Tree Simple: a loop waits for all GPUs" },
	{ CONSTANT(p2p_simple_us), 0, 0, 20, "NCCL hwLat, NVLink Ring Simple, holds it" },
	{ CONSTANT(p2p_fill), 1.0, 0, 4, "the last chunk is copied alone" },
	{ CONSTANT(ib_hop_us), 0, 0, 50, "NCCL hwLat, network" },
	{ CONSTANT(roce_hop_us), 0, 0, 50, "InfiniBand's" },
};

enum { NCONSTANTS = sizeof(constants_table) / sizeof(constants_table[0]) };

/* us that a hop takes beyond NCCL's hwLat. EFA: what the plugin's own tuner counts (aws-ofi-nccl,
 * TUNER_NET_LATENCY). TCP: 12 of two passes through the kernel, a message that tells a size before each, and
 * polling proxies (two hosts on one GPU, results/hosts/sweeps: all_reduce of 512 B takes 41 to 50 us), 25 of a data centre's network. Argued: Slingshot, by libfabric as EFA, without its
 * reordering; TCPXO, offloaded, as EFA. TCPX: all_gather takes .95 ms and all_reduce 1.7 ms up
 * to 16 MiB on two nodes, in three published sweeps. */
static const double net_latency[TOPO_TRANSPORTS] = { [TOPO_EFA] = 20,
						     [TOPO_SLINGSHOT] = 15,
						     [TOPO_TCP] = 37,
						     [TOPO_TCPX] = 430,
						     [TOPO_TCPXO] = 20 };

/* us that a hop over TCP takes more by Simple, with its chunks through host memory (the same record: all_reduce of 128 and 512 KiB
 * takes 2 x 60 us more than LL's hops, Simple's 14 each and the bytes). */
static const double TCP_SIMPLE_US = 60;

/* us that a hop takes more by the EFA of P4d: all_reduce of 16 B, by Simple alone, takes 161 and 175 us on two nodes. */
static const double OLD_EFA_US = 15;

/* us that a message above so many bytes takes more over EFA: a round trip before its data (P5 and P4d, two sweeps of each on two nodes:
 * all_reduce of 64 and 256 KiB takes 40 to 65 us more than of 1 KiB). */
static const double EFA_ROUND_TRIP_US = 24;
static const double EFA_EAGER = 8192;

bool model_old_efa(const struct model *model)
{
	return model->sys->staged || model->sys->gpu[0].pcie_gbs <= 24;
}

double model_round_trip_us(const struct model *model, double message)
{
	return model->sys->transport == TOPO_EFA && message > EFA_EAGER ? EFA_ROUND_TRIP_US : 0;
}

/* us of a switch, argued: cut-through of InfiniBand with its cable, and a data centre's Ethernet. A tier more is two switches. */
static double switch_us(const struct topo_system *sys)
{
	return sys->transport == TOPO_IB ? .2 : .6;
}

double model_net_latency(const struct model *model, enum fabric_traffic traffic, int proto)
{
	const struct topo_system *sys = model->sys;
	double hop = sys->hop_us > 0		   ? sys->hop_us
		     : sys->transport == TOPO_ROCE ? model->constants.roce_hop_us
		     : sys->transport == TOPO_IB   ? model->constants.ib_hop_us
						   : net_latency[sys->transport];

	if (sys->transport == TOPO_TCP && proto == MODEL_SIMPLE && sys->hop_us <= 0)
		hop += TCP_SIMPLE_US;
	if (sys->transport == TOPO_EFA && !sys->staged && model_old_efa(model) && sys->hop_us <= 0)
		hop += OLD_EFA_US;
	/* One node below a leaf: nothing is known of its network. */
	return hop +
	       (sys->leaf_nodes > 1 ? 2 * model->busiest[traffic].climbs * switch_us(sys) : 0);
}

/* aws-ofi-nccl, src/platform-aws.cpp: of P3dn without GPUDirect, of NICs to 100 Gb/s (P4d, P5), of faster ones. */
double model_announced_latency(const struct model *model)
{
	const struct topo_system *sys = model->sys;

	if (sys->transport != TOPO_EFA || sys->nnics == 0)
		return 0;
	return sys->staged ? 150 : sys->nic[0].gbs > 12.5 ? 35 : 75;
}

/* The reader polls over PCIe: a round trip of 1.2 us, where its own memory takes .5. By Simple it then reads the data so. */
double model_host_hop_us(int proto)
{
	return proto == MODEL_SIMPLE ? 1.2 - .5 + 1.2 : 1.2 - .5;
}

static double *constant(struct model_constants *constants, int i)
{
	return (double *)(void *)((char *)constants + constants_table[i].at);
}

void model_physical(struct model_constants *constants)
{
	memset(constants, 0, sizeof(*constants));
	for (int i = 0; i < NCONSTANTS; i++)
		*constant(constants, i) = constants_table[i].physical;
}

int model_calibrate(struct model_constants *constants, const struct kernel_cost *cost)
{
	if (!(cost->host_us >= .2 && cost->host_us <= 1000 && cost->latency_us >= .2 &&
	      cost->latency_us <= 1000))
		return -ERANGE;
	if (cost->call_us >= .2 && cost->call_us <= 1000) {
		double factor = cost->call_us / cost->host_us / constants->call_launches;

		constants->call_launches *= factor;
		constants->p2p_launches *= factor;
		constants->peer_launches *= factor;
	}
	constants->kernel_host_us = cost->host_us;
	constants->kernel_latency_us = cost->latency_us;
	constants->calibrated = true;
	return 0;
}

/* The error bars of a fitted file. 0, or -EINVAL. */
static int read_bars(struct model_constants *constants, json_t *json)
{
	json_t *bars = json_object_get(json, "bars"), *row;
	size_t i;

	if ((bars != NULL && !json_is_array(bars)) || json_array_size(bars) > MODEL_BARS)
		return -EINVAL;
	json_array_foreach(bars, i, row)
	{
		struct model_bar *bar = &constants->bar[i];
		const char *name;

		if (json_unpack(row, "{s:s, s:i, s:F, s:F, s:i, s:i, s?i, s?F}", "class", &name,
				"sizes", &bar->sizes, "low", &bar->low, "high", &bar->high,
				"points", &bar->points, "sources", &bar->sources, "sweeps",
				&bar->sweeps, "floor", &bar->floor) != 0)
			return -EINVAL;
		snprintf(bar->name, sizeof(bar->name), "%s", name);
		if (!(bar->low > 0 && bar->low <= bar->high && bar->high < 1e3))
			return -EINVAL;
	}
	constants->nbars = (int)json_array_size(bars);
	return 0;
}

static int set_constants(struct model_constants *constants, json_t *json, const char *path,
			 struct error *err)
{
	json_t *values = json_object_get(json, "constants"), *value;
	const char *from = json_string_value(json_object_get(json, "provenance")), *name;
	const char *slash = strrchr(path, '/');

	if (!json_is_object(values) || from == NULL)
		return error_usage(err, "%.200s: needs \"provenance\" and \"constants\"", path);
	if (strlen(from) >= sizeof(constants->provenance))
		return error_usage(err, "%.200s: provenance has %zu characters, at most %zu", path,
				   strlen(from), sizeof(constants->provenance) - 1);
	json_object_foreach(values, name, value)
	{
		int i = 0;

		while (i < NCONSTANTS && strcmp(name, constants_table[i].name) != 0)
			i++;
		if (i == NCONSTANTS)
			return error_usage(err, "%.200s: unknown constant '%.40s'", path, name);
		if (!json_is_number(value) || json_number_value(value) < constants_table[i].min ||
		    json_number_value(value) > constants_table[i].most)
			return error_usage(err, "%.200s: %s must be %g to %g", path, name,
					   constants_table[i].min, constants_table[i].most);
		*constant(constants, i) = json_number_value(value);
	}
	if (read_bars(constants, json) != 0)
		return error_usage(err,
				   "%.200s: \"bars\" are at most %d rows of class, sizes, low, "
				   "high, points and sources",
				   path, MODEL_BARS);
	constants->fitted = true;
	snprintf(constants->provenance, sizeof(constants->provenance), "%s", from);
	snprintf(constants->origin, sizeof(constants->origin), "fitted (%.80s)",
		 slash != NULL ? slash + 1 : path);
	return 0;
}

int model_load_constants(struct model_constants *constants, const char *path, struct error *err)
{
	char dir[4096], found[4096 + 32];
	bool given = path != NULL;
	json_t *json;
	int rc;

	model_physical(constants);
	snprintf(constants->origin, sizeof(constants->origin),
		 "physical only: no fitted.json found");
	if (path == NULL)
		path = getenv("HANGAR_FITTED");
	if (path == NULL) {
		if (topo_spec_dir(dir, sizeof(dir)) != 0)
			return 0;
		snprintf(found, sizeof(found), "%s/../fitted.json", dir);
		path = found;
	}
	if (path[0] == '\0') {
		snprintf(constants->origin, sizeof(constants->origin), "physical only (asked for)");
		return 0;
	}
	if (!given && access(path, F_OK) != 0)
		return 0;
	rc = topo_open_json(path, &json, err);
	if (rc != 0)
		return rc;
	rc = set_constants(constants, json, path, err);
	json_decref(json);
	return rc;
}
