/* input.c: a text, evidence, dumps or logs as a schedule. */
#include "verify/input.h"

#include <dirent.h>

#include "find/find.h"

/* Returns true if the folder has a file rank-N.fr. */
static bool has_evidence(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (folder && !found && (entry = readdir(folder)))
		found = evidence_file_rank(entry->d_name, ".fr") >= 0;
	if (folder)
		closedir(folder);
	return found;
}

static int load(const struct input *in, struct evidence *e, struct error *err)
{
	int rc;

	if (in->log)
		return evidence_load_logs(e, in->paths, in->n, false, err);
	if (!has_evidence(in->paths[0]))
		return evidence_load_torch(e, in->paths[0], err);
	rc = evidence_load_all(e, in->paths, in->n, err);
	if (rc < 0)
		err->outcome = OUTCOME_USAGE;
	return rc;
}

/* A rank that ended, or was held, before the others waited would have made calls that are not known. */
static int look_for_ends(const struct evidence *e, struct error *err)
{
	char words[64];

	for (int i = 0; i < e->nranks; i++) {
		const struct rank_view *v = &e->ranks[i].view;

		if (e->ranks[i].present && (view_died(v) || v->process == PROCESS_STOPPED))
			return error_set(
				err, OUTCOME_UNSUPPORTED, -EINVAL,
				"cannot tell: rank %d %s after its call %lu: what it would have "
				"called is not known, and its schedule is not the cause",
				i, view_process(v, words, sizeof(words)), v->issued);
	}
	return 0;
}

int input_read(const struct input *in, struct schedule *s, struct answer *run, struct error *err)
{
	struct evidence e;
	struct stat st;

	answer_blank(run);
	schedule_init(s, 0);
	if (stat(in->paths[0], &st) < 0)
		return error_usage(err, "%s: %s", in->paths[0], strerror(errno));
	if (!S_ISDIR(st.st_mode) && !in->log) {
		schedule_release(s);
		if (in->n > 1)
			return error_usage(err, "%s: a text is one file", in->paths[1]);
		return schedule_read(s, in->paths[0], err);
	}
	if (load(in, &e, err) == 0) {
		find_answer(&e, NULL, run);
		schedule_release(s);
		if (look_for_ends(&e, err) == 0)
			schedule_take(s, &e, err);
	}
	evidence_release(&e);
	return err->code;
}
