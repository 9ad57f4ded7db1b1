/* preflight_net.h: the network from one host to another over plain sockets, before MPI. */
#pragma once

enum { PREFLIGHT_PORTS = 64, PREFLIGHT_MEETING = 2 };

/* A host as others reach it. */
struct preflight_peer {
	char host[64], address[64]; /* numeric */
	int mtu, mbps;		    /* of the interface with this address, 0: unknown */
	/* TCP; the first one is a UDP port as well; behind these, where ranks will meet at this host */
	int nports, nmeeting, ports[PREFLIGHT_PORTS + PREFLIGHT_MEETING];
	char taken[32]; /* ports to meet at that another program has: "29500 29400" */
};

/* The ports at which a job's ranks meet: MASTER_PORT and NCCL_COMM_ID's, else torchrun's two.
 * Returns whether they are given; `n` may become 0, where torchrun listens already. */
bool preflight_meeting_ports(char *const *environment, int ports[PREFLIGHT_MEETING], int *n);

/* Listens on PREFLIGHT_PORTS ports spread over ip_local_port_range, the kernel's choice for outgoing
 * and listening sockets of every library, and answers there in a child process that lives until
 * this one ends; on rank 0's host (`meeting`) also on those where ranks will meet. Fills in `peer`,
 * with as many ports as could be had. Returns the child, or a negative errno. */
pid_t preflight_listen(struct preflight_peer *peer, bool meeting);

/* Judges nothing: tries ports, packets of full size, loss, latency and bandwidth from this host
 * (`mine`) to `to`, `seconds` for each stream, and writes a text of reading_dump with the part
 * "MINE>TO" to `fd`; with `verbs` also perftest's bandwidth, while the other end does so. A step
 * that hangs is left after its own deadline; all take at most 25 s. */
void preflight_probe(int fd, const struct preflight_peer *mine, const struct preflight_peer *to,
		     double seconds, bool verbs);

/* preflight_verbs.c: whether ib_write_bw and an active RDMA port are here; its bandwidth to `to`,
 * which runs the same, as "verbs_mbit" beside the port's "verbs_mbps". It takes 15 s at most. */
bool verbs_ready(void);
struct reading;
void verbs_probe(const struct preflight_peer *mine, const struct preflight_peer *to,
		 const char *part, struct reading *reading);
