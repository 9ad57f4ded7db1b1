/* topo.h: the machine a collective runs on: GPUs, NICs, CPUs, switches and the GB/s between them,
 * per node. */
#pragma once

#include "base/error.h"
#include "pairs/matrix.h"

struct json_t;

enum {
	TOPO_MAX_GPUS = 128,
	TOPO_MAX_NICS = 256,
	TOPO_MAX_CPUS = 16,
	TOPO_NAME = 64,
	TOPO_MAX_ABOVE = 8,
	TOPO_MAX_FILE = 16 << 20
};

/* Gb/s of a NIC. */
#define TOPO_MIN_GBPS .001
#define TOPO_MAX_GBPS 1e6

/* GPUs of a node reach each other like this when no NVLink joins them. */
enum topo_p2p { TOPO_P2P_PCIE, TOPO_P2P_NONE };

enum topo_fabric { TOPO_RAIL, TOPO_FAT_TREE };

enum topo_transport {
	TOPO_IB,
	TOPO_ROCE,
	TOPO_EFA,
	TOPO_SLINGSHOT,
	TOPO_TCP,
	TOPO_TCPX,  /* GPUDirect-TCPX, headers through the CPU */
	TOPO_TCPXO, /* its successor, offloaded */
	TOPO_TRANSPORTS
};

/* A GPU model, as far as it is known. Bandwidths are per direction. */
struct topo_gpu_model {
	const char *name; /* as in a spec, "H100" */
	int sm;		  /* compute capability times ten */
	int links;	  /* NVLinks; 0 for none */
	double link_raw;  /* GB/s that a link can carry */
	double link_sm; /* GB/s that stores of a kernel get through a link (NCCL's src/graph/topo.h)
			 */
};

struct topo_gpu {
	const struct topo_gpu_model *model;
	int cpu;	  /* index */
	int pci_switch;	  /* number of the topmost PCIe switch above it, -1 for none */
	double pcie_gbs;  /* slowest PCIe link up to the CPU */
	int switch_links; /* NVLinks into an NVSwitch */
	unsigned char links[TOPO_MAX_GPUS]; /* NVLinks straight to that GPU */
	/* These come from a NCCL file alone; a spec leaves them 0. */
	uint64_t bus;			   /* as NCCL's log prints it: 0000:00:06.0 is 0x60 */
	int above[TOPO_MAX_ABOVE], nabove; /* numbers of the PCIe switches above, topmost first */
};

struct topo_nic {
	char name[TOPO_NAME];
	int pci_switch;
	int gpu;    /* 1 and more: of the GPU beside it, by a spec; 0: shared out evenly */
	double gbs; /* line rate */
	double pcie_gbs;
};

/* Nodes stand in leaf order; or one below each leaf (rack) in turn. */
enum topo_place { TOPO_IN_ORDER = 1, TOPO_BY_RACK };

/* A GPU by its figures, of a spec. */
struct topo_own_gpu {
	struct topo_gpu_model model; /* its name is `name` */
	char name[TOPO_NAME];
	int sms;	  /* 0: enough for all channels */
	double launch_us; /* what an empty kernel costs the host; 0: as on the host of the fit */
};

/* One node; `nnodes` of them are alike. Filled by topo_load or topo_read_xml, changed by
 * topo_reshape. */
struct topo_system {
	char name[TOPO_NAME];
	char source[256];
	bool by_sm; /* a NCCL file tells a GPU's sm alone: `model` is the one NCCL's constants are for */
	struct topo_own_gpu own; /* gpu[].model points into it where a spec gives figures */
	char note[200];		 /* what of the file was left out or assumed; "": nothing */
	int nnodes, ngpus, nnics, ncpus;
	int domain; /* nodes that NVLink joins, as the trays of a rack; up to 1: it ends in a node. topo_reshape makes
	             * one node of those of a job, and leaves 0 */
	int hosts, nranks; /* of all nodes before that; 0: none were joined */
	struct topo_gpu gpu[TOPO_MAX_GPUS];
	struct topo_nic nic[TOPO_MAX_NICS];
	int numa[TOPO_MAX_CPUS]; /* the CPU's node by a NCCL file, -1 unknown; a spec leaves 0 */
	int full_gpus; /* GPUs of the node before --gpus took some away: NICs stay with their GPU */
	double cpu_link_gbs; /* between two CPU sockets */
	bool amd, grace;     /* CPUs */
	int nccl;	     /* its version, 22606 for 2.26.6; 0: the model's own */
	bool nvls;	     /* the switches can reduce and multicast */
	bool sharp;	     /* the network can reduce */
	enum topo_p2p p2p;
	enum topo_transport transport;
	enum topo_fabric fabric;
	double hop_us; /* of the network beyond InfiniBand's in NCCL's tables; 0: the transport's */
	int socket_threads; /* that NCCL's sockets start beside the proxy (src/transport/net_socket.cc: 2 at AWS, 4 at GCP) */
	int groups; /* groups of one job, each of `ngpus` a node, on the NICs at the same time; 0: one */
	bool staged;		 /* no GPUDirect: data cross host memory between NIC and GPU */
	double oversubscription; /* 1 for none */
	int leaf_nodes; /* nodes below one leaf switch (fat tree), or below one of each rail */
	bool no_pxn;	/* a GPU sends by its own NICs alone */
	enum topo_place place;	  /* 0: in order */
	struct pair_digest pairs; /* measured between ranks; nranks 0: nothing */
};

/* A user's changes of a spec; zero keeps the spec's value. */
struct topo_change {
	const char *gpu; /* the kind of all GPUs, as topo_gpu_model takes it; NULL: the file's */
	int nnodes, gpus, nics, groups;
	int domain; /* nodes that NVLink joins; 1: none */
	double nic_gbps;
	double hop_us;
	double oversubscription;
	int fabric, transport; /* their enums + 1 */
	int leaf_nodes;
	bool no_pxn;
	enum topo_place place; /* as it is */
	bool sharp;	       /* switch the network's reduction on */
	bool staged;
	int nccl; /* as topo_system's */
};

/* Opens a file to read. Returns 0, or -errno with the error set, which names the file. Files larger
 * than TOPO_MAX_FILE and files that are not regular (a FIFO would block) are refused. */
int topo_open(const char *path, FILE **in, struct error *err);

/* The text of such a file, which the caller frees; a NUL follows it. */
int topo_read(const char *path, char **text, size_t *size, struct error *err);

/* Rows that were measured: a table of nccl-tests, its JSON or hangar's, CSV, a run's folder, or
 * what --save-rows wrote. A new reference to {"nccl", "process_gpus", "rows": [{"collective",
 * "mode", "dtype", "nranks", "nnodes" (0: not told), "size_bytes", "placement", "time_us", "wrong"
 * (-1: not checked)}]}. 0, or a negative errno with the error set: -ENOENT without python3. */
int topo_rows_read(const char *path, struct json_t **rows, struct error *err);

/* The JSON document in such a file, a new reference. */
int topo_open_json(const char *path, struct json_t **json, struct error *err);

/* Hosts whose ranks are processes with memory in common or a network between them, as measured.
 * -EINVAL when the digest is none of host memory. */
int topo_from_pairs(struct topo_system *sys, const char *name, const char *source,
		    const struct pair_digest *pairs, struct error *err);

/* The file of p2p_matrix_perf --spec: such hosts, or GPUs on the topology that NCCL found there. */
int topo_from_json(struct topo_system *sys, const struct json_t *json, const char *path,
		   struct error *err);

/* True for such hosts: predicted by model_pairs.c, not as NCCL. */
bool topo_is_host(const struct topo_system *sys);

/* Fill `sys` from a path, which ends in .xml, .txt (nvidia-smi topo -m) or .json or holds a '/', or from the spec of that name (in
 * $HANGAR_SPECS, beside the executable, or below it as common/predict/topo/specs). Returns 0 or -errno
 * (-ENOENT names the specs there are). A file in XML or text is not checked: topo_reshape does, with a user's --gpu. */
int topo_load(struct topo_system *sys, const char *what, struct error *err);

/* Write the names of all specs, one line each with what they describe. Returns how many, or -errno.
 */
int topo_list_specs(FILE *out, struct error *err);

/* The folder of specs into `path`. Returns 0 or -ENOENT. */
int topo_spec_dir(char *path, size_t size);

/* A NCCL topology file (NCCL_TOPO_DUMP_FILE, or a vendor's for NCCL_TOPO_FILE). Hostile input ends in -EINVAL
 * and a text that names the line. A topology that was read has a GPU, and indices within bounds; of several hosts
 * that NVLink joins the first, and how many. topo_check
 * decides if it can be predicted; the model of a GPU may be NULL. In a file without a GPU each display
 * device is the place of one, and each network device that of a NIC, of 0 GB/s. */
int topo_read_xml(struct topo_system *sys, const char *path, struct error *err);
int topo_parse_xml(struct topo_system *sys, const char *text, size_t size, const char *source,
		   struct error *err);

/* A node as `nvidia-smi topo -m` prints it. -EINVAL where that is no such table. The kind of GPU is topo_change's, the NICs
 * have 0 GB/s, and PCIe and CPUs are filled in by topo_reshape. */
int topo_parse_smi(struct topo_system *sys, const char *text, const char *source,
		   struct error *err);

/* Apply a user's changes. -EINVAL when the node has too few GPUs and so on. */
int topo_reshape(struct topo_system *sys, const struct topo_change *change, struct error *err);

/* Checks that it can be predicted: at least one GPU, all of one known kind, finite bandwidths,
 * indices within bounds. Systems that topo_reshape returns, and topo_load of a spec, have passed. */
int topo_check(const struct topo_system *sys, struct error *err);

/* NULL when unknown: then error_set names the known. A name of the table, whatever its case, or a product name of it
 * ("NVIDIA H200", "Tesla V100-SXM2-16GB"); no text that only contains one. */
const struct topo_gpu_model *topo_gpu_model(const char *name);
const struct topo_gpu_model *topo_gpu_model_sm(int sm);	     /* the one NCCL's constants are for */
const struct topo_gpu_model *topo_gpu_model_pci(int device); /* by NVIDIA's PCI device id */
bool topo_gpu_has_p2p(
	const struct topo_gpu_model *model); /* over PCIe; the driver has none for GeForce */

/* Returns true if it has an NVLink to a switch or another GPU. */
bool topo_gpu_has_nvlink(const struct topo_gpu *gpu);
void topo_gpu_names(char *text, size_t size);
extern const char *const topo_transports[TOPO_TRANSPORTS]; /* names */

/* For names_find, in the order of the enums. */
#define TOPO_WORDS_P2P	     "pcie|none"
#define TOPO_WORDS_FABRIC    "rail|fat-tree"
#define TOPO_WORDS_TRANSPORT "ib|roce|efa|slingshot|tcp|tcpx|tcpxo"

/* GB/s between the sockets of a kind of CPU; 0 when unknown. PCIe GB/s of a generation and width as
 * NCCL counts them. */
double topo_cpu_link(const char *cpu);
double topo_pcie_gbs(int gen, int width);

/* The generation whose lanes have so many GT/s; 0 when there is none. */
int topo_pcie_gen(double gts);

/* NVLinks of each pair of GPUs in a mesh of more than two that joins each with each other one; else 0. */
int topo_mesh_links(const struct topo_system *sys);

/* NVLinks that the rings of one node use per GPU and direction: all of them below an NVSwitch, else
 * as many directed Hamiltonian cycles as fit into the mesh at once. 0: the GPUs are not joined by
 * NVLink in a ring. */
int topo_ring_links(const struct topo_system *sys);

/* Like GPU 0's most common peer link: NVLinks between two neighbours, 0 when they share none. */
int topo_pair_links(const struct topo_system *sys, int a, int b);
