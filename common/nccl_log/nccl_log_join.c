/* nccl_log_join.c: sorts what the lines said and gives each communicator its part. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log_raw.h"

#define COMPACT_LINES 65536 /* what so many lines at least have said is sorted at once */

/* ---- orders ------------------------------------------------------------------------------- */

static int by(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

static int by_order(const void *a, const void *b)
{
	const struct raw_order *x = a, *y = b;
	int d = by(x->comm, y->comm);

	d = d ? d : by(x->channel, y->channel);
	return d ? d : by(y->n, x->n);
}

static int by_edge(const void *a, const void *b)
{
	const struct raw_edge *x = a, *y = b;
	int d = by(x->comm, y->comm);

	d = d ? d : by(x->channel, y->channel);
	d = d ? d : by(x->rank, y->rank);
	d = d ? d : by(x->next, y->next);
	return d ? d : by(x->prev, y->prev);
}

static int by_tree(const void *a, const void *b)
{
	const struct nccl_tree *x = a, *y = b;
	int d = by(x->comm, y->comm);

	d = d ? d : by(x->channel, y->channel);
	d = d ? d : by(x->rank, y->rank);
	return d ? d : by(x->source, y->source);
}

static int by_link(const void *a, const void *b)
{
	const struct nccl_link *x = a, *y = b;
	int d = by(x->comm, y->comm);

	d = d ? d : by(x->channel, y->channel);
	d = d ? d : by(x->from, y->from);
	d = d ? d : by(x->to, y->to);
	d = d ? d : by(x->connection, y->connection);
	d = d ? d : by(x->receiving, y->receiving);
	return d ? d : strcmp(x->transport, y->transport);
}

static int by_tuning(const void *a, const void *b)
{
	const struct nccl_tuning *x = a, *y = b;
	int d = by(x->comm, y->comm);

	d = d ? d : strcmp(x->function, y->function);
	d = d ? d : by(x->bytes, y->bytes);
	d = d ? d : strcmp(x->algorithm, y->algorithm);
	d = d ? d : strcmp(x->protocol, y->protocol);
	d = d ? d : by(x->low, y->low);
	return d ? d : by(x->high, y->high);
}

static int by_graph(const void *a, const void *b)
{
	const struct nccl_graph *x = a, *y = b;
	int d = by(x->comm, y->comm);

	d = d ? d : by(x->pattern, y->pattern);
	d = d ? d : by(x->cross_nic, y->cross_nic);
	d = d ? d : by(x->channels, y->channels);
	d = d ? d : by(x->same_channels, y->same_channels);
	d = d ? d : (x->bw_intra < y->bw_intra ? -1 : x->bw_intra > y->bw_intra);
	d = d ? d : (x->bw_inter < y->bw_inter ? -1 : x->bw_inter > y->bw_inter);
	d = d ? d : strcmp(x->type_intra, y->type_intra);
	return d ? d : strcmp(x->type_inter, y->type_inter);
}

static int by_path(const void *a, const void *b)
{
	const struct nccl_path *x = a, *y = b;
	int d = strcmp(x->host, y->host);

	d = d ? d : (x->gpu < y->gpu ? -1 : x->gpu > y->gpu);
	d = d ? d : strcmp(x->kind, y->kind);
	d = d ? d : (x->to < y->to ? -1 : x->to > y->to);
	d = d ? d : strcmp(x->type, y->type);
	return d ? d : (x->bw < y->bw ? -1 : x->bw > y->bw);
}

static int by_setting(const void *a, const void *b)
{
	const struct nccl_setting *x = a, *y = b;
	int d = strcmp(x->name, y->name);

	return d ? d : strcmp(x->value, y->value);
}

/* Addresses of equal texts are equal: any order that keeps them together will do. */
static int by_warning(const void *a, const void *b)
{
	const struct raw_warning *x = a, *y = b;

	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	if (x->text != y->text)
		return x->text < y->text ? -1 : 1;
	return by(x->rank, y->rank);
}

static int by_first(const void *a, const void *b)
{
	const struct nccl_warning *x = a, *y = b;

	return by(x->first, y->first);
}

static int by_member(const void *a, const void *b)
{
	const struct nccl_member *const *x = a, *const *y = b;
	int d = by((*x)->comm, (*y)->comm);

	d = d ? d : by((*x)->rank, (*y)->rank);
	return d ? d : (*x < *y ? -1 : *x > *y);
}

static void sort(void *array, int n, size_t size, int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(array, (size_t)n, size, compare);
}

/* Sort and keep each once. Returns how many are left. */
static int sort_unique(void *array, int n, size_t size, int (*compare)(const void *, const void *))
{
	char *items = array;
	int kept = 0;

	sort(array, n, size, compare);
	for (int i = 0; i < n; i++)
		if (kept == 0 ||
		    compare(items + (size_t)(kept - 1) * size, items + (size_t)i * size) != 0)
			memmove(items + (size_t)kept++ * size, items + (size_t)i * size, size);
	return kept;
}

/* ---- slices ------------------------------------------------------------------------------- */

/* The items of a sorted array from *at on whose first member, an int, is `comm`: a copy; *at moves
 * on. NULL with *n > 0 on lack of memory. */
static void *slice(const void *array, int total, size_t size, int comm, int *at, int *n)
{
	const char *items = array;
	int first = *at, number;
	void *copy;

	for (; *at < total; ++*at) {
		memcpy(&number, items + (size_t)*at * size, sizeof(number));
		if (number != comm)
			break;
	}
	*n = *at - first;
	if (*n == 0)
		return NULL;
	copy = malloc((size_t)*n * size);
	if (copy)
		memcpy(copy, items + (size_t)first * size, (size_t)*n * size);
	return copy;
}

static int merge_tunings(struct nccl_tuning *tunings, int n)
{
	int kept = 0;

	sort(tunings, n, sizeof(*tunings), by_tuning);
	for (int i = 0; i < n; i++) {
		if (kept > 0 && by_tuning(&tunings[kept - 1], &tunings[i]) == 0)
			tunings[kept - 1].count += tunings[i].count;
		else
			tunings[kept++] = tunings[i];
	}
	return kept;
}

/* The ranks' "Trees" line wins over their "Tree" lines. */
static int merge_trees(struct nccl_tree *trees, int n)
{
	int kept = 0;

	sort(trees, n, sizeof(*trees), by_tree);
	for (int i = 0; i < n; i++)
		if (kept == 0 || trees[kept - 1].comm != trees[i].comm ||
		    trees[kept - 1].channel != trees[i].channel ||
		    trees[kept - 1].rank != trees[i].rank)
			trees[kept++] = trees[i];
	return kept;
}

static int slice_comms(struct nccl_log *log)
{
	struct nccl_log_raw *raw = log->raw;
	int trees = 0, links = 0, tunings = 0, graphs = 0;

	for (int i = 0; i < log->n_comms; i++) {
		struct nccl_comm *comm = &log->comms[i];

		comm->trees = slice(raw->trees, raw->n_trees, sizeof(*raw->trees), i, &trees,
				    &comm->n_trees);
		comm->links = slice(raw->links, raw->n_links, sizeof(*raw->links), i, &links,
				    &comm->n_links);
		comm->tunings = slice(raw->tunings, raw->n_tunings, sizeof(*raw->tunings), i,
				      &tunings, &comm->n_tunings);
		comm->graphs = slice(raw->graphs, raw->n_graphs, sizeof(*raw->graphs), i, &graphs,
				     &comm->n_graphs);
		if ((comm->n_trees && !comm->trees) || (comm->n_links && !comm->links) ||
		    (comm->n_tunings && !comm->tunings) || (comm->n_graphs && !comm->graphs))
			return -ENOMEM;
	}
	return 0;
}

/* ---- members ------------------------------------------------------------------------------ */

static int join_members(struct nccl_log *log)
{
	struct nccl_member **all = calloc((size_t)log->n_members + 1, sizeof(struct nccl_member *));
	int at = 0, first, rc = -ENOMEM;

	if (!all)
		return -ENOMEM;
	for (int i = 0; i < log->n_members; i++)
		all[i] = &log->members[i];
	sort(all, log->n_members, sizeof(struct nccl_member *), by_member);
	for (int i = 0; i < log->n_comms; i++) {
		struct nccl_comm *comm = &log->comms[i];

		for (first = at; at < log->n_members && all[at]->comm == i; at++)
			;
		comm->n_members = at - first;
		comm->members = malloc((size_t)(at - first + 1) * sizeof(struct nccl_member *));
		if (!comm->members)
			goto out;
		memcpy(comm->members, all + first,
		       (size_t)(at - first) * sizeof(struct nccl_member *));
	}
	rc = 0;
out:
	free(all);
	return rc;
}

/* ---- warnings ----------------------------------------------------------------------------- */

/* Each rank's once, with the number of the first. */
static int merge_warnings(struct raw_warning *raw, int n)
{
	int kept = 0;

	sort(raw, n, sizeof(*raw), by_warning);
	for (int i = 0; i < n; i++) {
		struct raw_warning *last = kept > 0 ? &raw[kept - 1] : NULL;

		if (last && by_warning(last, &raw[i]) == 0) {
			last->count += raw[i].count;
			last->first = raw[i].first < last->first ? raw[i].first : last->first;
		} else {
			raw[kept++] = raw[i];
		}
	}
	return kept;
}

/* One warning from those of n ranks with the same text. */
static int join_warning(struct nccl_warning *warning, const struct raw_warning *raw, int n)
{
	*warning = (struct nccl_warning){ .where = raw->where,
					  .text = raw->text,
					  .trace = raw->trace,
					  .first = raw->first,
					  .ranks = malloc((size_t)n * sizeof(int) + 1) };
	if (!warning->ranks)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		warning->count += raw[i].count;
		if (raw[i].first < warning->first)
			warning->first = raw[i].first;
		if (raw[i].rank >= 0)
			warning->ranks[warning->n_ranks++] = raw[i].rank;
	}
	return 0;
}

static int join_warnings(struct nccl_log *log)
{
	struct raw_warning *raw = log->raw->warnings;
	int n = log->raw->n_warnings, first = 0, end;

	log->warnings = malloc((size_t)n * sizeof(*log->warnings) + 1);
	if (!log->warnings)
		return -ENOMEM;
	for (; first < n; first = end) {
		for (end = first + 1; end < n && raw[end].where == raw[first].where &&
				      raw[end].text == raw[first].text;
		     end++)
			;
		if (join_warning(&log->warnings[log->n_warnings], &raw[first], end - first) < 0)
			return -ENOMEM;
		log->n_warnings++;
	}
	sort(log->warnings, log->n_warnings, sizeof(*log->warnings), by_first);
	return 0;
}

void nccl_log_compact(struct nccl_log *log)
{
	struct nccl_log_raw *raw = log->raw;

	raw->n_edges = sort_unique(raw->edges, raw->n_edges, sizeof(*raw->edges), by_edge);
	raw->n_trees = merge_trees(raw->trees, raw->n_trees);
	raw->n_links = sort_unique(raw->links, raw->n_links, sizeof(*raw->links), by_link);
	raw->n_tunings = merge_tunings(raw->tunings, raw->n_tunings);
	raw->n_graphs = sort_unique(raw->graphs, raw->n_graphs, sizeof(*raw->graphs), by_graph);
	raw->n_warnings = merge_warnings(raw->warnings, raw->n_warnings);
	log->n_paths = sort_unique(log->paths, log->n_paths, sizeof(*log->paths), by_path);
	log->n_settings =
		sort_unique(log->settings, log->n_settings, sizeof(*log->settings), by_setting);
	raw->compact_at = log->lines + COMPACT_LINES + raw->n_edges + raw->n_trees + raw->n_links +
			  raw->n_tunings + raw->n_graphs + raw->n_warnings + log->n_paths;
}

int nccl_log_join(struct nccl_log *log)
{
	struct nccl_log_raw *raw = log->raw;
	int rc;

	sort(raw->orders, raw->n_orders, sizeof(*raw->orders), by_order);
	nccl_log_compact(log);
	rc = slice_comms(log);
	rc = rc ? rc : join_members(log);
	rc = rc ? rc : join_warnings(log);
	return rc ? rc : nccl_log_join_rings(log);
}

void nccl_log_raw_free(struct nccl_log *log)
{
	struct nccl_log_raw *raw = log->raw;

	if (!raw)
		return;
	tdestroy(raw->places, free);
	tdestroy(raw->keys, free);
	free(raw->orders);
	free(raw->edges);
	free(raw->warnings);
	free(raw->trees);
	free(raw->links);
	free(raw->tunings);
	free(raw->graphs);
	free(raw->pool);
	free(raw->line);
	free(raw);
	log->raw = NULL;
}
