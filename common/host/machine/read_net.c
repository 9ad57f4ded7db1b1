/* read_net.c: set-up and counters of network interfaces and RDMA ports. */
#include "base/error.h"
#include "machine/read.h"

#include "base/file.h"
#include "base/parse.h"

#define ROOM	   (512 << 10) /* /proc/net/dev has a line per interface */
#define INTERFACES 64	       /* hosts of containers have hundreds: those of hardware first */
#define DEVICES	   32	       /* of RDMA */
#define PORTS	   4	       /* of a device */
#define GIDS	   256	       /* of a port */

/* ---- interfaces ----------------------------------------------------------------------------- */

/* ARPHRD_ETHER, ARPHRD_INFINIBAND. "unknown" is the state of links without one: tunnels. */
static void read_setup(const char *root, const char *name, bool hardware, struct reading *m)
{
	int64_t type = file_number(root, "/sys/class/net/%s/type", name);
	char text[64], part[32];

	reading_part(part, sizeof(part), name);
	reading_say(m, part, "name", part);
	reading_state(m, part, "rdma", 0);
	reading_state(m, part, "hardware", hardware);
	if (file_text(root, text, 16, "/sys/class/net/%s/operstate", name) > 0)
		reading_say(m, part, "state", text);
	reading_state(m, part, "mtu", file_number(root, "/sys/class/net/%s/mtu", name));
	reading_state(m, part, "mbps", file_number(root, "/sys/class/net/%s/speed", name));
	if (type == 1 || type == 32)
		reading_say(m, part, "link", type == 1 ? "Ethernet" : "InfiniBand");
	snprintf(text, sizeof(text), "/sys/class/net/%.31s/device", name);
	if (hardware)
		read_link(root, text, part, m);
}

/* "  eth0: NUMBER NUMBER ...", changed. */
static void read_interface(const struct read_request *request, struct reading *m, char *line,
			   bool hardware)
{
	/* the columns of /proc/net/dev that are taken; "multicast" is the last received one */
	static const char *const columns[] = { "rx_bytes", NULL, "rx_errors", "rx_dropped",
					       NULL,	   NULL, NULL,	      NULL,
					       "tx_bytes", NULL, "tx_errors", "tx_dropped" };
	char *name = line + strspn(line, " "), *at = strchr(name, ':');

	if (!at || at == name || at - name > 31 || memchr(name, '/', (size_t)(at - name)))
		return;
	*at++ = '\0';
	if (request->readers & READ_NICS)
		read_setup(request->root, name, hardware, m);
	for (size_t i = 0; i < LENGTH(columns) && request->readers & READ_TRAFFIC; i++) {
		at += strspn(at, " ");
		if (columns[i])
			reading_count(m, name, columns[i], file_count(at));
		at += strcspn(at, " ");
	}
	if (request->readers & READ_TRAFFIC)
		reading_count(m, name, "carrier_lost",
			      file_number(request->root, "/sys/class/net/%s/carrier_down_count",
					  name));
}

static bool has_hardware(const char *root, const char *line)
{
	size_t blank = strspn(line, " ");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.4000s/sys/class/net/%.*s/device", root,
		 (int)strcspn(line + blank, ":/"), line + blank);
	return access(path, F_OK) == 0;
}

/* Reads /proc/net/dev, as /sys shows the interfaces of its mounter, perhaps of another namespace.
 * The last line of a full buffer may be torn and is left out. */
static void read_interfaces(const struct read_request *request, struct reading *m, char *buf,
			    size_t len)
{
	char *line = buf, *end, *lines[INTERFACES * 8];
	size_t n = 0, taken = 0;

	if (file_text(request->root, buf, len - 1, "/proc/net/dev") <= 0)
		return;
	if (strlen(buf) < len - 2)
		strcat(buf, "\n"); /* file_text takes the last one away */
	for (; (end = strchr(line, '\n')) && n < INTERFACES * 8; line = end + 1) {
		*end = '\0';
		if (strchr(line, ':'))
			lines[n++] = line;
	}
	for (int hardware = 1; hardware >= 0; hardware--)
		for (size_t i = 0; i < n && taken < INTERFACES; i++) {
			if (!lines[i] || (hardware && !has_hardware(request->root, lines[i])))
				continue;
			read_interface(request, m, lines[i], hardware);
			lines[i] = NULL;
			taken++;
		}
}

/* ---- RDMA ----------------------------------------------------------------------------------- */

/* "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)" */
static int64_t port_rate(const char *text)
{
	char *end;
	double gbps = strtod(text, &end);

	return end > text && strncmp(end, " Gb/sec", 7) == 0 && gbps > 0 && gbps < 1e6
		       ? (int64_t)(gbps * 1000 + 0.5)
		       : -1;
}

/* GIDs of a RoCE port: how many are of version 2 and an IPv4 address, which NCCL takes by itself, and
 * the one that NCCL_IB_GID_INDEX names. Empty places are zeros. */
static void read_gids(const struct read_request *request, const char *at, const char *part,
		      struct reading *m)
{
	const char *wanted = environment_get(request->environment, "NCCL_IB_GID_INDEX");
	int index = wanted && isdigit(*wanted) ? atoi(wanted) : -1, found = 0;
	char gid[64], type[32];
	bool second = false;

	for (int i = 0;
	     i < GIDS && file_text(request->root, gid, sizeof(gid), "%s/gids/%d", at, i) > 0; i++) {
		bool none =
			!gid[strspn(gid, "0:")] || file_text(request->root, type, sizeof(type),
							     "%s/gid_attrs/types/%d", at, i) <= 0;

		second = !none && strstr(type, "v2");
		found += second && strncmp(gid, "0000:0000:0000:0000:0000:ffff:", 30) == 0;
		if (i != index)
			continue;
		reading_say(m, part, "gid", none ? "empty" : gid);
		reading_state(m, part, "gid_fits", second);
	}
	reading_state(m, part, "gid_index", index);
	if (index >= 0 && reading_value(m, part, "gid_fits") < 0)
		reading_state(m, part, "gid_fits", 0);
	reading_state(m, part, "roce_v2_gids", found);
}

static void read_port(const struct read_request *request, const char *name, const char *port,
		      const char *part, struct reading *m)
{
	const char *root = request->root;
	char text[64], at[96];

	snprintf(at, sizeof(at), "/sys/class/infiniband/%.31s/ports/%.31s", name, port);
	reading_part(text, 32, name);
	reading_say(m, part, "name", text);
	reading_state(m, part, "rdma", 1);
	reading_state(m, part, "hardware", 1);
	if (file_text(root, text, 16, "%s/link_layer", at) > 0)
		reading_say(m, part, "link", text);
	if (request->readers & READ_LIMITS && strcmp(text, "Ethernet") == 0)
		read_gids(request, at, part, m);
	file_text(root, text, sizeof(text), "%s/rate", at);
	reading_state(m, part, "mbps", port_rate(text));
	if (file_text(root, text, sizeof(text), "%s/state", at) > 0)
		reading_say(m, part, "state", strstr(text, "ACTIVE") ? "up" : "down");
	if (file_text(root, text, sizeof(text), "%s/phys_state", at) > 3)
		reading_say(m, part, "physical", text + strcspn(text, " ") + 1); /* "5: LinkUp" */
	snprintf(text, sizeof(text), "/sys/class/infiniband/%.31s/device", name);
	read_link(root, text, part, m);
}

static void count_port(const char *root, const char *name, const char *port, const char *part,
		       struct reading *m)
{
	static const struct {
		const char *file, *name;
		int64_t unit;
	} counters[] = {
		{ "counters/port_rcv_data", "rx_bytes", 4 }, /* counts words */
		{ "counters/port_xmit_data", "tx_bytes", 4 },
		{ "counters/symbol_error", "symbol_errors", 1 },
		{ "counters/link_downed", "link_downed", 1 },
		{ "counters/link_error_recovery", "recoveries", 1 },
		{ "counters/local_link_integrity_errors", "integrity_errors", 1 },
		{ "counters/excessive_buffer_overrun_errors", "overruns", 1 },
		{ "counters/port_rcv_errors", "rx_errors", 1 },
		{ "counters/port_xmit_discards", "tx_dropped", 1 },
		{ "counters/port_xmit_wait", "tx_wait", 1 },
		{ "hw_counters/packet_seq_err", "sequence_errors", 1 },
		{ "hw_counters/local_ack_timeout_err", "timeouts", 1 },
		{ "hw_counters/out_of_buffer", "out_of_buffer", 1 },
		{ "hw_counters/rnr_nak_retry_err", "rnr_retries_over", 1 },
		{ "hw_counters/np_ecn_marked_roce_packets", "ecn_marked", 1 },
		{ "hw_counters/np_cnp_sent", "cnp_sent", 1 },
		{ "hw_counters/rp_cnp_handled", "cnp_handled", 1 },
	};

	for (size_t i = 0; i < LENGTH(counters); i++) {
		int64_t value = file_number(root, "/sys/class/infiniband/%s/ports/%s/%s", name,
					    port, counters[i].file);

		if (value <= INT64_MAX / counters[i].unit)
			reading_count(m, part, counters[i].name, value * counters[i].unit);
	}
}

static void read_rdma(const struct read_request *request, struct reading *m)
{
	char devices[DEVICES][32], ports[PORTS][32], text[128], part[sizeof(m->list->part)];
	int n = file_list(request->root, "/sys/class/infiniband", devices, DEVICES);

	for (int i = 0; i < n; i++) {
		int n_ports;

		snprintf(text, sizeof(text), "/sys/class/infiniband/%.31s/ports", devices[i]);
		n_ports = file_list(request->root, text, ports, PORTS);
		for (int k = 0; k < n_ports; k++) {
			snprintf(text, sizeof(text), "RDMA %.28s:%.4s", devices[i], ports[k]);
			reading_part(part, sizeof(part), text);
			if (request->readers & READ_NICS)
				read_port(request, devices[i], ports[k], part, m);
			if (request->readers & READ_TRAFFIC)
				count_port(request->root, devices[i], ports[k], part, m);
		}
	}
}

void read_nics(const struct read_request *request, struct reading *m)
{
	const char *root = request->root;
	char path[PATH_MAX], *buf = must(malloc(ROOM));

	snprintf(path, sizeof(path), "%.4000s/sys/module", root);
	/* is a module for GPUDirect RDMA loaded? */
	if (request->readers & READ_NICS && access(path, F_OK) == 0)
		reading_state(m, "kernel", "peermem",
			      file_number(root, "/sys/module/nvidia_peermem/refcnt") >= 0 ||
				      file_number(root, "/sys/module/nv_peer_mem/refcnt") >= 0);
	read_rdma(request, m);
	read_interfaces(request, m, buf, ROOM);
	free(buf);
}
