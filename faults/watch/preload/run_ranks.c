/* run_ranks.c: the environment of a rank's process, and what it says. */
#include "preload/run_ranks.h"

#include <netdb.h>

#include "base/error.h"
#include "base/proc_stat.h"
#include "settings/rank_groups.h"
#include "settings/settings_read.h"
#include "record/recorder.h"

#define ENVIRONMENT_MOST (256 << 10)
#define VARIABLES_MOST	 4096
#define RANKS_MOST	 (1 << 18)
#define AGENT		 "TORCHELASTIC_RUN_ID" /* torchrun's ranks have it, and it has not */

/* The variables that a process was started with, none where they cannot be read; ended by NULL. */
struct variables {
	char *list[VARIABLES_MOST + 1];
	char text[ENVIRONMENT_MOST + 1];
};

static struct variables *read_variables(pid_t pid)
{
	struct variables *v = must(calloc(1, sizeof(*v)));
	size_t bytes = 0, n = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	if (f) {
		bytes = fread(v->text, 1, ENVIRONMENT_MOST, f);
		fclose(f);
	}
	for (size_t at = 0; at < bytes && n < VARIABLES_MOST; at += strlen(v->text + at) + 1)
		v->list[n++] = v->text + at;
	return v;
}

bool run_variable(pid_t pid, const char *name, char *value, size_t len)
{
	struct variables *v = read_variables(pid);
	const char *text = environment_get(v->list, name);

	if (text)
		snprintf(value, len, "%s", text);
	free(v);
	return text;
}

bool run_place(struct run_place *p, char *const *e, int rank, const char *given)
{
	int size = environment_number(e, "WORLD_SIZE OMPI_COMM_WORLD_SIZE SLURM_NTASKS", -1),
	    local = environment_number(e, "LOCAL_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_SIZE", -1);
	const char *address = environment_get(e, "MASTER_ADDR"),
		   *job = environment_get(e, "TORCHELASTIC_RUN_ID"),
		   *colon = given ? strrchr(given, ':') : NULL;
	int port = environment_number(e, "MASTER_PORT", -1);
	/* a task of srun; under mpirun that is a daemon, and the daemons' step lacks the first node */
	bool task =
		environment_get(e, "SLURM_STEP_ID") && !environment_get(e, "OMPI_COMM_WORLD_SIZE");

	memset(p, 0, sizeof(*p));
	p->nodes =
		environment_number(e, task ? "GROUP_WORLD_SIZE SLURM_NNODES" : "GROUP_WORLD_SIZE",
				   -1);
	p->node = environment_number(e, task ? "GROUP_RANK SLURM_NODEID" : "GROUP_RANK", -1);
	if (p->nodes < 0 && local > 0)
		p->nodes = (size + local - 1) / local;
	if (p->node < 0 && local > 0)
		p->node = rank / local;
	snprintf(p->host, sizeof(p->host), "%.*s", colon ? (int)(colon - given) : 255,
		 colon	   ? given
		 : address ? address
			   : "");
	snprintf(p->port, sizeof(p->port), "%d", colon ? atoi(colon + 1) : port + 1);
	p->token = rank_groups_value(p->host) ^ rank_groups_value(p->port) << 1 ^
		   rank_groups_value(job ? job : "") << 2 ^ (uint64_t)size << 3;
	return p->nodes > 1 && p->host[0] && (given || port > 0);
}

/* mpirun's number for a job and those that its ranks spawn; another runtime's is text before '@'. */
static void name_mpi(const char *space, char *name, size_t len)
{
	char *end;
	unsigned long number = strtoul(space, &end, 10);

	if (*space && !*end)
		snprintf(name, len, "mpirun-%lu", number >> 16);
	else
		snprintf(name, len, "mpirun-%.*s", (int)strcspn(space, "@"), space);
}

void run_job_name(char *const *e, char *name, size_t len)
{
	const char *port = environment_get(e, "MASTER_PORT"),
		   *address = environment_get(e, "MASTER_ADDR"),
		   *space = environment_get(e, "PMIX_NAMESPACE"),
		   *step = environment_get(e, "SLURM_STEP_ID"),
		   *job = environment_get(e, "SLURM_JOB_ID");

	name[0] = '\0';
	if (port && environment_get(e, "RANK"))
		snprintf(name, len, "%s:%s", address ? address : "", port);
	else if (space && environment_get(e, "OMPI_COMM_WORLD_RANK"))
		name_mpi(space, name, len);
	else if (step && job)
		snprintf(name, len, "slurm-%s.%s", job, step);
	for (char *p = name; *p; p++) /* it stands in lines for scripts, and in names of files */
		*p = isalnum(*p) || strchr(".:-_", *p) ? *p : '_';
}

void run_job_of(struct run_job *job, pid_t pid)
{
	struct variables *v = read_variables(pid);
	char value[64];
	struct proc_stat stat;

	*job = (struct run_job){ .pid = pid };
	run_job_name(v->list, job->name, sizeof(job->name));
	job->agent = environment_get(v->list, AGENT) ? pid : 0;
	free(v);
	while (job->agent > 1 && run_variable(job->agent, AGENT, value, sizeof(value)))
		job->agent = proc_stat_read(&stat, job->agent, 0) ? stat.parent : 0;
	job->agent = job->agent > 1 ? job->agent : 0;
}

/* To what monitor_nodes.c reads, as hangar's own ranks do with MPI. */
static void note_place(struct record_header *h, const struct run_place *p)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char host[64], port[16];
	struct addrinfo *to;

	if (getaddrinfo(p->host, p->port, &hints, &to) != 0) {
		printf("# hangar_run: no address of %s: hosts are watched each by itself\n",
		       p->host);
		return;
	}
	if (getnameinfo(to->ai_addr, to->ai_addrlen, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
		bool six = strchr(host, ':');

		snprintf(h->uplink_address, sizeof(h->uplink_address), "%s%s%s:%s", six ? "[" : "",
			 host, six ? "]" : "", port);
		h->node = p->node;
		h->nnodes = p->nodes;
		/* another run at the same place has another first communicator of all */
		h->uplink_token = p->token ^ (h->inits[0].nranks == h->nranks ? h->inits[0].id : 0);
		h->uplink_port = h->rank == 0 ? atoi(port) : 0;
		h->uplink_wanted = h->rank == 0;
		atomic_store(&h->uplink_ready, 1);
	}
	freeaddrinfo(to);
}

bool run_note_rank(struct record_header *rank, const char *meeting_point)
{
	struct settings settings = { 0 };
	struct variables *v;
	struct run_place place;

	if (rank->rank < 0 || rank->settings_hash)
		return false;
	v = read_variables(rank->pid);
	settings_put(&settings, "libnccl", rank->library);
	settings_read_of(&settings, v->list);
	if (run_place(&place, v->list, rank->rank, meeting_point))
		note_place(rank, &place);
	free(v);
	record_settings(rank, settings.text, settings_hash(&settings));
	return true;
}

bool run_settings_differ(struct record_memory *const *memories, size_t n, char *line, size_t len)
{
	struct setting_difference found[SETTINGS_DIFFERENCES];
	const char **texts;
	size_t nfound, matter = 0;
	int ranks = 0;

	texts = must(calloc(RANKS_MOST, sizeof(*texts)));
	for (size_t i = 0; i < n; i++) {
		const struct record_header *h = &memories[i]->header;

		if (h->rank < 0 || h->rank >= RANKS_MOST || !h->settings_hash)
			continue;
		texts[h->rank] = h->settings;
		ranks = h->rank >= ranks ? h->rank + 1 : ranks;
	}
	nfound = settings_compare(texts, ranks, SETTING_MAY, found);
	while (matter < nfound && found[matter].weight >= SETTING_MATTERS)
		matter++;
	if (matter)
		settings_words(found, matter, line, len);
	free(texts);
	return matter > 0;
}
