/* ras_text.c: whom an answer of NCCL RAS names, against whom we name. */
#include "probe/ras.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rank_list.h"

#define NAMED	64
#define GROUPS	32
#define MEMBERS 256
#define RANKS	(1 << 20)

/* "3 ranks have launched up to operation 6", or a single rank that stands alone. */
struct group {
	long count, value; /* value: operations launched */
};

struct member {
	int rank;
	size_t group;
};

struct reading {
	const struct evidence *evidence;
	bool all_pids; /* the processes of all ranks are known: others are another job's */
	bool counts;   /* the block's groups can be ordered: counts of operations */
	bool outright; /* the block lists missing or dead ones: each is named */
	struct group groups[GROUPS];
	size_t ngroups;
	struct member members[MEMBERS];
	size_t nmembers;
	int named[NAMED];
	size_t nnamed;
	char quote[160]; /* the first line that names somebody who counts */
	char quotes[MEMBERS][120];
};

static bool all_pids_known(const struct evidence *e)
{
	if (!e || e->nranks == 0)
		return false;
	for (int i = 0; i < e->nranks; i++)
		if (!e->ranks[i].present || e->ranks[i].view.pid <= 0)
			return false;
	return true;
}

/* Of the process in a line, -1 without one, -2 when it is nobody's of ours. */
static int rank_of_process(const struct reading *r, const char *line)
{
	const char *at = strstr(line, "rocess ");
	int found = -2;
	long pid;

	if (!r->evidence || !at || (pid = strtol(at + 7, NULL, 10)) <= 0)
		return -1;
	for (int i = 0; i < r->evidence->nranks; i++) {
		if (r->evidence->ranks[i].view.pid != pid)
			continue;
		if (found >= 0)
			return -1; /* two hosts, one number */
		found = i;
	}
	return found == -2 && !r->all_pids ? -1 : found;
}

static void name_rank(struct reading *r, int rank, const char *quote)
{
	for (size_t i = 0; i < r->nnamed; i++)
		if (r->named[i] == rank)
			return;
	if (r->nnamed < NAMED)
		r->named[r->nnamed++] = rank;
	if (!r->quote[0])
		snprintf(r->quote, sizeof(r->quote), "%s", quote);
}

/* The group that is right: most ranks, of several such the one that is furthest; GROUPS: cannot be
 * told. */
static size_t reference(const struct reading *r)
{
	size_t best = 0;
	bool tie = false;

	for (size_t i = 1; i < r->ngroups; i++) {
		const struct group *a = &r->groups[i], *b = &r->groups[best];

		if (a->count > b->count || (a->count == b->count && a->value > b->value))
			best = i;
	}
	for (size_t i = 0; i < r->ngroups; i++)
		tie = tie || (i != best && r->groups[i].count == r->groups[best].count);
	return tie && !r->counts ? GROUPS : best;
}

static void end_block(struct reading *r)
{
	size_t right = r->ngroups > 1 ? reference(r) : GROUPS;

	for (size_t i = 0; right < GROUPS && i < r->nmembers; i++)
		if (r->members[i].group != right)
			name_rank(r, r->members[i].rank, r->quotes[i]);
	r->ngroups = r->nmembers = 0;
	r->counts = r->outright = false;
}

/* "launched up to operation K", "not launched any": K; a status: a value of its own. -1: none of
 * these. */
static long stated_value(const struct reading *r, const char *line)
{
	const char *at = strstr(line, "launched up to operation ");

	if (at)
		return strtol(at + 25, NULL, 10);
	if (strstr(line, "not launched any operations"))
		return 0;
	return strstr(line, "status ") ? (long)r->ngroups : -1;
}

static bool add_group(struct reading *r, long count, long value)
{
	if (r->ngroups == GROUPS || value < 0)
		return false;
	r->groups[r->ngroups++] = (struct group){ count, value };
	return true;
}

/* "Rank 2 has launched up to ... -- GPU 2 managed by process 812 on node ..." and "Rank 2 -- GPU
 * ..." */
static void read_rank(struct reading *r, const char *line)
{
	long number = strtol(line + 5, NULL, 10), value = stated_value(r, line);
	int rank = rank_of_process(r, line);
	const char *end = strstr(line, " -- ");
	char quote[120];

	if (rank == -1)
		rank = number >= 0 && number < RANKS ? (int)number : -2;
	snprintf(quote, sizeof(quote), "%.*s", (int)(end ? end - line : 119), line);
	if (rank < 0)
		return;
	if (r->outright) {
		name_rank(r, rank, quote);
		return;
	}
	if (value >= 0 && !add_group(r, 1, value))
		return;
	if (r->ngroups > 0 && r->nmembers < MEMBERS) {
		snprintf(r->quotes[r->nmembers], sizeof(r->quotes[0]), "%s", quote);
		r->members[r->nmembers++] = (struct member){ rank, r->ngroups - 1 };
	}
}

static void read_line(struct reading *r, const char *line)
{
	static const char different[] = "Communicator ranks have different ";
	char *end;
	long count;

	line += strspn(line, " ");
	if (line[0] == '#' || strncmp(line, different, sizeof(different) - 1) == 0) {
		end_block(r);
		r->outright = line[0] == '#' && strstr(line, "INCOMPLETE");
		r->counts = strstr(line, "operation counts") != NULL;
	} else if (strcmp(line, "INCOMPLETE") == 0 || strcmp(line, "DEAD") == 0) {
		end_block(r);
		r->outright = true;
	} else if (line[0] == '\0') {
		end_block(r);
	} else if (strncmp(line, "Rank ", 5) == 0) {
		read_rank(r, line);
	} else if (strncmp(line, "Process ", 8) == 0 && r->outright) {
		int rank = rank_of_process(r, line);

		if (rank >= 0)
			name_rank(r, rank, line);
	} else if ((count = strtol(line, &end, 10)) > 1 && strncmp(end, " ranks ", 7) == 0) {
		add_group(r, count, stated_value(r, line));
	}
}

static void read_answer(struct reading *r, const char *text)
{
	char line[256];

	while (*text) {
		size_t n = strcspn(text, "\n");

		snprintf(line, sizeof(line), "%.*s", (int)(n < 255 ? n : 255), text);
		read_line(r, line);
		text += n + (text[n] == '\n');
	}
	end_block(r);
}

static int compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The named ranks as a list; false when they are not the diagnosis' ranks. */
static bool compare_ranks(struct reading *r, const char *guilty, char *list, size_t len)
{
	bool same = r->nnamed == rank_list_count(guilty);
	size_t at = 0;

	qsort(r->named, r->nnamed, sizeof(r->named[0]), compare_ints);
	list[0] = '\0';
	for (size_t i = 0; i < r->nnamed; i++) {
		same = same && rank_list_has(guilty, r->named[i]);
		if (at < len)
			at += (size_t)snprintf(list + at, len - at, "%s%d", i ? "," : "",
					       r->named[i]);
	}
	return same;
}

/* The line in brackets in which ras_ask says why nothing or no more came. */
static void quote_trouble(const char *text, char *line, size_t len)
{
	const char *at = strstr(text, "[no answer");

	if (!at)
		at = strstr(text, "[cut: ");
	if (at)
		snprintf(line, len, "NCCL RAS names nobody: %.*s", (int)strcspn(at + 1, "]\n"),
			 at + 1);
	else
		snprintf(line, len, "NCCL RAS names nobody");
}

enum ras_word ras_agrees(const char *text, const struct evidence *evidence,
			 const struct diagnosis *diagnosis, char *line, size_t len)
{
	struct reading *r;
	enum ras_word word;
	char list[128];

	line[0] = '\0';
	if (!text)
		return RAS_NOT_ASKED;
	r = calloc(1, sizeof(*r));
	if (!r)
		return RAS_NOT_ASKED;
	r->evidence = evidence;
	r->all_pids = all_pids_known(evidence);
	read_answer(r, text);
	if (r->nnamed == 0) {
		word = RAS_NAMES_NOBODY;
		quote_trouble(text, line, len);
	} else if (compare_ranks(r, diagnosis->ranks, list, sizeof(list))) {
		word = RAS_AGREES;
		snprintf(line, len, "NCCL RAS agrees: \"%s\"", r->quote);
	} else {
		word = RAS_DISAGREES;
		snprintf(line, len, "NCCL RAS disagrees, it names %s: \"%s\"", list, r->quote);
	}
	free(r);
	return word;
}
