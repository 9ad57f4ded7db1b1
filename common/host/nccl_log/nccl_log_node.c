/* nccl_log_node.c: the network devices of hosts, and rings against what the node has. */

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

void nccl_message_nics(struct nccl_log *log, const struct message *message,
		       const struct found *found)
{
	const char *end = message->text + message->len;
	struct found card;

	for (const char *p = message->text;
	     rows_find(log->rows, ROWS_nic, p, (size_t)(end - p), 0, &card); p += card.at[1]) {
		struct span name = found_span(&card, FIELD_name);
		struct nccl_nic *nic = nic_named(log, message->host, name.at, name.len);

		nic->index = (int)found_number(&card, FIELD_index, 10, -1);
		nccl_place(log, message->host, 0, PLACE_NIC_AT, (uint64_t)nic->index)->number =
			(int)(nic - log->nics) + 1;
		if (found_span(&card, FIELD_link).at)
			nic->link = found_text(log, &card, FIELD_link);
	}
}

void nccl_message_speed(struct nccl_log *log, const struct message *message,
			const struct found *found)
{
	struct span device = found_span(found, FIELD_name), port = found_span(found, FIELD_port);
	char name[80];

	snprintf(name, sizeof(name), "%.*s:%.*s", (int)device.len, device.at, (int)port.len,
		 port.at);
	nic_named(log, message->host, name, strlen(name))->mbps =
		(int)found_number(found, FIELD_mbps, 10, 0);
}

void nccl_message_gdr(struct nccl_log *log, const struct message *message,
		      const struct found *found)
{
	struct span name = found_span(found, FIELD_name);

	for (int i = 0; i < log->n_nics && name.len > 0; i++) {
		struct nccl_nic *nic = &log->nics[i];

		if (nic->host == message->host && strncmp(nic->name, name.at, name.len) == 0 &&
		    (nic->name[name.len] == ':' || !nic->name[name.len]))
			nic->gdr = (int)found_number(found, FIELD_gdr, 10, -1);
	}
}

/* Bootstrap, plugins, topology file: what the row says of such lines, else lines of hosts, addresses left out. */
void nccl_host_say(struct nccl_log *log, const struct message *message,
		   const struct nccl_cause *row)
{
	const char *p = *row->means ? row->means : message->text;
	char text[256] = "";
	struct found found;
	struct place *place;

	for (size_t n; *p; p += found.at[1]) {
		n = strlen(p);
		if (!rows_find(log->rows, ROWS_address, p, n, 0, &found))
			found.at[0] = found.at[1] = n;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s", (int)found.at[0],
			 p);
	}
	place = nccl_place(log, message->host, 0, PLACE_FACT,
			   (uintptr_t)nccl_log_text(log, text, strlen(text)));
	if (place->number++ == 0)
		raw_add(log->facts, log->n_facts,
			(struct nccl_fact){ row->what, nccl_log_text(log, text, strlen(text)),
					    message->host });
}

/* Counts the steps that go over each device. */
static void count_steps(struct nccl_log *log, const struct nccl_comm *comm)
{
	for (int i = 0; i < comm->n_links; i++) {
		const struct nccl_link *link = &comm->links[i];
		const char *host = nccl_comm_host(comm, link->receiving ? link->to : link->from);
		struct found found;
		int64_t index;
		int nic;

		if (!host || !rows_find(log->rows, ROWS_step, link->transport,
					strlen(link->transport), 0, &found))
			continue;
		index = found_number(&found, FIELD_index, 10, -1);
		nic = nccl_place(log, host, 0, PLACE_NIC_AT, (uint64_t)index)->number;
		if (nic <= 0)
			continue;
		log->nics[nic - 1].steps++;
		log->nics[nic - 1].gdr_steps += strstr(link->transport, "/GDRDMA") != NULL;
	}
}

/* Takes the network that the text tells of. */
static bool take_network(struct nccl_log *log, const char *text)
{
	struct found found;

	if (!rows_find(log->rows, ROWS_net, text, strlen(text), 0, &found))
		return false;
	log->network = found_text(log, &found, FIELD_network);
	return true;
}

/* The network of a log without a line "Using network". */
static void find_network(struct nccl_log *log)
{
	char text[1024];

	for (int i = 0; i < log->n_comms; i++)
		for (int k = 0; k < log->comms[i].n_links; k++)
			if (take_network(log, log->comms[i].links[k].transport))
				return;
	for (int i = 0; i < log->n_warnings; i++) {
		snprintf(text, sizeof(text), "%s %s", log->warnings[i].where,
			 log->warnings[i].text);
		if (take_network(log, text))
			return;
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
	if (!log->network)
		find_network(log);
	nccl_sort(log->nics, log->n_nics, sizeof(*log->nics), by_nic);
	nccl_sort(log->facts, log->n_facts, sizeof(*log->facts), by_fact);
}
