/* p2p_matrix_perf.c: every pair of ranks: latency, and bandwidth alone, both ways, beside others. */
#include <jansson.h>

#include "base/json_value.h"
#include "base/output.h"
#include "machine/read.h"
#include "pairs/shared.h"
#include "perf_report.h"

#define SLOW	.75 /* of the median of its kind */
#define ON_LINE 32  /* ranks that fit into a printed matrix */

/* The matrix of a run, and what is known of its ranks; on rank 0. */
struct shown {
	const struct pair_matrix *m;
	const struct rank_facts *ranks;
	const char *xml;	       /* NCCL's topology file; NULL: there is none */
	const struct topo_system *sys; /* NULL: not known */
	const struct model *model;
	struct gpu_pair *links; /* a pair each, as NVML tells; "" where it does not */
	bool *slow;
};

static int pair_of(const struct pair_plan *plan, int a, int b)
{
	for (int i = 0; i < plan->npairs; i++)
		if (plan->pairs[i].a == (a < b ? a : b) && plan->pairs[i].b == (a < b ? b : a))
			return i;
	return -1;
}

/* GB/s that the topology promises a message alone; NaN: it is not known. */
static double promised(const struct shown *s, const struct pair *p)
{
	int a = s->ranks[p->a].local_rank, b = s->ranks[p->b].local_rank, links;

	if (!s->sys || a >= s->sys->ngpus || b >= s->sys->ngpus)
		return NAN;
	links = topo_pair_links(s->sys, a, b);
	if (p->far)
		return s->model->nic;
	return links > 0 ? links * s->sys->gpu[a].model->link_sm *
				   s->model->constants.nvlink_efficiency
			 : s->model->pair;
}

/* The slower direction alone, beside the others of its kind: between nodes, or over the same link. */
static void find_slow(struct shown *s)
{
	const struct pair_plan *plan = &s->m->plan;
	double *like = must(calloc((size_t)plan->npairs, sizeof(*like)));
	struct stats stats;

	for (int i = 0; i < plan->npairs; i++) {
		size_t n = 0;

		for (int j = 0; j < plan->npairs; j++)
			if (plan->pairs[j].far == plan->pairs[i].far &&
			    strcmp(s->links[j].link, s->links[i].link) == 0)
				like[n++] = fmin(pair_gbs(s->m, PAIR_ALONE, j, false),
						 pair_gbs(s->m, PAIR_ALONE, j, true));
		s->slow[i] = stats_compute(like, n, &stats) == 0 &&
			     fmin(pair_gbs(s->m, PAIR_ALONE, i, false),
				  pair_gbs(s->m, PAIR_ALONE, i, true)) < SLOW * stats.median;
	}
	free(like);
}

static void ends_of(const struct shown *s, struct pair_end *ends)
{
	for (int r = 0; r < s->m->plan.n; r++) {
		const struct rank_facts *rank = &s->ranks[r];
		const struct topo_gpu *gpu = s->sys && rank->local_rank < s->sys->ngpus
						     ? &s->sys->gpu[rank->local_rank]
						     : NULL;
		struct pair_end *end = &ends[r];

		snprintf(end->name[PAIR_HOST], sizeof(end->name[0]), "%.40s", rank->host);
		snprintf(end->name[PAIR_GPU], sizeof(end->name[0]), "rank %d", r);
		if (!gpu)
			continue;
		snprintf(end->name[PAIR_SOCKET], sizeof(end->name[0]), "%d of %.30s", gpu->cpu,
			 rank->host);
		if (gpu->pci_switch < 0)
			continue;
		snprintf(end->name[PAIR_SWITCH], sizeof(end->name[0]), "%d of %.30s",
			 gpu->pci_switch, rank->host);
		for (int i = 0; i < s->sys->nnics; i++)
			if (s->sys->nic[i].pci_switch == gpu->pci_switch)
				snprintf(end->name[PAIR_NIC], sizeof(end->name[0]),
					 "%.20s of %.20s", s->sys->nic[i].name, rank->host);
	}
}

static void put_slow(const struct shown *s)
{
	const struct pair_plan *plan = &s->m->plan;
	struct pair_end *ends = must(calloc((size_t)plan->n, sizeof(*ends)));
	char text[400];
	int slow = 0, rest;

	for (int i = 0; i < plan->npairs; i++) {
		if (!s->slow[i] || slow++ >= 16)
			continue;
		printf("# slow: %d and %d: %.4g and %.4g GB/s%s%s\n", plan->pairs[i].a,
		       plan->pairs[i].b, pair_gbs(s->m, PAIR_ALONE, i, false),
		       pair_gbs(s->m, PAIR_ALONE, i, true), *s->links[i].link ? ", " : "",
		       s->links[i].link);
	}
	ends_of(s, ends);
	rest = pair_shared(plan, ends, s->slow, text, sizeof(text));
	if (slow == 0)
		printf("# No pair is below %.0f %% of the median of its kind\n", SLOW * 100);
	else if (*text)
		printf("# Slow pairs, and no fast one, share: %s\n", text);
	if (rest > 0)
		printf("# %d slow pair%s share nothing that is known with another\n", rest,
		       rest > 1 ? "s" : "");
	free(ends);
}

/* A line per rank that sends; microseconds of the first size, or GB/s of the last one. */
static void put_matrix(const struct shown *s, enum pair_load load, bool latency)
{
	int n = s->m->plan.n;

	printf("# %s %s, from the row's rank to the column's\n#   ",
	       latency ? "Microseconds of 8 bytes" : "GB/s", pair_load_names[load]);
	for (int to = 0; to < n; to++)
		printf(" %9d", to);
	for (int from = 0; from < n; from++) {
		printf("\n%4d", from);
		for (int to = 0; to < n; to++) {
			int i = from == to ? -1 : pair_of(&s->m->plan, from, to);

			if (i < 0)
				printf(" %9s", "-");
			else if (latency)
				printf(" %9.2f", *pair_us(s->m, load, 0, i, from > to));
			else
				printf(" %9.4g", pair_gbs(s->m, load, i, from > to));
			if (load == PAIR_ALONE && !latency && i >= 0 && *s->links[i].link)
				printf(" %s", s->links[i].link);
		}
	}
	printf("\n");
}

static void put_kind(const struct shown *s, bool far)
{
	double most = s->m->bytes[s->m->nsizes - 1], wants = NAN;

	if (pair_digest_of(s->m, far, PAIR_ALONE, 0) <= 0)
		return;
	printf("# Pairs %s, median: %.2f us;", far ? "between hosts" : "inside of hosts",
	       pair_digest_of(s->m, far, PAIR_ALONE, 0));
	for (int load = 0; load < PAIR_LOADS; load++)
		printf(" %s %.4g%s", pair_load_names[load],
		       most / 1e3 /
			       pair_digest_of(s->m, far, (enum pair_load)load, s->m->nsizes - 1),
		       load + 1 < PAIR_LOADS ? "," : " GB/s");
	for (int i = 0; i < s->m->plan.npairs; i++)
		if (s->m->plan.pairs[i].far == far)
			wants = fmax(wants, promised(s, &s->m->plan.pairs[i]));
	if (wants > 0)
		printf("; the topology promises %.4g GB/s alone\n", wants);
	else
		puts("; what the topology promises is not known");
}

static void put_all(const struct shown *s)
{
	const struct pair_plan *plan = &s->m->plan;
	int unknown = 0;

	printf("# %d pairs of %d ranks%s, messages of 8 to %.0f bytes\n", plan->npairs, plan->n,
	       plan->sampled ? " (a sample by --seed, every rank in it)" : "",
	       s->m->bytes[s->m->nsizes - 1]);
	if (plan->n <= ON_LINE)
		put_matrix(s, PAIR_ALONE, true);
	for (int load = 0; plan->n <= ON_LINE && load < PAIR_LOADS; load++)
		put_matrix(s, (enum pair_load)load, false);
	put_kind(s, false);
	put_kind(s, true);
	for (int i = 0; i < plan->npairs; i++) {
		if (s->links[i].refused)
			printf("# P2P is refused between %d and %d: %s\n", plan->pairs[i].a,
			       plan->pairs[i].b, s->links[i].refused);
		unknown += !*s->links[i].link;
	}
	if (unknown)
		printf("# The links of %d pairs are not known: NVML tells of this host's GPUs "
		       "alone\n",
		       unknown);
	put_slow(s);
}

static int save_csv(const struct shown *s, const char *path, struct error *err)
{
	FILE *out = fopen(path, "wxe");
	int rc = out ? 0 : -errno;

	if (out)
		fputs("from,to,host_from,host_to,link,bytes,latency_us,alone_gbs,both_gbs,"
		      "disjoint_gbs,all_gbs,promised_gbs,slow\n",
		      out);
	for (int i = 0; out && i < 2 * s->m->plan.npairs; i++) {
		const struct pair *p = &s->m->plan.pairs[i / 2];
		int from = i % 2 ? p->b : p->a, to = i % 2 ? p->a : p->b;

		fprintf(out, "%d,%d,%s,%s,%s,%.0f,%.4g", from, to, s->ranks[from].host,
			s->ranks[to].host, s->links[i / 2].link, s->m->bytes[s->m->nsizes - 1],
			*pair_us(s->m, PAIR_ALONE, 0, i / 2, i % 2));
		for (int load = 0; load < PAIR_LOADS; load++)
			fprintf(out, ",%.5g", pair_gbs(s->m, (enum pair_load)load, i / 2, i % 2));
		fprintf(out, ",%.5g,%d\n", promised(s, p), s->slow[i / 2]);
	}
	if (out)
		rc = output_close(out);
	return rc == 0 ? 0 : error_set(err, OUTCOME_USAGE, rc, "%.400s: %s", path, strerror(-rc));
}

static int save_spec(const struct shown *s, const char *path, struct error *err)
{
	json_t *json =
		json_pack("{s:o,s:o,s:o}", "describes", json_value_text(s->ranks[0].device.device),
			  "source", json_value_text(s->ranks[0].device.library), "measured",
			  pair_matrix_json(s->m));
	int rc;

	if (s->xml)
		json_object_set_new(json, "nccl_topology", json_value_text(s->xml));
	rc = json_value_save(json, path, JSON_COMPACT);
	json_decref(json);
	return rc == 0 ? 0
		       : error_set(err, OUTCOME_USAGE, rc, "--spec %.400s: %s", path,
				   strerror(-rc));
}

static int show(struct rank *r, const struct pair_matrix *m)
{
	const struct options *o = r->program->options;
	struct shown s = { .m = m, .ranks = r->facts, .sys = predict_topology(&r->predict) };
	size_t n = (size_t)m->plan.npairs;
	char path[4096];
	struct nvml nvml;
	int rc = 0;

	s.model = &r->predict.model;
	s.xml = r->predict.xml;
	(void)nvml_open(&nvml);
	s.links = must(calloc(n + 1, sizeof(*s.links)));
	s.slow = must(calloc(n + 1, sizeof(*s.slow)));
	for (size_t i = 0; i < n; i++) {
		const struct rank_facts *a = &r->facts[m->plan.pairs[i].a];
		const struct rank_facts *b = &r->facts[m->plan.pairs[i].b];

		if (a->node == 0 && b->node == 0 && a->device.bus_id[0])
			gpu_pair_read(&nvml, a->device.bus_id, b->device.bus_id, &s.links[i]);
	}
	nvml_close(&nvml);
	find_slow(&s);
	put_all(&s);
	if (o->csv)
		rc = save_csv(&s, o->csv, &r->err);
	snprintf(path, sizeof(path), "%.4000s/pairs.csv", o->out ? o->out : "");
	if (rc == 0 && o->out)
		rc = save_csv(&s, path, &r->err);
	if (rc == 0 && o->spec)
		rc = save_spec(&s, o->spec, &r->err);
	free(s.links);
	free(s.slow);
	return rc;
}

int p2p_matrix_run(struct rank *r)
{
	struct pair_matrix m;
	int rc;

	watch_phase(&r->watch, PHASE_TIMED);
	rc = predict_measure_pairs(&r->bench, false, &m);
	if (rc < 0)
		return rc;
	if (r->run.report)
		rc = show(r, &m);
	pair_matrix_release(&m);
	return job_agree(&r->job, rc);
}

/* Not a collective; the program has one size, and no rows. */
const struct collective p2p_matrix = {
	.name = "p2p_matrix",
	.shape = shape_whole,
	.alg_bytes = alg_bytes_size,
	.bus_factor = bus_factor_one,
};
