/* nccl_check_lint.c: is this ring rational? The log's rings against hosts and topology. */

#include "base/rank_list.h"
#include "nccl_check/nccl_check_parts.h"
#include "topo/topo.h"

/* Faster first. */
enum transport { T_UNKNOWN, T_P2P, T_INDIRECT, T_SHM, T_NET };

/* From near to far, as in NCCL (topo.h): NVLink, NVLink over a GPU, chip to chip, PCIe switches, host bridge, another NUMA node. */
enum near {
	NEAR_UNKNOWN,
	NEAR_LOC,
	NEAR_NVL,
	NEAR_NVB,
	NEAR_C2C,
	NEAR_PIX,
	NEAR_PXB,
	NEAR_PHB,
	NEAR_SYS
};

static const char *const near_names[] = { "?",	 "LOC", "NVL", "NVB", "C2C",
					  "PIX", "PXB", "PHB", "SYS" };

/* The best transport between two ranks of a host, and a user of it. */
struct best {
	enum transport transport;
	int from, to;
	bool has_member; /* of the communicator, on this host */
};

struct linter {
	const struct nccl_log *log;
	const struct nccl_comm *comm;
	const struct topo_system *topo;
	struct nccl_lint *out;
	struct best *best;	     /* by number of host */
	int hosts;		     /* of this communicator */
	const struct nccl_link *gdr; /* a pair that uses GPUDirect RDMA */
	int shared; /* steps through host memory, of which nothing says if they need to */
	int open, differing, no_transport;
	int from, to;	      /* the first step without a transport */
	struct rank_set away; /* ranks of rings of which no line is here */
};

static enum transport transport_of(const char *text)
{
	if (!text)
		return T_UNKNOWN;
	if (strncmp(text, "P2P/indirect", 12) == 0)
		return T_INDIRECT;
	if (strncmp(text, "P2P/", 4) == 0)
		return T_P2P;
	if (strncmp(text, "SHM/", 4) == 0)
		return T_SHM;
	return strncmp(text, "NET/", 4) == 0 ? T_NET : T_UNKNOWN;
}

const char *const nccl_verdict_names[] = { "rational", "irrational", "cannot say" };

void nccl_lint_add(struct nccl_lint *out, enum nccl_finding_kind kind, int channel,
		   const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	must(text);
	for (int i = 0; i < out->n_findings; i++) {
		if (strcmp(out->findings[i].reason, text) == 0) {
			out->findings[i].channels++;
			free(text);
			return;
		}
	}
	raw_add(out->findings, out->n_findings,
		(struct nccl_finding){
			.kind = kind, .channel = channel, .channels = 1, .reason = text });
}

#define missing(lint, ...)     nccl_lint_add((lint)->out, NCCL_MISSING, -1, __VA_ARGS__)
#define note(lint, ...)	       nccl_lint_add((lint)->out, NCCL_NOTE, -1, __VA_ARGS__)
#define found(lint, ring, ...) nccl_lint_add((lint)->out, NCCL_FOUND, (ring)->channel, __VA_ARGS__)

/* ---- who is where ------------------------------------------------------------------------- */

/* The number of a rank's host, -1 unknown. With one node all are where the known ones are. */
static int host_of(const struct linter *lint, int rank)
{
	const struct nccl_member *member = nccl_comm_member(lint->comm, rank);

	if (!member && lint->comm->nnodes == 1 && lint->comm->n_members)
		member = lint->comm->members[0];
	return member ? member->host_number : -1;
}

/* The index in the file of a rank's GPU, -1: it is not there. */
static int gpu_in_file(const struct linter *lint, const struct nccl_member *member)
{
	for (int i = 0; i < lint->topo->ngpus && member->bus; i++)
		if (lint->topo->gpu[i].bus == member->bus)
			return i;
	return -1;
}

static enum near near_in_file(const struct topo_system *topo, int ia, int ib)
{
	const struct topo_gpu *a = &topo->gpu[ia], *b = &topo->gpu[ib];
	int common = 0;

	if (ia < 0 || ib < 0 || ia == ib)
		return ia < 0 || ib < 0 ? NEAR_UNKNOWN : NEAR_LOC;
	if ((a->switch_links > 0 && b->switch_links > 0) || a->links[ib] > 0)
		return NEAR_NVL;
	while (common < a->nabove && common < b->nabove && a->above[common] == b->above[common])
		common++;
	if (common > 0)
		return common == a->nabove && common == b->nabove ? NEAR_PIX : NEAR_PXB;
	return a->cpu == b->cpu ? NEAR_PHB : NEAR_SYS;
}

/* How the GPUs of two ranks of a host are joined, by the file or the log's graph lines; *bw: GB/s of the log, or 0. */
static enum near near_of(const struct linter *lint, int a, int b, double *bw)
{
	const struct nccl_member *x = nccl_comm_member(lint->comm, a);
	const struct nccl_member *y = nccl_comm_member(lint->comm, b);
	const struct nccl_path *path = NULL;
	enum near near = NEAR_SYS;

	*bw = 0;
	if (!x || !y)
		return NEAR_UNKNOWN;
	if (lint->topo)
		return near_in_file(lint->topo, gpu_in_file(lint, x), gpu_in_file(lint, y));
	while ((path = nccl_next_path(lint->log, path, x)) &&
	       (strcmp(path->kind, "GPU") != 0 || path->to != y->bus))
		;
	if (path)
		*bw = path->bw;
	while (path && near > NEAR_UNKNOWN && strcmp(path->type, near_names[near]) != 0)
		near--;
	return path ? near : NEAR_UNKNOWN;
}

/* A rank's NUMA node, -1 unknown: the one CPU that is reached without crossing to another node. */
static int numa_of(const struct linter *lint, int rank)
{
	const struct nccl_member *member = nccl_comm_member(lint->comm, rank);
	const struct nccl_path *path = NULL;
	int gpu = member && lint->topo ? gpu_in_file(lint, member) : -1;

	if (!member || lint->topo)
		return gpu >= 0 ? lint->topo->numa[lint->topo->gpu[gpu].cpu] : -1;
	while ((path = nccl_next_path(lint->log, path, member)))
		if (strcmp(path->kind, "CPU") == 0 && strcmp(path->type, "SYS") != 0 &&
		    path->to < 1024)
			return (int)path->to;
	return -1;
}

static void survey(struct linter *lint)
{
	lint->best = must(calloc((size_t)lint->log->n_hosts + 1, sizeof(*lint->best)));
	for (int m = 0; m < lint->comm->n_members; m++) {
		struct best *best = &lint->best[lint->comm->members[m]->host_number];

		lint->hosts += !best->has_member;
		best->has_member = true;
	}
	for (int l = 0; l < lint->comm->n_links; l++) {
		const struct nccl_link *link = &lint->comm->links[l];
		enum transport transport = transport_of(link->transport);
		int host = host_of(lint, link->from);

		if (transport == T_NET && !lint->gdr && strstr(link->transport, "/GDRDMA"))
			lint->gdr = link;
		if (host < 0 || host != host_of(lint, link->to) || transport == T_UNKNOWN)
			continue;
		if (lint->best[host].transport == T_UNKNOWN ||
		    transport < lint->best[host].transport)
			lint->best[host] = (struct best){ transport, link->from, link->to, true };
	}
}

/* ---- one ring ----------------------------------------------------------------------------- */

/* Counts how often the ring comes to each host: once is right. */
static void lint_crossings(struct linter *lint, const struct nccl_ring *ring)
{
	int *visits = must(calloc((size_t)lint->log->n_hosts + 1, sizeof(*visits)));

	for (int i = 0; i < ring->n; i++) {
		int from = ring->order[(i + ring->n - 1) % ring->n], to = ring->order[i];
		int a = host_of(lint, from), b = host_of(lint, to);

		if (a < 0 || b < 0 || a == b)
			continue;
		if (++visits[b] == 2)
			found(lint, ring,
			      "the ring leaves host %s and comes back more than once: again with "
			      "%d -> %d",
			      lint->log->hosts[b], from, to);
	}
	free(visits);
}

static void lint_net(struct linter *lint, const struct nccl_ring *ring, int from, int to,
		     const char *text)
{
	const char *host = lint->log->hosts[host_of(lint, from)];

	if (host_of(lint, from) != host_of(lint, to)) {
		if (lint->gdr && !strstr(text, "/GDRDMA"))
			found(lint, ring,
			      "%d -> %d uses %s without GPUDirect RDMA, which %d -> %d has", from,
			      to, text, lint->gdr->from, lint->gdr->to);
		return;
	}
	if (lint->comm->nnodes > lint->hosts && lint->comm->n_members == lint->comm->nranks)
		found(lint, ring,
		      "%d -> %d uses %s inside host %s: NCCL counts %d nodes on %d host%s "
		      "(NCCL_HOSTID, or P2P and SHM refused)",
		      from, to, text, host, lint->comm->nnodes, lint->hosts,
		      lint->hosts == 1 ? "" : "s");
	else
		found(lint, ring, "%d -> %d uses %s inside host %s", from, to, text, host);
}

/* Shared memory or a detour over a third GPU, where peers could reach each other. */
static void lint_slower(struct linter *lint, const struct nccl_ring *ring, int from, int to,
			const char *text)
{
	const struct best *best = &lint->best[host_of(lint, from)];
	double bw;
	enum near near = near_of(lint, from, to, &bw);
	const char *name = near_names[near];

	if (near >= NEAR_PHB)
		note(lint, "%d -> %d uses %s: their GPUs are %s apart, too far for P2P by default",
		     from, to, text, name);
	else if (near != NEAR_UNKNOWN)
		found(lint, ring, "%d -> %d uses %s although their GPUs are %s apart", from, to,
		      text, name);
	else if (best->transport < transport_of(text))
		found(lint, ring,
		      "%d -> %d uses %s while %d -> %d on the same host uses %s (no topology at "
		      "hand that would explain it)",
		      from, to, text, best->from, best->to,
		      best->transport == T_P2P ? "P2P" : "a faster transport");
	else
		lint->shared++;
}

static void lint_transports(struct linter *lint, const struct nccl_ring *ring)
{
	for (int i = 0; i < ring->n && ring->n > 1; i++) {
		int from = ring->order[i], to = ring->order[(i + 1) % ring->n];
		const char *text = nccl_comm_transport(lint->comm, ring->channel, from, to);
		int a = host_of(lint, from), b = host_of(lint, to);
		enum transport transport = transport_of(text);

		if (i == ring->n - 1 && !ring->closed)
			break;
		if (transport == T_UNKNOWN && lint->no_transport++ == 0) {
			lint->from = from;
			lint->to = to;
		}
		if (a < 0)
			rank_set_add(&lint->away, from);
		if (b < 0)
			rank_set_add(&lint->away, to);
		if (a < 0 || b < 0)
			continue;
		if (transport == T_NET)
			lint_net(lint, ring, from, to, text);
		else if ((transport == T_SHM || transport == T_INDIRECT) && a == b)
			lint_slower(lint, ring, from, to, text);
	}
}

/* A ring's changes of NUMA node on one host. */
struct numa {
	uint64_t nodes; /* those that the ring touches */
	int changes;	/* other than over NVLink */
	int from, to;	/* the last one */
};

static void count_numa(struct linter *lint, const struct nccl_ring *ring, struct numa *numas)
{
	for (int i = 0; i < ring->n; i++) {
		int from = ring->order[i], to = ring->order[(i + 1) % ring->n];
		int a = numa_of(lint, from), b = numa_of(lint, to), host = host_of(lint, from);
		struct numa *numa = host < 0 ? NULL : &numas[host];
		enum near near;
		double bw;

		if (!numa || a < 0 || a > 63)
			continue;
		numa->nodes |= 1ull << a;
		if (host_of(lint, to) != host || b < 0 || a == b)
			continue;
		near = near_of(lint, from, to, &bw);
		if (near == NEAR_NVL || near == NEAR_NVB || near == NEAR_C2C)
			continue;
		numa->changes++;
		numa->from = from;
		numa->to = to;
	}
}

/* The fewest changes possible: NUMA nodes - 1 through a host, one more where the ring closes. */
static void lint_numa(struct linter *lint, const struct nccl_ring *ring)
{
	struct numa *numas = must(calloc((size_t)lint->log->n_hosts + 1, sizeof(*numas)));

	count_numa(lint, ring, numas);
	for (int h = 0; h < lint->log->n_hosts; h++) {
		const struct numa *numa = &numas[h];
		int fewest = __builtin_popcountll(numa->nodes) - (lint->hosts > 1);

		if (numa->changes > fewest && fewest > 0)
			found(lint, ring,
			      "the ring changes NUMA node %d times on host %s, %d would do: last "
			      "with %d -> %d",
			      numa->changes, lint->log->hosts[h], fewest, numa->from, numa->to);
	}
	free(numas);
}

/* 1: all GPUs of the host are equally far from each other; 0: not; -1: unknown. */
static int uniform(const struct linter *lint)
{
	const struct nccl_comm *comm = lint->comm;
	enum near first = NEAR_UNKNOWN, near;
	double first_bw = 0, bw;
	bool even = true;

	if (comm->n_members > TOPO_MAX_GPUS || comm->n_members != comm->nranks)
		return -1;
	for (int pair = 0; pair < comm->n_members * comm->n_members; pair++) {
		int a = pair / comm->n_members, b = pair % comm->n_members;

		if (a == b)
			continue;
		near = near_of(lint, comm->members[a]->rank, comm->members[b]->rank, &bw);
		if (near == NEAR_UNKNOWN)
			return even ? -1 : 0;
		even &= first == NEAR_UNKNOWN || (near == first && fabs(bw - first_bw) <= 0);
		first = near;
		first_bw = bw;
	}
	return even;
}

static void lint_orders(struct linter *lint)
{
	static const char *const tails[] = {
		", and no topology says whether they need to",
		": GPUs are not equally far from each other",
		" without need: all GPUs are equally far from each other"
	};
	const struct nccl_ring *first = NULL, *other = NULL;
	int different = 0, even;

	for (int r = 0; r < lint->comm->n_rings; r++) {
		const struct nccl_ring *ring = &lint->comm->rings[r];

		if (!ring->closed)
			continue;
		if (!first)
			first = ring;
		if (ring->n == first->n &&
		    memcmp(ring->order, first->order, (size_t)ring->n * sizeof(int)) == 0)
			continue;
		if (different++ == 0)
			other = ring;
	}
	if (!different || lint->hosts > 1 || first->n < 3)
		return;
	even = uniform(lint);
	nccl_lint_add(lint->out,
		      even == 1	  ? NCCL_FOUND
		      : even == 0 ? NCCL_NOTE
				  : NCCL_MISSING,
		      even == 1 ? other->channel : -1,
		      "%d of %d channels have another order than channel %02d%s", different,
		      lint->comm->n_rings, first->channel, tails[even + 1]);
}

/* ---- all rings ---------------------------------------------------------------------------- */

static bool says_connected(const struct nccl_comm *comm)
{
	for (int i = 0; i < comm->n_says; i++)
		if (strncmp(comm->says[i], "Connected all rings", 19) == 0)
			return true;
	return false;
}

/* NCCL 2.22 and later may connect ranks at the first call. */
static bool connects_late(const struct linter *lint)
{
	int major = 0, minor = 0;

	if (says_connected(lint->comm))
		return false;
	return !lint->log->version || sscanf(lint->log->version, "%d.%d", &major, &minor) != 2 ||
	       major > 2 || minor >= 22;
}

/* Returns true if a rank's init failed in what comes after the rings. */
static bool failed_late(const struct linter *lint)
{
	for (int i = 0; i < lint->log->n_warnings; i++) {
		const struct nccl_warning *w = &lint->log->warnings[i];
		struct found found;
		char text[1024];

		snprintf(text, sizeof(text), "%s %s", w->where, w->text);
		if (!w->in_init || nccl_warning_class(w) > NCCL_TRACE ||
		    !rows_find(lint->log->rows, ROWS_late, text, strlen(text), 0, &found))
			continue;
		for (int m = 0; m < lint->comm->n_members; m++)
			if (lint->comm->members[m]->host == w->host &&
			    lint->comm->members[m]->pid == w->pid)
				return true;
	}
	return false;
}

/* Why no ring is known. */
static const char *without_rings(const struct linter *lint)
{
	const bool root = nccl_comm_member(lint->comm, 0);
	int started = 0, unknown = 0;

	for (int m = 0; m < lint->comm->n_members; m++) {
		started += lint->comm->members[m]->state == NCCL_STATE_STARTED;
		unknown += lint->comm->members[m]->state == NCCL_STATE_UNKNOWN;
	}
	if (failed_late(lint))
		return "it is not in this log (cut or filtered); init failed after the rings "
		       "were made";
	if (lint->comm->n_links == 0 && started && started == lint->comm->n_members)
		return "its init had not come to it when the log ended";
	if (lint->comm->n_links > 0 || unknown < lint->comm->n_members ||
	    says_connected(lint->comm))
		return root ? "the log is an excerpt"
			    : "the log is an excerpt, or without the lines of rank 0, which prints "
			      "it";
	return root ? "rank 0's lines here hold none: they are cut, or subsystems INIT and GRAPH "
		      "are off"
		    : "rank 0's log, or subsystems INIT and GRAPH, are not here";
}

static void lint_missing(struct linter *lint)
{
	char ranks[120];

	if (lint->comm->n_rings == 0 && lint->comm->nranks != 1)
		missing(lint, "no ring order (Channel NN/MM) line: %s", without_rings(lint));
	if (lint->open)
		missing(lint,
			"%d of %d rings are not complete: rank 0's line is cut or not here, and "
			"Ring lines (subsystem GRAPH) of some ranks are not here",
			lint->open, lint->comm->n_rings);
	if (lint->differing)
		missing(lint,
			"%d rings: rank 0's Channel line and the ranks' Ring lines contradict each "
			"other",
			lint->differing);
	if (lint->away.n)
		missing(lint, "no line of %s is here, which would tell the host",
			rank_list_words(lint->away.in, lint->away.nranks, ranks, sizeof(ranks)));
	if (lint->shared && !nccl_p2p_is_off(lint->log))
		missing(lint,
			"all steps inside hosts that are here go through host memory, and nothing "
			"says how far GPUs are apart (nvidia-smi topo -m; topo -p2p r)");
	if (lint->no_transport == 1)
		missing(lint, "no line says over what %d -> %d goes", lint->from, lint->to);
	else if (lint->no_transport)
		missing(lint, "no line says over what %d -> %d goes, nor %d more step%s%s",
			lint->from, lint->to, lint->no_transport - 1,
			lint->no_transport == 2 ? "" : "s",
			connects_late(lint) ? " (NCCL prints it as late as at the first call)"
					    : "");
}

void nccl_log_lint(const struct nccl_log *log, const struct nccl_comm *comm,
		   const struct topo_system *topo, struct nccl_lint *out)
{
	struct linter lint = { .log = log, .comm = comm, .topo = topo, .out = out };

	*out = (struct nccl_lint){ .verdict = NCCL_RATIONAL };
	for (int r = 0; r < comm->n_rings; r++)
		for (int i = 0; i < comm->rings[r].n; i++)
			lint.away.nranks = comm->rings[r].order[i] >= lint.away.nranks
						   ? comm->rings[r].order[i] + 1
						   : lint.away.nranks;
	lint.away.in = must(calloc((size_t)lint.away.nranks + 1, sizeof(bool)));
	survey(&lint);
	for (int r = 0; r < comm->n_rings; r++) {
		const struct nccl_ring *ring = &comm->rings[r];

		lint.open += !ring->closed;
		lint.differing += ring->differs;
		if (ring->closed)
			lint_crossings(&lint, ring);
		lint_transports(&lint, ring);
		if (ring->closed)
			lint_numa(&lint, ring);
	}
	lint_orders(&lint);
	lint_missing(&lint);
	nccl_lint_node(log, comm, comm->n_rings > 0 && !lint.no_transport, out);
	free(lint.away.in);
	free(lint.best);
	for (int i = 0; i < out->n_findings; i++)
		if (out->findings[i].kind == NCCL_FOUND)
			out->verdict = NCCL_IRRATIONAL;
		else if (out->findings[i].kind == NCCL_MISSING && out->verdict == NCCL_RATIONAL)
			out->verdict = NCCL_CANNOT_SAY;
}

void nccl_lint_release(struct nccl_lint *lint)
{
	for (int i = 0; i < lint->n_findings; i++)
		free(lint->findings[i].reason);
	free(lint->findings);
	*lint = (struct nccl_lint){ 0 };
}
