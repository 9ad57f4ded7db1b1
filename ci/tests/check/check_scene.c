/* check_scene.c: one finished call on host memory, and the check of it. */
#include "check/check_scene.h"

int scene_fetches_left = -1;

static int scene_verify(struct backend *be, const void *recv, const struct segment *segments, int n,
			const struct check_data *data, uint64_t base, struct verify_result *result)
{
	check_verify(data, recv, segments, n, base, result);
	return 0;
}

int scene_fetch(struct backend *be, void *host, const void *src, size_t bytes)
{
	if (scene_fetches_left >= 0 && scene_fetches_left-- == 0)
		return -EIO;
	memcpy(host, src, bytes);
	return 0;
}

static const struct backend_ops scene_ops = { .name = "fake",
					      .verify = scene_verify,
					      .fetch = scene_fetch };
struct backend scene_backend = { .ops = &scene_ops };

void scene_right_results(struct scene *s)
{
	for (int i = 0; i < s->place.nsegments; i++) {
		const struct segment *g = &s->segments[i];

		for (size_t k = 0; k < g->count && g->kind != SEGMENT_KEEP; k++) {
			char *to = s->recv + (g->at + k) * s->width;

			if (g->kind == SEGMENT_COPY)
				check_element(&s->data, g->from, s->place.base + g->from_at + k,
					      to);
			else
				check_reduced(&s->data, s->place.base + g->from_at + k, to);
		}
	}
}

void scene_init(struct scene *s, enum dtype type, enum redop op, int nranks,
		const struct segment *segments, int n)
{
	size_t width = dtype_size(type), pool = (BASE + COUNT + CHECK_GUARD) * width, i;
	size_t area = COUNT * width + 2 * CHECK_GUARD;

	memset(s, 0, sizeof(*s));
	s->data = (struct check_data){ 42, type, op, nranks, true };
	s->width = width;
	s->pool = malloc(pool);
	s->area = malloc(area);
	check_fill(&s->data, 1, 0, pool / width, s->pool);
	memset(s->area, CHECK_POISON, area);
	s->send = s->pool + BASE * width;
	s->recv = s->area + CHECK_GUARD;
	for (i = 0; i < (size_t)n; i++)
		s->segments[i] = segments[i];
	s->place = (struct check_place){
		.recv = s->recv,
		.recv_bytes = COUNT * width,
		.send = s->send,
		.send_bytes = COUNT * width,
		.guards = true,
		.segments = s->segments,
		.nsegments = n,
		.base = BASE,
	};
	scene_right_results(s);
}

void scene_reduce(struct scene *s, enum dtype type, enum redop op, int nranks)
{
	const struct segment all = { .kind = SEGMENT_REDUCE, .count = COUNT, .from = -1 };

	scene_init(s, type, op, nranks, &all, 1);
}

void scene_gather(struct scene *s, enum dtype type)
{
	const struct segment parts[] = {
		{ SEGMENT_COPY, 0, 1000, 0, 0 },
		{ SEGMENT_COPY, 1000, 1000, 1, 0 },
		{ SEGMENT_COPY, 2000, 1000, 2, 0 },
	};

	scene_init(s, type, OP_NONE, 3, parts, 3);
}

void scene_release(struct scene *s)
{
	free(s->pool);
	free(s->area);
}

struct check_report scene_checked(struct scene *s)
{
	struct check_report report;

	memset(&report, 0x5a, sizeof(report));
	UNIT_ALL(check_call(&scene_backend, &s->data, 1, &s->place, &report) == 0,
		 report.rank == 1);
	return report;
}

int scene_corrupt(struct scene *s, enum wrong_kind kind, int culprit, size_t at, size_t count,
		  size_t *first)
{
	char *dst = malloc(count * s->width), *good = s->recv + at * s->width;
	const struct segment *segment = s->segments;
	int rc;

	while (at >= segment->at + segment->count)
		segment++;
	rc = check_corrupt(&s->data, kind, segment, s->place.base, culprit, good, at, count, dst);
	*first = at;
	if (rc == 0) {
		while (!memcmp(dst + (*first - at) * s->width, good + (*first - at) * s->width,
			       s->width))
			++*first;
		memcpy(good, dst, count * s->width);
	}
	free(dst);
	return rc;
}
