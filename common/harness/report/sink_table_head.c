/* sink_table_head.c: the lines above the table: settings, versions and devices. */

#include "report/sink.h"
#include "report/sink_shared.h"

void sink_put_comment(FILE *out, const char *text)
{
	fputs("# ", out);
	for (; *text; text++)
		fputc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
	fputc('\n', out);
}

static void put_count(FILE *out, const char *label, int n, int automatic)
{
	if (n == automatic)
		fprintf(out, " %s: auto", label);
	else
		fprintf(out, " %s: %d", label, n);
}

static void put_settings(FILE *out, const struct options *options)
{
	if (options->nfaults > 0) { /* its schedule has a line with its own sizes */
		fprintf(out, "# nThread 1 nGpus 1 validation: 1 unalign: %d\n", options->unalign);
		return;
	}
	fprintf(out, "# nThread 1 nGpus 1 minBytes %zu maxBytes %zu", options->min_bytes,
		options->max_bytes);
	if (options->nsizes > 0)
		fprintf(out, " step: list(%d sizes)", options->nsizes);
	else if (options->step_factor > 1)
		fprintf(out, " step: %d(factor)", options->step_factor);
	else
		fprintf(out, " step: %zu(bytes)", options->step_bytes);
	put_count(out, "warmup iters", options->warmup, -1);
	put_count(out, "iters", options->iters, 0);
	fprintf(out, " agg iters: %d validation: %d graph: %d unalign: %d\n", options->agg_iters,
		options->check, options->graph_launches, options->unalign);
}

static void put_meaning(FILE *out, const struct options *options)
{
	static const char *const averages[] = { "rank 0's", "the mean over the ranks",
						"the fastest rank's", "the slowest rank's" };

	fprintf(out, "# Mode %s, time is %s, seed %u\n", mode_name(options->mode),
		averages[(unsigned int)options->average % 4], options->seed);
	if (options->blocking)
		fprintf(out, "# Blocking level %d (-z)\n", options->blocking);
	fputs("# Other than nccl-tests: sizes double unless -i is given, time is the slowest\n"
	      "# rank's unless -a is given, and every rank is a process of its own\n",
	      out);
	if (options->table == TABLE_HANGAR)
		fputs("# predbw: busbw as predicted for this machine; ofpred: the share of it that "
		      "was\n"
		      "# reached; ci: half the 95 % interval of the median time, in percent of "
		      "it\n",
		      out);
}

static void put_rank(FILE *out, const struct rank_facts *rank, const struct options *options)
{
	const char *bus = rank->device.bus_id[0] ? rank->device.bus_id : "host";
	const char *function = strchr(bus, '.');

	fprintf(out, "#  Rank %2d Group %2d Pid %6d on %10s device %2d [%.*s] %s\n", rank->rank,
		options_color(options, rank->rank), rank->pid, rank->host,
		rank->device.device_index,
		(int)(function ? function - bus : (ptrdiff_t)strlen(bus)), bus,
		rank->device.device);
}

void sink_table_head(FILE *out, const struct run_facts *facts)
{
	const struct backend_facts *device = &facts->ranks[0].device;

	fprintf(out, "# hangar %s backend %s, %d rank%s on %d node%s, started %s\n",
		facts->hangar_version, facts->backend, facts->nranks, facts->nranks == 1 ? "" : "s",
		facts->nnodes, facts->nnodes == 1 ? "" : "s", facts->started);
	fprintf(out, "# Collective test starting: %s\n", facts->program);
	put_settings(out, facts->options);
	put_meaning(out, facts->options);
	sink_put_comment(out, facts->mpi_library ? facts->mpi_library : "");
	if (backend_has(facts->backend, BACKEND_DEVICE))
		fprintf(out, "# %s, %s\n", device->library, device->runtime);
	if (device->config[0])
		fprintf(out, "# Communicator: %s\n", device->config);
	fputs("#\n# Using devices\n", out);
	for (int i = 0; i < facts->nranks; i++)
		put_rank(out, &facts->ranks[i], facts->options);
	fputs("#\n", out);
}
