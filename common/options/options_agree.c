/* options_agree.c: the values that must be the same on all ranks, compared as text. */
#include "options/options_agree.h"

#include "options/rank_groups.h"
#include "options/options_table.h"

enum { TEXT_MAX = 4096 };

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
		option_text(row, options, text, sizeof(text));
		show(row, text, shown, sizeof(shown));
		put(mine, ROWS + (int)i, shown, text);
	}
}

void options_agree_text(const struct options *options, bool irregular, char *buf, size_t len)
{
	struct options_agree mine, other;
	struct options defaults;
	size_t n = 0;

	option_defaults(&defaults);
	options_agree_fill(&mine, options, "", "", "", irregular);
	options_agree_fill(&other, &defaults, "", "", "", irregular);
	buf[0] = '\0';
	for (int i = ROWS; i < AGREE_VALUES && n < len; i++)
		if (mine.values[i].hash != other.values[i].hash &&
		    strcmp(option_rows[i - ROWS].name, "fault") != 0 &&
		    strcmp(option_rows[i - ROWS].name, "schedule") != 0 &&
		    strcmp(option_rows[i - ROWS].name, "expect") != 0)
			n += (size_t)snprintf(buf + n, len - n, ", %s", mine.values[i].text);
}

uint64_t options_agree_hash(const struct options_agree *mine)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	for (int i = 0; i < AGREE_VALUES; i++)
		hash = hash_bytes(hash, &mine->values[i].hash, sizeof(mine->values[i].hash));
	return hash;
}

/* Value i of all ranks, for rank_groups; `values` is room for nranks. Returns whether they differ. */
static bool differs(const struct options_agree *all, int nranks, int i, uint64_t *values)
{
	bool differ = false;

	for (int r = 0; r < nranks; r++) {
		values[r] = all[r].values[i].hash;
		differ |= values[r] != values[0];
	}
	return differ;
}

/* "rank 3 has -d half, ranks 0-2 have -d float" */
static void put_groups(const struct options_agree *all, int i, const struct rank_groups *groups,
		       char *text, size_t len)
{
	static const char *const verbs[2][2] = { { "has", "have" }, { "runs", "run" } };
	size_t n = 0;

	for (int k = 0; k < groups->ngroups && n < len; k++) {
		const struct rank_group *g = &groups->groups[k];
		bool last = groups->most && k == groups->ngroups - 1;

		n += (size_t)snprintf(text + n, len - n, "%s%s%s %s %s", k ? ", " : "",
				      last && groups->more ? "others differ again, " : "", g->words,
				      verbs[i == PROGRAM][g->n > 1], all[g->rank].values[i].text);
	}
	if (groups->more && !groups->most && n < len)
		snprintf(text + n, len - n, ", others differ again");
}

bool options_agree_same(const struct options_agree *all, int nranks, char *text, size_t len)
{
	uint64_t *values = must(calloc((size_t)nranks, sizeof(*values)));
	struct rank_groups groups;
	bool differ = false;

	for (int i = 0; i < AGREE_VALUES && !differ; i++) {
		differ = differs(all, nranks, i, values);
		if (!differ)
			continue;
		rank_groups(&groups, values, nranks);
		put_groups(all, i, &groups, text, len);
	}
	free(values);
	return !differ;
}
