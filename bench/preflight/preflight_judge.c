/* preflight_judge.c: hosts beside each other, and the host that bad pairs have in common. */
#include "preflight/preflight_judge.h"

#include "base/stats.h"
#include "settings/settings.h"

static void settings_of(const struct reading *host, struct settings *settings)
{
	for (size_t i = 0; i < host->n; i++)
		if (strcmp(host->list[i].part, "environment") == 0 && host->list[i].text)
			settings_add(settings, host->list[i].name, host->list[i].text);
}

/* The host that differs from most, or the first. */
static struct reading *minority(struct reading *hosts, int n, const struct settings *all,
				const struct setting_difference *d)
{
	int most = -1;

	for (int h = 0; h < n; h++)
		if (reading_value(&hosts[h], "job", "first_rank") <= d->rank)
			most = h;
	for (int h = 0; most >= 0 && h < n; h++)
		if (!settings_like(all[h].text, all[most].text, d->name))
			return &hosts[h];
	return &hosts[0];
}

static void compare_settings(struct reading *hosts, int n)
{
	struct setting_difference found[SETTINGS_DIFFERENCES];
	struct settings *all = must(calloc((size_t)n, sizeof(*all)));
	int64_t nranks = 0;
	const char **texts;
	size_t differences;

	for (int h = 0; h < n; h++) {
		int64_t first = reading_value(&hosts[h], "job", "first_rank"),
			local = reading_value(&hosts[h], "job", "local_ranks");

		settings_of(&hosts[h], &all[h]);
		nranks = first + local > nranks && first < 1 << 20 ? first + local : nranks;
		reading_state(&hosts[h], "settings", "differ", 0);
	}
	texts = must(calloc((size_t)nranks + 1, sizeof(*texts)));
	for (int h = 0; h < n; h++)
		for (int64_t i = 0; i < reading_value(&hosts[h], "job", "local_ranks"); i++) {
			int64_t rank = reading_value(&hosts[h], "job", "first_rank") + i;

			if (rank >= 0 && rank < nranks)
				texts[rank] = all[h].text;
		}
	differences = settings_compare(texts, (int)nranks, SETTING_MAY, found);
	for (size_t i = 0; i < differences; i++) {
		struct reading *host = minority(hosts, n, all, &found[i]);

		reading_state(host, found[i].name, "differ", 1);
		reading_state(host, found[i].name, "matters", found[i].weight >= SETTING_MATTERS);
		reading_say(host, found[i].name, "words", found[i].words);
	}
	free(texts);
	free(all);
}

void preflight_compare(struct reading *hosts, int n)
{
	static const char *const alike[][2] = {
		{ "NVML", "driver" },
		{ "NCCL", "version" },
		{ "MTU", "mtu_text" },
		{ "RDMA ports", "verbs_text" },
		{ "locked memory", "memlock_kib_text" },
		{ "open files", "nofile_text" },
		{ "hangar", "hangar_version" },
		{ "kernel release", "release" },
	};

	for (size_t i = 0; i < LENGTH(alike); i++)
		health_compare(hosts, n, alike[i][0], alike[i][1]);
	health_compare_gpus(hosts, n);
	if (n > 1)
		compare_settings(hosts, n);
}

/* A broken pair says more than any number of slow ones, as a busy host has. */
static void weigh_bad(void *ctx, const struct health_finding *f)
{
	int weight = !f->holds || f->weight < HEALTH_WARN ? 0 : f->weight == HEALTH_WARN ? 1 : 1000;

	*(int *)ctx = weight > *(int *)ctx ? weight : *(int *)ctx;
}

static int find_host(const struct reading *hosts, int n, const char *name)
{
	for (int h = 0; h < n; h++)
		if (strcmp(hosts[h].host, name) == 0)
			return h;
	return -1;
}

/* The names of a pair's two ends, as numbers of hosts. */
static void ends_of(const struct reading *pair, const struct reading *hosts, int n, int *from,
		    int *to)
{
	const char *part = pair->n ? pair->list[0].part : "";

	*from = find_host(hosts, n, reading_text(pair, part, "from"));
	*to = find_host(hosts, n, reading_text(pair, part, "to"));
}

/* The usual bandwidth, where pairs are many enough for one, and the best one. */
static int64_t usual(const struct reading *pairs, int n, int64_t *best)
{
	double *all = must(calloc((size_t)n + 1, sizeof(*all)));
	int64_t middle;
	size_t known = 0;

	*best = -1;
	for (int i = 0; i < n; i++) {
		int64_t value =
			pairs[i].n ? reading_value(&pairs[i], pairs[i].list[0].part, "mbit") : -1;

		if (value >= 0)
			all[known++] = (double)value;
		*best = value > *best ? value : *best;
	}
	middle = known >= 6 ? (int64_t)sort_median(all, known) : -1;
	free(all);
	return middle;
}

int preflight_blame(const struct health *health, struct reading *hosts, int n,
		    const struct reading *pairs, int npairs)
{
	int *bad = must(calloc((size_t)npairs + 1, sizeof(*bad)));
	int *in_bad = must(calloc((size_t)n + 1, sizeof(*in_bad)));
	int64_t best, middle = usual(pairs, npairs, &best);
	int from, to, owner, tied = -1;

	for (int i = 0; i < npairs; i++) {
		if (pairs[i].n && middle >= 0)
			reading_state((struct reading *)&pairs[i], pairs[i].list[0].part,
				      "usual_mbit", middle);
		if (pairs[i].n && best >= 0)
			reading_state((struct reading *)&pairs[i], pairs[i].list[0].part,
				      "best_mbit", best);
		health_judge(health, &pairs[i], weigh_bad, &bad[i]);
		ends_of(&pairs[i], hosts, n, &from, &to);
		if (bad[i] && from >= 0 && to >= 0) {
			in_bad[from] += bad[i];
			in_bad[to] += bad[i];
		}
	}
	for (int i = 0; i < npairs; i++) {
		ends_of(&pairs[i], hosts, n, &from, &to);
		if (from < 0 || to < 0)
			continue;
		owner = in_bad[to] > in_bad[from] ? to : from;
		if (bad[i] && in_bad[to] == in_bad[from]) {
			char both[64];

			snprintf(both, sizeof(both), "%.28s or %.28s",
				 hosts[from < to ? from : to].host,
				 hosts[from < to ? to : from].host);
			if (tied >= 0 && strcmp(hosts[tied].host, both) != 0)
				strcpy(hosts[tied].host, "several hosts");
			if (tied < 0) {
				tied = n++;
				hosts[tied] = (struct reading){ .seconds = 0 };
				strcpy(hosts[tied].host, both);
			}
			owner = tied;
		}
		reading_append(&hosts[owner], &pairs[i], NULL);
	}
	free(bad);
	free(in_bad);
	return n;
}
