/* read_sys.c: how the host's network interfaces and RDMA ports are set up. */
#include "machine/read.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "machine/file.h"

#define NAMES 1024 /* of interfaces */
#define NICS  48   /* of interfaces and ports that are read */

/* ARPHRD_ETHER, ARPHRD_INFINIBAND; Linux says "unknown" of the state of links that have none:
 * tunnels, loopback, some virtual NICs. */
static void read_interface(const char *root, const char *name, bool hardware, struct reading *m)
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

/* "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)" */
static int64_t port_rate(const char *text)
{
	char *end;
	double gbps = strtod(text, &end);

	return end > text && strncmp(end, " Gb/sec", 7) == 0 && gbps > 0 && gbps < 1e6
		       ? (int64_t)(gbps * 1000 + 0.5)
		       : -1;
}

/* Port 1: devices with two ports show as two devices since ConnectX-4. */
static void read_port(const char *root, const char *name, struct reading *m)
{
	char text[64], part[40];

	snprintf(text, sizeof(text), "RDMA %.31s:1", name);
	reading_part(part, sizeof(part), text);
	reading_part(text, 32, name);
	reading_say(m, part, "name", text);
	reading_state(m, part, "rdma", 1);
	reading_state(m, part, "hardware", 1);
	if (file_text(root, text, 16, "/sys/class/infiniband/%s/ports/1/link_layer", name) > 0)
		reading_say(m, part, "link", text);
	file_text(root, text, sizeof(text), "/sys/class/infiniband/%s/ports/1/rate", name);
	reading_state(m, part, "mbps", port_rate(text));
	if (file_text(root, text, sizeof(text), "/sys/class/infiniband/%s/ports/1/state", name) > 0)
		reading_say(m, part, "state", strstr(text, "ACTIVE") ? "up" : "down");
	if (file_text(root, text, sizeof(text), "/sys/class/infiniband/%s/ports/1/phys_state",
		      name) > 3)
		reading_say(m, part, "physical", text + strcspn(text, " ") + 1); /* "5: LinkUp" */
	snprintf(text, sizeof(text), "/sys/class/infiniband/%.31s/device", name);
	read_link(root, text, part, m);
}

/* Hosts of containers have hundreds of virtual interfaces: those of hardware come first. */
static void read_interfaces(const char *root, struct reading *m, int room)
{
	char names[NAMES][32], path[PATH_MAX];
	bool hardware[NAMES];
	int n = file_list(root, "/sys/class/net", names, NAMES);

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%.4000s/sys/class/net/%.31s/device", root, names[i]);
		hardware[i] = access(path, F_OK) == 0;
	}
	for (int first = 1; first >= 0; first--)
		for (int i = 0; i < n && room > 0; i++) {
			if (hardware[i] != first)
				continue;
			read_interface(root, names[i], hardware[i], m);
			room--;
		}
}

/* Notes whether a module for GPUDirect RDMA is loaded. */
static void read_peermem(const char *root, struct reading *m)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.4000s/sys/module", root);
	if (access(path, F_OK) == 0)
		reading_state(m, "kernel", "peermem",
			      file_number(root, "/sys/module/nvidia_peermem/refcnt") >= 0 ||
				      file_number(root, "/sys/module/nv_peer_mem/refcnt") >= 0);
}

void read_nics(const struct read_request *request, struct reading *m)
{
	char names[NICS][32];
	int n = file_list(request->root, "/sys/class/infiniband", names, NICS);

	read_peermem(request->root, m);
	for (int i = 0; i < n; i++)
		read_port(request->root, names[i], m);
	read_interfaces(request->root, m, NICS - n);
}
