/* nccl_log_draw.c: rings and trees drawn as text, equal channels merged. */
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log.h"

/* Branches below branches deeper than this are left out: no tree of NCCL's is that deep. */
#define BRANCHES 40

/* A channel's drawing. */
struct drawing {
	int channel;
	char *text;
};

static const char *host_of(const struct nccl_comm *comm, int rank)
{
	const struct nccl_member *member = nccl_comm_member(comm, rank);

	return member ? member->host : NULL;
}

/* "0 -P2P/CUMEM-> 1 -...": a new line, with the host's name, for each host that is reached. */
static void draw_ring(FILE *out, const struct nccl_comm *comm, const struct nccl_ring *ring)
{
	const char *host = NULL, *next, *transport;
	bool hosts = false;

	for (int i = 1; i < ring->n; i++) {
		next = host_of(comm, ring->order[i]);
		host = host_of(comm, ring->order[i - 1]);
		hosts = hosts || (host && next && host != next);
	}
	host = NULL;
	for (int i = 0; i < ring->n; i++) {
		next = host_of(comm, ring->order[i]);
		if (hosts && next && next != host)
			fprintf(out, "\n    %s: ", next);
		host = next ? next : host;
		fprintf(out, "%d", ring->order[i]);
		if (i == ring->n - 1 && !ring->closed)
			break;
		transport = nccl_comm_transport(comm, ring->channel, ring->order[i],
						ring->order[(i + 1) % ring->n]);
		fprintf(out, " -%s-> ", transport ? transport : "?");
	}
	if (ring->closed)
		fprintf(out, "%d", ring->order[0]);
	else
		fprintf(out, " ... (not complete)");
	if (ring->differs)
		fprintf(out, " (rank 0's line and Ring lines contradict each other)");
}

/* ---- trees -------------------------------------------------------------------------------- */

struct tree_view {
	const struct nccl_comm *comm;
	const struct nccl_tree *trees; /* of one channel, by rank */
	int n, left;		       /* ranks, how many may still be printed */
};

static const struct nccl_tree *tree_of(const struct tree_view *view, int rank)
{
	int low = 0, high = view->n;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (view->trees[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < view->n && view->trees[low].rank == rank ? &view->trees[low] : NULL;
}

/* A chain of ranks on one line, then its end's children, indented. */
static void draw_branch(FILE *out, struct tree_view *view, int rank, int depth)
{
	const struct nccl_tree *tree;
	int down[3], n = 1;

	fprintf(out, "\n    %*s%d", 4 * depth, "", rank);
	while (n == 1 && view->left > 0) {
		tree = tree_of(view, rank);
		n = 0;
		view->left--;
		for (int i = 0; i < 3 && tree; i++)
			if (tree->down[i] >= 0)
				down[n++] = tree->down[i];
		if (!tree)
			fprintf(out, " (its lines are not here)");
		if (n == 1) {
			rank = down[0];
			fprintf(out, " - %d", rank);
		}
	}
	for (int i = 0; i < n && n > 1 && depth < BRANCHES && view->left > 0; i++)
		draw_branch(out, view, down[i], depth + 1);
}

static void draw_tree(FILE *out, const struct nccl_comm *comm, int first, int n)
{
	/* A tree that is one prints each rank once; links in a circle would not end. */
	struct tree_view view = { comm, comm->trees + first, n, 2 * n };
	int roots = 0;

	for (int i = 0; i < n && view.left > 0; i++) {
		const struct nccl_tree *tree = &view.trees[i];
		bool root = tree->up < 0;

		/* A child whose parent's lines are not here begins a piece. */
		if (!root && tree_of(&view, tree->up))
			continue;
		if (!root)
			fprintf(out, "\n    (below %d, whose lines are not here)", tree->up);
		draw_branch(out, &view, tree->rank, 0);
		roots++;
	}
	if (roots == 0)
		fprintf(out, "\n    no root");
}

/* ---- merging ------------------------------------------------------------------------------ */

/* Each text once, with the channels that have it, by first channel. */
static void print_merged(FILE *out, struct drawing *drawings, int n)
{
	int channels[NCCL_LOG_CHANNELS], m;

	for (int i = 0; i < n; i++) {
		if (!drawings[i].text)
			continue;
		m = 0;
		channels[m++] = drawings[i].channel;
		for (int k = i + 1; k < n; k++) {
			if (!drawings[k].text || strcmp(drawings[k].text, drawings[i].text) != 0)
				continue;
			channels[m++] = drawings[k].channel;
			free(drawings[k].text);
			drawings[k].text = NULL;
		}
		fprintf(out, "  channel%s ", m == 1 ? "" : "s");
		nccl_log_print_list(out, channels, m, 2);
		fprintf(out, ":%s%s\n", drawings[i].text[0] == '\n' ? "" : " ", drawings[i].text);
	}
}

static void drawings_free(struct drawing *drawings, int n)
{
	for (int i = 0; i < n; i++)
		free(drawings[i].text);
}

static FILE *open_drawing(struct drawing *drawing, int channel, size_t *size)
{
	*drawing = (struct drawing){ .channel = channel };
	return open_memstream(&drawing->text, size);
}

static int print_comm_rings(FILE *out, const struct nccl_comm *comm)
{
	struct drawing drawings[NCCL_LOG_CHANNELS];
	size_t size;
	int n = 0, rc = -1;
	FILE *text;

	for (; n < comm->n_rings; n++) {
		text = open_drawing(&drawings[n], comm->rings[n].channel, &size);
		if (!text)
			goto out;
		draw_ring(text, comm, &comm->rings[n]);
		if (fclose(text) != 0)
			goto out;
	}
	print_merged(out, drawings, n);
	rc = 0;
out:
	drawings_free(drawings, n);
	return rc;
}

static int print_comm_trees(FILE *out, const struct nccl_comm *comm)
{
	struct drawing drawings[NCCL_LOG_CHANNELS];
	size_t size;
	int n = 0, end, rc = -1;
	FILE *text;

	for (int first = 0; first < comm->n_trees; first = end, n++) {
		for (end = first;
		     end < comm->n_trees && comm->trees[end].channel == comm->trees[first].channel;
		     end++)
			;
		text = open_drawing(&drawings[n], comm->trees[first].channel, &size);
		if (!text)
			goto out;
		draw_tree(text, comm, first, end - first);
		if (fclose(text) != 0)
			goto out;
	}
	print_merged(out, drawings, n);
	rc = 0;
out:
	drawings_free(drawings, n);
	return rc;
}

int nccl_log_print_rings(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_comms; i++) {
		fprintf(out, "communicator %d%s\n", i, log->comms[i].n_rings ? "" : ": none here");
		if (print_comm_rings(out, &log->comms[i]) < 0)
			return -1;
	}
	return 0;
}

int nccl_log_print_trees(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_comms; i++) {
		fprintf(out, "communicator %d%s\n", i, log->comms[i].n_trees ? "" : ": none here");
		if (print_comm_trees(out, &log->comms[i]) < 0)
			return -1;
	}
	return 0;
}
