/* test_causes.c: each cause on a recorded observation, healthy and edited (cause_samples.h). */
#include "cause_samples.h"

#include <jansson.h>

#include "rig/unit.h"

#define HEALTHY "ci/tests/data/observation_healthy.json"

static char path[UNIT_TEMP];

/* The value that a path leads to, and in *key its last part: NULL when there is no such place. */
static json_t *parent_of(json_t *top, char *at, char **key)
{
	for (char *slash; top && (slash = strchr(at, '/')); at = slash + 1) {
		*slash = '\0';
		top = json_is_array(top) ? json_array_get(top, (size_t)atoi(at))
					 : json_object_get(top, at);
	}
	*key = at;
	return top;
}

static void edit(json_t *top, const char *how)
{
	static const char *const parts[][2] = { { "run/", "run/parts/run/states/" },
						{ "nccl/", "run/parts/NCCL/states/" },
						{ "nccl=", "run/parts/NCCL/states=" },
						{ "", "" } };
	const char *path_of = how + (*how == '-');
	char text[256], *equals, *key;
	json_t *parent;
	int i = 0;

	while (strncmp(path_of, parts[i][0], strlen(parts[i][0])) != 0)
		i++;
	snprintf(text, sizeof(text), "%s%s", parts[i][1], path_of + strlen(parts[i][0]));
	equals = strchr(text, '=');
	if (equals)
		*equals = '\0';
	parent = parent_of(top, text, &key);
	CU_ASSERT_TRUE_FATAL(json_is_object(parent));
	if (*how == '-')
		CU_ASSERT_EQUAL_FATAL(json_object_del(parent, key), 0)
	else
		CU_ASSERT_EQUAL_FATAL(json_object_set_new(parent, key,
							  json_loads(equals + 1, JSON_DECODE_ANY,
								     NULL)),
				      0)
}

/* The healthy hosts with these edits, written and read back. */
static void load(struct observation *o, const char *const *edits)
{
	json_t *top = json_load_file(HEALTHY, 0, NULL);
	struct error err = { .rank = -1 };

	CU_ASSERT_PTR_NOT_NULL_FATAL(top);
	for (; *edits; edits++)
		edit(top, *edits);
	CU_ASSERT_EQUAL_FATAL(json_dump_file(top, path, 0), 0);
	json_decref(top);
	CU_ASSERT_EQUAL(observation_read(o, path, &err), 0);
	if (err.code)
		CU_FAIL_FATAL("the edits make no observation");
}

static const struct cause *find(const char *name)
{
	for (size_t i = 0; i < cause_count; i++)
		if (strcmp(cause_table[i].name, name) == 0)
			return &cause_table[i];
	return NULL;
}

static void check(const struct sample *sample)
{
	const struct cause *cause = find(sample->cause);
	struct cause_finding finding;
	struct observation o;
	bool right;

	CU_ASSERT_PTR_NOT_NULL_FATAL(cause);
	load(&o, sample->edits);
	cause_check(cause, &o, &finding);
	right = finding.state == sample->state &&
		(sample->words ? strstr(finding.text, sample->words) != NULL : !finding.text[0]);
	if (!right)
		printf("\n    %s, %s: state %d, text '%s'\n", sample->cause, sample->edits[0],
		       finding.state, finding.text);
	CU_ASSERT_TRUE(right);
	observation_release(&o);
}

UNIT_TEST(test_samples, "each cause on recorded observations")
{
	for (size_t i = 0; i < LENGTH(samples); i++)
		check(&samples[i]);
}

/* Every cause has a sample that it is found in, and one where it can't be seen. */
UNIT_TEST(test_complete, "each cause has its samples")
{
	for (size_t c = 0; c < cause_count; c++) {
		bool had[3] = { false };
		char text[CAUSE_LINE];

		UNIT_ROWS(row, samples)
			if (strcmp(row->cause, cause_table[c].name) == 0)
				had[row->state] = true;
		if (!had[CAUSE_YES] || !had[CAUSE_UNSEEN])
			printf("\n    %s lacks a sample\n", cause_table[c].name);
		UNIT_ALL(had[CAUSE_YES] && had[CAUSE_UNSEEN],
			 *cause_says(&cause_table[c], CAUSE_WHAT, text) != '\0',
			 *cause_says(&cause_table[c], CAUSE_FIX, text) != '\0');
		CU_ASSERT_PTR_EQUAL(find(cause_table[c].name), &cause_table[c]); /* no name twice */
	}
}

static char told[8192];

static int keep_line(void *ctx, const char *text)
{
	int *lines = ctx;

	strcat(told, text);
	strcat(told, "\n");
	(*lines)++;
	return 0;
}

static int tell(const char *const *edits)
{
	struct observation o;
	int lines = 0;

	told[0] = '\0';
	load(&o, edits);
	CU_ASSERT_EQUAL(causes_tell(&o, false, keep_line, &lines), 0);
	observation_release(&o);
	return lines;
}

UNIT_TEST(test_telling, "what is told")
{
	static const char *const nothing[] = { NULL };
	static const char *const two[] = { "run/links_found=17", "run/used_channels=2", NULL };
	static const char *const blind[] = { "nccl={\"why\":\"rerun\"}", "-run/used_algo", NULL };
	static const char *const mpi[] = { "run/backend=\"mpi\"", "run/links_found=1", NULL };
	char all[64];

	CU_ASSERT_EQUAL(tell(nothing), 1);
	snprintf(all, sizeof(all), "no cause found: %zu of %zu were ruled out: ", cause_count,
		 cause_count);
	CU_ASSERT_EQUAL(strncmp(told, all, strlen(all)), 0);
	for (size_t i = 0; i < cause_count; i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(told, cause_table[i].name));
	UNIT_ALL(strstr(told, "the other") == NULL, tell(two) == 2,
		 strstr(told, "cause: nvlinks: NVLinks are missing: NCCL found 17 "
			      "NVLinks on a GPU that should have "
			      "18. Fix: nvidia-smi nvlink") != NULL,
		 strstr(told, "\ncause: channels: ") != NULL);
	/* one line per reason */
	UNIT_ALL(tell(blind) == 4,
		 strstr(told,
			"not seen: choice: what NCCL chose for the slowest row is not known\n") !=
			 NULL,
		 strstr(told, "not seen: transport, rings, gdr: rerun\n") != NULL);
	/* what only GPUs can have */
	UNIT_ALL(tell(mpi) == 1, strstr(told, "nvlinks") == NULL);
}

static int refuse(void *ctx, const char *text)
{
	return -5;
}

UNIT_TEST(test_refused_line, "a line that is refused")
{
	static const char *const nothing[] = { NULL };
	struct observation o;

	load(&o, nothing);
	CU_ASSERT_EQUAL(causes_tell(&o, false, refuse, NULL), -5);
	observation_release(&o);
}

/* The same of many GPUs: as many as there is room for, whole, and a sign that there are more. */
UNIT_TEST(test_many, "many GPUs")
{
	const struct cause *cause = find("clocks");
	struct cause_finding finding;
	struct observation o;
	size_t len;

	observation_init(&o, 1);
	for (int i = 0; i < 16; i++) {
		char part[40];

		snprintf(part, sizeof(part), "GPU 0000:%02x:00.0", i);
		reading_say(&o.before[0], part, "bus", part + 4);
		reading_say(&o.after[0], part, "bus", part + 4);
		reading_state(&o.after[0], part, "clock_reasons", 4);
		reading_state(&o.after[0], part, "sm_mhz", 1200);
	}
	cause_check(cause, &o, &finding);
	len = strlen(finding.text);
	UNIT_ALL(finding.state == CAUSE_YES, len < sizeof(finding.text),
		 !strcmp(finding.text + len - 5, "; ..."),
		 strstr(finding.text, "GPU 0000:00:00.0") != NULL,
		 strstr(finding.text, "; GPU 0000:03:00.0 on a host: power cap") != NULL,
		 strstr(finding.text, "at 1200 of ? MHz; ...") != NULL);
	observation_release(&o);
}

/* Nothing at all was seen: nothing is found, and nothing is ruled out that needs eyes. */
UNIT_TEST(test_nothing_seen, "nothing was seen")
{
	struct observation o;
	int lines = 0;

	observation_init(&o, 2);
	reading_say(&o.run, "run", "backend", "nccl");
	reading_state(&o.run, "run", "ranks", 4);
	reading_state(&o.run, "run", "nodes", 2);
	told[0] = '\0';
	UNIT_ALL(causes_tell(&o, false, keep_line, &lines) == 0, strstr(told, "\ncause: ") == NULL,
		 strstr(told, "no cause found") != NULL, strstr(told, "clocks") != NULL,
		 (lines = 0, causes_tell(&o, true, keep_line, &lines)) == 0, lines == 0);
	observation_release(&o);
}

UNIT_MAIN(unit_main_file(path))
