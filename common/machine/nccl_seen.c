/* nccl_seen.c: NCCL's logs to what it connected, and how. */
#include "machine/nccl_seen.h"

#include <strings.h>
#include <sys/stat.h>

#include "nccl_log/nccl_log.h"

#define MOST_LOGS  256
#define MOST_BYTES (64 << 20) /* of all logs together: half a second of reading */

static const char *setting(const struct reading *host, const char *name)
{
	return reading_text(host, "environment", name);
}

/* ---- asking for it ------------------------------------------------------------------------ */

static const char *const debug[] = { "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE" };
enum { DEBUGS = sizeof(debug) / sizeof(debug[0]) };
#define SUBSYSTEMS "INIT,GRAPH,NET,P2P,SHM" /* not COLL and TUNING: a line a call */

void nccl_seen_ask(struct nccl_asked *asked, const char *folder)
{
	const char *const values[DEBUGS] = { "INFO", SUBSYSTEMS, asked->pattern };

	asked->pattern[0] = '\0';
	for (int i = 0; i < DEBUGS; i++)
		if (getenv(debug[i]))
			return;
	if ((size_t)snprintf(asked->pattern, sizeof(asked->pattern), "%s/nccl-%%h-%%p.log",
			     folder) >= sizeof(asked->pattern))
		asked->pattern[0] = '\0';
	for (int i = 0; i < DEBUGS && asked->pattern[0]; i++)
		setenv(debug[i], values[i], 1);
}

void nccl_seen_asked(const struct nccl_asked *asked)
{
	for (int i = 0; i < DEBUGS && asked->pattern[0]; i++)
		unsetenv(debug[i]);
}

bool nccl_seen_name(const char *pattern, const char *host, int pid, char *name, size_t len)
{
	size_t used = 0;
	int n = 0;

	for (; *pattern && n >= 0 && used < len; used += (size_t)n) {
		if (pattern[0] == '%' && pattern[1] == 'h')
			n = snprintf(name + used, len - used, "%.*s", (int)strcspn(host, "."),
				     host);
		else if (pattern[0] == '%' && pattern[1] == 'p')
			n = snprintf(name + used, len - used, "%d", pid);
		else
			n = snprintf(name + used, len - used, "%c", *pattern);
		pattern += pattern[0] == '%' && pattern[1] && strchr("hp%", pattern[1]) ? 2 : 1;
	}
	return used > 0 && used < len;
}

/* ---- one communicator --------------------------------------------------------------------- */

/* "NET/IB/0(8)/GDRDMA": the number in brackets is the rank whose GPU hands it to the NIC. */
static bool is_pxn(const char *transport)
{
	const char *at = transport + 4;

	at += strcspn(at, "/");
	at += *at == '/';
	at += strspn(at, "0123456789");
	return *at == '(';
}

static void keep_example(char *to, size_t len, const struct nccl_link *link)
{
	if (!to[0])
		snprintf(to, len, "%d -> %d via %.60s", link->from, link->to, link->transport);
}

static void take_far(struct observed_nccl *nccl, const struct nccl_link *link)
{
	bool gdr = strstr(link->transport, "/GDRDMA") != NULL;

	nccl->far++;
	nccl->far_gdr += gdr;
	nccl->far_pxn += is_pxn(link->transport);
	if (!gdr)
		keep_example(nccl->far_example, sizeof(nccl->far_example), link);
}

static void take_links(struct observed_nccl *nccl, const struct nccl_comm *comm)
{
	nccl->p2p = nccl->shm = nccl->net = nccl->far = nccl->far_gdr = nccl->far_pxn = 0;
	for (int i = 0; i < comm->n_links; i++) {
		const struct nccl_link *link = &comm->links[i];
		const char *from = nccl_comm_host(comm, link->from),
			   *to = nccl_comm_host(comm, link->to);

		if (link->receiving || !link->transport)
			continue;
		if (strncmp(link->transport, "P2P/", 4) == 0) {
			nccl->p2p++;
		} else if (strncmp(link->transport, "SHM/", 4) == 0) {
			nccl->shm++;
			keep_example(nccl->shm_example, sizeof(nccl->shm_example), link);
		} else if (strncmp(link->transport, "NET/", 4) == 0 && from && from == to) {
			nccl->net++;
			keep_example(nccl->net_example, sizeof(nccl->net_example), link);
		} else if (strncmp(link->transport, "NET/", 4) == 0) {
			take_far(nccl, link);
		}
	}
}

static void take_findings(struct observed_nccl *nccl, const struct nccl_log *log,
			  const struct nccl_comm *comm)
{
	struct nccl_lint lint;

	nccl_log_lint(log, comm, NULL, &lint);
	for (int i = 0; i < lint.n_findings && nccl->nfindings < OBSERVED_FINDINGS; i++)
		if (lint.findings[i].kind == NCCL_FOUND)
			snprintf(nccl->findings[nccl->nfindings++].text,
				 sizeof(nccl->findings[0].text), "%s", lint.findings[i].reason);
	nccl_lint_release(&lint);
}

static void take_log(struct observed_nccl *nccl, const struct nccl_log *log)
{
	const struct nccl_comm *comm = NULL;

	if (log->network)
		snprintf(nccl->network, sizeof(nccl->network), "%s", log->network);
	for (int i = 0; i < log->n_comms; i++)
		if (!comm || log->comms[i].n_members > comm->n_members)
			comm = &log->comms[i];
	if (!comm)
		return;
	nccl->gdr = comm->gdr;
	nccl->nvls = comm->nvls_channels >= 0 ? comm->nvls_channels > 0 : comm->nvls;
	nccl->coll_channels = comm->coll_channels;
	take_links(nccl, comm);
	take_findings(nccl, log, comm);
}

/* ---- files -------------------------------------------------------------------------------- */

/* The logs that were read so far. */
struct logs {
	struct nccl_log log;
	ino_t files[MOST_LOGS];
	int nfiles;
	int64_t bytes;
};

/* Several ranks may have one file: without %p. */
static bool was_read(const struct logs *logs, ino_t file)
{
	for (int i = 0; i < logs->nfiles; i++)
		if (logs->files[i] == file)
			return true;
	return false;
}

static bool read_one(struct logs *logs, const char *asked, const struct reading *host,
		     const struct observed_rank *rank)
{
	const char *pattern = asked[0] ? asked : host ? setting(host, "NCCL_DEBUG_FILE") : "";
	struct error err = { .rank = -1 };
	char name[512];
	struct stat st;

	if (!nccl_seen_name(pattern, host ? host->host : "", rank->pid, name, sizeof(name)) ||
	    stat(name, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	if (was_read(logs, st.st_ino))
		return true;
	if (logs->nfiles == MOST_LOGS || st.st_size > MOST_BYTES - logs->bytes)
		return false;
	logs->bytes += st.st_size;
	logs->files[logs->nfiles++] = st.st_ino;
	return nccl_log_read_file(&logs->log, name, strstr(pattern, "%p") ? rank->rank : -1,
				  &err) == 0;
}

/* Why there can be no log: nobody asked for one. NULL: somebody did. */
static const char *no_log(const struct nccl_asked *asked, const struct reading *hosts, int nhosts)
{
	const char *level = nhosts > 0 ? setting(&hosts[0], "NCCL_DEBUG") : "";

	if (asked->pattern[0])
		return NULL;
	if (strcasecmp(level, "INFO") != 0 && strcasecmp(level, "TRACE") != 0)
		return "NCCL was not asked to log: rerun with --reconcile, or on several hosts "
		       "with NCCL_DEBUG=INFO NCCL_DEBUG_FILE=DIR/nccl-%h-%p.log on a shared disk";
	if (!setting(&hosts[0], "NCCL_DEBUG_FILE")[0])
		return "NCCL's log went to the terminal: rerun with NCCL_DEBUG_FILE=nccl-%h-%p.log";
	return NULL;
}

void nccl_seen_read(const struct nccl_asked *asked, const struct reading *hosts, int nhosts,
		    const struct observed_rank *ranks, int nranks, struct observed_nccl *nccl)
{
	const char *none = no_log(asked, hosts, nhosts);
	struct logs logs = { .nfiles = 0 };

	nccl->logs = 0;
	if (none) {
		snprintf(nccl->why, sizeof(nccl->why), "%s", none);
		return;
	}
	nccl_log_init(&logs.log);
	for (int r = 0; r < nranks; r++)
		nccl->logs += read_one(&logs, asked->pattern,
				       ranks[r].node >= 0 && ranks[r].node < nhosts
					       ? &hosts[ranks[r].node]
					       : NULL,
				       &ranks[r]);
	if (nccl->logs < nranks)
		snprintf(nccl->why, sizeof(nccl->why),
			 "NCCL's logs of %d of %d ranks could be read here", nccl->logs, nranks);
	nccl_log_finish(&logs.log);
	if (nccl->logs > 0)
		take_log(nccl, &logs.log);
	nccl_log_release(&logs.log);
}
