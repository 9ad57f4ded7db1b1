/* observation.c: the fields of an observation, and one that has seen nothing. */
#include "machine/observation_fields.h"

#define SIZE_OF(s, f) sizeof(((struct s *)NULL)->f)
#define FIELD(s, f, t)                                                                             \
	{                                                                                          \
		.name = #f, .type = t, .offset = offsetof(struct s, f), .size = SIZE_OF(s, f)      \
	}
#define INT(s, f)   FIELD(s, f, OBSERVED_INT)
#define INT64(s, f) FIELD(s, f, OBSERVED_INT64)
#define REAL(s, f)  FIELD(s, f, OBSERVED_REAL)
#define TEXT(s, f)  FIELD(s, f, OBSERVED_TEXT)
#define SHAPE(s)                                                                                   \
	const struct observed_shape s##_shape = {                                                  \
		.fields = s##_fields,                                                              \
		.n = sizeof(s##_fields) / sizeof(s##_fields[0]),                                   \
		.size = sizeof(struct s),                                                          \
	}

/* clang-format off */
static const struct observed_field observed_run_fields[] = {
	TEXT(observed_run, backend), TEXT(observed_run, collective), INT(observed_run, ranks),
	INT(observed_run, nodes), INT(observed_run, shared_gpu), TEXT(observed_run, gpu),
	INT(observed_run, links), INT(observed_run, links_found), TEXT(observed_run, hop),
	TEXT(observed_run, transport), REAL(observed_run, nic_gbps), 	REAL(observed_run, worst_percent), REAL(observed_run, good_percent),
	REAL(observed_run, median_percent),
	INT64(observed_run, worst_bytes), TEXT(observed_run, worst_algo),
	TEXT(observed_run, worst_proto), INT(observed_run, worst_channels),
	TEXT(observed_run, used_algo), TEXT(observed_run, used_proto),
	INT(observed_run, used_channels),
};
SHAPE(observed_run);

static const struct observed_field observed_nccl_fields[] = {
	INT(observed_nccl, logs), TEXT(observed_nccl, why),
	TEXT(observed_nccl, network), INT(observed_nccl, gdr), INT(observed_nccl, nvls), INT(observed_nccl, coll_channels),
	INT(observed_nccl, p2p), INT(observed_nccl, shm),
	INT(observed_nccl, net), INT(observed_nccl, far), INT(observed_nccl, far_gdr), INT(observed_nccl, far_pxn),
	TEXT(observed_nccl, shm_example), TEXT(observed_nccl, net_example),
	TEXT(observed_nccl, far_example),
};
SHAPE(observed_nccl);

static const struct observed_field observed_finding_fields[] = { TEXT(observed_finding, text) };
SHAPE(observed_finding);

static const struct observed_field observed_rank_fields[] = {
	INT(observed_rank, rank), INT(observed_rank, node), INT(observed_rank, pid),
	TEXT(observed_rank, bus), TEXT(observed_rank, cpus),
	INT64(observed_rank, cpu_ns), INT64(observed_rank, wait_ns),
};
SHAPE(observed_rank);
/* clang-format on */

void observed_clear(const struct observed_shape *shape, void *what)
{
	memset(what, 0, shape->size);
	for (size_t i = 0; i < shape->n; i++) {
		const struct observed_field *field = &shape->fields[i];
		char *at = (char *)what + field->offset;

		if (field->type == OBSERVED_INT)
			*(int *)(void *)at = -1;
		else if (field->type == OBSERVED_INT64)
			*(int64_t *)(void *)at = -1;
		else if (field->type == OBSERVED_REAL)
			*(double *)(void *)at = NAN;
	}
}

void observed_rank_clear(struct observed_rank *rank)
{
	observed_clear(&observed_rank_shape, rank);
}

int observation_init(struct observation *observation, int nhosts, int nranks)
{
	memset(observation, 0, sizeof(*observation));
	observed_clear(&observed_run_shape, &observation->run);
	observed_clear(&observed_nccl_shape, &observation->nccl);
	observation->before = calloc((size_t)nhosts + 1, sizeof(*observation->before));
	observation->after = calloc((size_t)nhosts + 1, sizeof(*observation->after));
	observation->ranks_before = calloc((size_t)nranks + 1, sizeof(struct observed_rank));
	observation->ranks_after = calloc((size_t)nranks + 1, sizeof(struct observed_rank));
	if (!observation->before || !observation->after || !observation->ranks_before ||
	    !observation->ranks_after) {
		observation_release(observation);
		return -ENOMEM;
	}
	observation->nhosts = nhosts;
	observation->nranks = nranks;
	for (int i = 0; i < nranks; i++) {
		observed_rank_clear(&observation->ranks_before[i]);
		observed_rank_clear(&observation->ranks_after[i]);
	}
	return 0;
}

void observation_release(struct observation *observation)
{
	for (int i = 0; i < observation->nhosts; i++) {
		reading_release(&observation->before[i]);
		reading_release(&observation->after[i]);
	}
	free(observation->before);
	free(observation->after);
	free(observation->ranks_before);
	free(observation->ranks_after);
	memset(observation, 0, sizeof(*observation));
}
