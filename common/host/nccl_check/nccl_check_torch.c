/* nccl_check_torch.c: where ranks wait in PyTorch's process groups, and the traceback of the rank that ended first. */
#include "base/rank_list.h"
#include "nccl_check/nccl_check_parts.h"

#define RANKS_SHOWN 4096

/* "ranks 0,2,3 wait in call 78, BROADCAST (8 elements in, 8 out), for 600 s" of `n` ranks that are at one call. */
static void print_at(FILE *out, const struct nccl_wait *waits, int n)
{
	int64_t at = nccl_wait_at(waits);
	bool made = nccl_wait_made(waits), one = n == 1;
	const struct nccl_wait *named = nccl_wait_told(waits) ? waits : NULL;
	int *ranks = must(malloc((size_t)n * sizeof(*ranks)));

	for (int i = 0; i < n; i++)
		ranks[i] = waits[i].rank;
	nccl_print_ranks(out, "  ", ranks, n);
	fprintf(out, " %s call %ld",
		made ? (one ? "waits in" : "wait in") : (one ? "has not made" : "have not made"),
		at);
	if (named)
		fprintf(out, ", %s", named->op);
	if (named && named->numel_in >= 0)
		fprintf(out, " (%ld element%s in, %ld out)", named->numel_in,
			named->numel_in == 1 ? "" : "s", named->numel_out);
	if (named && named->waited > 0)
		fprintf(out, ", for %.0f s", named->waited);
	if (made && !named && at >= 0)
		fprintf(out, ", of which no line of %s says more", one ? "its own" : "theirs");
	fprintf(out, "\n");
	free(ranks);
}

/* How many ranks the group has, by what they gather or scatter; 0: the line does not say. */
static int64_t members_told(const struct nccl_wait *wait)
{
	const bool gathers = nccl_has(wait->op, "ALLGATHER|ALL_GATHER");
	const int64_t whole = gathers ? wait->numel_out : wait->numel_in;
	const int64_t part = gathers ? wait->numel_in : wait->numel_out;

	if ((!gathers && !nccl_has(wait->op, "REDUCE_SCATTER")) || part <= 0 || whole % part)
		return 0;
	return whole / part;
}

/* Ranks that wrote nothing of this group, if the group is the job's: up to its number, else to the highest one that did. */
static void print_silent(FILE *out, const struct nccl_wait *waits, int n)
{
	bool silent[RANKS_SHOWN];
	char names[128];
	int64_t ranks = 0;

	memset(silent, true, sizeof(silent));
	for (int i = 0; i < n; i++) {
		int64_t told = members_told(&waits[i]);

		if (waits[i].place != waits[i].rank || waits[i].rank >= RANKS_SHOWN)
			return;
		silent[waits[i].rank] = false;
		ranks = waits[i].rank >= ranks ? waits[i].rank + 1 : ranks;
		ranks = told > ranks && told <= RANKS_SHOWN ? told : ranks;
	}
	if (ranks > n)
		fprintf(out, "  no line here of this group from %s\n",
			rank_list_words(silent, (int)ranks, names, sizeof(names)));
}

/* Where all wait in a group's first call it is often not the program. */
static void print_first(FILE *out)
{
	fprintf(out,
		"  It is the group's first call, in which its connections are made: the network "
		"between its ranks may hold it (NCCL_DEBUG=INFO says over what), or a rank "
		"without a line here.\n");
}

/* A root, or all others, may leave such a call before the rest. */
static bool is_rooted(const char *op)
{
	return strncmp(op, "BROADCAST", 9) == 0 || strncmp(op, "_BROADCAST", 10) == 0 ||
	       strcmp(op, "REDUCE") == 0 || strcmp(op, "GATHER") == 0 || strcmp(op, "SCATTER") == 0;
}

/* The waits of a group, sorted: those of which nothing says where they are stand first. Returns true if hang_diagnose compares
 * them. */
static bool print_group(FILE *out, const struct nccl_wait *w, int n)
{
	int unknown = 0, behind = 0, lacking = 0;
	bool pairs = false, rooted = false;
	while (unknown < n && nccl_wait_at(&w[unknown]) < 0)
		unknown++;
	for (int i = unknown; i < n; i++) {
		pairs |= nccl_has(w[i].op, "SEND|RECV|COALESCED");
		lacking += !nccl_wait_made(&w[i]);
		behind += nccl_wait_at(&w[i]) == nccl_wait_at(&w[unknown]);
		rooted |= w[i].seq == nccl_wait_at(&w[unknown]) && is_rooted(w[i].op);
	}
	fprintf(out, "hang: %s%s: ",
		*w->group ? "process group " : "a process group that the log does not name",
		w->group);
	if (unknown == n)
		fprintf(out, "nothing says where its ranks are\n");
	else if (behind == n - unknown && lacking)
		fprintf(out, "%d rank%s not made the call that others wait in\n", lacking,
			lacking == 1 ? " has" : "s have");
	else if (behind == n - unknown)
		fprintf(out, "%s at the same call\n",
			behind == 1 ? "the one rank that says so is" : "all ranks that say so are");
	else if (pairs)
		fprintf(out, "sends and receives, of which ranks may make unlike numbers\n");
	else if (!*w->group)
		fprintf(out,
			"ranks are at different calls, if it is one group, which nothing says: "
			"no rank is proved behind\n");
	else if (rooted && !lacking)
		fprintf(out, "ranks are at different calls, and some may leave a rooted one before "
			     "the others: no rank is proved behind\n");
	else
		fprintf(out, "%d rank%s behind\n", behind, behind == 1 ? " is" : "s are");
	for (int i = unknown, end; i < n; i = end) {
		for (end = i + 1; end < n && nccl_wait_by_call(&w[i], &w[end]) == 0; end++)
			;
		print_at(out, w + i, end - i);
	}
	print_silent(out, w, n);
	if (unknown < n && behind == n - unknown && !lacking && nccl_wait_at(&w[unknown]) == 1)
		print_first(out);
	return *w->group || behind == n;
}

#define GROUPS_SHOWN 6
void nccl_log_print_hang(FILE *out, const struct nccl_log *log)
{
	int groups = 0;
	bool compared = false;

	nccl_print_ras(out, log);
	for (int i = 0, end; i < log->n_waits; i = end) {
		for (end = i; end < log->n_waits && log->waits[end].group == log->waits[i].group;
		     end++)
			;
		if (groups++ < GROUPS_SHOWN)
			compared |= print_group(out, &log->waits[i], end - i);
	}
	if (groups > GROUPS_SHOWN)
		fprintf(out, "hang: %d more process groups\n", groups - GROUPS_SHOWN);
	if (compared)
		fprintf(out, COMPARES);
}

#define FRAME_LINES 6

void nccl_log_print_traceback(FILE *out, const struct nccl_log *log)
{
	const char *at = log->traceback;
	int lines = 0;

	if (!at)
		return;
	if (log->traceback_rank >= 0)
		fprintf(out, "traceback: rank %d %s: %s\n", log->traceback_rank,
			log->traceback_ended ? "ended with" : "wrote", log->error);
	else
		fprintf(out, "traceback: %s\n", log->error);
	if (log->tracebacks > 1)
		fprintf(out, "  the first of %d tracebacks here%s\n", log->tracebacks,
			log->traceback_after ? "" : " whose error no other rank's end explains");
	for (const char *p = at; (p = strchr(p, '\n')); p++)
		lines++;
	for (; lines > FRAME_LINES; lines--)
		at = strchr(at, '\n') + 1;
	for (size_t n; *at; at += n + 1) {
		n = strcspn(at, "\n");
		fprintf(out, "  %.*s\n", (int)n, at);
	}
}
