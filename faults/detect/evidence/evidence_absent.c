/* evidence_absent.c: processes of this host that are ranks of the run by their environment, and have not used NCCL: they have no
 * record, and may be asked where they stand all the same. */
#include <dirent.h>

#include "base/error.h"
#include "base/file.h"
#include "base/proc_stat.h"
#include "evidence/evidence.h"

#define ENVIRONMENT 65536 /* bytes that are looked at */

/* Reads the environment, '?' before each variable. */
static bool read_environment(pid_t pid, char *text)
{
	text[0] = '?';
	return file_text("", text + 1, ENVIRONMENT - 1, "/proc/%d/environ", (int)pid) > 0;
}

/* The number behind one of these names; -1: there is none. */
static int rank_in(const char *text)
{
	static const char *const names[] = { "?RANK=", "?OMPI_COMM_WORLD_RANK=", "?SLURM_PROCID=",
					     "?PMI_RANK=" };
	const char *at = NULL;
	int rank = -1;

	for (size_t i = 0; i < LENGTH(names) && !at; i++) {
		at = strstr(text, names[i]);
		if (at && sscanf(at + strlen(names[i]), "%d", &rank) != 1)
			rank = -1;
	}
	return rank;
}

/* Where the file that is mapped at the address begins, and its name; or (`address` 0) where that file begins. 0: nowhere. */
static uintptr_t mapped_at(pid_t pid, uintptr_t address, char *name, size_t len)
{
	char line[512], path[256], at[64];
	uintptr_t first, end, base = 0, found = 0;
	FILE *f;

	snprintf(at, sizeof(at), "/proc/%d/maps", (int)pid);
	f = fopen(at, "re");
	at[0] = path[0] = '\0';
	while (f && !found && fgets(line, sizeof(line), f)) {
		char own[256] = "";

		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %255s", &first, &end,
			   own) < 2)
			continue;
		if (own[0] && strcmp(own, path) != 0) {
			snprintf(path, sizeof(path), "%s", own);
			base = first;
		}
		if (address ? first <= address && address < end : strcmp(path, name) == 0)
			found = base;
	}
	if (f)
		fclose(f);
	if (address && found)
		snprintf(name, len, "%s", path);
	return found;
}

/* The process has the Python of a known one, from the same file. */
static struct python_process python_like(pid_t pid, const struct python_process *known)
{
	struct python_process python = { .pid = pid, .minor = known->minor };
	char name[256];
	uintptr_t there = known->runtime ? mapped_at(known->pid, known->runtime, name, sizeof(name))
					 : 0,
		  here = there ? mapped_at(pid, 0, name, sizeof(name)) : 0;

	python.runtime = here ? known->runtime - there + here : 0;
	return python;
}

/* The first process of a rank is the oldest; what runs no Python may be a shell around it. */
static void take_process(struct evidence_rank *r, pid_t pid, const struct python_process *known)
{
	struct python_process python = python_like(pid, known);
	struct proc_stat stat;

	if (r->present || r->python.runtime || (r->view.pid && !python.runtime))
		return;
	r->view.pid = pid;
	r->python = python;
	r->starts = proc_stat_read(&stat, pid, 0) && stat.state == 'R';
}

void evidence_find_absent(struct evidence *e)
{
	static const char variable[] = "?HANGAR_RUN=";
	char *text = must(malloc(ENVIRONMENT)), key[256] = "";
	const struct evidence_rank *known = NULL;
	struct dirent *entry;
	const char *at;
	DIR *dir;

	for (int i = 0; i < e->nranks; i++)
		if (e->ranks[i].present && !e->ranks[i].remote && e->ranks[i].view.pid > 0 &&
		    (!known || !known->python.runtime))
			known = &e->ranks[i];
	if (known && read_environment(known->view.pid, text) && (at = strstr(text, variable)))
		snprintf(key, sizeof(key), "%.*s?", (int)strcspn(at + 1, "?") + 1, at);
	dir = key[0] ? opendir("/proc") : NULL;
	while (dir && (entry = readdir(dir))) {
		pid_t pid = atoi(entry->d_name);
		int rank;

		if (pid <= 0 || !read_environment(pid, text) || !strstr(text, key))
			continue;
		rank = rank_in(text);
		if (rank >= 0 && rank < e->nranks)
			take_process(&e->ranks[rank], pid, &known->python);
	}
	if (dir)
		closedir(dir);
	free(text);
}
