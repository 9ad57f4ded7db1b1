/* counters_read.c: counters of this host: TCP, interfaces, RDMA ports, GPUs. */
#include "machine/reading.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine/file.h"
#include "machine/nvml.h"

#define INTERFACES 64 /* hosts of containers have hundreds: those of hardware first */
#define NET_BYTES  (128 << 10)
#define DEVICES	   32 /* of RDMA */
#define PORTS	   4  /* of a device */
#define GPUS	   64

static void set_moment(struct counters *c)
{
	gethostname(c->host, sizeof(c->host) - 1);
	for (char *at = c->host; *at; at++)
		if (*at <= ' ' || *at > '~')
			*at = '?';
	c->seconds = clock_seconds();
}

static void read_tcp(struct counters *c, const char *root, char *buf, size_t len)
{
	if (observe_text(root, buf, len, "/proc/net/snmp") > 0) {
		counters_set(c, "TCP", "sent", observe_column(buf, "Tcp:", "OutSegs"));
		counters_set(c, "TCP", "resent", observe_column(buf, "Tcp:", "RetransSegs"));
	}
	if (observe_text(root, buf, len, "/proc/net/netstat") > 0)
		counters_set(c, "TCP", "timeouts", observe_column(buf, "TcpExt:", "TCPTimeouts"));
}

/* ---- interfaces ----------------------------------------------------------------------------- */

/* "  eth0: NUMBER NUMBER ...", changed. */
static void read_interface(struct counters *c, const char *root, char *line)
{
	/* the columns of /proc/net/dev that are taken; "multicast" is the last received one */
	static const char *const columns[] = { "rx_bytes", NULL, "rx_errors", "rx_dropped",
					       NULL,	   NULL, NULL,	      NULL,
					       "tx_bytes", NULL, "tx_errors", "tx_dropped" };
	char *name = line + strspn(line, " "), *at = strchr(name, ':');

	if (!at || at == name || at - name > 31 || memchr(name, '/', (size_t)(at - name)))
		return;
	*at++ = '\0';
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		at += strspn(at, " ");
		if (columns[i])
			counters_set(c, name, columns[i], observe_count(at));
		at += strcspn(at, " ");
	}
	counters_set(c, name, "carrier_lost",
		     observe_number(root, "/sys/class/net/%s/carrier_down_count", name));
}

static bool has_hardware(const char *root, const char *line)
{
	size_t blank = strspn(line, " ");
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.4000s/sys/class/net/%.*s/device", root,
		 (int)strcspn(line + blank, ":/"), line + blank);
	return access(path, F_OK) == 0;
}

/* /proc/net/dev, since /sys shows the interfaces of whoever mounted it, which need not be this
 * process' own. The last line of a buffer that is full may be torn: left out. */
static void read_interfaces(struct counters *c, const char *root, char *buf, size_t len)
{
	char *line = buf, *end, *lines[INTERFACES * 8];
	size_t n = 0, taken = 0;

	if (observe_text(root, buf, len - 1, "/proc/net/dev") <= 0)
		return;
	if (strlen(buf) < len - 2)
		strcat(buf, "\n"); /* observe_text takes the last one away */
	for (; (end = strchr(line, '\n')) && n < INTERFACES * 8; line = end + 1) {
		*end = '\0';
		if (strchr(line, ':'))
			lines[n++] = line;
	}
	for (int hardware = 1; hardware >= 0; hardware--)
		for (size_t i = 0; i < n && taken < INTERFACES; i++) {
			if (!lines[i] || (hardware && !has_hardware(root, lines[i])))
				continue;
			read_interface(c, root, lines[i]);
			lines[i] = NULL;
			taken++;
		}
}

/* ---- RDMA ----------------------------------------------------------------------------------- */

static void read_port(struct counters *c, const char *root, const char *device, const char *port)
{
	static const struct {
		const char *file, *name;
		int64_t unit;
	} counters[] = {
		{ "counters/port_rcv_data", "rx_bytes", 4 }, /* counts words */
		{ "counters/port_xmit_data", "tx_bytes", 4 },
		{ "counters/symbol_error", "symbol_errors", 1 },
		{ "counters/link_downed", "link_downed", 1 },
		{ "counters/port_rcv_errors", "rx_errors", 1 },
		{ "counters/port_xmit_discards", "tx_dropped", 1 },
		{ "counters/port_xmit_wait", "tx_wait", 1 },
		{ "hw_counters/packet_seq_err", "sequence_errors", 1 },
		{ "hw_counters/local_ack_timeout_err", "timeouts", 1 },
	};
	char part[sizeof(c->list->part)];

	if ((size_t)snprintf(part, sizeof(part), "RDMA %s:%s", device, port) >= sizeof(part))
		return;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		int64_t value = observe_number(root, "/sys/class/infiniband/%s/ports/%s/%s", device,
					       port, counters[i].file);

		if (value <= INT64_MAX / counters[i].unit)
			counters_set(c, part, counters[i].name, value * counters[i].unit);
	}
}

static void read_rdma(struct counters *c, const char *root)
{
	char devices[DEVICES][32], ports[PORTS][32], folder[128];
	int n = observe_list(root, "/sys/class/infiniband", devices, DEVICES);

	for (int i = 0; i < n; i++) {
		int m;

		snprintf(folder, sizeof(folder), "/sys/class/infiniband/%.31s/ports", devices[i]);
		m = observe_list(root, folder, ports, PORTS);
		for (int k = 0; k < m; k++)
			read_port(c, root, devices[i], ports[k]);
	}
}

void counters_read_host(struct counters *c, const char *root)
{
	char *buf = malloc(NET_BYTES);

	set_moment(c);
	if (!buf)
		return;
	read_tcp(c, root, buf, NET_BYTES);
	read_interfaces(c, root, buf, NET_BYTES);
	read_rdma(c, root);
	free(buf);
}

/* ---- GPUs ----------------------------------------------------------------------------------- */

static void read_gpu(struct counters *c, const struct nvml *nvml, nvml_device device,
		     const char *part)
{
	unsigned replays, corrected, uncorrected, pending, failed;
	struct observed_gpu gpu;

	observed_gpu_clear(&gpu);
	nvml_observe_health(nvml, device, &gpu);
	counters_set(c, part, "ecc_uncorrected", gpu.ecc_uncorrected);
	counters_set(c, part, "ecc_corrected", gpu.ecc_corrected);
	counters_set(c, part, "link_replays", gpu.link_replays);
	counters_set(c, part, "link_recoveries", gpu.link_recoveries);
	counters_set(c, part, "link_crc", gpu.link_crc);
	counters_set(c, part, "power_ns", gpu.power_ns);
	counters_set(c, part, "thermal_ns", gpu.thermal_ns);
	counters_set(c, part, "clock_reasons", gpu.reasons);
	if (nvml->pcie_replays && nvml->pcie_replays(device, &replays) == 0)
		counters_set(c, part, "pcie_replays", replays);
	if (nvml->remapped_rows &&
	    nvml->remapped_rows(device, &corrected, &uncorrected, &pending, &failed) == 0) {
		counters_set(c, part, "remap_pending", pending != 0);
		counters_set(c, part, "remap_failed", failed != 0);
	}
}

void counters_read_gpus(struct counters *c, const struct nvml *nvml)
{
	unsigned n = 0;

	set_moment(c);
	snprintf(c->why, sizeof(c->why), "%s", nvml->why);
	if (!nvml->by_bus || !nvml->count || !nvml->by_index)
		return;
	if (nvml->count(&n) != 0) {
		snprintf(c->why, sizeof(c->why), "NVML does not count GPUs");
		return;
	}
	counters_set(c, "NVML", "gpus", n);
	for (unsigned i = 0; i < n && i < GPUS; i++) {
		nvml_device device;
		char part[24];

		snprintf(part, sizeof(part), "GPU %u", i);
		if (nvml->by_index(i, &device) == 0)
			read_gpu(c, nvml, device, part);
	}
}
