/* words.c: ranks and calls in words. */
#include "evidence/words.h"

#include "base/call_value.h"
#include "base/dtype.h"
#include "base/rank_list.h"

#define WORDS 160

static char *next_words(void)
{
	static _Thread_local char texts[8][WORDS];
	static _Thread_local unsigned int next;

	return texts[next++ % 8];
}

int rank_number(const struct evidence *e, int rank)
{
	return e->numbers ? e->numbers[rank] : rank;
}

const char *call_site(const struct evidence *e, int rank, const struct record *record)
{
	char *text = next_words();
	const char *folder;

	evidence_site(&e->ranks[rank], record, text, WORDS);
	folder = strchr(text, '/');
	return folder ? folder + 1 : text;
}

char *ranks_words(const struct evidence *e, const bool *in, size_t room)
{
	char *text = next_words();
	int most = 0;
	bool *marks;

	for (int i = 0; i < e->nranks; i++)
		most = rank_number(e, i) > most ? rank_number(e, i) : most;
	marks = must(calloc((size_t)most + 1, sizeof(*marks)));
	for (int i = 0; i < e->nranks; i++)
		if ((!in || in[i]) && rank_number(e, i) >= 0)
			marks[rank_number(e, i)] = true;
	rank_list_words(marks, most + 1, text, room);
	free(marks);
	return text;
}

/* In hostile evidence a partner may be no rank. */
static int peer_number(const struct evidence *e, int peer)
{
	return peer < e->nranks && rank_number(e, peer) >= 0 ? rank_number(e, peer) : peer;
}

const char *call_words(const struct evidence *e, const struct record *r)
{
	char *text = next_words();

	if (!r)
		return "unknown";
	view_call(r, text, WORDS);
	if (r->peer >= 0)
		text_add(text, WORDS, " %s %d",
			 r->kind == CALL_SEND	? "to"
			 : r->kind == CALL_RECV ? "from"
						: "root",
			 peer_number(e, r->peer));
	return text;
}

const char *field_words(const struct evidence *e, enum call_field field, const struct record *r)
{
	char *text = next_words();

	if (field == FIELD_KIND)
		return call_kind_name((enum call_kind)r->kind);
	if (field == FIELD_DTYPE)
		return dtype_name((enum dtype)r->dtype);
	if (field == FIELD_OP && r->op >= 0 && r->op < OP_COUNT)
		return redop_name((enum redop)r->op);
	if (field == FIELD_OP || (field == FIELD_ROOT && r->peer < 0))
		return "none";
	if (field == FIELD_COUNT)
		snprintf(text, WORDS, "%lu", r->count);
	else
		snprintf(text, WORDS, "%d", peer_number(e, r->peer));
	return text;
}

const char *field_name(enum call_field field, const struct record *r)
{
	static const char *const names[CALL_FIELDS] = { "kind", "count", "dtype", "op", "root" };
	bool pairs = call_is_pair(r->kind);

	return field == FIELD_ROOT && pairs ? "peer" : names[field];
}
