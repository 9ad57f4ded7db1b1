/* health_metrics.c: findings of health as Prometheus text for node_exporter's textfile collector. */

#include "base/output.h"
#include "machine/health.h"

/* A number that a host showed. */
struct shown {
	const struct reading_entry *entry;
	const char *host;
};

struct finder {
	FILE *f;
	const char *host;
};

static void put_finding(void *ctx, const struct health_finding *finding)
{
	const struct finder *to = ctx;

	if (!finding->holds || finding->weight == HEALTH_CAUSE)
		return;
	fputs("hangar_health_finding", to->f);
	prometheus_label(to->f, '{', "host", to->host);
	prometheus_label(to->f, ',', "part", finding->part);
	prometheus_label(to->f, ',', "group", finding->group);
	prometheus_label(to->f, ',', "weight", health_weights[finding->weight]);
	prometheus_label(to->f, ',', "what", finding->text);
	fputs("} 1\n", to->f);
}

static int by_name(const void *a, const void *b)
{
	const struct reading_entry *x = ((const struct shown *)a)->entry,
				   *y = ((const struct shown *)b)->entry;

	return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(x->name, y->name);
}

/* All numbers; those of one name stand together. */
static void put_numbers(FILE *f, const struct reading *hosts, int n)
{
	struct shown *all = NULL;
	size_t count = 0;
	char name[80];
	double scale = 1;

	for (int h = 0; h < n; h++) {
		all = must(realloc(all, (count + hosts[h].n + 1) * sizeof(*all)));
		for (size_t i = 0; i < hosts[h].n; i++)
			if (hosts[h].list[i].kind != READING_TEXT)
				all[count++] = (struct shown){ &hosts[h].list[i], hosts[h].host };
	}
	qsort(all, count, sizeof(*all), by_name);
	for (size_t i = 0; i < count; i++) {
		bool moved = all[i].entry->kind == READING_COUNTER;

		if (i == 0 || by_name(&all[i - 1], &all[i]) != 0) {
			snprintf(name, sizeof(name), "health_%s%s", moved ? "moved_" : "",
				 all[i].entry->name);
			scale = prometheus_unit(name, sizeof(name));
			prometheus_head(f, name,
					moved ? "how far it went while watched" : "as it was read");
		}
		fprintf(f, "hangar_%s", name);
		prometheus_label(f, '{', "host", all[i].host);
		prometheus_label(f, ',', "part", all[i].entry->part);
		fprintf(f, "} %.17g\n", (double)all[i].entry->value * scale);
	}
	free(all);
}

int health_metrics(const char *path, const struct health *health, const struct reading *hosts,
		   int n, int outcome, struct error *err)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = must(open_memstream(&text, &len));
	int rc;

	prometheus_head(f, "health_exit_code", "0: in order, 13: findings, 77: nothing was read");
	fprintf(f, "hangar_health_exit_code %d\n", outcome);
	prometheus_head(f, "health_finding", "what is amiss, by weight: note, warn or drain");
	for (int h = 0; h < n; h++)
		health_judge(health, &hosts[h], put_finding, &(struct finder){ f, hosts[h].host });
	put_numbers(f, hosts, n);
	fclose(f);
	rc = output_whole(path, must(text), len);
	free(text);
	return rc == 0 ? 0
		       : error_set(err, OUTCOME_INTERNAL, rc, "writing %s: %s", path,
				   strerror(-rc));
}
