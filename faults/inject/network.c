/* network.c: whose host's network breaks: its link, what it sends and receives, its name, all of it. */
#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "inject/network_change.h"

/* Keys: until when it lasts; what of the host's traffic it is about. */
#define TIMES	   "for=SECONDS hold=SECONDS"
#define PAIR	   "peer=RANK dir=in|out|both " TIMES
#define GONE_HOLD  20.0	 /* s: the others' time-out for a silent host, 10, and what comes after */
#define SOON	   0.001 /* s */
#define SOME_BURST 131072.0 /* bytes: packets of up to 64 KiB pass as one */

/* A link that goes down takes routes with it that its coming up does not bring back: all but the kernel's own. */
static void keep_routes(struct network_change *change, const char *device)
{
	char text[2048], command[64], *save = NULL;

	snprintf(command, sizeof(command), "ip -4 route show dev %s", device);
	if (network_run(command, text, sizeof(text)) < 0)
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strstr(line, "proto kernel"))
			text_add(change->undo, sizeof(change->undo), "\nip route replace %s dev %s",
				 line, device);
}

static int change_link(const struct fault_act *act, struct network_change *change)
{
	const char *device = act->machine->host.device;

	snprintf(change->apply, sizeof(change->apply), "ip link set %s down", device);
	snprintf(change->undo, sizeof(change->undo), "ip link set %s up", device);
	keep_routes(change, device);
	return network_change(act, change);
}

static const char *peer_address(const struct fault_act *act)
{
	int64_t peer = fault_whole(act->spec, "peer", -1);

	return peer < 0 ? NULL : act->machine->addresses[peer];
}

static int filter(const struct fault_act *act, const char *statement)
{
	static int number;
	const char *dir = fault_arg(act->spec, "dir");
	struct network_change change = { .again = 0 };
	char table[40];

	snprintf(table, sizeof(table), "hangar_%d_%d", (int)getpid(), number++);
	network_filter_text(change.apply, sizeof(change.apply), table, act->machine->host.device,
			    peer_address(act), dir ? dir : "both", statement);
	snprintf(change.undo, sizeof(change.undo), "nft delete table inet %s", table);
	return network_change(act, &change);
}

static int cut(const struct fault_act *act)
{
	return change_link(act, &(struct network_change){ .again = 0 });
}

const struct fault fault_net_cut = {
	.name = "net-cut",
	.help = "the link of its host goes down",
	.source = "The Llama 3 Herd of Models, table 5: network switches and cables, 8.4 % of "
		  "interruptions",
	.args = TIMES,
	.needs = { .machine = NEED_HOST },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("hang|error|died"),
	.fire = cut,
};

static int flap(const struct fault_act *act)
{
	struct network_change change = {
		.seconds = fmax(SOON, fault_real(act->spec, "down", 0.5)),
		.pause = fmax(SOON, fault_real(act->spec, "up", 0.5)),
		.again = (long)fmax(1, (double)fault_whole(act->spec, "times", 5)) - 1,
	};

	return change_link(act, &change);
}

const struct fault fault_net_flap = {
	.name = "net-flap",
	.help = "the link of its host goes down and up again (0.5 s each, 5 times)",
	.source = "Azure's node health checks: ib_link_flapping",
	.args = "down=SECONDS up=SECONDS times=NUMBER hold=SECONDS",
	.needs = { .machine = NEED_HOST },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("ok|hang|error|died"),
	.fire = flap,
};

static int stall(const struct fault_act *act)
{
	return filter(act, "drop");
}

const struct fault fault_net_stall = {
	.name = "net-stall",
	.help = "nothing passes its host's network, or one direction of it; connections stay",
	.source = "a half-open connection: no error, no data",
	.args = PAIR,
	.needs = { .machine = NEED_HOST | NEED_NFT },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("hang|error|died"),
	.fire = stall,
};

static int slow(const struct fault_act *act)
{
	long rate = (long)fault_whole(act->spec, "rate", 1000);
	char text[96];

	snprintf(text, sizeof(text), "limit rate over %ld kbytes/second burst %.0f bytes drop",
		 rate, fmax(SOME_BURST, 102.4 * (double)rate));
	return filter(act, text);
}

const struct fault fault_net_slow = {
	.name = "net-slow",
	.help = "its host's network carries so many KiB a second (1000), and drops the rest",
	.source = "a link that came up at a lower speed, or a policer: works, slow",
	.args = "rate=KBYTES " PAIR,
	.needs = { .machine = NEED_HOST | NEED_NFT },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("ok|hang"),
	.fire = slow,
};

static int lose(const struct fault_act *act)
{
	char text[64];

	snprintf(text, sizeof(text), "numgen random mod 100000 < %.0f drop",
		 fault_real(act->spec, "loss", 5) * 1000);
	return filter(act, text);
}

const struct fault fault_net_loss = {
	.name = "net-loss",
	.help = "its host's network loses packets (5 %), at random",
	.source = "a dirty or damaged cable",
	.args = "loss=PERCENT " PAIR,
	.needs = { .machine = NEED_HOST | NEED_NFT },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("ok|hang|error|died"),
	.fire = lose,
};

static int lose_large(const struct fault_act *act)
{
	char text[64];

	snprintf(text, sizeof(text), "meta length > %d drop",
		 (int)fault_whole(act->spec, "above", 1000));
	return filter(act, text);
}

const struct fault fault_net_loss_large = {
	.name = "net-loss-large",
	.help = "large packets vanish (more than 1000 bytes), small ones pass: an MTU black hole",
	.source = "Aegis (NSDI 2025): packets above 1 KB lost, probes of 64 B pass",
	.args = "above=NUMBER " PAIR,
	.needs = { .machine = NEED_HOST | NEED_NFT },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("hang|error|died"),
	.fire = lose_large,
};

static int reset(const struct fault_act *act)
{
	return filter(act, "meta l4proto tcp reject with tcp reset");
}

const struct fault fault_net_reset = {
	.name = "net-reset",
	.help = "every TCP connection of its host is reset when it is used",
	.source = "a firewall or load balancer that answers with RST: connection reset by peer",
	.args = PAIR,
	.needs = { .machine = NEED_HOST | NEED_NFT },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("hang|error|died"),
	.fire = reset,
};

static int block_ports(const struct fault_act *act)
{
	return filter(act, "tcp flags & (syn|ack) == syn drop");
}

const struct fault fault_port_blocked = {
	.name = "port-blocked",
	.help = "no new TCP connection comes to or from its host: a firewall, at communicator init",
	.source = "NCCL user guide, troubleshooting: random high ports that a firewall closes",
	.args = PAIR,
	.needs = { .machine = NEED_HOST | NEED_NFT },
	.where = FAULT_AT_INIT,
	.mpi = "ok|hang|error|died",
	.nccl = "hang|error",
	.fire = block_ports,
};

static int delay(const struct fault_act *act)
{
	const char *here = act->machine->host.address, *there = peer_address(act);
	const char *directions[2] = { "in", "out" };
	struct network_change change = { .again = 0 };

	there = there ? there : "*";
	snprintf(change.apply, sizeof(change.apply), "> %s", getenv(NETWORK_SWITCH));
	strcpy(change.undo, change.apply);
	for (int out = 0; out < 2; out++) {
		if (fault_says(act->spec, "dir", directions[!out]))
			continue;
		text_add(change.apply, sizeof(change.apply), " pair %s %s delay %g",
			 out ? here : there, out ? there : here,
			 fault_real(act->spec, "delay", 0.2));
		text_add(change.undo, sizeof(change.undo), " pair %s %s delay 0",
			 out ? here : there, out ? there : here);
	}
	return network_change(act, &change);
}

const struct fault fault_net_delay = {
	.name = "net-delay",
	.help = "what its host sends and receives takes longer (0.2 s)",
	.source = "a detour, or queues that are full: tc netem delay",
	.args = "delay=SECONDS " PAIR,
	.needs = { .machine = NEED_HOST | NEED_SWITCH },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("ok|hang"),
	.fire = delay,
};

/* Each process in this network but the one that mends it; in the end this one. Its supervisor's death must not
 * end it before. */
static void kill_all(pid_t keeper)
{
	struct stat own, other;
	struct dirent *entry;
	char path[300];
	DIR *dir;

	prctl(PR_SET_PDEATHSIG, 0);
	dir = stat("/proc/self/ns/net", &own) == 0 ? opendir("/proc") : NULL;
	while (dir && (entry = readdir(dir))) {
		pid_t pid = (pid_t)atoi(entry->d_name);

		snprintf(path, sizeof(path), "/proc/%s/ns/net", entry->d_name);
		if (pid > 1 && pid != keeper && pid != getpid() && stat(path, &other) == 0 &&
		    other.st_ino == own.st_ino)
			kill(pid, SIGKILL);
	}
	if (dir)
		closedir(dir);
	kill(getpid(), SIGKILL);
}

static int leave(const struct fault_act *act)
{
	struct network_change change = { .hold = GONE_HOLD };
	int rc = change_link(act, &change);

	if (rc == 0)
		kill_all(change.keeper);
	return rc;
}

const struct fault fault_host_gone = {
	.name = "host-gone",
	.help = "its host is gone: the link goes down and all processes on it are killed, at once",
	.source = "a host that loses power or panics; The Llama 3 Herd of Models, table 5: host "
		  "maintenance",
	.args = "hold=SECONDS",
	.needs = { .machine = NEED_HOST },
	FAULT_ANY_MOMENT,
	FAULT_ENDS("hang|died"),
	.fire = leave,
};

/* What libraries are told of this host's interfaces before they look for its address. */
static int name_loopback(const struct fault_spec *spec, size_t bytes)
{
	return setenv("NCCL_SOCKET_IFNAME", "lo", 1) < 0 ||
			       setenv("OMPI_MCA_btl_tcp_if_include", "lo", 1) < 0
		       ? -ENOMEM
		       : 0;
}

static int pass(const struct fault_act *act)
{
	return FAULT_PASS;
}

const struct fault fault_dns_loopback = {
	.name = "dns-loopback",
	.help = "its host gives the others 127.0.0.1 as its address",
	.source = "a host name that /etc/hosts resolves to 127.0.1.1, as Debian's installer writes "
		  "it",
	.needs = { .machine = NEED_HOST },
	.where = FAULT_AT_INIT,
	FAULT_ENDS("hang|error|died"),
	.start = name_loopback,
	.fire = pass,
};
