/* options_agree.c: the values that must be the same on all ranks, compared as text. */
#include "options/options_agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rank_list.h"
#include "options/options_table.h"

enum { TEXT_MAX = 4096, RANKS_TEXT = 64, KINDS_SHOWN = 3 };

/* These values come before the table's rows. */
enum { VERSION, PROGRAM, BACKEND, ROWS };
_Static_assert(ROWS + OPTION_ROWS_MAX <= AGREE_VALUES, "struct options_agree is too small");

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

static void put(struct options_agree *mine, int i, const char *shown, const char *text)
{
	mine->values[i].hash = hash_bytes(0xcbf29ce484222325ull, text, strlen(text));
	snprintf(mine->values[i].text, AGREE_TEXT, "%s", shown);
	if (strlen(shown) >= AGREE_TEXT)
		strcpy(mine->values[i].text + AGREE_TEXT - 4, "...");
}

/* As it would be typed: "-d half", "--check-every", "no --fault", "NCCL_TESTS_SPLIT=MOD 2". */
static void show(const struct option_row *row, const char *text, char *buf, size_t len)
{
	const char *none = row->flag ? (strcmp(text, row->flag) == 0 ? "" : "no ")
			   : *text   ? ""
				     : "no ";
	char letter[2] = { (char)row->letter, '\0' };
	const char *dashes = row->env ? "" : row->letter ? "-" : "--";
	const char *name = row->letter ? letter : row->name;

	if (row->flag || !*text)
		snprintf(buf, len, "%s%s%s", none, dashes, name);
	else
		snprintf(buf, len, "%s%s%c%.*s", dashes, name, row->env ? '=' : ' ', 2 * AGREE_TEXT,
			 text);
}

void options_agree_fill(struct options_agree *mine, const struct options *options,
			const char *version, const char *program, const char *backend,
			bool irregular)
{
	char text[TEXT_MAX], shown[4 * AGREE_TEXT];

	memset(mine, 0, sizeof(*mine));
	snprintf(shown, sizeof(shown), "hangar %.32s", version);
	put(mine, VERSION, shown, shown);
	put(mine, PROGRAM, program, program);
	snprintf(shown, sizeof(shown), "backend %.32s", backend);
	put(mine, BACKEND, shown, shown);
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->agree != AGREE_SAME || (row->scope == SCOPE_IRREGULAR && !irregular))
			continue;
		row->kind->text(row, options, text, sizeof(text));
		show(row, text, shown, sizeof(shown));
		put(mine, ROWS + (int)i, shown, text);
	}
}

uint64_t options_agree_hash(const struct options_agree *mine)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (int i = 0; i < AGREE_VALUES; i++)
		hash = hash_bytes(hash, &mine->values[i].hash, sizeof(mine->values[i].hash));
	return hash;
}

static bool like(const struct options_agree *all, int i, int a, int b)
{
	return all[a].values[i].hash == all[b].values[i].hash;
}

/* Counts the ranks that have value i as `rank` has it. */
static int count_like(const struct options_agree *all, int nranks, int i, int rank)
{
	int n = 0;

	for (int r = 0; r < nranks; r++)
		n += like(all, i, r, rank);
	return n;
}

/* True when no lower rank's value is the same. */
static bool first_of_kind(const struct options_agree *all, int i, int rank)
{
	for (int r = 0; r < rank; r++)
		if (like(all, i, r, rank))
			return false;
	return true;
}

/* The first rank of those whose value is more frequent than any other, or -1. */
static int find_many(const struct options_agree *all, int nranks, int i)
{
	int best = -1, most = 0;

	for (int r = 0; r < nranks; r++) {
		int n = first_of_kind(all, i, r) ? count_like(all, nranks, i, r) : 0;

		if (n > most)
			best = r;
		else if (n == most)
			best = -1;
		most = n > most ? n : most;
	}
	return best;
}

/* "ranks 0-2 have -d float", for those who have what `rank` has; `in` is room for nranks. */
static int put_kind(const struct options_agree *all, int nranks, int i, int rank, bool *in,
		    char *text, size_t len)
{
	static const char *const verbs[2][2] = { { "has", "have" }, { "runs", "run" } };
	bool many = count_like(all, nranks, i, rank) > 1;
	char ranks[RANKS_TEXT];

	for (int r = 0; r < nranks; r++)
		in[r] = like(all, i, r, rank);
	return snprintf(text, len, "%s %s %s", rank_list_words(in, nranks, ranks, sizeof(ranks)),
			verbs[i == PROGRAM][many], all[rank].values[i].text);
}

static void put_kinds(const struct options_agree *all, int nranks, int i, bool *in, char *text,
		      size_t len)
{
	int many = find_many(all, nranks, i), shown = 0;
	size_t n = 0;

	for (int r = 0; r < nranks && n < len; r++) {
		if (r == many || !first_of_kind(all, i, r))
			continue;
		if (++shown > KINDS_SHOWN) {
			n += (size_t)snprintf(text + n, len - n, "others differ again, ");
			break;
		}
		n += (size_t)put_kind(all, nranks, i, r, in, text + n, len - n);
		if (n < len)
			n += (size_t)snprintf(text + n, len - n, ", ");
	}
	if (many >= 0 && n < len)
		put_kind(all, nranks, i, many, in, text + n, len - n);
	else if (n >= 2 && n < len)
		text[n - 2] = '\0';
}

bool options_agree_same(const struct options_agree *all, int nranks, char *text, size_t len)
{
	bool *in;
	int i;

	for (i = 0; i < AGREE_VALUES; i++)
		if (count_like(all, nranks, i, 0) < nranks)
			break;
	if (i == AGREE_VALUES)
		return true;
	snprintf(text, len, "ranks differ in their options");
	in = calloc((size_t)nranks, sizeof(*in));
	if (in)
		put_kinds(all, nranks, i, in, text, len);
	free(in);
	return false;
}
