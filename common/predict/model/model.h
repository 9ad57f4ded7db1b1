/* model.h: the time of a collective on a topology, and the best that its links could carry.
 *
 * NCCL's tuning model (model_nccl.c, src/graph/tuning.cc of 2.28) chooses algorithm and protocol.
 * The time is our own (model.c): bytes over the slowest link on the way, plus launch, hops and the
 * filling of the pipeline. */
#pragma once

#include "topo/topo.h"

struct kernel_cost;
struct json_t;

/* The newest NCCL whose channels of sends are known; its choice is that of 2.28. */
enum { MODEL_NCCL_KNOWN = 23099 };

/* GPU generations, as NCCL's tables know them. */
enum model_arch { MODEL_VOLTA, MODEL_AMPERE, MODEL_HOPPER, MODEL_BLACKWELL, MODEL_ARCHS };

/* The first five are NCCL's collectives with a tuning model; the others are groups of sends and
 * receives. */
enum model_coll {
	MODEL_BROADCAST,
	MODEL_REDUCE,
	MODEL_ALL_GATHER,
	MODEL_REDUCE_SCATTER,
	MODEL_ALL_REDUCE,
	MODEL_TUNED,
	MODEL_ALLTOALL = MODEL_TUNED,
	MODEL_ALLTOALLV,
	MODEL_GATHER,
	MODEL_SCATTER,
	MODEL_SENDRECV,
	MODEL_HYPERCUBE,
	MODEL_COLLS
};

enum model_algo {
	MODEL_TREE,
	MODEL_RING,
	MODEL_COLLNET_DIRECT,
	MODEL_COLLNET_CHAIN,
	MODEL_NVLS,
	MODEL_NVLS_TREE,
	MODEL_PAT,
	MODEL_NCCL_ALGOS,
	MODEL_P2P = MODEL_NCCL_ALGOS,
	MODEL_ALGOS
};

enum model_proto { MODEL_LL, MODEL_LL128, MODEL_SIMPLE, MODEL_PROTOS };

/* Data between two GPUs of a node cross one of these. */
enum model_hop { MODEL_HOP_NONE, MODEL_HOP_NVLINK, MODEL_HOP_PCIE, MODEL_HOP_SHM };

/* Measured over predicted bus bandwidth of nine points in ten: of a class of machines and sizes (0: below 1 MiB, 1: to
 * 64 MiB, 2: above). Constants of the other hosts and clusters predict each (ci/research/accuracy --bars). A bar of one
 * source, or of none, is argued, and not nine in ten. */
struct model_bar {
	char name[24]; /* of the class, as model_class has it */
	int sizes, points, sources;
	double low, high;
	int sweeps;   /* of sizes 2: measured ones of the class, a collective of a source each */
	double floor; /* and what 98 of 100 of their points from 64 MiB on exceed */
};

/* Fewer sweeps make no floor. */
enum { MODEL_FLOOR_PERCENT = 98, MODEL_FLOOR_SWEEPS = 20 };
#define MODEL_FLOOR_FROM (64 << 20)
enum { MODEL_BARS = 64 };

/* Each has a physical value with its source (model_constants.c); a few are fitted to measurements
 * (fitted.json). */
struct model_constants {
	double nvlink_efficiency; /* of NCCL's per-link bandwidth */
	double loop_bubble;	  /* slices of each loop of a ring that nothing overlaps */
	double fill;		  /* slices that fill the pipeline once */
	double step_us; /* broadcast, reduce: the wait of a step of 512 KiB for its neighbours */
	double channel_gbs; /* GB/s that one channel (thread block) copies to a peer */
	double fan_loss;    /* fraction of a link lost where flows of one channel meet; falls as 1 /
				  sqrt(channels a flow) */
	double simple_base_us; /* latency of a looping Simple ring kernel, and of each of its hops
				  over NVLink */
	double simple_hop_us;
	double p2p_base_us; /* latency of a group of sends and receives, without its hop */
	double ll_base_us;  /* latency of an LL kernel without its hops */
	double one_way_base_us; /* the same of a kernel that waits for no peer: broadcast, reduce, gather, scatter back to back */
	double kernel_host_us; /* an empty kernel of NCCL's shape: the host's part of a launch, */
	double kernel_latency_us; /* from an idle stream to the host that sees its end, */
	double kernel_device_us;  /* and the device's part of that */
	double call_launches;	  /* host time to enqueue a call, in such launches, */
	double p2p_launches;	  /* a group of sends and receives, */
	double peer_launches;	  /* and each peer in it */
	double grouped;	  /* of a call's launches, for each of the GPUs that one process has */
	double nvls_fill; /* loops of an NVLS pipeline that a stage fills and drains */
	double nvls_net;  /* fraction of the NICs that NVLSTree gets where they have two children */
	double volta_link; /* GB/s of a Volta's NVLink over NCCL's */
	double nvls_loop_us; /* what a loop of NVLS waits for all GPUs, hidden in part by chunks over 32 KiB */
	double p2p_simple_us;	       /* latency of Simple sends beyond NCCL's hwLat */
	double p2p_fill;	       /* chunks of a send that nothing overlaps */
	double ib_hop_us, roce_hop_us; /* a hop over the network, beyond NCCL's hwLat */
	bool fitted;		       /* false: physical-only */
	bool calibrated; /* host and latency of a kernel were measured on this host, in
	                           * this run */
	struct model_bar bar[MODEL_BARS];
	int nbars;
	char origin[96];       /* "fitted (fitted.json)", or why they are physical only */
	char provenance[1024]; /* the fitted file's own account */
};

/* The physical values. */
void model_physical(struct model_constants *constants);

/* The physical values, then those in `path`. NULL is $HANGAR_FITTED, else fitted.json above the
 * folder of specs, which may be absent; "" is none. Returns 0; -ENOENT where a `path` is absent,
 * -EINVAL for a wrong file. */
int model_load_constants(struct model_constants *constants, const char *path, struct error *err);

/* Takes the times of a kernel, and of a call where it was measured, instead of those of the host of the fit:
 * groups of sends take longer in the same proportion as a call does. Returns -ERANGE, and takes nothing, where a time is outside of what a launch takes. */
int model_calibrate(struct model_constants *constants, const struct kernel_cost *cost);

/* Order of calls: back to back, each alone on an idle stream, or replayed in a graph, which spares
 * the host the enqueueing. */
enum model_mode { MODEL_STREAM, MODEL_ISOLATED, MODEL_GRAPH };

struct predict_request {
	enum model_coll collective;
	enum model_mode mode;
	double bytes;	   /* nccl-tests' size column */
	double away, flow; /* alltoallv: bytes that the busiest rank exchanges with others, and of
	                    * the largest flow; 0: nccl-tests' pattern, flows as their
	                    * distance (traffic.h) */
	int elsize; /* bytes of an element: -ERANGE when a rank's slice would be less; 0: never */
	bool in_place;	  /* hypercube: nothing to copy first */
	int algo, proto;  /* -1: NCCL's choice */
	int process_gpus; /* that one process has: it launches on one after the other; 0: one */
	bool no_nvls;	  /* NCCL_NVLS_ENABLE=0, or an operator that switches cannot do */
	bool plain;	  /* without the rows of model_take_rows, as floors are */
};

/* A hypercube has a term per exchange: 2^31 ranks at most. */
enum { MODEL_TERMS = 32, MODEL_FACTORS = 4 };

/* The edges between nodes, in rank order; a load of 1 is all that a node sends in a ring. */
enum fabric_traffic {
	FABRIC_RING,   /* each node to the next */
	FABRIC_TREE,   /* NCCL's double binary tree (NCCL.md), half of the data up and down each */
	FABRIC_PAT,    /* 2^k nodes on, the farther the less (src/device/all_gather.h) */
	FABRIC_SWITCH, /* once up to the switches, which reduce, and once down */
	FABRIC_ALL,    /* evenly to all others, by the NIC of the sending GPU */
	FABRIC_ROOT,   /* all to one GPU of node 0, 1 in total */
	FABRIC_NEXT,   /* one GPU of each node to the next node */
	FABRIC_EXCHANGE, /* and from here: all GPUs with the node 2^k away */
	FABRIC_TRAFFICS = FABRIC_EXCHANGE + 20
};

/* `width` is a link's capacity, in the NICs of a node. */
struct fabric_link {
	enum fabric_traffic traffic;
	int tier; /* 0: of a node, 1: of a leaf */
	bool in;
	int at; /* the node or leaf */
	double width, load;
};

enum { FABRIC_TIERS = 2 };

/* The links of a tier where load / width is largest; a load of 0: nothing leaves. `climbs`: tiers above its leaf that an edge
 * goes up, on average. */
struct fabric_busiest {
	struct fabric_link tier[FABRIC_TIERS];
	double climbs;
};

/* A bandwidth that may be the limit, in GB/s of the size column: base times every factor. */
struct model_term {
	const char *limit; /* its name: "NVLink of a GPU", "channels", "protocol LL" */
	const char *what;  /* the source of `base` */
	double base;	   /* GB/s */
	struct {
		double value;
		const char *what;
	} factor[MODEL_FACTORS];
	int nfactors;
	bool net; /* between nodes; sends inside the node run at the same time */
	const struct fabric_link *link; /* of the model's `busiest`, or NULL */
	double gbs;
};

struct prediction {
	double time_us, algbw, busbw; /* times and speeds of healthy hardware */
	double low_busbw,
		high_busbw; /* nine in ten lie between, if two sources say so; NaN: no bar */
	const struct model_bar *bar; /* of the model's constants; NULL: no bar */
	double ceiling_busbw; /* capacity of the links, without protocol, latency or launch */
	double nccl_us; /* NCCL's own estimate for this algorithm and protocol; -1: it has no model
			 */
	double bus_factor; /* busbw / algbw */
	int algo, proto, channels;
	bool fitted;
	/* derivation: device = latency + transfer + fill; time = max(launch, device) back to
	 * back, device in a graph; alone: an empty kernel's latency, and what launch and device
	 * exceed those of an empty kernel by */
	double launch_us, latency_us, transfer_us, fill_us;
	double by_rows;	   /* a factor of the time, of rows of one's own; 1: none */
	double alg_gbs;	   /* algorithm bandwidth: the winning term times the correction */
	double correction; /* NCCL's of Tree at this size; else 1 */
	const char *limit; /* of the winning term */
	/* Each of these could limit it. Times of terms in turn (hypercube) add up, and the last is
	 * the winner. */
	struct model_term term[MODEL_TERMS];
	int nterms, winner;
	bool in_turn;
};

/* The result of NCCL's search for channels, GB/s of a channel (model_nccl.c). */
struct model_search {
	int arch, nodes_index, channels;
	int nics; /* of a node that its channels go through */
	const double *speeds;
	double intra, inter, tree_intra, tree_inter;
	double nvls_intra, nvls_inter;
};

/* NCCL's tuning tables for one communicator. */
struct model_tuning {
	struct model_search search;
	double bw[MODEL_TUNED][MODEL_NCCL_ALGOS]
		 [MODEL_PROTOS]; /* algorithm bandwidth, GB/s; 0: not available */
	double lat[MODEL_TUNED][MODEL_NCCL_ALGOS][MODEL_PROTOS]; /* us */
};

/* A node and a number of nodes, worked out once for many points. */
struct model {
	const struct topo_system *sys;
	struct model_constants constants;
	int nnodes, ppn, nranks;
	bool nvls;
	/* of the node, GB/s per GPU and direction; raw is what the wire carries */
	enum model_hop hop;
	bool nvswitch;
	double ring, ring_raw;
	double through_host; /* share of its ring's hops that cross host memory */
	double paths; /* of a node on the way of rings through several, for one ring of a node's own: n / (n - 1) in a complete mesh */
	double link_nccl;	   /* NCCL's idea of `ring` */
	double pair, pair_raw;	   /* between neighbours */
	double spread, spread_raw; /* us per byte that every GPU sends to every other of its node */
	double net, net_raw;	   /* of a node, as far as its GPUs reach it */
	double wires;		   /* of those NICs, whatever their PCIe and host memory carry */
	int nics;		   /* of a node that its GPUs reach */
	double nic, nic_raw;	   /* of the NICs of one GPU */
	struct fabric_busiest busiest[FABRIC_TRAFFICS];
	int channels;		       /* running */
	int p2p_channels;	       /* per peer of the node */
	struct model_tuning tuning;    /* of NCCL 2.28, for times */
	struct model_tuning choice;    /* of the version that runs */
	const struct model_rows *rows; /* of one's own, NULL: none; lives as long as the model */
};

/* Work out a node, which has passed topo_check; it must outlive the model. */
void model_init(struct model *model, const struct topo_system *sys,
		const struct model_constants *constants, bool no_nvls);

/* Take `nnodes` such nodes. */
void model_scale(struct model *model, int nnodes);

/* Microseconds that a hop of a traffic over its network takes beyond what NCCL's tables say; and those that the
 * network's plugin announces to NCCL, which chooses by them. */
double model_net_latency(const struct model *model, enum fabric_traffic traffic, int proto);

/* EFA to P4d, or without GPUDirect: its plugin lets NCCL use Simple alone. */
bool model_old_efa(const struct model *model);

/* us that a hop takes more for a message of so many bytes than for a small one. */
double model_round_trip_us(const struct model *model, double message);
double model_announced_latency(const struct model *model);

/* The class of a machine and an algorithm by which predictions are scored (struct model_bar). */
const char *model_class(const struct model *model, int algo);

/* Bus bandwidth that 98 of 100 measured points of healthy machines of the class exceed, each host
 * weighing alike, GB/s, from MODEL_FLOOR_FROM on, by the plain prediction. NaN: below that, or its class has too few sweeps; `bar` gets the
 * class's, which has their number, or NULL. */
double model_floor(const struct model *model, const struct prediction *prediction, double bytes,
		   const struct model_bar **bar);

/* Predicts one point; request->nranks and nnodes are the model's. -EINVAL: this collective has no
 * such algorithm or protocol here. -ERANGE: fewer than two ranks, or an impossible size. Nothing is
 * printed or kept. */
int model_predict(const struct model *model, const struct predict_request *request,
		  struct prediction *prediction);

/* ---- model_rows.c: rows of one's own ---- */

/* Sizes of a curve: MODEL_ROW_STEP of them double a size; from 8 bytes to MODEL_ROWS_END, where a
 * prediction is the plain one. */
enum { MODEL_CURVES = 8, MODEL_ROW_STEP = 4, MODEL_ROW_SIZES = 23 * MODEL_ROW_STEP + 1 };
#define MODEL_ROWS_END (64 << 20)

/* Measured on such a machine, which is known to be good. */
struct model_row {
	enum model_coll collective;
	enum model_mode mode;
	double bytes, time_us;
};

/* One collective and mode: the logarithm of measured over predicted time, at each size. */
struct model_curve {
	enum model_coll collective;
	enum model_mode mode;
	int nrows;
	double factor[MODEL_ROW_SIZES];
};

struct model_rows {
	int process_gpus; /* that a process of these rows launched on */
	int algo, proto;  /* that was asked for, as in predict_request */
	struct model_curve curve[MODEL_CURVES];
	int n;
	char dtype[16]; /* of the rows of a file: all have one type */
};

/* Makes curves of `n` rows and gives them to the model, whose nodes and GPUs must be those of the
 * rows. Between rows the factor follows a straight line over the logarithm of the size; below the
 * first it is that of the first; behind the last it fades to 1 at MODEL_ROWS_END. A larger size
 * never takes less time. The fields before `curve` are the caller's. Returns 0, or -ERANGE with
 * `err` set, and the model is as before: fewer than two sizes of a collective and mode below
 * MODEL_ROWS_END, a row that cannot be predicted, one that takes less than a fifth or more than
 * five times of what is predicted. */
int model_take_rows(struct model *model, struct model_rows *rows, const struct model_row *row,
		    size_t n, struct error *err);

/* The same of what topo_rows_read has read, for rows of `colls` (bits). Besides -ERANGE of the above
 * -EINVAL: none of these collectives, several types, other ranks or nodes than the model's, wrong
 * data. */
int model_take_file(struct model *model, struct model_rows *rows, const struct json_t *file,
		    unsigned colls, struct error *err);

/* The factor for this request; 1 where it is plain, of another collective, mode, or choice, or
 * from MODEL_ROWS_END on. */
double model_rows_factor(const struct model_rows *rows, const struct predict_request *request);

/* Edges that share a link, " 8>16" (" 8>*": to all), the first few, into `text`. */
void model_sharers(const struct model *model, const struct fabric_link *link, char *text,
		   size_t size);

/* The reason for which NCCL has no such algorithm and protocol for a collective here, a sentence;
 * NULL: it has them. */
const char *model_refusal(const struct model *model, enum model_coll coll, int algo, int proto);

/* NCCL's tuning model as it is (NCCL.md), of 2.28 and of the version that runs. */
void model_tuning_fill(struct model *model);
double model_nccl_time(const struct model *model, enum model_coll coll, int algo, int proto,
		       double bytes);
double model_tree_correction(int proto, double bytes);

/* busbw / algbw. */
double model_bus_factor(enum model_coll coll, int nranks);

/* Names by their enums, and which of n a name is, whatever its case; -1: none. */
extern const char *const model_coll_names[MODEL_COLLS],
	*const model_algo_names[MODEL_ALGOS], *const model_proto_names[MODEL_PROTOS];
int model_find(const char *const *names, int n, const char *name);
