/* observe_net.c: network interfaces, RDMA ports, TCP's counters. */
#include "machine/read.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "machine/file.h"

#define NAMES 1024 /* of interfaces */

static void take_link(const char *root, const char *folder, struct observed_nic *nic)
{
	int link[4];

	observe_pci_link(root, folder, link);
	nic->width = link[0];
	nic->max_width = link[1];
	nic->gen = link[2];
	nic->max_gen = link[3];
}

/* Linux says "unknown" of links that have no state: tunnels, loopback, some virtual NICs. */
static void see_interface(const char *root, const char *name, struct observed_nic *nic)
{
	char path[PATH_MAX];
	struct stat st;

	observed_nic_clear(nic);
	snprintf(nic->name, sizeof(nic->name), "%.31s", name);
	snprintf(path, sizeof(path), "%s/sys/class/net/%.31s/device", root, name);
	nic->rdma = 0;
	nic->hardware = stat(path, &st) == 0;
	observe_text(root, nic->state, sizeof(nic->state), "/sys/class/net/%s/operstate", name);
	nic->mtu = observe_int(observe_number(root, "/sys/class/net/%s/mtu", name));
	nic->mbps = observe_number(root, "/sys/class/net/%s/speed", name);
	/* ARPHRD_ETHER, ARPHRD_INFINIBAND */
	switch (observe_number(root, "/sys/class/net/%s/type", name)) {
	case 1:
		strcpy(nic->link, "Ethernet");
		break;
	case 32:
		strcpy(nic->link, "InfiniBand");
		break;
	}
	snprintf(path, sizeof(path), "/sys/class/net/%.31s/device", name);
	if (nic->hardware)
		take_link(root, path, nic);
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
static void see_port(const char *root, const char *name, struct observed_nic *nic)
{
	char text[64];

	observed_nic_clear(nic);
	snprintf(nic->name, sizeof(nic->name), "%.31s", name);
	nic->rdma = nic->hardware = 1;
	observe_text(root, nic->link, sizeof(nic->link),
		     "/sys/class/infiniband/%s/ports/1/link_layer", name);
	observe_text(root, text, sizeof(text), "/sys/class/infiniband/%s/ports/1/rate", name);
	nic->mbps = port_rate(text);
	if (observe_text(root, text, sizeof(text), "/sys/class/infiniband/%s/ports/1/state", name) >
	    0)
		strcpy(nic->state, strstr(text, "ACTIVE") ? "up" : "down");
	snprintf(text, sizeof(text), "/sys/class/infiniband/%.31s/device", name);
	take_link(root, text, nic);
}

/* Hosts of containers have hundreds of virtual interfaces: those of hardware come first. */
static void see_nics(const char *root, struct observed_host *host)
{
	char names[NAMES][32];
	int n = observe_list(root, "/sys/class/infiniband", names, OBSERVED_NICS);

	for (int i = 0; i < n; i++)
		see_port(root, names[i], &host->nics[host->nnics++]);
	n = observe_list(root, "/sys/class/net", names, NAMES);
	for (int hardware = 1; hardware >= 0; hardware--) {
		for (int i = 0; i < n && host->nnics < OBSERVED_NICS; i++) {
			see_interface(root, names[i], &host->nics[host->nnics]);
			host->nnics += host->nics[host->nnics].hardware == hardware;
		}
	}
}

void observe_net(const char *root, struct observed_host *host)
{
	char text[8 << 10];
	struct stat st;

	see_nics(root, host);
	if (observe_text(root, text, sizeof(text), "/proc/net/snmp") > 0) {
		host->tcp_sent = observe_column(text, "Tcp:", "OutSegs");
		host->tcp_retransmitted = observe_column(text, "Tcp:", "RetransSegs");
	}
	if ((size_t)snprintf(text, sizeof(text), "%s/sys/module", root) >= sizeof(text) ||
	    stat(text, &st) < 0)
		return;
	host->peermem = observe_number(root, "/sys/module/nvidia_peermem/refcnt") >= 0 ||
			observe_number(root, "/sys/module/nv_peer_mem/refcnt") >= 0;
}
