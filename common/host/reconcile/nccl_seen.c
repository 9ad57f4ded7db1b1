/* nccl_seen.c: NCCL's logs to what it connected, and how. */
#include "reconcile/nccl_seen.h"

#include "nccl_check/nccl_check.h"

#define MOST_LOGS  256
#define MOST_BYTES (64 << 20) /* of all logs together: half a second of reading */

#define PART "NCCL"

static const char *setting(const struct reading *host, const char *name)
{
	return reading_text(host, "environment", name);
}

/* ---- asking for it ------------------------------------------------------------------------ */

static const char *const debug[] = { "NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE" };
enum { DEBUGS = LENGTH(debug) };
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

static void count(struct reading *run, const char *name)
{
	reading_state(run, PART, name, reading_value(run, PART, name) + 1);
}

static void keep_example(struct reading *run, const char *name, const struct nccl_link *link)
{
	char text[96];

	snprintf(text, sizeof(text), "%d -> %d via %.60s", link->from, link->to, link->transport);
	if (!reading_text(run, PART, name)[0])
		reading_say(run, PART, name, text);
}

static void take_far(struct reading *run, const struct nccl_link *link)
{
	count(run, "far");
	if (is_pxn(link->transport))
		count(run, "far_pxn");
	if (strstr(link->transport, "/GDRDMA"))
		count(run, "far_gdr");
	else
		keep_example(run, "far_example", link);
}

static void take_links(struct reading *run, const struct nccl_comm *comm)
{
	static const char *const names[] = { "p2p", "shm", "net", "far", "far_gdr", "far_pxn" };

	for (size_t i = 0; i < LENGTH(names); i++)
		reading_state(run, PART, names[i], 0);
	for (int i = 0; i < comm->n_links; i++) {
		const struct nccl_link *link = &comm->links[i];
		const char *from = nccl_comm_host(comm, link->from);

		if (link->receiving || !link->transport)
			continue;
		if (strncmp(link->transport, "P2P/", 4) == 0) {
			count(run, "p2p");
		} else if (strncmp(link->transport, "SHM/", 4) == 0) {
			count(run, "shm");
			keep_example(run, "shm_example", link);
		} else if (strncmp(link->transport, "NET/", 4) != 0) {
			continue;
		} else if (from && from == nccl_comm_host(comm, link->to)) {
			count(run, "net");
			keep_example(run, "net_example", link);
		} else {
			take_far(run, link);
		}
	}
}

static void take_findings(struct reading *run, const struct nccl_log *log,
			  const struct nccl_comm *comm)
{
	struct nccl_lint lint;
	char name[24];
	int n = 0;

	nccl_log_lint(log, comm, NULL, &lint);
	for (int i = 0; i < lint.n_findings && n < OBSERVED_FINDINGS; i++) {
		if (lint.findings[i].kind != NCCL_FOUND)
			continue;
		snprintf(name, sizeof(name), "finding_%d", n++);
		reading_say(run, PART, name, lint.findings[i].reason);
	}
	nccl_lint_release(&lint);
}

static void take_log(struct reading *run, const struct nccl_log *log)
{
	const struct nccl_comm *comm = NULL;

	if (log->network)
		reading_say(run, PART, "network", log->network);
	for (int i = 0; i < log->n_comms; i++)
		if (!comm || log->comms[i].n_members > comm->n_members)
			comm = &log->comms[i];
	if (!comm)
		return;
	reading_state(run, PART, "gdr", comm->gdr);
	reading_state(run, PART, "nvls",
		      comm->nvls_channels >= 0 ? comm->nvls_channels > 0 : comm->nvls);
	reading_state(run, PART, "coll_channels", comm->coll_channels);
	take_links(run, comm);
	take_findings(run, log, comm);
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
		     const char *rank)
{
	const char *pattern = asked[0] ? asked : setting(host, "NCCL_DEBUG_FILE");
	int pid = (int)reading_value(host, rank, "pid");
	struct error err = { .rank = -1 };
	char name[512];
	struct stat st;

	if (!nccl_seen_name(pattern, host->host, pid, name, sizeof(name)) || stat(name, &st) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	if (was_read(logs, st.st_ino))
		return true;
	if (logs->nfiles == MOST_LOGS || st.st_size > MOST_BYTES - logs->bytes)
		return false;
	logs->bytes += st.st_size;
	logs->files[logs->nfiles++] = st.st_ino;
	return nccl_log_read_file(&logs->log, name, strstr(pattern, "%p") ? atoi(rank + 5) : -1,
				  &err) == 0;
}

/* Returns the reason for which there is no log; NULL: one was requested. */
static const char *no_log(const struct nccl_asked *asked, const struct observation *o)
{
	const char *level = o->nhosts > 0 ? setting(&o->before[0], "NCCL_DEBUG") : "";

	if (asked->pattern[0])
		return NULL;
	if (strcasecmp(level, "INFO") != 0 && strcasecmp(level, "TRACE") != 0)
		return "NCCL was not asked to log: rerun with --reconcile, or on several hosts "
		       "with NCCL_DEBUG=INFO NCCL_DEBUG_FILE=DIR/nccl-%h-%p.log on a shared disk";
	if (!setting(&o->before[0], "NCCL_DEBUG_FILE")[0])
		return "NCCL's log went to the terminal: rerun with NCCL_DEBUG_FILE=nccl-%h-%p.log";
	return NULL;
}

void nccl_seen_read(const struct nccl_asked *asked, struct observation *o)
{
	const char *none = no_log(asked, o), *rank;
	struct logs logs = { .nfiles = 0 };
	int read = 0, ranks = 0;
	char why[80];

	nccl_log_init(&logs.log);
	for (int h = 0; !none && h < o->nhosts; h++)
		for (size_t at = 0; (rank = reading_next(&o->before[h], "pid", &at)); ranks++)
			read += read_one(&logs, asked->pattern, &o->before[h], rank);
	nccl_log_finish(&logs.log);
	snprintf(why, sizeof(why), "NCCL's logs of %d of %d ranks could be read here", read, ranks);
	if (none || read < ranks)
		reading_say(&o->run, PART, "why", none ? none : why);
	reading_state(&o->run, PART, "logs", read);
	if (read > 0)
		take_log(&o->run, &logs.log);
	nccl_log_release(&logs.log);
}
