/* row.c: the columns of a row. */
#include "report/row.h"

#include "base/parse.h"

/* Further members may follow the texts: ".predicted = true". */
#define COLUMN(column_type, field, column_name, column_heading, column_unit, text, ...)            \
	{                                                                                          \
		.name = column_name, .heading = column_heading, .unit = column_unit, .help = text, \
		.type = column_type, .offset = offsetof(struct row, field), __VA_ARGS__            \
	}
#define PREDICTED(...) COLUMN(__VA_ARGS__, .predicted = true)
#define INT32(...)     COLUMN(COLUMN_INT32, __VA_ARGS__)
#define INT64(...)     COLUMN(COLUMN_INT64, __VA_ARGS__)
#define UINT64(...)    COLUMN(COLUMN_UINT64, __VA_ARGS__)
#define DOUBLE(...)    COLUMN(COLUMN_DOUBLE, __VA_ARGS__)
#define STRING(...)    COLUMN(COLUMN_STRING, __VA_ARGS__)
#define TEXT(...)      COLUMN(COLUMN_TEXT, __VA_ARGS__)

/* The type column is named "dtype": "type" is the kind of object in JSON. */
const struct column row_columns[] = {
	INT32(schema, "schema", NULL, "", "version of these columns"),
	STRING(collective, "collective", NULL, "", "name of the collective"),
	STRING(backend, "backend", NULL, "", "nccl or mpi"),
	INT32(nranks, "nranks", NULL, "", "number of ranks"),
	INT32(nnodes, "nnodes", NULL, "", "number of hosts"),
	UINT64(size, "size_bytes", NULL, "B", "largest buffer of a rank"),
	UINT64(count, "count", NULL, "elements", "count argument of the call"),
	STRING(type, "dtype", NULL, "", "element type"),
	STRING(redop, "redop", NULL, "", "reduction operator, or none"),
	INT32(root, "root", NULL, "", "root rank, -1: none"),
	STRING(placement, "placement", NULL, "", "out-of-place or in-place"),
	STRING(mode, "mode", "mode", "",
	       "stream: back to back; isolated: single calls; graph: replayed"),
	INT32(cycle, "cycle", NULL, "", "number of earlier sweeps (-N)"),
	DOUBLE(time_us, "time_us", NULL, "us", "median time of a call"),
	DOUBLE(algbw_gbs, "algbw_gbs", NULL, "GB/s", "bytes of the collective over time_us"),
	DOUBLE(busbw_gbs, "busbw_gbs", NULL, "GB/s", "algbw_gbs times the collective's bus factor"),
	INT64(wrong, "wrong", NULL, "", "wrong elements over all ranks, -1: not checked"),
	DOUBLE(mean_us, "mean_us", NULL, "us", "mean of the samples"),
	DOUBLE(min_us, "min_us", NULL, "us", "fastest sample"),
	DOUBLE(p5_us, "p5_us", NULL, "us", "5 % quantile of the samples"),
	DOUBLE(p95_us, "p95_us", NULL, "us", "95 % quantile of the samples"),
	DOUBLE(p99_us, "p99_us", "p99", "us", "99 % quantile of the samples"),
	DOUBLE(max_us, "max_us", NULL, "us", "slowest sample"),
	DOUBLE(stddev_us, "stddev_us", NULL, "us", "standard deviation of the samples"),
	DOUBLE(ci_low_us, "ci_low_us", NULL, "us",
	       "95 % confidence interval of the median, lower end"),
	DOUBLE(ci_high_us, "ci_high_us", NULL, "us",
	       "95 % confidence interval of the median, upper end"),
	DOUBLE(ci_percent, "ci_percent", "ci", "%", "half width of that interval over the median"),
	INT64(samples, "samples", "samples", "", "samples taken"),
	INT64(calls, "calls", NULL, "", "calls per sample"),
	STRING(stop, "stop", "stop", "", "reason for the end of sampling: ci, budget or count"),
	DOUBLE(enqueue_us, "enqueue_us", NULL, "us", "host time to issue a call, slowest rank"),
	INT32(slowest_rank, "slowest_rank", "slowest", "rank", "rank that was slowest most often"),
	DOUBLE(rank_spread_percent, "rank_spread_percent", NULL, "%",
	       "slowest rank's median over the fastest's, less 100 %"),
	INT64(warmup_calls, "warmup_calls", NULL, "", "untimed calls before the first sample"),
	PREDICTED(COLUMN_DOUBLE, predicted_us, "predicted_us", "pred", "us",
		  "predicted time of a call on healthy hardware, by the topology"),
	PREDICTED(COLUMN_DOUBLE, predicted_busbw_gbs, "predicted_busbw_gbs", "predbw", "GB/s",
		  "the same as bus bandwidth"),
	PREDICTED(COLUMN_DOUBLE, predicted_low_gbs, "predicted_low_gbs", "predlow", "GB/s",
		  "nine in ten of such machines reach this bus bandwidth or more; no number: never "
		  "scored"),
	PREDICTED(COLUMN_DOUBLE, predicted_high_gbs, "predicted_high_gbs", "predhigh", "GB/s",
		  "upper end of the same interval"),
	PREDICTED(COLUMN_DOUBLE, ceiling_busbw_gbs, "ceiling_busbw_gbs", "ceiling", "GB/s",
		  "limit of the links as bus bandwidth"),
	PREDICTED(COLUMN_DOUBLE, of_predicted_percent, "of_predicted_percent", "ofpred", "%",
		  "predicted time over measured time"),
	PREDICTED(COLUMN_DOUBLE, of_ceiling_percent, "of_ceiling_percent", "ofceil", "%",
		  "measured bus bandwidth over the ceiling"),
	PREDICTED(COLUMN_STRING, predicted_algo, "predicted_algo", NULL, "",
		  "algorithm that NCCL is predicted to choose"),
	PREDICTED(COLUMN_STRING, predicted_proto, "predicted_proto", NULL, "",
		  "protocol that NCCL is predicted to choose"),
	INT32(predicted_channels, "predicted_channels", NULL, "",
	      "channels that NCCL is predicted to use, -1: not predicted"),
	STRING(used_algo, "used_algo", NULL, "",
	       "algorithm that NCCL used in an untimed call; P2P: sends and receives"),
	STRING(used_proto, "used_proto", NULL, "", "protocol that it used"),
	INT32(used_channels, "used_channels", NULL, "", "channels of a call, -1: unknown"),
	TEXT(timestamp, "timestamp", NULL, "", "local time at the end of the point, ISO 8601"),
};
const size_t row_column_count = sizeof(row_columns) / sizeof(row_columns[0]);

/* An element may be negative, in front of a buffer. */
const struct column wrong_columns[WRONG_COLUMNS] = {
	COLUMN(COLUMN_WRONG, report.kind, "wrong_kind", NULL, "", "kind of failure"),
	INT32(report.rank, "wrong_rank", NULL, "", "the rank whose buffer is wrong"),
	INT64(report.element, "wrong_element", NULL, "", "its first wrong element"),
	TEXT(report.expected, "wrong_expected", NULL, "", "the expected element"),
	TEXT(report.got, "wrong_got", NULL, "", "the received element"),
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
		snprintf(buf, len, "%" PRId32, *(const int32_t *)field);
		break;
	case COLUMN_INT64:
		snprintf(buf, len, "%" PRId64, *(const int64_t *)field);
		break;
	case COLUMN_UINT64:
		snprintf(buf, len, "%" PRIu64, *(const uint64_t *)field);
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

/* struct row has the point first, then the measurement. */
bool column_shared(const struct column *column)
{
	return column->offset < offsetof(struct row, time_us);
}
