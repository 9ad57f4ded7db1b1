/* perf_agree.c: compares the ranks' options and settings by hash, gathers them if they differ. */
#include "perf_report.h"

#include "base/version.h"
#include "options/options_agree.h"
#include "settings/rank_groups.h"
#include "report/sink.h"

/* All ranks agree if the largest of each half is also the smallest. */
static int hashes_differ(struct job *job, uint64_t hash)
{
	int low = (int)(hash & 0x7fffffff), high = (int)(hash >> 32 & 0x7fffffff);
	int ends[4] = { low, -low, high, -high };
	int rc = job_max_int(job, ends, 4);

	return rc < 0 ? rc : ends[0] != -ends[1] || ends[2] != -ends[3];
}

/* Compares from this weight on. Returns 1 if ranks differ, with the *n differences in `found` on
 * rank 0; 0 if they agree; or a negative errno. */
static int compare(struct job *job, const struct settings *mine, enum setting_weight least,
		   struct setting_difference *found, size_t *n)
{
	int rc = hashes_differ(job, rank_groups_value(mine->text));
	struct settings *all = NULL;
	const char **texts = NULL;

	*n = 0;
	if (rc <= 0)
		return rc;
	if (job->rank == 0) {
		all = must(calloc((size_t)job->nranks, sizeof(*all)));
		texts = must(calloc((size_t)job->nranks, sizeof(*texts)));
	}
	rc = job_gather(job, mine, sizeof(*mine), all);
	for (int i = 0; all && i < job->nranks; i++)
		texts[i] = all[i].text;
	if (rc == 0 && all)
		*n = settings_compare(texts, job->nranks, least, found);
	free(texts);
	free(all);
	return rc < 0 ? rc : 1;
}

int perf_agree(struct job *job, const struct program *program, const char *backend)
{
	struct setting_difference found[SETTINGS_DIFFERENCES];
	struct settings mine = { .more = 0 };
	size_t n;
	int rc;

	options_agree_fill(&mine, program->options, HANGAR_VERSION, program->name, backend,
			   program->collective->irregular);
	rc = compare(job, &mine, SETTING_FREE, found, &n);
	if (rc <= 0)
		return rc;
	return job_agree(job, n == 0 ? 0
				     : error_usage(job->err, "%s; must be the same on all ranks",
						   found[0].words));
}

int perf_agree_settings(struct job *job, const struct program *program, const struct settings *mine)
{
	struct setting_difference found[SETTINGS_DIFFERENCES];
	char words[1000];
	size_t n;
	int rc = compare(job, mine, SETTING_MAY, found, &n);

	if (n > 0 && program->hooks.differ)
		program->hooks.differ(found, n);
	else if (n > 0)
		fprintf(stderr, "hangar: settings differ between ranks: %s\n",
			settings_words(found, n, words, sizeof(words)));
	return rc < 0 ? rc : 0;
}
