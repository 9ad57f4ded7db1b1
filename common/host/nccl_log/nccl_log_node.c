/* nccl_log_node.c: the network devices of hosts, and rings against what the node has. */

#include "base/parse.h"
#include "nccl_log/nccl_log_raw.h"

/* ---- lines --------------------------------------------------------------------------------- */

static struct nccl_nic *nic_named(struct nccl_log *log, const char *host, const char *name,
				  size_t len)
{
	struct place *place =
		nccl_place(log, host, 0, PLACE_NIC, (uintptr_t)nccl_log_text(log, name, len));

	if (place->number == 0) {
		raw_add(log->nics, log->n_nics,
			(struct nccl_nic){ .host = host,
					   .name = nccl_log_text(log, name, len),
					   .link = "",
					   .index = -1,
					   .gdr = -1 });
		place->number = log->n_nics;
	}
	return &log->nics[place->number - 1];
}

/* "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:192.0.2.1<0>". */
void nccl_message_nics(struct nccl_log *log, const struct message *message)
{
	const char *p = message->text;
	int index, n;

	for (; (p = strchr(p, '[')); p += n) {
		size_t len, name;
		struct nccl_nic *nic;

		n = 1;
		if (sscanf(p, "[%3d]%n", &index, &n) != 1 || n < 3 || !isalpha((unsigned char)p[n]))
			continue;
		p += n;
		n = (int)(len = strcspn(p, " ;]"));
		name = strcspn(p, "/ ;]");
		nic = nic_named(log, message->host, p, name);
		nic->index = index;
		nccl_place(log, message->host, 0, PLACE_NIC_AT, (uint64_t)index)->number =
			(int)(nic - log->nics) + 1;
		if (name < len)
			nic->link = nccl_log_text(log, p + name + 1, len - name - 1);
	}
}

/* "NET/IB: [0] rocep1s0f0:uverbs0:1/RoCE provider=Mlx5 speed=200000 context=... pciPath=... ar=0". */
void nccl_message_device(struct nccl_log *log, const struct message *message)
{
	char device[64], name[80];
	int port, speed;
	const char *at = strstr(message->text, " speed=");

	if (!at || sscanf(at, " speed=%8d", &speed) != 1 || speed < 0 ||
	    sscanf(message->text, "NET/IB: [%*d] %63[^: ]:%*[^: ]:%d/", device, &port) != 2)
		return;
	snprintf(name, sizeof(name), "%s:%d", device, port);
	nic_named(log, message->host, name, strlen(name))->mbps = speed;
}

/* "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'". */
void nccl_message_gdr(struct nccl_log *log, const struct message *message)
{
	const char *name = strchr(message->text, '\'');
	size_t len = name ? strcspn(name + 1, "'") : 0;

	for (int i = 0; i < log->n_nics && len > 0; i++) {
		struct nccl_nic *nic = &log->nics[i];

		if (nic->host == message->host && strncmp(nic->name, name + 1, len) == 0 &&
		    (nic->name[len] == ':' || !nic->name[len]))
			nic->gdr = strstr(message->text, "RDMA Enabled") != NULL;
	}
}

/* Bootstrap, plugins, topology file: what the row says of such lines, else lines of hosts, addresses left out. */
void nccl_host_say(struct nccl_log *log, const struct message *message,
		   const struct nccl_cause *row)
{
	char text[256];
	size_t n = 0;
	struct place *place;

	for (const char *p = *row->means ? row->means : message->text;
	     *p && n < sizeof(text) - 1;) {
		size_t address = *p == ':' ? strspn(p + 1, "0123456789abcdef.:%") : 0;

		if (address > 2 && p[1 + address] == '<')
			p += 1 + address + strcspn(p + 1 + address, " ");
		else
			text[n++] = *p++;
	}
	place = nccl_place(log, message->host, 0, PLACE_FACT,
			   (uintptr_t)nccl_log_text(log, text, n));
	if (place->number++ == 0)
		raw_add(log->facts, log->n_facts,
			(struct nccl_fact){ row->what, nccl_log_text(log, text, n),
					    message->host });
}

/* Counts the steps that go over each device. */
static void count_steps(struct nccl_log *log, const struct nccl_comm *comm)
{
	for (int i = 0; i < comm->n_links; i++) {
		const struct nccl_link *link = &comm->links[i];
		const char *host = nccl_comm_host(comm, link->receiving ? link->to : link->from);
		int index, nic;

		if (!host || sscanf(link->transport, "NET/%*[^/]/%3d", &index) != 1 || index < 0)
			continue;
		nic = nccl_place(log, host, 0, PLACE_NIC_AT, (uint64_t)index)->number;
		if (nic > 0)
			log->nics[nic - 1].steps++;
	}
}

static int by_nic(const void *a, const void *b)
{
	const struct nccl_nic *x = a, *y = b;

	return BY(x->index, y->index) ?: strcmp(x->name, y->name) ?: strcmp(x->host, y->host);
}

static int by_fact(const void *a, const void *b)
{
	return nccl_by_texts(a, b, 3);
}

void nccl_node_join(struct nccl_log *log)
{
	for (int i = 0; i < log->n_comms; i++)
		count_steps(log, &log->comms[i]);
	nccl_sort(log->nics, log->n_nics, sizeof(*log->nics), by_nic);
	nccl_sort(log->facts, log->n_facts, sizeof(*log->facts), by_fact);
}
