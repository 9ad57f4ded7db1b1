/* nccl_log_lint.c: is this ring rational? The log's rings against hosts and topology. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log_lint.h"
#include "nccl_log/nccl_log_raw.h"

static enum transport transport_of(const char *text)
{
	if (!text)
		return T_UNKNOWN;
	if (strncmp(text, "P2P/indirect", 12) == 0)
		return T_INDIRECT;
	if (strncmp(text, "P2P/", 4) == 0)
		return T_P2P;
	if (strncmp(text, "SHM/", 4) == 0)
		return T_SHM;
	return strncmp(text, "NET/", 4) == 0 ? T_NET : T_UNKNOWN;
}

const char *nccl_verdict_name(enum nccl_verdict verdict)
{
	static const char *const names[] = { [NCCL_RATIONAL] = "rational",
					     [NCCL_IRRATIONAL] = "irrational",
					     [NCCL_CANNOT_SAY] = "cannot say" };

	return names[verdict];
}

/* ---- results ------------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 0))) static char *text_of(struct judge *j, const char *format,
							   va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) >= 0)
		return text;
	j->no_memory = true;
	return NULL;
}

/* Equal findings of several channels are one. */
void nccl_judge_found(struct judge *j, const struct nccl_ring *ring, int from, int to,
		      const char *format, ...)
{
	struct nccl_judgement *out = j->out;
	struct nccl_finding *room;
	va_list args;
	char *text;

	va_start(args, format);
	text = text_of(j, format, args);
	va_end(args);
	if (!text)
		return;
	for (int i = 0; i < out->n_findings; i++) {
		if (strcmp(out->findings[i].reason, text) == 0) {
			out->findings[i].channels++;
			free(text);
			return;
		}
	}
	room = nccl_array_room(out->findings, out->n_findings, sizeof(*room));
	if (!room) {
		free(text);
		j->no_memory = true;
		return;
	}
	out->findings = room;
	room[out->n_findings++] = (struct nccl_finding){
		.channel = ring->channel, .channels = 1, .from = from, .to = to, .reason = text
	};
}

void nccl_judge_line(struct judge *j, char ***list, int *n, const char *format, ...)
{
	va_list args;
	char *text, **room;

	va_start(args, format);
	text = text_of(j, format, args);
	va_end(args);
	for (int i = 0; i < *n && text; i++) {
		if (strcmp((*list)[i], text) == 0) {
			free(text);
			return;
		}
	}
	room = text ? nccl_array_room(*list, *n, sizeof(*room)) : NULL;
	if (!room) {
		free(text);
		j->no_memory = true;
		return;
	}
	*list = room;
	room[(*n)++] = text;
}

/* ---- who is where ------------------------------------------------------------------------- */

int nccl_judge_host(const struct judge *j, int rank)
{
	int member = nccl_comm_member_index(j->comm, rank);

	if (member < 0 && j->comm->nnodes == 1 && j->comm->n_members)
		member = 0;
	return member < 0 ? -1 : j->member_host[member];
}

static int host_number(const struct nccl_log *log, const char *host)
{
	int i = 0;

	while (i < log->n_hosts - 1 && log->hosts[i] != host)
		i++;
	return i;
}

enum nccl_near nccl_judge_near(const struct judge *j, int a, int b, double *bw)
{
	const struct nccl_member *x = nccl_comm_member(j->comm, a);
	const struct nccl_member *y = nccl_comm_member(j->comm, b);

	return x && y ? nccl_topo_near(j->log, j->topo, x, y, bw) : NEAR_UNKNOWN;
}

static bool survey_hosts(struct judge *j)
{
	bool *seen = calloc((size_t)j->log->n_hosts + 1, sizeof(*seen));

	j->best = calloc((size_t)j->log->n_hosts + 1, sizeof(*j->best));
	j->member_host = calloc((size_t)j->comm->n_members + 1, sizeof(*j->member_host));
	for (int m = 0; m < j->comm->n_members && seen && j->member_host; m++) {
		int host = host_number(j->log, j->comm->members[m]->host);

		j->member_host[m] = host;
		j->hosts += !seen[host];
		seen[host] = true;
	}
	free(seen);
	return seen && j->best && j->member_host;
}

static void survey_links(struct judge *j)
{
	for (int l = 0; l < j->comm->n_links; l++) {
		const struct nccl_link *link = &j->comm->links[l];
		enum transport transport = transport_of(link->transport);
		int host = nccl_judge_host(j, link->from);

		if (transport == T_NET && !j->gdr && strstr(link->transport, "/GDRDMA"))
			j->gdr = link;
		if (host < 0 || host != nccl_judge_host(j, link->to) || transport == T_UNKNOWN)
			continue;
		if (j->best[host].transport == T_UNKNOWN || transport < j->best[host].transport)
			j->best[host] = (struct best){ transport, link->from, link->to };
	}
}

/* ---- one ring ----------------------------------------------------------------------------- */

/* How often the ring comes to each host: once is right. */
static void judge_crossings(struct judge *j, const struct nccl_ring *ring)
{
	int *visits = calloc((size_t)j->log->n_hosts + 1, sizeof(*visits));

	if (!visits) {
		j->no_memory = true;
		return;
	}
	for (int i = 0; i < ring->n; i++) {
		int from = ring->order[(i + ring->n - 1) % ring->n], to = ring->order[i];
		int a = nccl_judge_host(j, from), b = nccl_judge_host(j, to);

		if (a < 0 || b < 0 || a == b)
			continue;
		if (++visits[b] == 2)
			nccl_judge_found(
				j, ring, from, to,
				"the ring leaves host %s and comes back more than once: again with "
				"%d -> %d",
				j->log->hosts[b], from, to);
	}
	free(visits);
}

static void judge_net(struct judge *j, const struct nccl_ring *ring, int from, int to,
		      const char *text)
{
	const char *host = j->log->hosts[nccl_judge_host(j, from)];

	if (nccl_judge_host(j, from) != nccl_judge_host(j, to)) {
		if (j->gdr && !strstr(text, "/GDRDMA"))
			nccl_judge_found(
				j, ring, from, to,
				"%d -> %d uses %s without GPUDirect RDMA, which %d -> %d has", from,
				to, text, j->gdr->from, j->gdr->to);
		return;
	}
	if (j->comm->nnodes > j->hosts && j->comm->n_members == j->comm->nranks)
		nccl_judge_found(
			j, ring, from, to,
			"%d -> %d uses %s inside host %s: NCCL counts %d nodes on %d host%s "
			"(NCCL_HOSTID, or P2P and SHM refused)",
			from, to, text, host, j->comm->nnodes, j->hosts, j->hosts == 1 ? "" : "s");
	else
		nccl_judge_found(j, ring, from, to, "%d -> %d uses %s inside host %s", from, to,
				 text, host);
}

/* Shared memory or a detour over a third GPU, where peers could reach each other. */
static void judge_slower(struct judge *j, const struct nccl_ring *ring, int from, int to,
			 const char *text)
{
	const struct best *best = &j->best[nccl_judge_host(j, from)];
	enum nccl_near near = nccl_judge_near(j, from, to, NULL);
	const char *name = nccl_near_name(near);

	if (near >= NEAR_PHB)
		note(j, "%d -> %d uses %s: their GPUs are %s apart, too far for P2P by default",
		     from, to, text, name);
	else if (near != NEAR_UNKNOWN)
		nccl_judge_found(j, ring, from, to,
				 "%d -> %d uses %s although their GPUs are %s apart", from, to,
				 text, name);
	else if (best->transport < transport_of(text))
		nccl_judge_found(j, ring, from, to,
				 "%d -> %d uses %s while %d -> %d on the same host uses %s "
				 "(no topology at hand that would excuse it)",
				 from, to, text, best->from, best->to,
				 best->transport == T_P2P ? "P2P" : "a faster transport");
}

static void judge_transports(struct judge *j, const struct nccl_ring *ring)
{
	for (int i = 0; i < ring->n && ring->n > 1; i++) {
		int from = ring->order[i], to = ring->order[(i + 1) % ring->n];
		const char *text = nccl_comm_transport(j->comm, ring->channel, from, to);
		int a = nccl_judge_host(j, from), b = nccl_judge_host(j, to);
		enum transport transport = transport_of(text);

		if (i == ring->n - 1 && !ring->closed)
			break;
		j->no_transport += transport == T_UNKNOWN;
		j->no_host += a < 0 || b < 0;
		if (a < 0 || b < 0)
			continue;
		if (transport == T_NET)
			judge_net(j, ring, from, to, text);
		else if ((transport == T_SHM || transport == T_INDIRECT) && a == b)
			judge_slower(j, ring, from, to, text);
	}
}

/* ---- all rings ---------------------------------------------------------------------------- */

static void judge_missing(struct judge *j)
{
	if (j->comm->n_rings == 0 && j->comm->nranks != 1)
		missing(j, "no Channel and no Ring lines: rank 0's log, or subsystems INIT and "
			   "GRAPH, are not here");
	if (j->open)
		missing(j,
			"%d of %d rings are not complete: rank 0's line is cut or not here, and "
			"Ring lines (subsystem GRAPH) of some ranks are not here",
			j->open, j->comm->n_rings);
	if (j->differing)
		missing(j,
			"%d rings: rank 0's Channel line and the ranks' Ring lines contradict "
			"each other",
			j->differing);
	if (j->no_host)
		missing(j,
			"%d steps lead from or to a rank whose host is not known: its lines are "
			"not here",
			j->no_host);
	if (j->no_transport)
		missing(j,
			"%d steps without a transport: its line is not here (NCCL prints it at "
			"the first call)",
			j->no_transport);
}

int nccl_log_judge(const struct nccl_log *log, const struct nccl_comm *comm,
		   const struct topo_system *topo, struct nccl_judgement *judgement)
{
	struct judge j = { .log = log, .comm = comm, .topo = topo, .out = judgement };

	*judgement = (struct nccl_judgement){ 0 };
	if (survey_hosts(&j))
		survey_links(&j);
	else
		j.no_memory = true;
	for (int r = 0; r < comm->n_rings && !j.no_memory; r++) {
		const struct nccl_ring *ring = &comm->rings[r];

		j.open += !ring->closed;
		j.differing += ring->differs;
		if (ring->closed)
			judge_crossings(&j, ring);
		judge_transports(&j, ring);
		if (ring->closed)
			nccl_judge_numa(&j, ring);
	}
	if (!j.no_memory) {
		nccl_judge_orders(&j);
		judge_missing(&j);
	}
	free(j.best);
	free(j.member_host);
	judgement->verdict = judgement->n_findings  ? NCCL_IRRATIONAL
			     : judgement->n_missing ? NCCL_CANNOT_SAY
						    : NCCL_RATIONAL;
	if (!j.no_memory)
		return 0;
	nccl_judgement_release(judgement);
	return -ENOMEM;
}

void nccl_judgement_release(struct nccl_judgement *judgement)
{
	for (int i = 0; i < judgement->n_findings; i++)
		free(judgement->findings[i].reason);
	for (int i = 0; i < judgement->n_missing; i++)
		free(judgement->missing[i]);
	for (int i = 0; i < judgement->n_notes; i++)
		free(judgement->notes[i]);
	free(judgement->findings);
	free(judgement->missing);
	free(judgement->notes);
	*judgement = (struct nccl_judgement){ 0 };
}
