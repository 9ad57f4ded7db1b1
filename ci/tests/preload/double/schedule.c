/* schedule.c: plays a schedule of ci/tests/schedules/generate.py: each rank makes its calls, and ends when they are over.
 *
 * usage: schedule FILE      the text form that generate.py describes; a process a rank, of this one. `(` and `)` among a rank's
 * calls begin and end a group */
#include "double.h"

#define GROUPS 64
#define RANKS  16

struct group {
	int ranks[RANKS], n;
	void *comm, *stream;
};

static struct group groups[GROUPS];
static int ngroups, nranks, ahead, rank;
static bool one_stream;
static char *lists[RANKS]; /* a rank's calls, between blanks */
static float data[4096];
static _Atomic int over; /* of the calls that were made */

static void take_group(char *line)
{
	struct group *g = &groups[ngroups++];

	strtok(line, " \n");
	for (char *word = strtok(NULL, ",\n"); word; word = strtok(NULL, ",\n"))
		g->ranks[g->n++] = atoi(word);
}

static void take_line(char *line)
{
	char word[16];
	int number, at = 0;

	if (sscanf(line, "stream %15s", word) == 1)
		one_stream = strcmp(word, "one") == 0;
	sscanf(line, "ranks %d", &nranks);
	sscanf(line, "ahead %d", &ahead);
	if (strncmp(line, "group ", 6) == 0)
		take_group(line + 6);
	if (sscanf(line, "rank %d%n", &number, &at) == 1)
		lists[number] = strdup(line + at);
}

static int member(const struct group *g, int of)
{
	for (int i = 0; i < g->n; i++)
		if (g->ranks[i] == of)
			return i;
	return -1;
}

/* Groups in a row that share no rank are made by one split. Returns the first behind them. */
static int layer_end(int first)
{
	int end = first + 1;

	for (; end < ngroups; end++)
		for (int k = first; k < end; k++)
			for (int i = 0; i < groups[end].n; i++)
				if (member(&groups[k], groups[end].ranks[i]) >= 0)
					return end;
	return end;
}

static void make_groups(void)
{
	struct double_id id = { .bytes = "" };
	void *made;
	int end;

	snprintf(id.bytes, sizeof(id.bytes), "%s", getenv("DOUBLE_ID"));
	ncclCommInitRank(&groups[0].comm, nranks, id, rank);
	for (int first = 1; first < ngroups; first = end) {
		int own = -1;

		end = layer_end(first);
		for (int k = first; k < end; k++)
			own = member(&groups[k], rank) >= 0 ? k : own;
		ncclCommSplit(groups[0].comm, own, rank, &made, NULL);
		if (own >= 0)
			groups[own].comm = made;
	}
	for (int k = 0; k < ngroups; k++)
		if (k == 0 || !one_stream)
			cuStreamCreate(&groups[k].stream, 0);
		else
			groups[k].stream = groups[0].stream;
}

static void count_over(void *unused)
{
	(void)unused;
	over++;
}

/* Waits until no more than `ahead` calls are not over. */
static void wait_for_calls(int made, void *stream)
{
	if (ahead == 0)
		cudaStreamSynchronize(stream);
	while (ahead > 0 && made - over > ahead) {
		for (int k = 0; k < (one_stream ? 1 : ngroups); k++)
			cuStreamQuery(groups[k].stream);
		usleep(300);
	}
}

static void call(const char *kind, struct group *g, size_t count, int peer)
{
	if (strcmp(kind, "send") == 0)
		ncclSend(data, count, 7, peer, g->comm, g->stream);
	else if (strcmp(kind, "recv") == 0)
		ncclRecv(data, count, 7, peer, g->comm, g->stream);
	else if (strcmp(kind, "all_reduce") == 0)
		ncclAllReduce(data, data, count, 7, 0, g->comm, g->stream);
	else if (strcmp(kind, "all_gather") == 0)
		ncclAllGather(data, data, count, 7, g->comm, g->stream);
	else if (strcmp(kind, "reduce_scatter") == 0)
		ncclReduceScatter(data, data, count, 7, 0, g->comm, g->stream);
	else if (strcmp(kind, "broadcast") == 0)
		ncclBroadcast(data, data, count, 7, peer, g->comm, g->stream);
	else
		ncclReduce(data, data, count, 7, 0, peer, g->comm, g->stream);
}

/* Begins or ends a group of calls. Returns false for another word. */
static bool group_word(const char *word)
{
	if (strcmp(word, "(") == 0)
		ncclGroupStart();
	else if (strcmp(word, ")") == 0)
		ncclGroupEnd();
	else
		return false;
	return true;
}

static int play(void)
{
	int made = 0;

	make_groups();
	for (char *word = strtok(lists[rank], " \n"); word; word = strtok(NULL, " \n")) {
		char kind[32];
		int number, peer;
		size_t count;

		if (group_word(word))
			continue;
		if (sscanf(word, "%31[^/]/%d/%zu/%d", kind, &number, &count, &peer) != 4)
			return 2;
		call(kind, &groups[number], count, peer);
		double_push(groups[number].stream, count_over, NULL);
		wait_for_calls(++made, groups[number].stream);
	}
	for (int k = 0; k < (one_stream ? 1 : ngroups); k++)
		cudaStreamSynchronize(groups[k].stream);
	ncclCommDestroy(groups[0].comm);
	return 0;
}

int main(int argc, char **argv)
{
	FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
	char *line = NULL, text[16];
	size_t room = 0;
	int status, code = 0;

	while (file && getline(&line, &room, file) >= 0)
		take_line(line);
	if (nranks < 1 || nranks > RANKS || !getenv("DOUBLE_ID"))
		return 2;
	for (rank = 0; rank < nranks; rank++)
		if (fork() == 0) {
			snprintf(text, sizeof(text), "%d", rank);
			setenv("RANK", text, 1);
			snprintf(text, sizeof(text), "%d", nranks);
			setenv("WORLD_SIZE", text, 1);
			return play();
		}
	while (wait(&status) > 0)
		code = code ? code : WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	return code;
}
