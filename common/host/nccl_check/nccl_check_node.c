/* nccl_check_node.c: NICs, networks and facts of hosts: as text, and what rings should have had of them. */
#include "base/parse.h"
#include "nccl_check/nccl_check_parts.h"

/* ---- text ---------------------------------------------------------------------------------- */

#define HOSTS_SHOWN 4

/* GPUs of the host, by device, that are no further from NIC `index` than a PCIe switch, by the log's graph lines. */
static void print_near(FILE *out, const struct nccl_log *log, const struct nccl_nic *nic)
{
	const char *lead = ", near GPU ";
	uint64_t shown = 0;

	for (int c = 0; c < log->n_comms; c++)
		for (int m = 0; m < log->comms[c].n_members && log->n_paths; m++) {
			const struct nccl_member *member = log->comms[c].members[m];
			const struct nccl_path *path = NULL;

			if (member->host != nic->host || member->dev < 0 || member->dev >= 64 ||
			    shown >> member->dev & 1)
				continue;
			while ((path = nccl_next_path(log, path, member)) &&
			       (strcmp(path->kind, "NET") != 0 ||
				!nccl_has(path->type, "PIX|PXB") ||
				path->to != (uint64_t)nic->index))
				;
			if (!path)
				continue;
			fprintf(out, "%s%d", lead, member->dev);
			lead = ",";
			shown |= 1ull << member->dev;
		}
}

/* Equal lines of several hosts once. */
static void print_hosts(FILE *out, const char *host, int i)
{
	if (i < HOSTS_SHOWN)
		fprintf(out, "%s%s", i ? ", " : " on ", host);
	else if (i == HOSTS_SHOWN)
		fprintf(out, " and more");
}

/* By NCCL's line on the device, else by its steps. */
static const char *gdr_words(const struct nccl_nic *nic)
{
	if (nic->gdr >= 0)
		return nic->gdr ? "GPUDirect RDMA on" : "GPUDirect RDMA off";
	return nic->gdr_steps ? "GPUDirect RDMA on, by its Channel lines"
	       : nic->steps   ? "GPUDirect RDMA off, by its Channel lines"
			      : "GPUDirect RDMA not said";
}

void nccl_log_print_node(FILE *out, const struct nccl_log *log)
{
	for (int i = 0, end; i < log->n_nics; i = end) {
		const struct nccl_nic *a = &log->nics[i], *b = a;

		if (a->index >= 0)
			fprintf(out, "NIC %d: ", a->index);
		else
			fprintf(out, "NIC: ");
		fprintf(out, "%s%s%s", a->name, *a->link ? " " : "", a->link);
		if (a->mbps)
			fprintf(out, ", %d Gb/s", a->mbps / 1000);
		fprintf(out, ", %s, %s", gdr_words(a), a->steps ? "used" : "no step over it here");
		print_near(out, log, a);
		for (end = i; end < log->n_nics && b->index == a->index && b->name == a->name &&
			      b->mbps == a->mbps && gdr_words(b) == gdr_words(a) &&
			      !b->steps == !a->steps && b->link == a->link;
		     b = &log->nics[++end])
			print_hosts(out, b->host, end - i);
		fprintf(out, "\n");
	}
	for (int i = 0, end; i < log->n_facts; i = end) {
		const struct nccl_fact *a = &log->facts[i];

		fprintf(out, "%s: %s", a->kind, a->text);
		for (end = i; end < log->n_facts && log->facts[end].kind == a->kind &&
			      log->facts[end].text == a->text;
		     end++)
			print_hosts(out, log->facts[end].host, end - i);
		fprintf(out, "\n");
	}
}

/* ---- rational, by what the node has -------------------------------------------------------- */

/* ": NAME=VALUE is set" of the first setting of these names that is not 0, in `text`; "": none is. */
static void why_set(const struct nccl_log *log, const char *names, char *text, size_t len)
{
	*text = '\0';
	for (int i = 0; i < log->n_settings && !*text; i++)
		if (names_find(names, log->settings[i].name) >= 0 &&
		    strcmp(log->settings[i].value, "0") != 0)
			snprintf(text, len, ": %s=%s is set", log->settings[i].name,
				 log->settings[i].value);
}

/* Steps between hosts: over sockets, over other networks, and those of the latter with GPUDirect RDMA. */
struct steps {
	int sockets, fabric, gdr;
	const char *host; /* of the first one over sockets */
};

/* ": NCCL found no device on HOST" of hosts that say so, in `text`; "" of none. */
static void without_words(const struct nccl_log *log, char *text, size_t len)
{
	const char *first = NULL;
	int n = 0;

	*text = '\0';
	for (int i = 0; i < log->n_facts; i++) {
		const struct nccl_fact *fact = &log->facts[i];

		if (!strstr(fact->text, "No device") || (first && fact->text != first))
			continue;
		first = fact->text;
		if (n++ < HOSTS_SHOWN)
			text_add(text, len, "%s%s", n > 1 ? ", " : "", fact->host);
	}
	if (n > HOSTS_SHOWN)
		text_add(text, len, " and %d more", n - HOSTS_SHOWN);
}

static struct steps count_net(const struct nccl_comm *comm)
{
	struct steps steps = { .host = NULL };

	for (int i = 0; i < comm->n_links; i++) {
		const struct nccl_link *link = &comm->links[i];

		if (strncmp(link->transport, "NET/", 4) != 0)
			continue;
		if (!strstr(link->transport, "Socket/")) { /* NET/FastSocket/0, too */
			steps.fabric++;
			steps.gdr += strstr(link->transport, "/GDRDMA") != NULL;
			continue;
		}
		steps.sockets++;
		steps.host =
			steps.host ? steps.host
				   : nccl_comm_host(comm, link->receiving ? link->to : link->from);
	}
	return steps;
}

static void lint_sockets(const struct nccl_log *log, const struct steps *steps,
			 struct nccl_lint *out)
{
	const char *device = NULL;
	char why[160], hosts[320];
	bool without = false;

	if (steps->sockets == 0 || !steps->host)
		return;
	for (int i = 0; i < log->n_nics; i++)
		if (log->nics[i].host == steps->host)
			device = log->nics[i].name;
	for (int i = 0; i < log->n_facts; i++)
		without |= log->facts[i].host == steps->host &&
			   strstr(log->facts[i].text, "No device");
	why_set(log, "NCCL_IB_DISABLE NCCL_NET", why, sizeof(why));
	without_words(log, hosts, sizeof(hosts));
	if (device)
		nccl_lint_add(out, NCCL_FOUND, -1,
			      "data between hosts go over TCP sockets, though %s has %s%s",
			      steps->host, device, why);
	else if (without)
		nccl_lint_add(out, NCCL_FOUND, -1,
			      "data between hosts go over TCP sockets: NCCL found no InfiniBand or "
			      "RoCE device on %s (in a container, /dev/infiniband may be missing)",
			      hosts);
	else
		nccl_lint_add(out, NCCL_FOUND, -1, "data between hosts go over TCP sockets%s", why);
}

#define GB10 0xf01000 /* the bus of the GPU of a DGX Spark, which has no GPUDirect RDMA */

/* Steps between hosts without it: irrational where NCCL says itself that a device lacks it. */
static void lint_gdr(const struct nccl_log *log, const struct nccl_comm *comm,
		     const struct steps *steps, struct nccl_lint *out)
{
	bool spark = comm->n_members > 0 && comm->members[0]->bus == GB10, has = false;
	char nics[200] = "", why[160];

	if (steps->fabric == 0 || steps->gdr > 0 || comm->gdr > 0)
		return;
	for (int i = 0; i < log->n_nics; i++) {
		has |= log->nics[i].gdr == 1;
		if (log->nics[i].gdr == 0 && !strstr(nics, log->nics[i].name))
			text_add(nics, sizeof(nics), "%s%s", *nics ? ", " : "", log->nics[i].name);
	}
	why_set(log, "NCCL_NET_GDR_LEVEL NCCL_IB_GDR_LEVEL", why, sizeof(why));
	nccl_lint_add(out, *nics && !spark ? NCCL_FOUND : NCCL_NOTE, -1,
		      "no step between hosts that is here has GPUDirect RDMA%s%s%s: %s",
		      *nics ? ", by NCCL's lines on " : "", nics, why,
		      spark   ? "GB10 does not support it, and data are copied in its one memory"
		      : *nics ? "data are copied through host memory on both sides (load "
				"nvidia-peermem, or use a driver with DMA-BUF)"
		      : has   ? "the devices have it, so GPUs and NICs are too far apart for it"
			      : "driver or network lack it, or GPUs and NICs are too far apart");
}

/* NICs that a host lists and that no step goes over, though its ranks are enough: in words, "" where all is well. */
static void idle_words(const struct nccl_log *log, const char *host, int ranks, char *text,
		       size_t len)
{
	int listed = 0, used = 0;
	char idle[200] = "";

	for (int i = 0; i < log->n_nics; i++) {
		const struct nccl_nic *nic = &log->nics[i];

		if (nic->host != host || nic->index < 0)
			continue;
		listed++;
		used += nic->steps > 0;
		if (!nic->steps)
			text_add(idle, sizeof(idle), "%s%d (%s)", *idle ? ", " : "", nic->index,
				 nic->name);
	}
	*text = '\0';
	if (used > 0 && used < listed && used < ranks)
		snprintf(text, len, "%d of %d NICs used by %d ranks, no step goes over NIC %s",
			 used, listed, ranks, idle);
}

static void lint_idle(const struct nccl_log *log, const struct nccl_comm *comm,
		      struct nccl_lint *out)
{
	int *ranks = must(calloc((size_t)log->n_hosts + 1, sizeof(*ranks))), alike = 0;
	char first[320] = "", text[320];
	const char *host = "";

	for (int m = 0; m < comm->n_members; m++)
		ranks[comm->members[m]->host_number]++;
	for (int h = 0; h < log->n_hosts; h++) {
		if (ranks[h])
			idle_words(log, log->hosts[h], ranks[h], text, sizeof(text));
		if (!ranks[h] || !*text)
			continue;
		if (!*first) {
			memcpy(first, text, sizeof(first));
			host = log->hosts[h];
		} else if (strcmp(first, text) == 0) {
			alike++;
		}
	}
	if (alike)
		nccl_lint_add(out, NCCL_FOUND, -1, "%s: %s; the same on %d more host%s", host,
			      first, alike, alike == 1 ? "" : "s");
	else if (*first)
		nccl_lint_add(out, NCCL_FOUND, -1, "%s: %s", host, first);
	free(ranks);
}

/* A setting that takes a choice away from NCCL, by its row. */
static void lint_setting(const struct nccl_log *log, const struct nccl_comm *comm,
			 const struct nccl_cause *cause, const char *text, struct nccl_lint *out)
{
	int steps = 0;

	for (int i = 0; i < comm->n_links && cause->class == NCCL_NO_P2P; i++)
		steps += strncmp(comm->links[i].transport, "SHM/", 4) == 0;
	if (steps)
		nccl_lint_add(out, NCCL_FOUND, -1,
			      "%s: %s is set, and %d step%s inside hosts go%s through host memory",
			      cause->what, text, steps, steps == 1 ? "" : "s",
			      steps == 1 ? "es" : "");
	else if (cause->class == NCCL_CLAIM)
		nccl_lint_add(out, NCCL_MISSING, -1, "%s: %s is set", cause->what, text);
	else if (cause->class != NCCL_QUIET)
		nccl_lint_add(out, NCCL_NOTE, -1, "%s: %s is set", cause->what, text);
}

bool nccl_p2p_is_off(const struct nccl_log *log)
{
	for (int i = 0; i < log->n_settings; i++) {
		const struct nccl_cause *cause;
		char text[400];

		snprintf(text, sizeof(text), "%s=%s", log->settings[i].name,
			 log->settings[i].value);
		cause = nccl_cause_of(log, "", text, NCCL_PIN, 0);
		if (cause && cause->class == NCCL_NO_P2P)
			return true;
	}
	return false;
}

/* NVLS channels that a device promised, and that the communicator does not have. */
static void lint_promise(const struct nccl_comm *comm, struct nccl_lint *out)
{
	if (comm->nvls_promised > 0 && comm->nvls_channels == 0 && comm->nranks > 2)
		nccl_lint_add(out, NCCL_FOUND, -1,
			      "%d NVLS channels are promised and none is used, with %d channels in "
			      "all: as a rule a GPU has no NVLink in NCCL's topology (dump it: "
			      "NCCL_TOPO_DUMP_FILE)",
			      comm->nvls_promised, comm->coll_channels);
}

/* Settings that take a choice away from NCCL, and messages about rings. */
static void lint_rows(const struct nccl_log *log, const struct nccl_comm *comm,
		      struct nccl_lint *out)
{
	for (int i = 0; i < log->n_settings; i++) {
		const struct nccl_setting *set = &log->settings[i];
		const struct nccl_cause *cause;
		char text[400];

		snprintf(text, sizeof(text), "%s=%s", set->name, set->value);
		cause = nccl_cause_of(log, "", text, NCCL_PIN, 0);
		if (cause)
			lint_setting(log, comm, cause, text, out);
	}
	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];

		if (nccl_warning_class(w) == NCCL_RING)
			nccl_lint_add(out, NCCL_FOUND, -1, "%s", w->cause->what);
	}
}

/* The bandwidth of the rings that the search found, against what the nearest of a host's GPUs have between them. */
static void lint_search(const struct nccl_log *log, const struct nccl_comm *comm,
			struct nccl_lint *out)
{
	double least = INFINITY;

	for (int i = 0; i < log->n_paths; i++)
		if (strcmp(log->paths[i].kind, "GPU") == 0 &&
		    strcmp(log->paths[i].type, "LOC") != 0)
			least = fmin(least,
				     strcmp(log->paths[i].type, "NVL") == 0 ? log->paths[i].bw : 0);
	if (comm->nnodes == 1 && isfinite(least) && comm->rings_found > 0 &&
	    comm->rings_found * comm->rings_bw < least / 2)
		nccl_lint_add(out, NCCL_FOUND, -1,
			      "the search found %d channels of %.0f GB/s, and each pair of "
			      "GPUs has %.0f GB/s of NVLink",
			      comm->rings_found, comm->rings_bw, least);
}

void nccl_lint_node(const struct nccl_log *log, const struct nccl_comm *comm, bool steps_known,
		    struct nccl_lint *out)
{
	struct steps steps = count_net(comm);
	bool several = comm->nnodes > 1;

	for (int m = 1; m < comm->n_members && comm->nnodes == 0; m++)
		several |= comm->members[m]->host != comm->members[0]->host;
	if (several) {
		lint_sockets(log, &steps, out);
		lint_gdr(log, comm, &steps, out);
		if (comm->n_members == comm->nranks && steps_known)
			lint_idle(log, comm, out);
	}
	lint_rows(log, comm, out);
	lint_promise(comm, out);
	lint_search(log, comm, out);
}
