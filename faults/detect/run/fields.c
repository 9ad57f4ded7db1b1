/* fields.c: one call of all ranks, field by field. */
#include "run/comm.h"

#include "base/stats.h"

static int64_t value_of(enum call_field field, const struct record *r)
{
	const int64_t values[] = { [FIELD_KIND] = r->kind,
				   [FIELD_COUNT] = (int64_t)r->count,
				   [FIELD_DTYPE] = r->dtype,
				   [FIELD_OP] = r->op,
				   [FIELD_ROOT] = r->peer };

	return values[field];
}

bool field_differs(enum call_field field, const struct record *a, const struct record *b)
{
	return value_of(field, a) != value_of(field, b) &&
	       (field == FIELD_KIND || a->kind == b->kind);
}

enum call_field field_first(const struct record *a, const struct record *b)
{
	enum call_field field = FIELD_KIND;

	while (field < CALL_FIELDS && !field_differs(field, a, b))
		field++;
	return field;
}

bool progress_fieldwise(const struct progress_comm *a, uint64_t seq, struct record *most)
{
	uint64_t *values = must(malloc(((size_t)a->nranks + 1) * sizeof(*values)));
	uint64_t each[CALL_FIELDS] = { 0 };
	bool all = true;

	for (enum call_field field = FIELD_KIND; field < CALL_FIELDS && all; field++) {
		struct vote vote;
		size_t n = 0;

		for (int i = 0; i < a->nranks; i++) {
			const struct record *r = progress_call(a, i, seq);

			if (r && (field == FIELD_KIND || r->kind == each[FIELD_KIND]))
				values[n++] = (uint64_t)value_of(field, r);
		}
		vote = vote_words(values, n);
		each[field] = vote.most;
		all = 2 * vote.votes > n;
	}
	free(values);
	if (all)
		*most = (struct record){ .seq = seq,
					 .comm = (uint16_t)a->comm,
					 .kind = (uint8_t)each[FIELD_KIND],
					 .count = each[FIELD_COUNT],
					 .dtype = (uint8_t)each[FIELD_DTYPE],
					 .op = (int8_t)each[FIELD_OP],
					 .peer = (int32_t)each[FIELD_ROOT] };
	return all;
}
