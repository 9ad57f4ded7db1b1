/* predict_run.c: nodes, collectives, sizes of a prediction; odds of failures; tables, CSV. */
#include "command/predict_run.h"

#include <fnmatch.h>

#include "base/json_value.h"
#include "base/parse.h"
#include "base/rank_list.h"

#include "backend/nccl/kernel_cost.h"

/* NCCL's hwLat of a Simple send over the network, us. */
static const double NET_HOP_US = 14;

enum { WIDE = 5 };

/* Names what limits the call. */
static const char *limit_of(const struct prediction *p)
{
	if (p->time_us <= p->launch_us)
		return "launch";
	return p->latency_us > p->time_us / 2 ? "latency" : p->limit;
}

/* Nodes of the job as a user counts them: trays, where NVLink joins those of a rack. */
static int nodes_of(const struct model *model)
{
	return model->sys->hosts > 0 ? model->sys->hosts : model->nnodes;
}

static void csv_row(const struct model *model, const struct predict_request *request,
		    const struct prediction *p)
{
	printf("%s,%d,%d,%s,%.0f,%s,%s,%d,%.6g,%.6g,%.6g,%.6g,", model->sys->name, nodes_of(model),
	       model->nranks, model_coll_names[request->collective], request->bytes,
	       model_algo_names[p->algo], model_proto_names[p->proto], p->channels, p->time_us,
	       p->algbw, p->busbw, p->ceiling_busbw);
	if (p->nccl_us >= 0)
		printf("%.6g", p->nccl_us);
	printf(",%.4g,%.4g,%.6g,%.4g,%s,%s,", p->launch_us, p->latency_us, p->transfer_us,
	       p->fill_us, limit_of(p), p->fitted ? "fitted" : "physical-only");
	if (p->bar != NULL)
		printf("%.6g,%.6g,%s,%d\n", p->low_busbw, p->high_busbw, p->bar->name,
		       p->bar->sources);
	else
		printf(",,%s,\n", model_class(model, p->algo));
}

/* The names of CSV's columns; null where these are empty. */
static json_t *row_json(const struct model *model, const struct predict_request *request,
			const struct prediction *p)
{
	const struct model_bar *bar = p->bar;

	return json_pack(
		"{s:s s:i s:i s:s s:f s:s s:s s:i s:f s:f s:f s:f s:o s:f s:f s:f s:f s:s s:s s:o "
		"s:o s:s s:o}",
		"topo", model->sys->name, "nnodes", nodes_of(model), "nranks", model->nranks,
		"collective", model_coll_names[request->collective], "size_bytes", request->bytes,
		"algo", model_algo_names[p->algo], "proto", model_proto_names[p->proto], "channels",
		p->channels, "time_us", p->time_us, "algbw_gbs", p->algbw, "busbw_gbs", p->busbw,
		"ceiling_busbw_gbs", p->ceiling_busbw, "nccl_us",
		json_value_real(p->nccl_us >= 0 ? p->nccl_us : (double)NAN), "launch_us",
		p->launch_us, "latency_us", p->latency_us, "transfer_us", p->transfer_us, "fill_us",
		p->fill_us, "limit", limit_of(p), "constants",
		p->fitted ? "fitted" : "physical-only", "low_busbw_gbs",
		json_value_real(bar ? p->low_busbw : (double)NAN), "high_busbw_gbs",
		json_value_real(bar ? p->high_busbw : (double)NAN), "bar_class",
		bar ? bar->name : model_class(model, p->algo), "bar_sources",
		bar ? json_integer(bar->sources) : json_null());
}

static const char *plural(double n)
{
	return n == 1 ? "" : "s";
}

static void show_network(const struct topo_system *sys, int most_nodes)
{
	static const char *const names[] = { "rail", "fat-tree" };

	printf("# network: %s, %d node%s below a leaf, oversubscribed %g:1", names[sys->fabric],
	       sys->leaf_nodes, plural(sys->leaf_nodes), sys->oversubscription);
	if (most_nodes > sys->leaf_nodes)
		puts("");
	else
		puts(", which has no effect: one leaf holds them");
}

/* GPUs without NVLinks beside GPUs that have them: rings then go over PCIe or host memory. */
static void unlinked(const struct topo_system *sys)
{
	bool without[TOPO_MAX_GPUS];
	char names[160];
	int n = 0;

	for (int i = 0; i < sys->ngpus; i++)
		n += without[i] = !topo_gpu_has_nvlink(&sys->gpu[i]);
	if (n == 0 || n == sys->ngpus)
		return;
	printf("# without an NVLink, which %s: GPU%s\n",
	       sys->ngpus - n == 1 ? "the other has" : "the others have",
	       rank_list_words(without, sys->ngpus, names, sizeof(names)) + strlen("rank"));
}

/* The heading names the columns, and the nodes: the model's to `most_nodes`. The network is named
 * where it narrows, is shared or broken, or is to be explained. */
static void table_header(const struct model *model, int most_nodes, bool explain)
{
	const struct topo_system *sys = model->sys;
	const char *slash = strrchr(sys->source, '/');
	int joined = sys->hosts > 0 ? sys->hosts / sys->nnodes : 1, used = sys->ngpus / joined;

	printf("# %s: ", names_find("xml nvidia-smi", sys->name) < 0 ? sys->name
			 : slash != NULL			     ? slash + 1
								     : sys->source);
	if (most_nodes > nodes_of(model))
		printf("%d to ", nodes_of(model));
	printf("%d node%s of ", most_nodes, plural(most_nodes));
	if (sys->ngpus < sys->full_gpus)
		printf("%d of %d x ", used, sys->full_gpus / joined);
	else
		printf("%d x ", used);
	if (sys->by_sm)
		printf("sm %d (%s class)", sys->gpu[0].model->sm, sys->gpu[0].model->name);
	else
		fputs(sys->gpu[0].model->name, stdout);
	if (sys->nnics == 0)
		fputs(", no NIC", stdout);
	else
		printf(", %d NIC%s of %.0f Gb/s (%s)", sys->nnics / joined,
		       plural(sys->nnics / joined), sys->nic[0].gbs * 8,
		       topo_transports[sys->transport]);
	if (model->nics < sys->nnics)
		printf(", %d used", model->nics / joined);
	printf("; constants: %s\n", model->constants.origin);
	if (sys->note[0])
		printf("# %s\n", sys->note);
	unlinked(sys);
	if (sys->oversubscription > 1 || (explain && most_nodes > 1))
		show_network(sys, most_nodes);
	printf("# %6s %-14s %12s %-13s %-6s %12s %9s  %-16s %9s %5s  %s\n", "nodes", "collective",
	       "size", "algo", "proto", "time(us)", "busbw", "nine in ten", "ceiling", "%",
	       "limit");
}

/* The slowest of the links between nodes that may limit, and the edges that share it. */
static void explain_link(const struct model *model, const struct prediction *p)
{
	static const char *const names[] = { "NICs out of node", "NICs into node",
					     "uplinks of leaf", "downlinks of leaf" };
	const struct fabric_link *link = NULL;
	double gbs = INFINITY;
	char sharers[200];

	for (int i = 0; i < p->nterms; i++)
		if (p->term[i].link != NULL && p->term[i].gbs < gbs) {
			link = p->term[i].link;
			gbs = p->term[i].gbs;
		}
	if (link == NULL)
		return;
	model_sharers(model, link, sharers, sizeof(sharers));
	printf("busiest link between nodes: %s %d: load %.4g of a width of %.4g nodes' NICs, "
	       "shared by%s\n",
	       names[2 * link->tier + link->in], link->at, link->load, link->width, sharers);
}

/* Without a bar, or by mechanisms that differ (GeForce through host memory), two digits say how much is known. */
static void figure(double value, bool known, char *text, size_t size)
{
	double unit = pow(10, floor(log10(value)) - 1);

	snprintf(text, size, known ? "%.2f" : "~%g", known ? value : round(value / unit) * unit);
}

static void table_row(const struct model *model, const struct predict_request *request,
		      const struct prediction *p)
{
	char bar[48] = "no bar", busbw[24], time[24];

	bool known = p->bar != NULL && p->high_busbw < WIDE * p->low_busbw;

	figure(p->busbw, known, busbw, sizeof(busbw));
	figure(p->time_us, known, time, sizeof(time));
	if (p->bar != NULL)
		snprintf(bar, sizeof(bar), "%s%.3g to %.3g", p->bar->sources < 2 ? "~" : "",
			 p->low_busbw, p->high_busbw);
	printf("  %6d %-14s %12.0f %-13s %-6s %12s %9s  %-16s %9.2f %5.1f  %s\n", nodes_of(model),
	       model_coll_names[request->collective], request->bytes, model_algo_names[p->algo],
	       model_proto_names[p->proto], time, busbw, bar, p->ceiling_busbw,
	       100 * p->busbw / p->ceiling_busbw, limit_of(p));
}

/* base (whose) * factor (why)... = GB/s */
static void explain_term(const struct model_term *term, const char *mark)
{
	printf("  %-16s %.6g (%s)", term->limit, term->base, term->what);
	for (int i = 0; i < term->nfactors; i++)
		printf(" * %.6g (%s)", term->factor[i].value, term->factor[i].what);
	printf(" = %.2f GB/s%s\n", term->gbs, mark);
}

static void explain_terms(const struct model *model, const struct prediction *p)
{
	const char *limit = limit_of(p);

	printf("limited by: %s", limit);
	if (limit != p->limit)
		printf(" (the transfer: %s)", p->limit);
	putchar('\n');
	printf("algorithm bandwidth, %s (n = %d ranks, g = %d a node):\n",
	       p->in_turn ? "exchanges one after the other, whose times add up" : "the least of",
	       model->nranks, model->ppn);
	for (int i = 0; i < p->nterms; i++)
		explain_term(&p->term[i], i == p->winner && !p->in_turn ? "  <- limits" : "");
	if (p->correction != 1)
		printf("  * %.6g (NCCL's correction of Tree at this size)\n", p->correction);
	printf("  = %.2f GB/s\n", p->alg_gbs);
	explain_link(model, p);
}

static void explain_others(const struct model *model, const struct predict_request *request)
{
	printf("other choices (predicted us, NCCL's own estimate):\n");
	for (int a = 0; a < MODEL_ALGOS; a++)
		for (int p = 0; p < MODEL_PROTOS; p++) {
			struct predict_request other = *request;
			struct prediction prediction;

			other.algo = a;
			other.proto = p;
			if (model_predict(model, &other, &prediction) != 0)
				continue;
			printf("  %-13s %-6s %12.2f", model_algo_names[a], model_proto_names[p],
			       prediction.time_us);
			if (prediction.nccl_us >= 0)
				printf(" %12.2f\n", prediction.nccl_us);
			else
				printf(" %12s\n", "no model");
		}
}

/* The derivation of a printed point with its numbers, and the times of every other algorithm and
 * protocol. `asked`: the user chose. */
static void show_derivation(const struct model *model, const struct predict_request *request,
			    const struct prediction *p, bool asked)
{
	const struct topo_system *sys = model->sys;

	printf("spec: %s (%s)\n", sys->name, sys->source);
	if (model->constants.fitted)
		printf("constants: %s\n", model->constants.provenance);
	printf("links: a GPU's ring share %.1f GB/s of %.1f raw", model->ring, model->ring_raw);
	printf("; a node's NICs %.1f of %.1f; a GPU's NICs %.1f of %.1f\n", model->net,
	       model->net_raw, model->nic, model->nic_raw);
	printf("choice: %s %s on %d channel%s (%s)\n", model_algo_names[p->algo],
	       model_proto_names[p->proto], p->channels, plural(p->channels),
	       asked		 ? "as asked"
	       : p->nccl_us >= 0 ? "least time in NCCL's tuning model"
				 : "NCCL has no model of sends");
	explain_terms(model, p);
	printf("transfer = %.0f B / %.2f GB/s = %.2f us\n", request->bytes, p->alg_gbs,
	       p->transfer_us);
	printf("latency  = %.2f us (kernel base and hops)\n", p->latency_us);
	printf("fill     = %.2f us (first slice, end of each loop)\n", p->fill_us);
	printf("launch   = %.2f us at least per call, %.2f times what an empty kernel costs the "
	       "host; hosts differ by a factor of two\n",
	       p->launch_us, p->launch_us / model->constants.kernel_host_us);
	printf("time     = max(launch, latency + transfer + fill) = %.2f us\n",
	       p->time_us / p->by_rows);
	if (p->by_rows != 1)
		printf("by rows  = time * %.3g, of one's own rows = %.2f us\n", p->by_rows,
		       p->time_us);
	printf("busbw    = %.0f B / time * %.4f = %.2f GB/s; ceiling %.2f GB/s\n", request->bytes,
	       p->bus_factor, p->busbw, p->ceiling_busbw);
	if (p->bar != NULL)
		printf("%.3g GB/s, %.3g to %.3g: %s, %d points of %d hosts or clusters%s\n",
		       p->busbw, p->low_busbw, p->high_busbw, p->bar->name, p->bar->points,
		       p->bar->sources, p->bar->sources < 2 ? ": argued, not nine in ten" : "");
	explain_others(model, request);
}

struct shown {
	long rows, points;		       /* printed, and predicted */
	long floors;			       /* printed */
	const struct model_bar *without_floor; /* of a class that has too few sweeps */
	bool nvls;			       /* a row of NVLS or NVLSTree among them */
	bool argued;			       /* a bar that is not of several sources */
	json_t *json;			       /* the rows, of --json */
};

/* A size's floor, or that it has none. */
static void floor_row(const struct predict_job *job, const struct model *model,
		      const struct predict_request *request, const struct prediction *p,
		      struct shown *shown)
{
	const struct model_bar *bar;
	double least = model_floor(model, p, request->bytes, &bar);
	char text[24] = "not judged";
	const char *name = model_coll_names[request->collective];

	shown->without_floor =
		bar && bar->sweeps >= MODEL_FLOOR_SWEEPS ? shown->without_floor : bar;
	shown->floors += !isnan(least);
	if (job->json)
		json_array_append_new(shown->json,
				      must(json_pack("{s:s s:i s:i s:s s:f s:f s:o s:s s:i}",
						     "topo", model->sys->name, "nnodes",
						     nodes_of(model), "nranks", model->nranks,
						     "collective", name, "size_bytes",
						     request->bytes, "busbw_gbs", p->busbw,
						     "floor_busbw_gbs", json_value_real(least),
						     "bar_class", model_class(model, p->algo),
						     "sweeps", bar ? bar->sweeps : 0)));
	else if (job->csv)
		printf("%s,%d,%d,%s,%.0f,%.6g,%.6g,%s,%d\n", model->sys->name, nodes_of(model),
		       model->nranks, name, request->bytes, p->busbw, least,
		       model_class(model, p->algo), bar ? bar->sweeps : 0);
	else {
		if (!isnan(least))
			snprintf(text, sizeof(text), "%.4g", least);
		printf("  %6d %-14s %12.0f %9.2f %12s\n", nodes_of(model), name, request->bytes,
		       p->busbw, text);
	}
}

static void show(const struct predict_job *job, const struct model *model,
		 const struct predict_request *request, struct prediction *p, struct shown *shown)
{
	shown->points++;
	if (job->nccl_model) {
		if (p->nccl_us < 0)
			return;
		p->time_us = p->nccl_us;
		p->launch_us = p->fill_us = 0; /* NCCL counts neither */
		p->bar = NULL;
		p->algbw = request->bytes / (1000 * p->time_us);
		p->busbw = p->algbw * p->bus_factor;
	}
	shown->rows++;
	shown->nvls |= p->algo == MODEL_NVLS || p->algo == MODEL_NVLS_TREE;
	shown->argued |= p->bar != NULL && p->bar->sources < 2;
	if (job->floor > 0) {
		floor_row(job, model, request, p, shown);
		return;
	}
	if (shown->rows == 1 && job->csv && !job->json)
		fputs("topo,nnodes,nranks,collective,size_bytes,algo,proto,channels,time_us,algbw_"
		      "gbs,busbw_gbs,ceiling_busbw_gbs,nccl_us,launch_us,latency_us,transfer_us,"
		      "fill_us,limit,constants,low_busbw_gbs,high_busbw_gbs,bar_class,bar_"
		      "sources\n",
		      stdout);
	else if (shown->rows == 1 && !job->json)
		table_header(model, job->nodes_to, job->explain);
	if (job->json)
		json_array_append_new(shown->json, row_json(model, request, p));
	else if (job->csv)
		csv_row(model, request, p);
	else
		table_row(model, request, p);
	if (job->explain)
		show_derivation(model, request, p, job->algo >= 0 || job->proto >= 0);
}

/* All algorithms of one size, or the one that NCCL would take. */
static void show_size(const struct predict_job *job, const struct model *model,
		      struct predict_request *request, struct shown *shown)
{
	int first = job->all_algos ? 0 : job->algo,
	    last = job->all_algos ? MODEL_ALGOS - 1 : job->algo;
	struct prediction prediction;

	for (int algo = first; algo <= last; algo++) {
		request->algo = algo;
		if (model_predict(model, request, &prediction) == 0)
			show(job, model, request, &prediction, shown);
	}
}

static void show_nodes(const struct predict_job *job, struct model *model, int nodes,
		       struct shown *shown)
{
	struct predict_request request = { .proto = job->proto, .process_gpus = job->process_gpus };
	const struct topo_system *sys = job->sys;

	if (sys->hosts > 0 && !job->csv)
		printf("# NVLink joins these %d nodes to %d of %d GPUs%s\n", nodes, sys->nnodes,
		       sys->ngpus,
		       sys->nranks > sys->nnodes * sys->ngpus ? " and some of more" : "");
	for (int coll = 0; coll < MODEL_COLLS; coll++) {
		if (!(job->colls & 1u << coll))
			continue;
		request.collective = (enum model_coll)coll;
		for (double bytes = job->explain ? job->to : job->from; bytes <= job->to;
		     bytes *= 2) {
			request.bytes = bytes;
			show_size(job, model, &request, shown);
		}
	}
}

static void show_failures(const struct predict_job *job, int nodes)
{
	double mtbf_h = 365.25 * 24 / (job->rate * nodes);

	printf("# %d node%s, %g failure%s per node and year: one every %.1f h; a job of %g h meets "
	       "one with %.2f %%\n",
	       nodes, plural(nodes), job->rate, plural(job->rate), mtbf_h, job->hours,
	       100 * -expm1(-job->hours / mtbf_h));
}

/* The nodes after these: doubled, or the end of the range. 0: that was it. */
static int next_nodes(const struct predict_job *job, int nodes)
{
	if (nodes == job->nodes_to)
		return 0;
	return 2 * nodes < job->nodes_to ? 2 * nodes : job->nodes_to;
}

/* The reason is that of the first collective that was asked for. */
static int nothing_shown(const struct predict_job *job, const struct model *model,
			 const struct shown *shown, struct error *err)
{
	enum model_coll coll = (enum model_coll)__builtin_ctz(job->colls);
	int proto = job->proto >= 0 ? job->proto : MODEL_SIMPLE;
	int algo = job->algo >= 0 ? job->algo : coll < MODEL_TUNED ? MODEL_RING : MODEL_P2P;
	const char *why = model_refusal(model, coll, algo, proto);

	if (shown->rows > 0 || (job->rate > 0 && shown->points == 0))
		return 0;
	if (shown->points > 0)
		return error_usage(err,
				   "nothing to show: NCCL has no model of sends (--nccl-model)");
	return error_usage(err, "nothing to predict: no %s %s for %s on %d node%s of %s: %s",
			   model_algo_names[algo], model_proto_names[proto], model_coll_names[coll],
			   model->nnodes, plural(model->nnodes), model->sys->name,
			   why != NULL ? why : "sizes end at 1e18 B");
}

/* Takes so many nodes. Those that NVLink joins make a larger node, of another number of GPUs. */
static int take_nodes(struct predict_job *job, struct model *model, int nodes, struct error *err)
{
	struct model_constants constants = model->constants;
	static struct model_rows rows;
	int rc;

	*job->sys = *job->loaded;
	job->change.nnodes = nodes;
	rc = topo_reshape(job->sys, &job->change, err);
	if (rc != 0)
		return rc;
	model_init(model, job->sys, &constants, job->no_nvls);
	rows.algo = job->algo;
	rows.proto = job->proto;
	return job->rows ? model_take_file(model, &rows, job->rows, job->colls, err) : 0;
}

static int no_floor(const struct shown *shown, struct error *err)
{
	const struct model_bar *bar = shown->without_floor;

	if (!bar)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "no floor: they begin at 64 MiB, for classes with error bars");
	return error_set(
		err, OUTCOME_UNSUPPORTED, -ENOTSUP,
		"no floor: %d sweeps of such machines (%s) were measured from 64 MiB on, and "
		"%d are needed",
		bar->sweeps, bar->name, MODEL_FLOOR_SWEEPS);
}

static int predict_all(struct predict_job *job, struct model *model, struct error *err)
{
	struct shown shown = { .json = job->json ? json_array() : NULL };
	json_t *all;

	if (job->floor > 0 && !job->json)
		puts(job->csv
			     ? "topo,nnodes,nranks,collective,size_bytes,busbw_gbs,floor_busbw_gbs,"
			       "bar_class,sweeps"
			     : "#  nodes collective             size     busbw floor (GB/s): 98 of "
			       "100 measured points exceed it");
	for (int nodes = job->nodes_from; nodes > 0; nodes = next_nodes(job, nodes)) {
		int rc = take_nodes(job, model, nodes, err);

		if (rc != 0)
			return rc;
		show_nodes(job, model, nodes, &shown);
		if (job->rate > 0)
			show_failures(job, nodes);
	}
	if (shown.rows > 0 && !job->csv && job->floor <= 0)
		puts("# busbw, ceiling (what links carry at best): GB/s; nine in ten: the range "
		     "that nine in ten\n"
		     "# measurements fall into; %: busbw's share of the ceiling");
	if (shown.nvls && !job->csv)
		puts("# NVLS and NVLSTree: checked against published results only, never on our "
		     "own hosts");
	if (shown.argued && !job->csv)
		puts("# ~: of one cluster, or argued: not nine in ten");
	if (model->sys->nccl > MODEL_NCCL_KNOWN && !job->csv)
		printf("# NCCL %d.%d is beyond what is known: algorithms as of 2.28, sends as of "
		       "2.30\n",
		       model->sys->nccl / 10000, model->sys->nccl / 100 % 100);
	if (job->json) {
		all = json_pack("{s:i s:o}", "version", 1, "rows", shown.json);
		json_value_print(stdout, must(all));
		json_decref(all);
	}
	if (job->floor > 0 && shown.points > 0 && shown.floors == 0)
		return no_floor(&shown, err);
	return nothing_shown(job, model, &shown, err);
}

/* The hop that a small message between two nodes took beyond NCCL's, from measured pairs of GPUs. */
static int read_hop(const char *path, const struct model_constants *constants, double *hop_us,
		    struct error *err)
{
	static struct topo_system pairs;
	int rc = topo_load(&pairs, path, err);

	if (rc != 0)
		return rc;
	if (pairs.pairs.nnodes < 2 || topo_is_host(&pairs))
		return error_usage(err, "%.200s: no pairs of GPUs of several nodes were measured",
				   path);
	*hop_us = fmax(.001, pairs.pairs.us[1] - NET_HOP_US - constants->p2p_base_us -
				     constants->p2p_simple_us);
	return 0;
}

/* Writes the rows with the machine and the day. */
static int save_rows(const struct predict_job *job, const struct model *model, struct error *err)
{
	char day[16];
	time_t now = time(NULL);

	strftime(day, sizeof(day), "%F", gmtime(&now));
	json_object_set_new(job->rows, "date", must(json_string(day)));
	json_object_set_new(job->rows, "machine",
			    must(json_pack("{s:s s:s s:i s:i}", "topo", model->sys->name, "gpu",
					   model->sys->gpu[0].model->name, "nodes", nodes_of(model),
					   "ranks", model->nranks)));
	if (json_dump_file(job->rows, job->save_rows, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) != 0)
		return error_set(err, OUTCOME_INTERNAL, -errno, "%.200s", job->save_rows);
	return 0;
}

static bool is_spec(const char *path)
{
	static struct topo_system sys;
	struct error unread = { .outcome = OUTCOME_OK };

	return fnmatch("*.json", path, 0) == 0 && topo_load(&sys, path, &unread) == 0;
}

static int calibrate(struct predict_job *job, struct model_constants *constants, struct error *err)
{
	struct kernel_cost cost = { .host_us = job->launch_us,
				    .latency_us = constants->kernel_latency_us };
	bool spec = job->calibrate != NULL && is_spec(job->calibrate);
	int rc = spec		  ? read_hop(job->calibrate, constants, &job->change.hop_us, err)
		 : job->calibrate ? topo_rows_read(job->calibrate, &job->rows, err)
				  : 0;

	if (rc == 0 && spec)
		text_add(constants->origin, sizeof(constants->origin), ", a hop takes %.1f us more",
			 job->change.hop_us);
	if (rc == 0 && job->rows)
		text_add(constants->origin, sizeof(constants->origin),
			 ", below 64 MiB rows of one's own");
	if (rc != 0 || cost.host_us <= 0)
		return rc;
	text_add(constants->origin, sizeof(constants->origin), ", a launch costs the host %.2f us",
		 cost.host_us);
	return model_calibrate(constants, &cost) == 0
		       ? 0
		       : error_set(err, OUTCOME_USAGE, -ERANGE,
				   "a launch takes the host .2 to 1000 us, not %g", cost.host_us);
}

int predict_run(struct predict_job *job, struct error *err)
{
	static struct topo_system loaded, sys;
	static struct model model;
	int rc;

	if (job->list)
		return topo_list_specs(stdout, err) < 0 ? err->code : 0;
	job->loaded = &loaded;
	job->sys = &sys;
	job->colls = job->colls ? job->colls : 1u << MODEL_ALL_REDUCE;
	rc = topo_load(&loaded, job->topo != NULL ? job->topo : "dgx-h100", err);
	if (rc == 0)
		rc = model_load_constants(&model.constants, job->physical ? "" : job->fitted, err);
	if (rc == 0)
		rc = calibrate(job, &model.constants, err);
	if (rc == 0) /* the most first: what is wrong with them is said before any row */
		rc = take_nodes(job, &model, job->nodes_to, err);
	if (rc == 0 && job->save_rows)
		rc = save_rows(job, &model, err);
	if (rc == 0)
		rc = predict_all(job, &model, err);
	json_decref(job->rows);
	return rc;
}
