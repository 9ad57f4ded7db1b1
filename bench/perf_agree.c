/* perf_agree.c: the ranks' options and settings are brought together, and in full only where they
 * differ. */
#include "perf_agree.h"

#include "options/rank_groups.h"
#include "options/options_agree.h"
#include "report/facts.h"

/* All equal when the largest of each half is also the smallest. */
static int hashes_differ(struct job *job, uint64_t hash)
{
	int low = (int)(hash & 0x7fffffff), high = (int)(hash >> 32 & 0x7fffffff);
	int ends[4] = { low, -low, high, -high };
	int rc = job_max_int(job, ends, 4);

	return rc < 0 ? rc : ends[0] != -ends[1] || ends[2] != -ends[3];
}

/* Room at rank 0 for what all ranks have, `bytes` each, and all of it there. The caller frees *all; NULL
 * elsewhere. */
static int gather_all(struct job *job, const void *mine, size_t bytes, void **all)
{
	*all = job->rank == 0 ? must(calloc((size_t)job->nranks, bytes)) : NULL;
	return job_gather(job, mine, bytes, *all);
}

/* Rank 0 has all values and says what differs; the others receive it. */
static int refuse(struct job *job, const struct options_agree *mine)
{
	void *all;
	char text[400];
	int rc = gather_all(job, mine, sizeof(*mine), &all);

	if (rc == 0 && all && !options_agree_same(all, job->nranks, text, sizeof(text)))
		rc = error_set(job->err, OUTCOME_USAGE, -EINVAL,
			       "%s; must be the same on all ranks", text);
	free(all);
	return job_agree(job, rc);
}

int perf_agree(struct job *job, const struct program *program, const char *backend)
{
	struct options_agree mine;
	int differ;

	options_agree_fill(&mine, program->options, HANGAR_VERSION, program->name, backend,
			   program->collective->irregular);
	differ = hashes_differ(job, options_agree_hash(&mine));
	return differ > 0 ? refuse(job, &mine) : differ;
}

static void warn(const struct settings *all, int nranks)
{
	const char **texts = malloc((size_t)nranks * sizeof(*texts));
	struct setting_difference found[SETTINGS_DIFFERENCES];
	char words[1000];
	size_t n = 0;

	for (int i = 0; texts && i < nranks; i++)
		texts[i] = all[i].text;
	if (texts)
		n = settings_compare(texts, nranks, found);
	if (n > 0)
		fprintf(stderr, "hangar: settings differ between ranks: %s\n",
			settings_words(found, n, words, sizeof(words)));
	free(texts);
}

int perf_agree_settings(struct job *job, const struct settings *mine)
{
	int differ = hashes_differ(job, rank_groups_value(mine->text));
	void *all;
	int rc;

	if (differ <= 0)
		return differ;
	rc = gather_all(job, mine, sizeof(*mine), &all);
	if (rc == 0 && all)
		warn(all, job->nranks);
	free(all);
	return rc;
}
