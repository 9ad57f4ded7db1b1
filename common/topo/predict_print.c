/* predict_print.c: tables, CSV, one derivation, vendor figures. */
#include "topo/predict_print.h"

#include <errno.h>
#include <string.h>

#include "topo/model_parts.h"
#include "topo/vendor.h"

/* Names what limits the call. */
static const char *limit_of(const struct prediction *p)
{
	if (p->time_us <= p->launch_us)
		return "launch";
	return p->latency_us > p->time_us / 2 ? "latency" : p->limit;
}

void predict_csv_header(FILE *out)
{
	fputs("topo,nnodes,nranks,collective,size_bytes,algo,proto,channels,time_us,algbw_gbs,"
	      "busbw_gbs,"
	      "ceiling_busbw_gbs,nccl_us,launch_us,latency_us,transfer_us,fill_us,limit,"
	      "constants,low_busbw_gbs,high_busbw_gbs\n",
	      out);
}

void predict_csv_row(FILE *out, const struct model *model, const struct predict_request *request,
		     const struct prediction *p)
{
	fprintf(out, "%s,%d,%d,%s,%.0f,%s,%s,%d,%.6g,%.6g,%.6g,%.6g,", model->sys->name,
		model->nnodes, model->nranks, model_coll_name(request->collective), request->bytes,
		model_algo_name(p->algo), model_proto_name(p->proto), p->channels, p->time_us,
		p->algbw, p->busbw, p->ceiling_busbw);
	if (p->nccl_us >= 0)
		fprintf(out, "%.6g", p->nccl_us);
	fprintf(out, ",%.4g,%.4g,%.6g,%.4g,%s,%s,", p->launch_us, p->latency_us, p->transfer_us,
		p->fill_us, limit_of(p), p->fitted ? "fitted" : "physical-only");
	if (p->bar != NULL)
		fprintf(out, "%.6g,%.6g\n", p->low_busbw, p->high_busbw);
	else
		fputs(",\n", out);
}

static const char *plural(int n)
{
	return n == 1 ? "" : "s";
}

static void show_network(FILE *out, const struct topo_system *sys, int most_nodes)
{
	fprintf(out, "# network: %s, %d node%s below a leaf, oversubscribed %g:1%s\n",
		sys->fabric == TOPO_RAIL ? "rail" : "fat-tree", sys->leaf_nodes,
		plural(sys->leaf_nodes), sys->oversubscription,
		most_nodes + sys->layout.beside > sys->leaf_nodes
			? ""
			: ", which has no effect: one leaf holds them");
}

void predict_table_header(FILE *out, const struct model *model, int most_nodes, bool explain)
{
	const struct topo_system *sys = model->sys;
	const char *slash = strrchr(sys->source, '/');

	fprintf(out, "# %s: ", !sys->by_sm ? sys->name : slash != NULL ? slash + 1 : sys->source);
	if (most_nodes > model->nnodes)
		fprintf(out, "%d to ", model->nnodes);
	fprintf(out, "%d node%s of ", most_nodes, plural(most_nodes));
	if (sys->ngpus < sys->full_gpus)
		fprintf(out, "%d of %d x ", sys->ngpus, sys->full_gpus);
	else
		fprintf(out, "%d x ", sys->ngpus);
	if (sys->by_sm)
		fprintf(out, "sm %d (%s class)", sys->gpu[0].model->sm, sys->gpu[0].model->name);
	else
		fputs(sys->gpu[0].model->name, out);
	if (sys->nnics == 0)
		fputs(", no NIC", out);
	else
		fprintf(out, ", %d NIC%s of %.0f Gb/s (%s)", sys->nnics, plural(sys->nnics),
			sys->nic[0].gbs * 8, topo_transport_name(sys->transport));
	if (model->nics < sys->nnics)
		fprintf(out, ", %d used", model->nics);
	fprintf(out, "; constants: %s\n", model->constants.origin);
	if (sys->oversubscription > 1 || (explain && most_nodes > 1))
		show_network(out, sys, most_nodes);
	fprintf(out, "# %6s %-14s %12s %-13s %-6s %12s %9s  %-16s %9s %5s  %s\n", "nodes",
		"collective", "size", "algo", "proto", "time(us)", "busbw", "nine in ten",
		"ceiling", "%", "limit");
}

/* Of the links between nodes that may limit, the slowest, and the edges that share it. */
static void explain_link(FILE *out, const struct model *model, const struct prediction *p)
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
	fprintf(out,
		"busiest link between nodes: %s %d: load %.4g of a width of %.4g nodes' NICs, "
		"%.4g of it the other job's; shared by%s\n",
		names[2 * link->leaf + link->in], link->at, link->load, link->width, link->beside,
		sharers);
}

void predict_table_row(FILE *out, const struct model *model, const struct predict_request *request,
		       const struct prediction *p)
{
	char bar[48] = "never scored";

	if (p->bar != NULL)
		snprintf(bar, sizeof(bar), "%.3g to %.3g", p->low_busbw, p->high_busbw);
	fprintf(out, "  %6d %-14s %12.0f %-13s %-6s %12.2f %9.2f  %-16s %9.2f %5.1f  %s\n",
		model->nnodes, model_coll_name(request->collective), request->bytes,
		model_algo_name(p->algo), model_proto_name(p->proto), p->time_us, p->busbw, bar,
		p->ceiling_busbw, 100 * p->busbw / p->ceiling_busbw, limit_of(p));
}

/* base (whose) * factor (why)... = GB/s */
static void explain_term(FILE *out, const struct model_term *term, const char *mark)
{
	fprintf(out, "  %-16s %.6g (%s)", term->limit, term->base, term->what);
	for (int i = 0; i < term->nfactors; i++)
		fprintf(out, " * %.6g (%s)", term->factor[i].value, term->factor[i].what);
	fprintf(out, " = %.2f GB/s%s\n", term->gbs, mark);
}

static void explain_terms(FILE *out, const struct model *model, const struct prediction *p)
{
	const char *limit = limit_of(p);

	fprintf(out, "limited by: %s", limit);
	if (limit != p->limit)
		fprintf(out, " (the transfer: %s)", p->limit);
	fputc('\n', out);
	fprintf(out, "algorithm bandwidth, %s (n = %d ranks, g = %d a node):\n",
		p->in_turn ? "exchanges one after the other, whose times add up" : "the least of",
		model->nranks, model->ppn);
	for (int i = 0; i < p->nterms; i++)
		explain_term(out, &p->term[i], i == p->winner && !p->in_turn ? "  <- limits" : "");
	if (p->correction != 1)
		fprintf(out, "  * %.6g (NCCL's correction of Tree at this size)\n", p->correction);
	fprintf(out, "  = %.2f GB/s\n", p->alg_gbs);
	explain_link(out, model, p);
}

static void explain_others(FILE *out, const struct model *model,
			   const struct predict_request *request)
{
	fprintf(out, "other choices (predicted us, NCCL's own estimate):\n");
	for (int a = 0; a < MODEL_ALGOS; a++)
		for (int p = 0; p < MODEL_PROTOS; p++) {
			struct predict_request other = *request;
			struct prediction prediction;

			other.algo = a;
			other.proto = p;
			if (model_predict(model, &other, &prediction) != 0)
				continue;
			fprintf(out, "  %-13s %-6s %12.2f", model_algo_name(a), model_proto_name(p),
				prediction.time_us);
			if (prediction.nccl_us >= 0)
				fprintf(out, " %12.2f\n", prediction.nccl_us);
			else
				fprintf(out, " %12s\n", "no model");
		}
}

void predict_explain(FILE *out, const struct model *model, const struct predict_request *request,
		     const struct prediction *p, bool asked)
{
	const struct topo_system *sys = model->sys;

	fprintf(out, "spec: %s (%s)\n", sys->name, sys->source);
	if (model->constants.fitted)
		fprintf(out, "constants: %s\n", model->constants.provenance);
	fprintf(out, "links: a GPU's ring share %.1f GB/s of %.1f raw", model->ring,
		model->ring_raw);
	fprintf(out, "; a node's NICs %.1f of %.1f; a GPU's NICs %.1f of %.1f\n", model->net,
		model->net_raw, model->nic, model->nic_raw);
	fprintf(out, "choice: %s %s on %d channel%s (%s)\n", model_algo_name(p->algo),
		model_proto_name(p->proto), p->channels, plural(p->channels),
		asked		  ? "as asked"
		: p->nccl_us >= 0 ? "least time in NCCL's tuning model"
				  : "NCCL has no model of sends");
	explain_terms(out, model, p);
	fprintf(out, "transfer = %.0f B / %.2f GB/s = %.2f us\n", request->bytes, p->alg_gbs,
		p->transfer_us);
	fprintf(out, "latency  = %.2f us (kernel base and hops)\n", p->latency_us);
	fprintf(out, "fill     = %.2f us (first slice, end of each loop)\n", p->fill_us);
	fprintf(out,
		"launch   = %.2f us at least per call, %.2f times what an empty kernel costs the "
		"host; "
		"hosts differ by a factor of two\n",
		p->launch_us, p->launch_us / model->constants.kernel_host_us);
	fprintf(out, "time     = max(launch, latency + transfer + fill) = %.2f us\n", p->time_us);
	fprintf(out, "busbw    = %.0f B / time * %.4f = %.2f GB/s; ceiling %.2f GB/s\n",
		request->bytes, p->bus_factor, p->busbw, p->ceiling_busbw);
	if (p->bar != NULL)
		fprintf(out, "%.0f GB/s, %.0f to %.0f: %s, %d points of %d hosts or clusters\n",
			p->busbw, p->low_busbw, p->high_busbw, p->bar->name, p->bar->points,
			p->bar->sources);
	explain_others(out, model, request);
}

/* ---- vendor figures -------------------------------------------------------------------------- */
struct vendor_list {
	FILE *out;
	const struct topo_system *sys; /* NULL: every row */
	int rows;
};

static int show_vendor(void *ctx, const struct vendor_row *row)
{
	struct vendor_list *list = ctx;

	if (list->sys != NULL && !vendor_row_about(list->sys, row))
		return 0;
	list->rows++;
	fprintf(list->out, "%-20s %-45.45s %14s %-32.32s %-15s %s\n", row->category, row->item,
		row->value, row->unit, vendor_mark(row), row->source);
	return 0;
}

int predict_vendor(FILE *out, const char *path, const struct topo_system *sys, struct error *err)
{
	struct vendor_list list = { .out = out, .sys = sys };
	int rc = vendor_each(path, show_vendor, &list, err);

	if (rc == 0 && list.rows == 0)
		rc = error_set(err, OUTCOME_USAGE, -ENOENT, "no vendor figure for %s", sys->name);
	return rc;
}
