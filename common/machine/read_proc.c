/* read_proc.c: what the kernel counts: ticks of the CPUs, memory pressure, TCP's segments, interfaces,
 * RDMA ports, Xids. */
#include "machine/read.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/file.h"

#define ROOM	   (512 << 10) /* /proc/stat has a line per CPU, /proc/net/dev one per interface */
#define KERNEL_LOG (4 << 20)
#define INTERFACES 64 /* hosts of containers have hundreds: those of hardware first */
#define DEVICES	   32 /* of RDMA */
#define PORTS	   4  /* of a device */

/* ---- CPUs --------------------------------------------------------------------------------- */

/* "cpu  user nice system idle iowait irq softirq steal ...", ticks. */
static void take_ticks(const char *text, struct reading *m)
{
	int64_t ticks, total = 0, unused = 0;

	if (strncmp(text, "cpu ", 4) != 0)
		return;
	text += 4;
	for (int i = 0; i < 8; i++) {
		text = file_next(text, &ticks);
		if (!text || ticks > INT64_MAX / 8)
			return;
		total += ticks;
		unused += i == 3 || i == 4 ? ticks : 0;
	}
	reading_count(m, "CPU", "busy_ticks", total - unused);
	reading_count(m, "CPU", "all_ticks", total);
}

static int count_cpus(const char *text)
{
	int n = 0;

	for (const char *at = strstr(text, "\ncpu"); at; at = strstr(at + 1, "\ncpu"))
		n++;
	return n > 0 ? n : -1;
}

/* The slowest CPU now, and what they can; how often any was slowed down for heat (one of a package
 * speaks for all of it). Virtual machines show neither. */
static void read_frequency(const char *root, struct reading *m)
{
	static const char *const folder = "/sys/devices/system/cpu/cpu%d/%s";
	int64_t throttled = -1, slowest = -1;
	int64_t cpus = reading_value(m, "CPU", "cpus");

	for (int cpu = 0; cpu < cpus; cpu++) {
		int64_t khz = file_number(root, folder, cpu, "cpufreq/scaling_cur_freq");
		int64_t n =
			file_number(root, folder, cpu, "thermal_throttle/package_throttle_count");

		slowest = khz >= 0 && (slowest < 0 || khz < slowest) ? khz : slowest;
		throttled = n > throttled ? n : throttled;
	}
	reading_state(m, "CPU", "slowest_khz", slowest);
	reading_state(m, "CPU", "max_khz",
		      file_number(root, folder, 0, "cpufreq/cpuinfo_max_freq"));
	reading_count(m, "CPU", "throttled", throttled);
}

void read_cpu(const struct read_request *request, struct reading *m)
{
	char *text = malloc(ROOM);

	if (text && file_text(request->root, text, ROOM, "/proc/stat") > 0) {
		take_ticks(text, m);
		reading_state(m, "CPU", "cpus", count_cpus(text));
	}
	free(text);
	read_frequency(request->root, m);
}

/* ---- memory ------------------------------------------------------------------------------- */

/* The number behind `key`, "some avg10=0.00 avg60=0.00 avg300=0.00 total=5": -1: none. */
static int64_t number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at ? file_count(at + strlen(key) + strspn(at + strlen(key), " ")) : -1;
}

void read_memory(const struct read_request *request, struct reading *m)
{
	char text[8 << 10];

	if (file_text(request->root, text, sizeof(text), "/proc/pressure/memory") > 0)
		reading_count(m, "memory", "stalled_us", number_behind(text, "total="));
	if (file_text(request->root, text, sizeof(text), "/proc/vmstat") > 0)
		reading_count(m, "memory", "oom_kills", number_behind(text, "\noom_kill "));
	if (file_text(request->root, text, sizeof(text), "/proc/meminfo") > 0) {
		reading_state(m, "memory", "all_kib", number_behind(text, "MemTotal:"));
		reading_state(m, "memory", "available_kib", number_behind(text, "MemAvailable:"));
	}
}

/* ---- Xids --------------------------------------------------------------------------------- */

/* "NVRM: Xid (PCI:0000:18:00): 79, pid=...", of the GPU that has this bus. */
static void count_xids(const char *text, const char *part, const char *bus, struct reading *m)
{
	static const char start[] = "NVRM: Xid (PCI:";
	int64_t n = 0;

	for (const char *at = text; (at = strstr(at, start));) {
		size_t len = strcspn(at += sizeof(start) - 1, ")\n");
		const char *code = at + len + strspn(at + len, "): ");
		char name[32], address[32];
		int64_t number = file_count(code);

		snprintf(address, sizeof(address), "%.*s", (int)len, at);
		if (number < 0 || number > 9999 || !strcasestr(bus, address))
			continue;
		n++;
		reading_state(m, part, "xid_last", number);
		snprintf(name, sizeof(name), "xid_%" PRId64, number);
		reading_state(m, part, name, 1);
	}
	reading_count(m, part, "xids", n);
}

/* As far back as the kernel's log goes, where we may read it. */
void read_xids(const struct read_request *request, struct reading *m)
{
	size_t at = 0;
	bool any = reading_next(m, "bus", &at);
	char part[sizeof(m->list->part)], *text = any ? malloc(KERNEL_LOG) : NULL;
	const char *next;

	at = 0;
	if (text && file_text(request->root, text, KERNEL_LOG, "/dev/kmsg") > 0)
		while ((next = reading_next(m, "bus", &at))) {
			snprintf(part, sizeof(part), "%s", next); /* the list moves as it grows */
			count_xids(text, part, reading_text(m, part, "bus"), m);
		}
	free(text);
}

/* ---- TCP ---------------------------------------------------------------------------------- */

void read_tcp(const struct read_request *request, struct reading *m)
{
	char text[8 << 10];

	if (file_text(request->root, text, sizeof(text), "/proc/net/snmp") > 0) {
		reading_count(m, "TCP", "sent", file_column(text, "Tcp:", "OutSegs"));
		reading_count(m, "TCP", "resent", file_column(text, "Tcp:", "RetransSegs"));
	}
	if (file_text(request->root, text, sizeof(text), "/proc/net/netstat") > 0)
		reading_count(m, "TCP", "timeouts", file_column(text, "TcpExt:", "TCPTimeouts"));
}

/* ---- interfaces ----------------------------------------------------------------------------- */

/* "  eth0: NUMBER NUMBER ...", changed. */
static void read_interface(struct reading *m, const char *root, char *line)
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
			reading_count(m, name, columns[i], file_count(at));
		at += strcspn(at, " ");
	}
	reading_count(m, name, "carrier_lost",
		      file_number(root, "/sys/class/net/%s/carrier_down_count", name));
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
static void read_interfaces(struct reading *m, const char *root, char *buf, size_t len)
{
	char *line = buf, *end, *lines[INTERFACES * 8];
	size_t n = 0, taken = 0;

	if (file_text(root, buf, len - 1, "/proc/net/dev") <= 0)
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
			if (!lines[i] || (hardware && !has_hardware(root, lines[i])))
				continue;
			read_interface(m, root, lines[i]);
			lines[i] = NULL;
			taken++;
		}
}

/* ---- RDMA ----------------------------------------------------------------------------------- */

static void read_port(struct reading *m, const char *root, const char *device, const char *port)
{
	static const struct {
		const char *file, *name;
		int64_t unit;
	} counters[] = {
		{ "counters/port_rcv_data", "rx_bytes", 4 }, /* counts words */
		{ "counters/port_xmit_data", "tx_bytes", 4 },
		{ "counters/symbol_error", "symbol_errors", 1 },
		{ "counters/link_downed", "link_downed", 1 },
		{ "counters/link_error_recovery", "link_recoveries", 1 },
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
	char part[sizeof(m->list->part)], text[72];

	snprintf(text, sizeof(text), "RDMA %.31s:%.31s", device, port);
	if (strlen(text) >= sizeof(part))
		return;
	reading_part(part, sizeof(part), text);
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		int64_t value = file_number(root, "/sys/class/infiniband/%s/ports/%s/%s", device,
					    port, counters[i].file);

		if (value <= INT64_MAX / counters[i].unit)
			reading_count(m, part, counters[i].name, value * counters[i].unit);
	}
}

static void read_rdma(struct reading *m, const char *root)
{
	char devices[DEVICES][32], ports[PORTS][32], folder[128];
	int n = file_list(root, "/sys/class/infiniband", devices, DEVICES);

	for (int i = 0; i < n; i++) {
		int n_ports;

		snprintf(folder, sizeof(folder), "/sys/class/infiniband/%.31s/ports", devices[i]);
		n_ports = file_list(root, folder, ports, PORTS);
		for (int k = 0; k < n_ports; k++)
			read_port(m, root, devices[i], ports[k]);
	}
}

void read_traffic(const struct read_request *request, struct reading *m)
{
	char *buf = malloc(ROOM);

	if (!buf)
		return;
	read_interfaces(m, request->root, buf, ROOM);
	read_rdma(m, request->root);
	free(buf);
}
