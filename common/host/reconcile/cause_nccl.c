/* cause_nccl.c: causes inside NCCL: its settings and its choice. */
#include "reconcile/cause_parts.h"

/* Sends and receives have neither algorithm nor protocol. */
static bool is_p2p(const struct observation *o)
{
	return cause_run_is(o, "worst_algo", "P2P");
}

/* Conditions under which a setting limits this run. */
enum limit_kind {
	LIMIT_ON,	/* not 0 */
	LIMIT_LIST,	/* a list without what is best here, which the run's text `of` names */
	LIMIT_CHANNELS, /* fewer than needed; unknown how many that is: any limit */
	LIMIT_BELOW,	/* below `least` */
	LIMIT_NEAR, /* a level that these GPUs are not within: NVLink peers meet from NVL (1) on */
	LIMIT_MEMORY,  /* not 0, and there is no P2P */
	LIMIT_NETWORK, /* not 0, on several hosts; --share-gpu sets it itself */
	LIMIT_SOCKET,  /* "Socket", the same */
	LIMIT_GDR,     /* the lowest level, over a network */
};

static const struct limit {
	const char *name, *how;
	enum limit_kind kind;
	const char *of;
	int least;
} limits[] = {
	{ "NCCL_ALGO", "excludes the algorithm that is best here", LIMIT_LIST, "worst_algo", 0 },
	{ "NCCL_PROTO", "excludes the protocol that is best here", LIMIT_LIST, "worst_proto", 0 },
	{ "NCCL_MAX_NCHANNELS", "allows fewer channels", LIMIT_CHANNELS, NULL, 0 },
	{ "NCCL_MAX_NRINGS", "allows fewer channels", LIMIT_CHANNELS, NULL, 0 },
	{ "NCCL_MAX_CTAS", "allows fewer channels", LIMIT_CHANNELS, NULL, 0 },
	{ "NCCL_P2P_DISABLE", "sends through host memory", LIMIT_ON, NULL, 0 },
	{ "NCCL_P2P_LEVEL", "refuses P2P between these GPUs", LIMIT_NEAR, NULL, 0 },
	{ "NCCL_SHM_DISABLE", "leaves host memory out, and P2P is not there", LIMIT_MEMORY, NULL,
	  0 },
	{ "NCCL_IB_DISABLE", "leaves InfiniBand and RoCE out", LIMIT_NETWORK, NULL, 0 },
	{ "NCCL_NET", "takes TCP", LIMIT_SOCKET, NULL, 0 },
	{ "NCCL_NET_GDR_LEVEL", "refuses GPUDirect RDMA", LIMIT_GDR, NULL, 0 },
	{ "NCCL_PXN_DISABLE", "keeps GPUs from each other's NICs", LIMIT_NETWORK, NULL, 0 },
	/* NCCL's defaults (src/include/device.h) */
	{ "NCCL_BUFFSIZE", "is below NCCL's 4 MiB", LIMIT_BELOW, NULL, 4 << 20 },
	{ "NCCL_NTHREADS", "is below NCCL's 512", LIMIT_BELOW, NULL, 512 },
	{ "CUDA_LAUNCH_BLOCKING", "waits for every kernel", LIMIT_ON, NULL, 0 },
};

static bool is_level(const char *value, const char *name, const char *number)
{
	return strcasecmp(value, name) == 0 || strcmp(value, number) == 0;
}

static bool does_limit(const struct limit *limit, const char *value, const struct observation *o)
{
	const char *no_p2p = cause_setting(o, "NCCL_P2P_DISABLE");
	bool network = cause_network(o), between = network && cause_run(o, "shared_gpu") != 1;
	int needed = cause_run(o, "worst_channels");
	long long n = atoll(value);
	const char *of = limit->of ? cause_run_text(o, limit->of) : "";

	switch (limit->kind) {
	case LIMIT_ON:
		return n != 0;
	case LIMIT_LIST:
		/* "function:" lists are not taken apart */
		return value[0] && !is_p2p(o) &&
		       (!of[0] || strchr(value, ':') || !cause_listed(value, of, true));
	case LIMIT_CHANNELS:
		return n > 0 && (needed < 0 || n < needed);
	case LIMIT_BELOW:
		return n > 0 && n < limit->least;
	case LIMIT_NEAR:
		return is_level(value, "LOC", "0") ||
		       (cause_run_is(o, "hop", "PCIe") && is_level(value, "NVL", "1"));
	case LIMIT_MEMORY:
		return n != 0 && (cause_run_is(o, "hop", "SHM") || (no_p2p && atoi(no_p2p) != 0));
	case LIMIT_NETWORK:
		return n != 0 && between;
	case LIMIT_SOCKET:
		return strcasecmp(value, "Socket") == 0 && between;
	case LIMIT_GDR:
		return network && is_level(value, "LOC", "0");
	}
	return false;
}

void cause_settings(const struct observation *o, struct cause_finding *f)
{
	if (o->nhosts == 0)
		cause_unseen(f, "no host was looked at");
	for (size_t i = 0; i < LENGTH(limits); i++) {
		const char *value = cause_setting(o, limits[i].name);

		if (value && does_limit(&limits[i], value, o))
			cause_yes(f, "%s=%.40s %s", limits[i].name, value, limits[i].how);
	}
}

void cause_choice(const struct observation *o, struct cause_finding *f)
{
	const char *algo = cause_run_text(o, "worst_algo"),
		   *proto = cause_run_text(o, "worst_proto");
	const char *used = cause_run_text(o, "used_algo");
	const char *used_proto = cause_run_text(o, "used_proto");

	if (!algo[0] || !proto[0] || is_p2p(o))
		return;
	if (!used[0])
		cause_unseen(f, "what NCCL chose for the slowest row is not known");
	else if (strcasecmp(used, algo) != 0 || strcasecmp(used_proto, proto) != 0)
		cause_yes(f, "%.15s/%.15s where %.15s/%.15s is predicted", used, used_proto, algo,
			  proto);
}

/* The log has the channels of the communicator where the row's are not known, of its algorithm. */
void cause_channels(const struct observation *o, struct cause_finding *f)
{
	const char *algo = cause_run_text(o, "worst_algo"), *taken = cause_run_text(o, "used_algo");
	int used = taken[0] ? cause_run(o, "used_channels") : cause_nccl(o, "coll_channels");
	int wanted = cause_run(o, "worst_channels");

	if (wanted < 0 || strncmp(algo, "NVLS", 4) == 0 ||
	    (taken[0] && strcasecmp(taken, algo) != 0))
		return;
	if (used < 0)
		cause_unseen(f, "how many channels NCCL used is not known");
	else if (used < wanted)
		cause_yes(f, "%d where %d are predicted", used, wanted);
}

/* The absence of NVLS explains nothing where the prediction leaves it out. */
void cause_nvls(const struct observation *o, struct cause_finding *f)
{
	const char *algo = cause_run_text(o, "worst_algo"), *used = cause_run_text(o, "used_algo");
	int nvls = cause_nccl(o, "nvls");

	if (strncmp(algo, "NVLS", 4) != 0)
		return;
	if (used[0] && strncmp(used, "NVLS", 4) != 0)
		cause_yes(f, "%.15s is used where %.15s is predicted", used, algo);
	else if (!used[0] && nvls == 0)
		cause_yes(f, "NCCL says that multicast is not available");
	else if (!used[0] && nvls < 0)
		cause_no_log(o, f);
}
