/* cause_net.c: causes between hosts: which network, how fast, how well. */
#include "reconcile/cause_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LOST_SHARE 0.001 /* of TCP's segments sent twice */
#define LOST_LEAST 10

static bool up(const struct observed_nic *nic)
{
	return strcmp(nic->state, "up") == 0;
}

static bool same_name(const struct observed_nic *a, const struct observed_nic *b)
{
	return a->rdma == b->rdma && strcmp(a->name, b->name) == 0;
}

static const struct observed_nic *find(const struct observed_host *host,
				       const struct observed_nic *like)
{
	for (int i = 0; i < host->nnics; i++)
		if (same_name(&host->nics[i], like))
			return &host->nics[i];
	return NULL;
}

/* ---- wrong interface, TCP in place of RDMA ------------------------------------------------ */

/* NCCL's lists: prefixes, with "=" whole names, with "^" all but these; a port after ":". */
static bool list_takes(const char *list, const char *name)
{
	bool negated = *list == '^', exact, listed = false;

	list += negated;
	exact = *list == '=';
	list += exact;
	while (*list) {
		size_t n = strcspn(list, ":,");

		listed |= n > 0 && strncmp(list, name, n) == 0 && (!exact || strlen(name) == n);
		list += strcspn(list, ",");
		list += *list == ',';
	}
	return listed != negated;
}

static bool usable(const struct observed_nic *nic)
{
	return nic->rdma == 0 && nic->hardware == 1 && up(nic) && nic->mbps > 0;
}

/* A faster interface than those that the user's list leaves. */
static void check_interfaces(const struct observation *o, int h, const char *list,
			     struct cause_finding *f)
{
	const struct observed_host *host = &o->before[h];
	const struct observed_nic *best = NULL, *taken = NULL;
	int interfaces = 0;

	for (int i = 0; i < host->nnics; i++) {
		const struct observed_nic *nic = &host->nics[i];

		if (!usable(nic))
			continue;
		interfaces++;
		if (!best || nic->mbps > best->mbps)
			best = nic;
		if (list && list_takes(list, nic->name) && (!taken || nic->mbps > taken->mbps))
			taken = nic;
	}
	if (taken && taken->mbps < best->mbps)
		cause_yes(f, "%s on %s at %lld Mb/s is chosen (%.40s) while %s has %lld",
			  taken->name, cause_host(o, h), (long long)taken->mbps, list, best->name,
			  (long long)best->mbps);
	else if (!list && interfaces > 1)
		cause_unseen(f, "which of several interfaces is used: NCCL's log says it");
	else if (interfaces == 0)
		cause_unseen(f, "no interface shows its speed");
}

static void check_rdma(const struct observation *o, int h, struct cause_finding *f)
{
	const struct observed_host *host = &o->before[h];

	for (int i = 0; i < host->nnics; i++) {
		const struct observed_nic *nic = &host->nics[i];

		if (nic->rdma == 1 && up(nic)) {
			cause_yes(f, "TCP is used while %s port %s on %s is active", nic->link,
				  nic->name, cause_host(o, h));
			return;
		}
	}
}

/* Ports that the user's list leaves out, faster than or as fast as those it takes. */
static void check_ports(const struct observation *o, int h, const char *list,
			struct cause_finding *f)
{
	const struct observed_host *host = &o->before[h];
	int64_t taken = 0;

	for (int i = 0; i < host->nnics; i++)
		if (host->nics[i].rdma == 1 && list_takes(list, host->nics[i].name) &&
		    host->nics[i].mbps > taken)
			taken = host->nics[i].mbps;
	for (int i = 0; i < host->nnics && taken > 0; i++) {
		const struct observed_nic *nic = &host->nics[i];

		if (nic->rdma == 1 && up(nic) && !list_takes(list, nic->name) &&
		    nic->mbps >= taken) {
			cause_yes(f, "NCCL_IB_HCA=%.40s leaves out %s on %s, which is active", list,
				  nic->name, cause_host(o, h));
			return;
		}
	}
}

void cause_wrong_network(const struct observation *o, struct cause_finding *f)
{
	const char *ports = cause_setting(o, "NCCL_IB_HCA");

	if (!cause_network(o) || o->run.shared_gpu == 1)
		return;
	if (!o->nccl.network[0] && !o->run.transport[0]) {
		cause_unseen(f, "which network is used: NCCL's log says it");
		return;
	}
	for (int h = 0; h < o->nhosts; h++) {
		if (cause_tcp(o)) {
			check_rdma(o, h, f);
			check_interfaces(o, h, cause_setting(o, "NCCL_SOCKET_IFNAME"), f);
		} else if (ports) {
			check_ports(o, h, ports, f);
		}
	}
}

/* ---- speed -------------------------------------------------------------------------------- */

/* The best speed of the NIC of this name on any host; *other: on which. */
static int64_t sibling_speed(const struct observation *o, int h, const struct observed_nic *nic,
			     int *other)
{
	int64_t best = up(nic) ? nic->mbps : 0;

	for (int k = 0; k < o->nhosts; k++) {
		const struct observed_nic *twin = find(&o->before[k], nic);

		if (k != h && twin && up(twin) && twin->mbps > best) {
			best = twin->mbps;
			*other = k;
		}
	}
	return best;
}

static void check_speed(const struct observation *o, int h, const struct observed_nic *nic,
			struct cause_finding *f)
{
	int other = -1;
	int64_t best = sibling_speed(o, h, nic, &other);

	if (other >= 0 && !up(nic))
		cause_yes(f, "%s on %s is down, and up on %s", nic->name, cause_host(o, h),
			  cause_host(o, other));
	else if (other >= 0)
		cause_yes(f, "%s on %s has %lld Mb/s, and %lld on %s", nic->name, cause_host(o, h),
			  (long long)nic->mbps, (long long)best, cause_host(o, other));
	else if (up(nic) && (double)nic->mbps < 0.99e3 * o->run.nic_gbps)
		cause_yes(f, "%s on %s has %lld Mb/s, and the topology asked for %.0f Gb/s",
			  nic->name, cause_host(o, h), (long long)nic->mbps, o->run.nic_gbps);
}

/* May the traffic use it? RDMA ports, or with TCP the host's own interfaces; MPI may
 * take either. */
static bool relevant(const struct observation *o, const struct observed_nic *nic)
{
	return nic->hardware == 1 && (!cause_on_gpus(o) || nic->rdma == !cause_tcp(o));
}

void cause_nic_speed(const struct observation *o, struct cause_finding *f)
{
	int seen = 0;

	if (!cause_network(o) || o->run.shared_gpu == 1)
		return;
	for (int h = 0; h < o->nhosts; h++) {
		for (int i = 0; i < o->before[h].nnics; i++) {
			const struct observed_nic *nic = &o->before[h].nics[i];

			if (!relevant(o, nic) || (up(nic) && nic->mbps <= 0))
				continue;
			seen++;
			check_speed(o, h, nic, f);
		}
	}
	if (seen == 0)
		cause_unseen(f, "/sys shows no NIC's speed");
}

/* ---- MTU ---------------------------------------------------------------------------------- */

void cause_mtu(const struct observation *o, struct cause_finding *f)
{
	int compared = 0;

	for (int h = 1; h < o->nhosts; h++) {
		for (int i = 0; i < o->before[0].nnics; i++) {
			const struct observed_nic *a = &o->before[0].nics[i];
			const struct observed_nic *b = find(&o->before[h], a);

			if (!b || !up(a) || !up(b) || a->mtu <= 0 || b->mtu <= 0)
				continue;
			compared++;
			if (a->mtu != b->mtu)
				cause_yes(f, "%s has MTU %d on %s and %d on %s", a->name, a->mtu,
					  cause_host(o, 0), b->mtu, cause_host(o, h));
		}
	}
	if (o->nhosts > 1 && compared == 0)
		cause_unseen(f, "no interface of one name is up on several hosts");
}

/* ---- TCP ---------------------------------------------------------------------------------- */

void cause_retransmits(const struct observation *o, struct cause_finding *f)
{
	if (!cause_network(o) || (cause_on_gpus(o) && !cause_tcp(o)))
		return;
	for (int h = 0; h < o->nhosts; h++) {
		int64_t sent = cause_step(o->before[h].tcp_sent, o->after[h].tcp_sent);
		int64_t again =
			cause_step(o->before[h].tcp_retransmitted, o->after[h].tcp_retransmitted);

		if (sent < 0 || again < 0)
			cause_unseen(f, "/proc/net/snmp does not show TCP's segments");
		else if (again >= LOST_LEAST && (double)again > LOST_SHARE * (double)sent)
			cause_yes(f, "%s sent %lld of %lld TCP segments again", cause_host(o, h),
				  (long long)again, (long long)sent);
	}
}

/* ---- GPUDirect RDMA, PXN ------------------------------------------------------------------ */

/* False: TCP, which has neither. */
static bool rdma_between(const struct observation *o)
{
	return o->run.nodes > 1 && o->run.shared_gpu != 1 && !cause_tcp(o);
}

void cause_gdr(const struct observation *o, struct cause_finding *f)
{
	const struct observed_nccl *nccl = &o->nccl;
	int without = 0;

	if (!rdma_between(o))
		return;
	for (int h = 0; h < o->nhosts; h++)
		without += o->before[h].peermem == 0;
	if (nccl->far > 0 && nccl->far_gdr < nccl->far)
		cause_yes(f, "%d of %d connections between hosts have none: %s%s",
			  nccl->far - nccl->far_gdr, nccl->far, nccl->far_example,
			  without ? "; nvidia_peermem is not loaded" : "");
	else if (nccl->gdr == 0)
		cause_yes(f, "NCCL says GDR 0%s", without ? "; nvidia_peermem is not loaded" : "");
	else if (nccl->far <= 0 && nccl->gdr != 1)
		cause_unseen(f, "%s", cause_no_log(o));
}

/* Rings stay on their rail without it; what sends to every rank needs it. */
static bool sends_to_all(const char *collective)
{
	static const char *const names[] = { "alltoall", "alltoallv", "hypercube", "gather",
					     "scatter" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(collective, names[i]) == 0)
			return true;
	return false;
}

void cause_pxn(const struct observation *o, struct cause_finding *f)
{
	if (!rdma_between(o) || o->run.ranks <= o->run.nodes || strcmp(o->run.hop, "NVLink") != 0 ||
	    !sends_to_all(o->run.collective))
		return;
	if (o->nccl.far > 0 && o->nccl.far_pxn == 0)
		cause_yes(f, "none of %d connections between hosts uses another GPU's NIC",
			  o->nccl.far);
	else if (o->nccl.far <= 0)
		cause_unseen(f, "%s", cause_no_log(o));
}
