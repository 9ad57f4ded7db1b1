/* settings.c: which settings must be alike, and in which ranks differ. */
#include "options/settings.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/rank_groups.h"

#define MORE "further-settings"

enum {
	VALUE_SHOWN = 80, /* of a value that is longer, with its hash */
	VALUE_WHOLE = 100,
	MORE_ROOM = 40,	 /* for the line of what has no room */
	NAMES_MOST = 64, /* in which ranks differ and which are looked at */
	UNKNOWN = 999	 /* row of a setting that nobody knows */
};

/* Settings by name, in the order in which they are suspected; "*" at the end: all that begin so. The first
 * row that fits counts. What breaks calls did so on NCCL 2.28.9 over sockets (hang or "message truncated"),
 * or chooses the transport at each end by itself; NCCL_NTHREADS, NCCL_CHUNK_SIZE, NCCL_CROSS_NIC and
 * NCCL_NSOCKS_PERTHREAD did no harm there. What is free is a rank's own: its logs, its names, its interfaces. */
static const struct {
	const char *name;
	enum setting_weight weight;
} rows[] = {
	{ "NCCL_ALGO", SETTING_BREAKS },
	{ "NCCL_PROTO", SETTING_BREAKS },
	{ "libnccl", SETTING_BREAKS },
	{ "NCCL_BUFFSIZE", SETTING_BREAKS },
	{ "NCCL_LL_BUFFSIZE", SETTING_BREAKS },
	{ "NCCL_LL128_*", SETTING_BREAKS },
	{ "NCCL_MIN_*", SETTING_BREAKS },
	{ "NCCL_MAX_*", SETTING_BREAKS },
	{ "NCCL_NET", SETTING_BREAKS },
	{ "NCCL_P2P_DISABLE", SETTING_BREAKS },
	{ "NCCL_P2P_LEVEL", SETTING_BREAKS },
	{ "NCCL_P2P_NET_CHUNKSIZE", SETTING_BREAKS },
	{ "NCCL_P2P_NVL_CHUNKSIZE", SETTING_BREAKS },
	{ "NCCL_P2P_PCI_CHUNKSIZE", SETTING_BREAKS },
	{ "NCCL_SHM_DISABLE", SETTING_BREAKS },

	{ "NCCL_P2P_*", SETTING_MATTERS },
	{ "NCCL_SHM_*", SETTING_MATTERS },
	{ "NCCL_NTHREADS", SETTING_MATTERS },
	{ "NCCL_THREAD_THRESHOLDS", SETTING_MATTERS },
	{ "NCCL_CHUNK_SIZE", SETTING_MATTERS },
	{ "NCCL_NCHANNELS_PER_NET_PEER", SETTING_MATTERS },
	{ "NCCL_NVLS*", SETTING_MATTERS },
	{ "NCCL_COLLNET_*", SETTING_MATTERS },
	{ "NCCL_CROSS_NIC", SETTING_MATTERS },
	{ "NCCL_NET_*", SETTING_MATTERS },
	{ "NCCL_NETDEVS_POLICY*", SETTING_MATTERS },
	{ "NCCL_TUNER_*", SETTING_MATTERS },
	{ "NCCL_GRAPH_DUMP_FILE*", SETTING_FREE },
	{ "NCCL_GRAPH_*", SETTING_MATTERS },
	{ "NCCL_TOPO_DUMP_FILE*", SETTING_FREE },
	{ "NCCL_TOPO_FILE", SETTING_MATTERS },
	{ "NCCL_IB_HCA", SETTING_MAY }, /* a rank may have a NIC of its own */
	{ "NCCL_IB_*", SETTING_MATTERS },
	{ "NCCL_SOCKET_IFNAME", SETTING_FREE },
	{ "NCCL_SOCKET_*", SETTING_MATTERS },
	{ "NCCL_NSOCKS_PERTHREAD", SETTING_MATTERS },
	{ "NCCL_CUMEM_*", SETTING_MATTERS },
	{ "NCCL_PXN_*", SETTING_MATTERS },
	{ "NCCL_NVB_*", SETTING_MATTERS },
	{ "NCCL_MNNVL_UUID", SETTING_MAY },
	{ "NCCL_MNNVL_CLIQUE_ID", SETTING_MAY },
	{ "NCCL_MNNVL_*", SETTING_MATTERS },
	{ "NCCL_ALLOC_P2P_NET_LL_BUFFERS", SETTING_MATTERS },
	{ "NCCL_CONNECT_ROUND_MAX_PEERS", SETTING_MATTERS },
	{ "NCCL_RUNTIME_CONNECT", SETTING_MATTERS },
	{ "NCCL_PAT_ENABLE", SETTING_MATTERS },
	{ "NCCL_SYM_*", SETTING_MATTERS },
	{ "NCCL_WIN_*", SETTING_MATTERS },
	{ "NCCL_CTA_POLICY", SETTING_MATTERS },
	{ "NCCL_UNPACK_*", SETTING_MATTERS },
	{ "NCCL_LOCAL_REGISTER", SETTING_MATTERS },
	{ "NCCL_LEGACY_CUDA_REGISTER", SETTING_MATTERS },
	{ "NCCL_LAUNCH_MODE", SETTING_MATTERS },
	{ "NCCL_CHECK*", SETTING_MATTERS },
	{ "NCCL_COMM_ID", SETTING_MATTERS },
	{ "NCCL_OOB_NET_ENABLE", SETTING_MATTERS },

	{ "libnccl-path", SETTING_MAY },
	{ "CUDA", SETTING_MAY }, /* versions of runtime and driver */
	{ "CUDA_LAUNCH_BLOCKING", SETTING_MAY },
	{ "CUDA_DEVICE_MAX_CONNECTIONS", SETTING_MAY },
	{ "CUDA_MODULE_LOADING", SETTING_MAY },
	{ MORE, SETTING_MAY },

	{ "NCCL_DEBUG*", SETTING_FREE },
	{ "NCCL_WARN_*", SETTING_FREE },
	{ "NCCL_PROFILE*", SETTING_FREE },
	{ "NCCL_NVTX_*", SETTING_FREE },
	{ "NCCL_REPORT_*", SETTING_FREE },
	{ "NCCL_RAS_*", SETTING_FREE },
	{ "NCCL_HOSTID", SETTING_FREE },
	{ "NCCL_OOB_NET_IFNAME", SETTING_FREE },
	{ "NCCL_CONF_FILE", SETTING_FREE }, /* what it holds is compared */
	{ "NCCL_IGNORE_CPU_AFFINITY", SETTING_FREE },
	{ "NCCL_SET_*", SETTING_FREE },
	{ "NCCL_PROXY_CPUSET", SETTING_FREE },
	{ "NCCL_PROXY_DUMP_SIGNAL", SETTING_FREE },
	{ "NCCL_UID_STAGGER*", SETTING_FREE },
	{ "NCCL_TESTS_*", SETTING_FREE }, /* options of ours */
	/* where containers and builds look for it */
	{ "NCCL_HOME", SETTING_FREE },
	{ "NCCL_ROOT*", SETTING_FREE },
	{ "NCCL_DIR", SETTING_FREE },
	{ "NCCL_VERSION", SETTING_FREE },
	{ "NCCL_INCLUDE*", SETTING_FREE },
	{ "NCCL_LIB*", SETTING_FREE },
};

static bool fits(const char *pattern, const char *name)
{
	size_t n = strcspn(pattern, "*");

	return pattern[n] ? strncmp(pattern, name, n) == 0 : strcmp(pattern, name) == 0;
}

static int row_of(const char *name)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (fits(rows[i].name, name))
			return (int)i;
	return UNKNOWN;
}

enum setting_weight setting_weight(const char *name)
{
	int row = row_of(name);

	if (row != UNKNOWN)
		return rows[row].weight;
	return strncmp(name, "NCCL_", 5) == 0 ? SETTING_MAY : SETTING_FREE;
}

/* ---- one rank's ---- */

/* `value` as it is kept: printable, and not longer than VALUE_WHOLE. */
static void shorten(const char *value, char *to, size_t len)
{
	if (strlen(value) < VALUE_WHOLE)
		snprintf(to, len, "%s", value);
	else
		snprintf(to, len, "%.*s...#%08" PRIx32, VALUE_SHOWN, value,
			 (uint32_t)rank_groups_value(value));
	for (; *to; to++)
		if (!isprint((unsigned char)*to))
			*to = '?';
}

void settings_put(struct settings *s, const char *name, const char *value)
{
	char line[256], kept[VALUE_WHOLE + 16], *end = s->text;
	size_t room, n;

	if (setting_weight(name) == SETTING_FREE)
		return;
	shorten(value, kept, sizeof(kept));
	n = (size_t)snprintf(line, sizeof(line), "%.*s=%s\n", SETTING_NAME - 1, name, kept);
	while (!s->more && *end)
		end = strchr(end, '\n') + 1;
	room = sizeof(s->text) - MORE_ROOM - (size_t)(end - s->text);
	if (!s->more && n < room) {
		memcpy(end, line, n);
		return;
	}
	if (s->more)
		end = strstr(s->text, MORE "=");
	s->more = s->more * 31 + rank_groups_value(line);
	snprintf(end, MORE_ROOM, MORE "=%016" PRIx64 "\n", s->more);
}

/* ---- lines of a text that is not trusted ---- */

struct line {
	const char *at; /* "NAME=VALUE", not terminated */
	size_t name, len;
};

/* The line at *at, which moves behind it. False at the end. */
static bool next_line(const char *text, size_t *at, struct line *line)
{
	size_t left = strnlen(text + *at, SETTINGS_BYTES - *at);
	const char *stop, *sign;

	if (left == 0)
		return false;
	line->at = text + *at;
	stop = memchr(line->at, '\n', left);
	line->len = stop ? (size_t)(stop - line->at) : left;
	sign = memchr(line->at, '=', line->len);
	line->name = sign ? (size_t)(sign - line->at) : line->len;
	*at += line->len + (stop != NULL);
	return true;
}

static bool find_line(const char *text, const char *name, struct line *line)
{
	size_t at = 0, len = strlen(name);

	while (next_line(text, &at, line))
		if (line->name == len && memcmp(line->at, name, len) == 0)
			return true;
	return false;
}

static char *value_of(const char *text, const char *name, char *buf, size_t len)
{
	struct line line;

	if (!find_line(text, name, &line))
		snprintf(buf, len, "unset");
	else if (line.name == line.len)
		snprintf(buf, len, "?");
	else
		snprintf(buf, len, "%.*s", (int)(line.len - line.name - 1),
			 line.at + line.name + 1);
	for (char *c = buf; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	return buf;
}

uint64_t settings_hash(const struct settings *s)
{
	char name[SETTING_NAME], value[SETTINGS_BYTES];
	uint64_t hash = 1;
	struct line line;
	size_t at = 0;

	while (next_line(s->text, &at, &line)) {
		snprintf(name, sizeof(name), "%.*s", (int)line.name, line.at);
		if (setting_weight(name) != SETTING_BREAKS)
			continue;
		value_of(s->text, name, value, sizeof(value));
		hash = hash * 31 + rank_groups_value(name) * 7 + rank_groups_value(value);
	}
	return hash ? hash : 1;
}

bool settings_like(const char *a, const char *b, const char *name)
{
	char one[SETTINGS_BYTES], other[SETTINGS_BYTES];

	return strcmp(value_of(a, name, one, sizeof(one)),
		      value_of(b, name, other, sizeof(other))) == 0;
}

/* ---- in which ranks differ ---- */

struct names {
	char names[NAMES_MOST][SETTING_NAME];
	int n;
};

static void add_name(struct names *names, const struct line *line)
{
	char name[SETTING_NAME];

	snprintf(name, sizeof(name), "%.*s", (int)line->name, line->at);
	for (char *c = name; *c; c++)
		if (!isprint((unsigned char)*c))
			return;
	for (int i = 0; i < names->n; i++)
		if (strcmp(names->names[i], name) == 0)
			return;
	if (names->n < NAMES_MOST && name[0])
		strcpy(names->names[names->n++], name);
}

/* Adds the names whose values two texts do not share. */
static void add_unlike(struct names *names, const char *a, const char *b)
{
	struct line line, other;
	size_t at = 0;
	char name[SETTING_NAME];

	while (next_line(a, &at, &line)) {
		snprintf(name, sizeof(name), "%.*s", (int)line.name, line.at);
		if (!find_line(b, name, &other) || other.len != line.len ||
		    memcmp(other.at, line.at, line.len) != 0)
			add_name(names, &line);
	}
}

static int by_row(const void *a, const void *b)
{
	int x = row_of(a), y = row_of(b);

	return x != y ? (x > y) - (x < y) : strcmp(a, b);
}

/* All names in which some text differs from the first that is known, by weight. */
static void find_names(struct names *names, const char *const *texts, int nranks)
{
	const char *first = NULL;

	for (int i = 0; i < nranks; i++) {
		first = first ? first : texts[i];
		if (!texts[i] || strncmp(texts[i], first, SETTINGS_BYTES) == 0)
			continue;
		add_unlike(names, texts[i], first);
		add_unlike(names, first, texts[i]);
	}
	qsort(names->names, (size_t)names->n, sizeof(names->names[0]), by_row);
}

static void describe(const struct rank_groups *g, const char *const *texts, const char *name,
		     char *words, size_t len)
{
	char value[SETTINGS_BYTES];
	size_t n = 0;

	for (int i = 0; i < g->ngroups && n < len; i++) {
		bool last = g->most && i == g->ngroups - 1;

		n += (size_t)snprintf(words + n, len - n, "%s%s%s: %.100s", i ? "; " : "",
				      last && g->more ? "others differ again; " : "",
				      g->groups[i].words,
				      value_of(texts[g->groups[i].rank], name, value,
					       sizeof(value)));
	}
	if (g->more && !g->most && n < len)
		snprintf(words + n, len - n, "; others differ again");
}

/* Of one setting; `values` is room for nranks. Returns false if they all have the same. */
static bool compare_one(const char *const *texts, int nranks, uint64_t *values,
			struct setting_difference *d)
{
	char value[SETTINGS_BYTES];
	const struct rank_group *last;
	struct rank_groups g;
	int known = 0;

	for (int i = 0; i < nranks; i++) {
		values[i] = texts[i] ? rank_groups_value(
					       value_of(texts[i], d->name, value, sizeof(value)))
				     : 0;
		known += texts[i] != NULL;
	}
	rank_groups(&g, values, nranks);
	if (g.ngroups < 2)
		return false;
	d->weight = setting_weight(d->name);
	describe(&g, texts, d->name, d->words, sizeof(d->words));
	snprintf(d->theirs, sizeof(d->theirs), "%.63s",
		 value_of(texts[g.groups[0].rank], d->name, value, sizeof(value)));
	last = &g.groups[g.ngroups - 1];
	d->rank = g.most && last->n * 2 > known ? last->rank : -1;
	snprintf(d->most, sizeof(d->most), "%.63s",
		 value_of(texts[last->rank], d->name, value, sizeof(value)));
	return true;
}

size_t settings_compare(const char *const *texts, int nranks, struct setting_difference *found)
{
	uint64_t *values = calloc((size_t)nranks + 1, sizeof(*values));
	struct names *names = calloc(1, sizeof(*names));
	size_t n = 0;

	if (values && names)
		find_names(names, texts, nranks);
	for (int weight = SETTING_BREAKS; weight > SETTING_FREE; weight--)
		for (int i = 0; names && i < names->n && n < SETTINGS_DIFFERENCES; i++) {
			if ((int)setting_weight(names->names[i]) != weight)
				continue;
			memset(&found[n], 0, sizeof(found[n]));
			strcpy(found[n].name, names->names[i]);
			n += compare_one(texts, nranks, values, &found[n]);
		}
	free(names);
	free(values);
	return n;
}

char *settings_words(const struct setting_difference *found, size_t n, char *buf, size_t len)
{
	size_t at = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < n && at < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%s%s%s: %s", i ? ". " : "",
				       found[i].name,
				       found[i].weight == SETTING_MAY ? " (may matter)" : "",
				       found[i].words);
	return buf;
}
