/* cause_net.c: causes between hosts: the choice, speed and quality of the network. */
#include "reconcile/cause_parts.h"

#include "base/parse.h"

/* A network interface or a port of an RDMA device, at the first look. */
struct nic {
	const char *part, *name, *link; /* "eth0", "eth0", "Ethernet" */
	bool rdma, hardware, up;	/* hardware: not a bridge, tunnel or loopback */
	int64_t mbps, mtu;
};

static struct nic nic_of(const struct observation *o, int h, const char *part)
{
	return (struct nic){
		.part = part,
		.name = cause_text(o, h, part, "name"),
		.link = cause_text(o, h, part, "link"),
		.up = strcmp(cause_text(o, h, part, "state"), "up") == 0,
		.rdma = cause_before(o, h, part, "rdma") == 1,
		.hardware = cause_before(o, h, part, "hardware") == 1,
		.mbps = cause_before(o, h, part, "mbps"),
		.mtu = cause_before(o, h, part, "mtu"),
	};
}

/* The next of a host, from *at (0 at first) on; false: no more. */
static bool next_nic(const struct observation *o, int h, size_t *at, struct nic *nic)
{
	const char *part = cause_next(o, h, "rdma", at);

	if (part)
		*nic = nic_of(o, h, part);
	return part != NULL;
}

/* ---- wrong interface, TCP in place of RDMA ------------------------------------------------ */

/* A faster interface than those that the user's list leaves. */
static void check_interfaces(const struct observation *o, int h, const char *list,
			     struct cause_finding *f)
{
	struct nic nic, best = { .mbps = 0 }, taken = { .mbps = 0 };
	int interfaces = 0;

	for (size_t at = 0; next_nic(o, h, &at, &nic);) {
		if (nic.rdma || !nic.hardware || !nic.up || nic.mbps <= 0)
			continue;
		interfaces++;
		if (nic.mbps > best.mbps)
			best = nic;
		if (list && cause_listed(list, nic.name, false) && nic.mbps > taken.mbps)
			taken = nic;
	}
	if (taken.mbps > 0 && taken.mbps < best.mbps)
		cause_yes(f, "%.31s on %s at %ld Mb/s is chosen (%.40s) while %.31s has %ld",
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
		if (!nic.rdma || !nic.up)
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
		if (nic.rdma && cause_listed(list, nic.name, false) && nic.mbps > taken)
			taken = nic.mbps;
	for (size_t at = 0; taken > 0 && next_nic(o, h, &at, &nic);) {
		if (!nic.rdma || !nic.up || cause_listed(list, nic.name, false) || nic.mbps < taken)
			continue;
		cause_yes(f, "NCCL_IB_HCA=%.40s leaves out %.31s on %s, which is active", list,
			  nic.name, cause_host(o, h));
		return;
	}
}

void cause_wrong_network(const struct observation *o, struct cause_finding *f)
{
	const char *ports = cause_setting(o, "NCCL_IB_HCA");

	if (!cause_network(o) || cause_run(o, "shared_gpu") == 1)
		return;
	if (!cause_nccl_text(o, "network")[0] && !cause_run_text(o, "transport")[0]) {
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
	int64_t best = nic->up ? nic->mbps : 0;

	for (int k = 0; k < o->nhosts; k++) {
		struct nic twin = nic_of(o, k, nic->part);

		if (k != h && twin.up && twin.mbps > best) {
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

	if (other >= 0 && !nic->up)
		cause_yes(f, "%.31s on %s is down, and up on %s", nic->name, cause_host(o, h),
			  cause_host(o, other));
	else if (other >= 0)
		cause_yes(f, "%.31s on %s has %ld Mb/s, and %ld on %s", nic->name, cause_host(o, h),
			  nic->mbps, best, cause_host(o, other));
	else if (nic->up && (double)nic->mbps < 0.99 * cause_run(o, "nic_mbps"))
		cause_yes(f, "%.31s on %s has %ld Mb/s, and the topology asked for %.0f Gb/s",
			  nic->name, cause_host(o, h), nic->mbps, cause_run(o, "nic_mbps") * 1e-3);
}

void cause_nic_speed(const struct observation *o, struct cause_finding *f)
{
	struct nic nic;
	int seen = 0;

	if (!cause_network(o) || cause_run(o, "shared_gpu") == 1)
		return;
	for (int h = 0; h < o->nhosts; h++) {
		for (size_t at = 0; next_nic(o, h, &at, &nic);) {
			/* the traffic uses RDMA ports, or with TCP the host's own interfaces; MPI may
			 * take either */
			if (!nic.hardware || (cause_on_gpus(o) && nic.rdma == cause_tcp(o)) ||
			    (nic.up && nic.mbps <= 0))
				continue;
			seen++;
			check_speed(o, h, &nic, f);
		}
	}
	if (seen == 0)
		cause_unseen(f, "/sys shows no NIC's speed");
}

void cause_mtu(const struct observation *o, struct cause_finding *f)
{
	int compared = 0;
	struct nic a;

	for (int h = 1; h < o->nhosts; h++) {
		for (size_t at = 0; next_nic(o, 0, &at, &a);) {
			struct nic b = nic_of(o, h, a.part);

			if (!a.up || !b.up || a.mtu <= 0 || b.mtu <= 0)
				continue;
			compared++;
			if (a.mtu != b.mtu)
				cause_yes(f, "%.31s has MTU %ld on %s and %ld on %s", a.name, a.mtu,
					  cause_host(o, 0), b.mtu, cause_host(o, h));
		}
	}
	if (o->nhosts > 1 && compared == 0)
		cause_unseen(f, "no interface of one name is up on several hosts");
}

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
	return cause_run(o, "nodes") > 1 && cause_run(o, "shared_gpu") != 1 && !cause_tcp(o);
}

void cause_gdr(const struct observation *o, struct cause_finding *f)
{
	int far = cause_nccl(o, "far"), with = cause_nccl(o, "far_gdr"), without = 0;
	int gdr = cause_nccl(o, "gdr");

	if (!rdma_between(o))
		return;
	for (int h = 0; h < o->nhosts; h++)
		without += cause_before(o, h, "kernel", "peermem") == 0;
	if (far > 0 && with < far)
		cause_yes(f, "%d of %d connections between hosts have none: %.90s%s", far - with,
			  far, cause_nccl_text(o, "far_example"),
			  without ? "; nvidia_peermem is not loaded" : "");
	else if (gdr == 0)
		cause_yes(f, "NCCL says GDR 0%s", without ? "; nvidia_peermem is not loaded" : "");
	else if (far <= 0 && gdr != 1)
		cause_no_log(o, f);
}

/* Rings stay on their rail without it; collectives that send to every rank need it. */
void cause_pxn(const struct observation *o, struct cause_finding *f)
{
	static const char to_all[] = "alltoall alltoallv hypercube gather scatter";
	int far = cause_nccl(o, "far");

	if (names_find(to_all, cause_run_text(o, "collective")) < 0 || !rdma_between(o) ||
	    cause_run(o, "ranks") <= cause_run(o, "nodes") || !cause_run_is(o, "hop", "NVLink"))
		return;
	if (far > 0 && cause_nccl(o, "far_pxn") == 0)
		cause_yes(f, "none of %d connections between hosts uses another GPU's NIC", far);
	else if (far <= 0)
		cause_no_log(o, f);
}
