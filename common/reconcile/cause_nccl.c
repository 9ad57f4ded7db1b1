/* cause_nccl.c: causes inside NCCL: what it was told, and what it chose. */
#include "reconcile/cause_parts.h"

#include <strings.h>

/* ---- settings ----------------------------------------------------------------------------- */

static bool is_on(const char *value, const struct observation *o)
{
	return atoi(value) != 0;
}

/* Comma-separated, perhaps negated with "^"; "function:" lists are not taken apart and limit. */
static bool list_excludes(const char *list, const char *name)
{
	bool negated = *list == '^', listed = false;

	if (!name[0] || strchr(list, ':'))
		return true;
	for (list += negated; *list; list += strcspn(list, ","), list += *list == ',')
		listed |= strcspn(list, ",") == strlen(name) &&
			  strncasecmp(list, name, strlen(name)) == 0;
	return listed == negated;
}

/* Sends and receives have neither algorithm nor protocol. */
static bool is_p2p(const struct observation *o)
{
	return strcmp(o->run.worst_algo, "P2P") == 0;
}

static bool other_algo(const char *value, const struct observation *o)
{
	return value[0] && !is_p2p(o) && list_excludes(value, o->run.worst_algo);
}

static bool other_proto(const char *value, const struct observation *o)
{
	return value[0] && !is_p2p(o) && list_excludes(value, o->run.worst_proto);
}

/* Unknown how many it needs: then any limit counts. */
static bool few_channels(const char *value, const struct observation *o)
{
	int n = atoi(value);

	return n > 0 && (o->run.worst_channels < 0 || n < o->run.worst_channels);
}

static bool small_buffer(const char *value, const struct observation *o)
{
	long long n = atoll(value);

	return n > 0 && n < 4 << 20; /* NCCL's default (src/include/device.h) */
}

static bool few_threads(const char *value, const struct observation *o)
{
	int n = atoi(value);

	return n > 0 && n < 512;
}

static bool needs_memory(const char *value, const struct observation *o)
{
	const char *no_p2p = cause_setting(o, "NCCL_P2P_DISABLE");

	return atoi(value) != 0 &&
	       (strcmp(o->run.hop, "SHM") == 0 || (no_p2p && atoi(no_p2p) != 0));
}

/* NVLink peers may meet from level NVL (1) on; "LOC" and 0 refuse all. */
static bool near_level(const char *value, const struct observation *o)
{
	if (strcasecmp(value, "LOC") == 0 || strcmp(value, "0") == 0)
		return true;
	return strcmp(o->run.hop, "PCIe") == 0 &&
	       (strcasecmp(value, "NVL") == 0 || strcmp(value, "1") == 0);
}

/* --share-gpu sets it itself. */
static bool sockets(const char *value, const struct observation *o)
{
	return strcasecmp(value, "Socket") == 0 && o->run.shared_gpu != 1 && cause_network(o);
}

static bool on_network(const char *value, const struct observation *o)
{
	return atoi(value) != 0 && o->run.shared_gpu != 1 && cause_network(o);
}

static bool level_zero(const char *value, const struct observation *o)
{
	return cause_network(o) && (strcasecmp(value, "LOC") == 0 || strcmp(value, "0") == 0);
}

static const struct limit {
	const char *name;
	bool (*limits)(const char *value, const struct observation *o);
	const char *how;
} limits[] = {
	{ "NCCL_ALGO", other_algo, "excludes the algorithm that is best here" },
	{ "NCCL_PROTO", other_proto, "excludes the protocol that is best here" },
	{ "NCCL_MAX_NCHANNELS", few_channels, "allows fewer channels" },
	{ "NCCL_MAX_NRINGS", few_channels, "allows fewer channels" },
	{ "NCCL_MAX_CTAS", few_channels, "allows fewer channels" },
	{ "NCCL_P2P_DISABLE", is_on, "sends through host memory" },
	{ "NCCL_P2P_LEVEL", near_level, "refuses P2P between these GPUs" },
	{ "NCCL_SHM_DISABLE", needs_memory, "leaves host memory out, and P2P is not there" },
	{ "NCCL_IB_DISABLE", on_network, "leaves InfiniBand and RoCE out" },
	{ "NCCL_NET", sockets, "takes TCP" },
	{ "NCCL_NET_GDR_LEVEL", level_zero, "refuses GPUDirect RDMA" },
	{ "NCCL_PXN_DISABLE", on_network, "keeps GPUs from each other's NICs" },
	{ "NCCL_BUFFSIZE", small_buffer, "is below NCCL's 4 MiB" },
	{ "NCCL_NTHREADS", few_threads, "is below NCCL's 512" },
	{ "CUDA_LAUNCH_BLOCKING", is_on, "waits for every kernel" },
};

void cause_settings(const struct observation *o, struct cause_finding *f)
{
	if (o->nhosts == 0)
		cause_unseen(f, "no host was looked at");
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		const char *value = cause_setting(o, limits[i].name);

		if (value && limits[i].limits(value, o))
			cause_yes(f, "%s=%.40s %s", limits[i].name, value, limits[i].how);
	}
}

/* ---- what it chose ------------------------------------------------------------------------ */

/* True when the worst row's choice stands beside its prediction. False: not seen, and said. */
static bool choice_seen(const struct observation *o, struct cause_finding *f)
{
	if (o->run.used_algo[0])
		return true;
	cause_unseen(f, "what NCCL chose for the slowest row is not known");
	return false;
}

void cause_choice(const struct observation *o, struct cause_finding *f)
{
	const struct observed_run *run = &o->run;

	if (!run->worst_algo[0] || !run->worst_proto[0] || is_p2p(o) || !choice_seen(o, f))
		return;
	if (strcasecmp(run->used_algo, run->worst_algo) != 0 ||
	    strcasecmp(run->used_proto, run->worst_proto) != 0)
		cause_yes(f, "%s/%s where %s/%s is predicted", run->used_algo, run->used_proto,
			  run->worst_algo, run->worst_proto);
}

/* The log tells how many channels the communicator has where what the row used is not known.
 * Channels of another algorithm are another matter. */
void cause_channels(const struct observation *o, struct cause_finding *f)
{
	const struct observed_run *run = &o->run;
	int used = run->used_algo[0] ? run->used_channels : o->nccl.coll_channels;

	if (run->worst_channels < 0 || strncmp(run->worst_algo, "NVLS", 4) == 0 ||
	    (run->used_algo[0] && strcasecmp(run->used_algo, run->worst_algo) != 0))
		return;
	if (used < 0)
		cause_unseen(f, "how many channels NCCL used is not known");
	else if (used < run->worst_channels)
		cause_yes(f, "%d where %d are predicted", used, run->worst_channels);
}

/* The absence of NVLS explains nothing where the prediction leaves it out. */
void cause_nvls(const struct observation *o, struct cause_finding *f)
{
	const struct observed_run *run = &o->run;

	if (strncmp(run->worst_algo, "NVLS", 4) != 0)
		return;
	if (run->used_algo[0] && strncmp(run->used_algo, "NVLS", 4) != 0)
		cause_yes(f, "%s is used where %s is predicted", run->used_algo, run->worst_algo);
	else if (!run->used_algo[0] && o->nccl.nvls == 0)
		cause_yes(f, "NCCL says that multicast is not available");
	else if (!run->used_algo[0] && o->nccl.nvls < 0)
		cause_unseen(f, "%s", cause_no_log(o));
}
