/* cause_net.c: causes between hosts: which network, how fast, how well. */
#include "reconcile/cause_parts.h"

#include <strings.h>

/* A network interface or a port of an RDMA device, at the first look. */
struct nic {
	const char *part, *name, *link, *state; /* "eth0", "eth0", "Ethernet", "up" */
	bool rdma, hardware;			/* hardware: not a bridge, tunnel or loopback */
	int64_t mbps, mtu;
};

static struct nic nic_of(const struct observation *o, int h, const char *part)
{
	return (struct nic){
		.part = part,
		.name = cause_text(o, h, part, "name"),
		.link = cause_text(o, h, part, "link"),
		.state = cause_text(o, h, part, "state"),
		.rdma = cause_before(o, h, part, "rdma") == 1,
		.hardware = cause_before(o, h, part, "hardware") == 1,
		.mbps = cause_before(o, h, part, "mbps"),
		.mtu = cause_before(o, h, part, "mtu"),
	};
}

/* The next of a host, from *at (0 at first) on; false: no more. */
static bool next_nic(const struct observation *o, int h, size_t *at, struct nic *nic)
{
	const char *part = reading_next(&o->before[h], "rdma", at);

	if (part)
		*nic = nic_of(o, h, part);
	return part != NULL;
}

static bool up(const struct nic *nic)
{
	return strcmp(nic->state, "up") == 0;
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

static bool usable(const struct nic *nic)
{
	return !nic->rdma && nic->hardware && up(nic) && nic->mbps > 0;
}

/* A faster interface than those that the user's list leaves. */
static void check_interfaces(const struct observation *o, int h, const char *list,
			     struct cause_finding *f)
{
	struct nic nic, best = { .mbps = 0 }, taken = { .mbps = 0 };
	int interfaces = 0;

	for (size_t at = 0; next_nic(o, h, &at, &nic);) {
		if (!usable(&nic))
			continue;
		interfaces++;
		if (nic.mbps > best.mbps)
			best = nic;
		if (list && list_takes(list, nic.name) && nic.mbps > taken.mbps)
			taken = nic;
	}
	if (taken.mbps > 0 && taken.mbps < best.mbps)
		cause_yes(f,
			  "%.31s on %s at %" PRId64
			  " Mb/s is chosen (%.40s) while %.31s has %" PRId64,
			  taken.name, cause_host(o, h), taken.mbps, list, best.name, best.mbps);
	else if (!list && interfaces > 1)
		cause_unseen(f, "which of several interfaces is used: NCCL's log says it");
	else if (interfaces == 0)
		cause_unseen(f, "no interface shows its speed");
}

static void check_rdma(const struct observation *o, int h, struct cause_finding *f)
{
	struct nic nic;

	for (size_t at = 0; next_nic(o, h, &at, &nic);) {
		if (!nic.rdma || !up(&nic))
			continue;
		cause_yes(f, "TCP is used while %.15s port %.31s on %s is active", nic.link,
			  nic.name, cause_host(o, h));
		return;
	}
}

/* Ports that the user's list leaves out, faster than or as fast as those it takes. */
static void check_ports(const struct observation *o, int h, const char *list,
			struct cause_finding *f)
{
	int64_t taken = 0;
	struct nic nic;

	for (size_t at = 0; next_nic(o, h, &at, &nic);)
		if (nic.rdma && list_takes(list, nic.name) && nic.mbps > taken)
			taken = nic.mbps;
	for (size_t at = 0; taken > 0 && next_nic(o, h, &at, &nic);) {
		if (!nic.rdma || !up(&nic) || list_takes(list, nic.name) || nic.mbps < taken)
			continue;
		cause_yes(f, "NCCL_IB_HCA=%.40s leaves out %.31s on %s, which is active", list,
			  nic.name, cause_host(o, h));
		return;
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
static int64_t sibling_speed(const struct observation *o, int h, const struct nic *nic, int *other)
{
	int64_t best = up(nic) ? nic->mbps : 0;

	for (int k = 0; k < o->nhosts; k++) {
		struct nic twin = nic_of(o, k, nic->part);

		if (k != h && up(&twin) && twin.mbps > best) {
			best = twin.mbps;
			*other = k;
		}
	}
	return best;
}

static void check_speed(const struct observation *o, int h, const struct nic *nic,
			struct cause_finding *f)
{
	int other = -1;
	int64_t best = sibling_speed(o, h, nic, &other);

	if (other >= 0 && !up(nic))
		cause_yes(f, "%.31s on %s is down, and up on %s", nic->name, cause_host(o, h),
			  cause_host(o, other));
	else if (other >= 0)
		cause_yes(f, "%.31s on %s has %" PRId64 " Mb/s, and %" PRId64 " on %s", nic->name,
			  cause_host(o, h), nic->mbps, best, cause_host(o, other));
	else if (up(nic) && (double)nic->mbps < 0.99e3 * o->run.nic_gbps)
		cause_yes(f,
			  "%.31s on %s has %" PRId64 " Mb/s, and the topology asked for %.0f Gb/s",
			  nic->name, cause_host(o, h), nic->mbps, o->run.nic_gbps);
}

/* True when the traffic may use it: RDMA ports, or with TCP the host's own interfaces; MPI may take
 * either. */
static bool relevant(const struct observation *o, const struct nic *nic)
{
	return nic->hardware && (!cause_on_gpus(o) || nic->rdma == !cause_tcp(o));
}

void cause_nic_speed(const struct observation *o, struct cause_finding *f)
{
	struct nic nic;
	int seen = 0;

	if (!cause_network(o) || o->run.shared_gpu == 1)
		return;
	for (int h = 0; h < o->nhosts; h++) {
		for (size_t at = 0; next_nic(o, h, &at, &nic);) {
			if (!relevant(o, &nic) || (up(&nic) && nic.mbps <= 0))
				continue;
			seen++;
			check_speed(o, h, &nic, f);
		}
	}
	if (seen == 0)
		cause_unseen(f, "/sys shows no NIC's speed");
}

/* ---- MTU ---------------------------------------------------------------------------------- */

void cause_mtu(const struct observation *o, struct cause_finding *f)
{
	int compared = 0;
	struct nic a;

	for (int h = 1; h < o->nhosts; h++) {
		for (size_t at = 0; next_nic(o, 0, &at, &a);) {
			struct nic b = nic_of(o, h, a.part);

			if (!up(&a) || !up(&b) || a.mtu <= 0 || b.mtu <= 0)
				continue;
			compared++;
			if (a.mtu != b.mtu)
				cause_yes(f,
					  "%.31s has MTU %" PRId64 " on %s and %" PRId64 " on %s",
					  a.name, a.mtu, cause_host(o, 0), b.mtu, cause_host(o, h));
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
	cause_rules(o, "tcp-retransmits", "TCP", "/proc/net/snmp does not show TCP's segments", f);
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
		without += cause_before(o, h, "kernel", "peermem") == 0;
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
