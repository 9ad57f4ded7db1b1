/* row.c: the columns of a row. */
#include "report/row.h"

#include "base/parse.h"

#define NAMED(column_type, field, column_name, text)                                               \
	{                                                                                          \
		.name = column_name, .help = text, .type = column_type,                            \
		.offset = offsetof(struct row, field)                                              \
	}
#define INT32(field, text)  NAMED(COLUMN_INT32, field, #field, text)
#define INT64(field, text)  NAMED(COLUMN_INT64, field, #field, text)
#define DOUBLE(field, text) NAMED(COLUMN_DOUBLE, field, #field, text)
#define STRING(field, text) NAMED(COLUMN_STRING, field, #field, text)

/* The type column is named "dtype": "type" is the kind of object in JSON. */
const struct column row_columns[] = {
	INT32(schema, "version of these columns"),
	STRING(collective, "name of the collective"),
	STRING(backend, "nccl or mpi"),
	INT32(nranks, "number of ranks"),
	INT32(nnodes, "number of hosts"),
	NAMED(COLUMN_UINT64, size, "size_bytes", "largest buffer of a rank"),
	NAMED(COLUMN_UINT64, count, "count", "count argument of the call"),
	NAMED(COLUMN_STRING, type, "dtype", "element type"),
	STRING(redop, "reduction operator, or none"),
	INT32(root, "root rank, -1: none"),
	STRING(placement, "out-of-place or in-place"),
	STRING(mode, "stream: back to back; isolated: single calls; graph: replayed"),
	INT32(cycle, "number of earlier sweeps (-N)"),
	DOUBLE(time_us, "median time of a call"),
	DOUBLE(algbw_gbs, "bytes of the collective over time_us"),
	DOUBLE(busbw_gbs, "algbw_gbs times the collective's bus factor"),
	INT64(wrong, "wrong elements over all ranks, -1: not checked"),
	DOUBLE(mean_us, "mean of the samples"),
	DOUBLE(min_us, "fastest sample"),
	DOUBLE(p5_us, "5 % quantile of the samples"),
	DOUBLE(p95_us, "95 % quantile of the samples"),
	DOUBLE(p99_us, "99 % quantile of the samples"),
	DOUBLE(max_us, "slowest sample"),
	DOUBLE(stddev_us, "standard deviation of the samples"),
	DOUBLE(ci_low_us, "95 % confidence interval of the median, lower end"),
	DOUBLE(ci_high_us, "95 % confidence interval of the median, upper end"),
	DOUBLE(ci_percent, "half width of that interval over the median"),
	INT64(samples, "samples taken"),
	INT64(calls, "calls per sample"),
	STRING(stop, "reason for the end of sampling: ci, budget or count"),
	DOUBLE(enqueue_us, "host time to issue a call, slowest rank"),
	INT32(slowest_rank, "rank that was slowest most often"),
	DOUBLE(rank_spread_percent, "slowest rank's median over the fastest's, less 100 %"),
	INT64(warmup_calls, "untimed calls before the first sample"),
	DOUBLE(predicted_us, "predicted time of a call on healthy hardware, by the topology"),
	DOUBLE(predicted_busbw_gbs, "the same as bus bandwidth"),
	DOUBLE(predicted_low_gbs, "nine in ten of such machines reach this bus bandwidth or more; "
				  "no number: no bar"),
	DOUBLE(predicted_high_gbs, "upper end of the same interval"),
	DOUBLE(ceiling_busbw_gbs, "limit of the links as bus bandwidth"),
	DOUBLE(of_predicted_percent, "predicted time over measured time"),
	DOUBLE(of_ceiling_percent, "measured bus bandwidth over the ceiling"),
	STRING(predicted_algo, "algorithm that NCCL is predicted to choose"),
	STRING(predicted_proto, "protocol that NCCL is predicted to choose"),
	INT32(predicted_channels, "channels that NCCL is predicted to use, -1: not predicted"),
	STRING(used_algo, "algorithm that NCCL used in an untimed call; P2P: sends and receives"),
	STRING(used_proto, "protocol that it used"),
	INT32(used_channels, "channels of a call, -1: unknown"),
	NAMED(COLUMN_TEXT, timestamp, "timestamp", "local time at the end of the point, ISO 8601"),
	INT32(step, "step of a fault run's schedule, 0: a row of a sweep"),
	DOUBLE(waited_us, "longest wait for another rank in the step's last call"),
	NAMED(COLUMN_TEXT, waiting, "waiting_ranks", "ranks that waited at least half of that"),
};
const size_t row_column_count = LENGTH(row_columns);

/* An element may be negative, in front of a buffer. */
const struct column wrong_columns[WRONG_COLUMNS] = {
	NAMED(COLUMN_WRONG, report.kind, "wrong_kind", "kind of failure"),
	NAMED(COLUMN_INT32, report.rank, "wrong_rank", "the rank whose buffer is wrong"),
	NAMED(COLUMN_INT64, report.element, "wrong_element", "its first wrong element"),
	NAMED(COLUMN_TEXT, report.expected, "wrong_expected", "the expected element"),
	NAMED(COLUMN_TEXT, report.got, "wrong_got", "the received element"),
};

void row_no_prediction(struct row *row)
{
	row->predicted_us = row->predicted_busbw_gbs = row->ceiling_busbw_gbs = NAN;
	row->predicted_low_gbs = row->predicted_high_gbs = NAN;
	row->of_predicted_percent = row->of_ceiling_percent = NAN;
	row->predicted_algo = row->predicted_proto = NULL;
	row->predicted_channels = -1;
}

char *column_format(const struct column *column, const struct row *row, char *buf, size_t len)
{
	const void *field = (const char *)row + column->offset;
	const char *text;

	switch (column->type) {
	case COLUMN_INT32:
		snprintf(buf, len, "%d", *(const int32_t *)field);
		break;
	case COLUMN_INT64:
		snprintf(buf, len, "%ld", *(const int64_t *)field);
		break;
	case COLUMN_UINT64:
		snprintf(buf, len, "%lu", *(const uint64_t *)field);
		break;
	case COLUMN_DOUBLE:
		number_text(*(const double *)field, buf, len);
		break;
	case COLUMN_STRING:
		text = *(const char *const *)field;
		snprintf(buf, len, "%s", text ? text : "");
		break;
	case COLUMN_TEXT:
		snprintf(buf, len, "%s", (const char *)field);
		break;
	case COLUMN_WRONG:
		snprintf(buf, len, "%s", wrong_kind_name(*(const enum wrong_kind *)field));
		break;
	}
	return buf;
}
