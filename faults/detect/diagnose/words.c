/* words.c: ranks and calls in words. */
#include "diagnose/rule.h"

#include "base/call_value.h"
#include "base/dtype.h"
#include "base/rank_list.h"

int rank_number(const struct evidence *e, int rank)
{
	return e->numbers ? e->numbers[rank] : rank;
}

const char *ranks_words(const struct evidence *e, const bool *in, char *buf, size_t len)
{
	int most = 0;
	bool *marks;

	for (int i = 0; i < e->nranks; i++)
		most = rank_number(e, i) > most ? rank_number(e, i) : most;
	marks = must(calloc((size_t)most + 1, sizeof(*marks)));
	for (int i = 0; i < e->nranks; i++)
		if ((!in || in[i]) && rank_number(e, i) >= 0)
			marks[rank_number(e, i)] = true;
	rank_list_words(marks, most + 1, buf, len);
	free(marks);
	return buf;
}

/* In hostile evidence a partner may be no rank. */
static int peer_number(const struct evidence *e, int peer)
{
	return peer < e->nranks && rank_number(e, peer) >= 0 ? rank_number(e, peer) : peer;
}

const char *call_words(const struct evidence *e, const struct record *r, char *buf, size_t len)
{
	if (!r) {
		snprintf(buf, len, "unknown");
		return buf;
	}
	view_call(r, buf, len);
	if (r->peer >= 0)
		text_add(buf, len, " %s %d",
			 r->kind == CALL_SEND	? "to"
			 : r->kind == CALL_RECV ? "from"
						: "root",
			 peer_number(e, r->peer));
	return buf;
}

const char *field_words(const struct evidence *e, enum call_field field, const struct record *r,
			char *buf, size_t len)
{
	const char *word = field == FIELD_KIND	  ? call_kind_name((enum call_kind)r->kind)
			   : field == FIELD_DTYPE ? dtype_name((enum dtype)r->dtype)
			   : field == FIELD_OP && r->op >= 0 && r->op < OP_COUNT
				   ? redop_name((enum redop)r->op)
				   : "none";

	if (field == FIELD_COUNT)
		snprintf(buf, len, "%" PRIu64, r->count);
	else if (field == FIELD_ROOT && r->peer >= 0)
		snprintf(buf, len, "%d", peer_number(e, r->peer));
	else
		snprintf(buf, len, "%s", word);
	return buf;
}

const char *field_name(enum call_field field, const struct record *r)
{
	static const char *const names[CALL_FIELDS] = { "kind", "count", "dtype", "op", "root" };
	bool pairs = call_is_pair(r->kind);

	return field == FIELD_ROOT && pairs ? "peer" : names[field];
}
