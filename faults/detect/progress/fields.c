/* fields.c: one call of all ranks, field by field. */
#include "progress/comm.h"

#include "base/call_value.h"

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

/* A record with the value of the field that more than half of the ranks gave it in call `seq`, among calls of this
 * kind where one is given; NULL: there is none. */
static const struct record *most_of(const struct progress_comm *a, uint64_t seq,
				    enum call_field field, const struct record *kind)
{
	const struct record *most = NULL;
	size_t votes = 0, total = 0, agree = 0;

	for (int i = 0; i < 2 * a->nranks; i++) {
		const struct record *r = progress_call(a, i % a->nranks, seq);

		if (!r || (kind && r->kind != kind->kind))
			continue;
		if (i >= a->nranks) {
			total++;
			agree += value_of(field, r) == value_of(field, most);
			continue;
		}
		most = votes ? most : r;
		votes += value_of(field, r) == value_of(field, most) ? 1 : (size_t)-1;
	}
	return 2 * agree > total ? most : NULL;
}

bool progress_fieldwise(const struct progress_comm *a, uint64_t seq, struct record *most)
{
	const struct record *kind = most_of(a, seq, FIELD_KIND, NULL);
	const struct record *each[CALL_FIELDS] = { kind };

	for (enum call_field field = FIELD_COUNT; kind && field < CALL_FIELDS; field++) {
		each[field] = most_of(a, seq, field, kind);
		if (!each[field])
			return false;
	}
	if (!kind)
		return false;
	*most = *kind;
	most->count = each[FIELD_COUNT]->count;
	most->dtype = each[FIELD_DTYPE]->dtype;
	most->op = each[FIELD_OP]->op;
	most->peer = each[FIELD_ROOT]->peer;
	return true;
}
