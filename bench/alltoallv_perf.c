/* alltoallv_perf.c: every rank sends a different amount to every rank, by a traffic matrix. */
#include "measure/irregular.h"
#include "backend/traffic.h"
#include "perf_main.h"

/* A matrix has no single count; the busiest rank's mean per peer is used. */
static void alltoallv_shape(const struct geometry *geometry, struct shape *shape)
{
	size_t n = (size_t)geometry->nranks;
	size_t most = irregular_busiest(geometry, true);

	*shape = (struct shape){ .bytes = most * geometry->elsize };
	irregular_totals(geometry, geometry->rank, true, &shape->send, &shape->recv);
	shape->count = geometry->traffic->matrix ? (most + n - 1) / n : slice_count(geometry);
}

/* Bytes that leave the busiest rank over all its bytes; nccl-tests uses (n-1)/n. */
static double alltoallv_bus_factor(const struct geometry *geometry)
{
	size_t all = irregular_busiest(geometry, true);

	return all ? (double)irregular_busiest(geometry, false) / (double)all : 0.0;
}

static int alltoallv_segments(const struct geometry *geometry, const struct shape *shape,
			      struct segment *segments)
{
	size_t at = 0;
	int n = 0;

	for (int from = 0; from < geometry->nranks; from++) {
		struct segment segment = { .kind = SEGMENT_COPY, .at = at, .from = from };

		for (int to = 0; to < geometry->rank; to++)
			segment.from_at += irregular_count(geometry, from, to);
		segment.count = irregular_count(geometry, from, geometry->rank);
		at += segment.count;
		if (segment.count)
			segments[n++] = segment;
	}
	return n;
}

const struct collective alltoallv = {
	.name = "alltoallv",
	.irregular = true,
	.shape = alltoallv_shape,
	.bus_factor = alltoallv_bus_factor,
	.segments = alltoallv_segments,
	.run = irregular_run,
};
