/* observation_fields.h: the structs of an observation as lists of fields, for those who treat
 * all alike. */
#pragma once

#include "machine/observation.h"

enum observed_type { OBSERVED_INT, OBSERVED_INT64, OBSERVED_REAL, OBSERVED_TEXT /* char[size] */ };

struct observed_field {
	const char *name;
	enum observed_type type;
	size_t offset, size;
};

/* A struct: its fields, and how large it is. */
struct observed_shape {
	const struct observed_field *fields;
	size_t n, size;
};

extern const struct observed_shape observed_run_shape, observed_nccl_shape, observed_finding_shape,
	observed_rank_shape;

/* All fields unseen. */
void observed_clear(const struct observed_shape *shape, void *what);
