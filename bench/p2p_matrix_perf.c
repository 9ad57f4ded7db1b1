/* p2p_matrix_perf.c: latency of every pair of ranks; bandwidth alone, both ways, beside others. */
#include <jansson.h>

#include "base/json_value.h"
#include "base/file.h"
#include "base/output.h"
#include "machine/read.h"
#include "pairs/shared.h"
#include "perf_report.h"

#define SLOW	.75 /* share of the median of its kind */
#define ON_LINE 32  /* most ranks of a printed matrix */

struct shown {
	const struct pair_matrix *m;
	const struct rank_facts *ranks;
	const struct predict *predict;
	const struct topo_system *sys; /* NULL: unknown */
	struct pair_note *notes;       /* one per pair */
};

static const struct topo_gpu *gpu_of(const struct shown *s, int rank)
{
	int i = s->ranks[rank].local_rank;

	return s->sys && i < s->sys->ngpus ? &s->sys->gpu[i] : NULL;
}

static double promised(const struct shown *s, const struct pair *p)
{
	const struct model *model = &s->predict->model;
	int a = s->ranks[p->a].local_rank, b = s->ranks[p->b].local_rank, links;

	if (!gpu_of(s, p->a) || !gpu_of(s, p->b))
		return NAN;
	links = topo_pair_links(s->sys, a, b);
	return p->far ? model->nic
	       : links > 0
		       ? links * s->sys->gpu[a].model->link_sm * model->constants.nvlink_efficiency
		       : model->pair;
}

/* The median of the pairs of its kind: between hosts, or over the same link. */
static void find_usual(const struct pair_plan *plan, struct pair_note *notes)
{
	double *like = must(calloc((size_t)plan->npairs + 1, sizeof(*like)));
	struct stats stats;

	for (int i = 0; i < plan->npairs; i++) {
		size_t n = 0;

		for (int j = 0; j < plan->npairs; j++)
			if (plan->pairs[j].far == plan->pairs[i].far &&
			    strcmp(notes[j].link.link, notes[i].link.link) == 0)
				like[n++] = notes[j].alone;
		(void)stats_compute(like, n, &stats);
		notes[i].usual = stats.median;
	}
	free(like);
}

void pairs_note(const struct rank *r, const struct pair_matrix *m, struct pair_note *notes)
{
	struct shown s = { m, r->facts, &r->predict, predict_topology(&r->predict), NULL };
	struct nvml nvml;

	(void)nvml_open(&nvml);
	for (int i = 0; i < m->plan.npairs; i++) {
		const struct rank_facts *a = &r->facts[m->plan.pairs[i].a];
		const struct rank_facts *b = &r->facts[m->plan.pairs[i].b];
		enum pair_load load =
			isnan(pair_gbs(m, PAIR_ALONE, i, false)) ? PAIR_DISJOINT : PAIR_ALONE;

		if (a->node == 0 && b->node == 0 && a->device.bus_id[0])
			gpu_pair_read(&nvml, a->device.bus_id, b->device.bus_id, &notes[i].link);
		notes[i].promised = r->choice.shared_gpu ? NAN : promised(&s, &m->plan.pairs[i]);
		notes[i].alone = fmin(pair_gbs(m, load, i, false), pair_gbs(m, load, i, true));
	}
	nvml_close(&nvml);
	find_usual(&m->plan, notes);
}

static bool is_slow(const struct pair_note *note)
{
	return note->alone < SLOW * note->usual;
}

static void name_end(const struct shown *s, int rank, struct pair_end *end)
{
	const char *host = s->ranks[rank].host;
	const struct topo_gpu *gpu = gpu_of(s, rank);

	snprintf(end->name[PAIR_HOST], sizeof(end->name[0]), "%.40s", host);
	snprintf(end->name[PAIR_GPU], sizeof(end->name[0]), "rank %d", rank);
	if (!gpu)
		return;
	snprintf(end->name[PAIR_SOCKET], sizeof(end->name[0]), "%d of %.30s", gpu->cpu, host);
	if (gpu->pci_switch >= 0)
		snprintf(end->name[PAIR_SWITCH], sizeof(end->name[0]), "%d of %.30s",
			 gpu->pci_switch, host);
	for (int i = 0; i < s->sys->nnics; i++)
		if (s->sys->nic[i].pci_switch == gpu->pci_switch)
			snprintf(end->name[PAIR_NIC], sizeof(end->name[0]), "%.20s of %.20s",
				 s->sys->nic[i].name, host);
}

static void put_slow(const struct shown *s)
{
	const struct pair_plan *plan = &s->m->plan;
	struct pair_end *ends = must(calloc((size_t)plan->n, sizeof(*ends)));
	bool *slow = must(calloc((size_t)plan->npairs + 1, sizeof(*slow)));
	char text[400];
	int n = 0, rest;

	for (int i = 0; i < plan->npairs; i++) {
		slow[i] = is_slow(&s->notes[i]);
		if (slow[i] && n++ < 16)
			printf("# slow: %d and %d: %.4g GB/s %s\n", plan->pairs[i].a,
			       plan->pairs[i].b, s->notes[i].alone, s->notes[i].link.link);
	}
	for (int rank = 0; rank < plan->n; rank++)
		name_end(s, rank, &ends[rank]);
	rest = pair_shared(plan, ends, slow, text, sizeof(text));
	printf("# %d of %d pairs below %.0f %% of the median of their kind%s%s", n, plan->npairs,
	       SLOW * 100, *text ? "; they share, and no fast one has: " : "", text);
	if (rest > 0)
		printf("; %d share nothing that is known", rest);
	printf("\n");
	free(slow);
	free(ends);
}

/* One line per sender: microseconds of the first size, or GB/s of the last one. */
static void put_matrix(const struct shown *s, enum pair_load load, bool latency)
{
	const struct pair_plan *plan = &s->m->plan;

	printf("# %s %s, from the row's rank to the column's\n#   ",
	       latency ? "Microseconds of 8 bytes" : "GB/s", pair_load_names[load]);
	for (int to = 0; to < plan->n; to++)
		printf(" %9d", to);
	for (int k = 0; k < plan->n * plan->n; k++) {
		int from = k / plan->n, to = k % plan->n, i = pair_plan_of(plan, from, to);

		if (to == 0)
			printf("\n%4d", from);
		if (i < 0)
			printf(" %9s", "-");
		else
			printf(" %9.4g", latency ? *pair_us(s->m, load, 0, i, from > to)
						 : pair_gbs(s->m, load, i, from > to));
		if (load == PAIR_ALONE && !latency && i >= 0)
			printf(" %s", s->notes[i].link.link);
	}
	printf("\n");
}

static void put_all(const struct shown *s)
{
	const struct pair_plan *plan = &s->m->plan;
	double most[2] = { 0 };
	int unknown = 0;

	printf("# %d pairs of %d ranks%s, messages of 8 to %.0f bytes\n", plan->npairs, plan->n,
	       plan->sampled ? " (a sample by --seed, every rank in it)" : "",
	       s->m->bytes[s->m->nsizes - 1]);
	if (plan->n <= ON_LINE)
		put_matrix(s, PAIR_ALONE, true);
	for (int load = 0; plan->n <= ON_LINE && load <= PAIR_ALL; load++)
		put_matrix(s, (enum pair_load)load, false);
	for (int i = 0; i < plan->npairs; i++) {
		const struct pair *p = &plan->pairs[i];

		most[p->far] = fmax(most[p->far], s->notes[i].promised);
		unknown += !*s->notes[i].link.link;
		if (s->notes[i].link.refused)
			printf("# P2P is refused between %d and %d: %s\n", p->a, p->b,
			       s->notes[i].link.refused);
	}
	for (int far = 0; far < 2; far++)
		if (most[far] > 0)
			printf("# The topology promises %.4g GB/s alone %s\n", most[far],
			       far ? "between hosts" : "inside of a host");
	if (unknown && s->ranks[0].device.bus_id[0])
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
			s->ranks[to].host, s->notes[i / 2].link.link, s->m->bytes[s->m->nsizes - 1],
			*pair_us(s->m, PAIR_ALONE, 0, i / 2, i % 2));
		for (int load = 0; load <= PAIR_ALL; load++)
			fprintf(out, ",%.5g", pair_gbs(s->m, (enum pair_load)load, i / 2, i % 2));
		fprintf(out, ",%.5g,%d\n", s->notes[i / 2].promised, is_slow(&s->notes[i / 2]));
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

	if (s->predict->xml)
		json_object_set_new(json, "nccl_topology", json_value_text(s->predict->xml));
	rc = json_value_save(json, path, JSON_COMPACT);
	json_decref(json);
	return rc == 0 ? 0
		       : error_set(err, OUTCOME_USAGE, rc, "--spec %.400s: %s", path,
				   strerror(-rc));
}

static int show(const struct rank *r, const struct pair_matrix *m, struct error *err)
{
	const struct options *o = r->program->options;
	struct shown s = { m, r->facts, &r->predict, predict_topology(&r->predict), NULL };
	char path[4096];
	int rc = 0;

	s.notes = must(calloc((size_t)m->plan.npairs + 1, sizeof(*s.notes)));
	pairs_note(r, m, s.notes);
	put_all(&s);
	snprintf(path, sizeof(path), "%.4000s%s",
		 o->out	  ? o->out
		 : o->csv ? o->csv
			  : "",
		 o->out ? "/pairs.csv" : "");
	if (o->out)
		(void)file_folders(o->out);
	if (*path)
		rc = save_csv(&s, path, err);
	if (rc == 0 && o->spec && m->plan.n % m->nnodes != 0)
		rc = error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
			       "--spec %.400s: the hosts have unequal numbers of ranks", o->spec);
	else if (rc == 0 && o->spec)
		rc = save_spec(&s, o->spec, err);
	free(s.notes);
	return rc;
}

int p2p_matrix_run(struct rank *r)
{
	struct pair_matrix m;
	int rc;

	watch_phase(&r->watch, PHASE_TIMED);
	rc = predict_measure_pairs(&r->bench, PAIRS_LONG, &m);
	if (rc < 0)
		return rc;
	if (r->run.report)
		rc = show(r, &m, &r->err);
	pair_matrix_release(&m);
	return job_agree(&r->job, rc);
}

/* Not a collective: it has no rows. */
const struct collective p2p_matrix = {
	.name = "p2p_matrix",
	.shape = shape_whole,
};
