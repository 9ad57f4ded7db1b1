/* meaning.c: the reader of meanings.txt. */
#include "answer/meaning.h"

#include "base/built_in.h"

BUILT_IN(meanings, "faults/detect/answer/meanings.txt");

/* False, and nothing is said: there is no class of this name. */
static bool read_meaning(const char *name, struct meaning *m)
{
	char side[32];

	*m = (struct meaning){ .side = SIDE_NOT_SHOWN };
	if (!built_in_line(meanings, name, 0, side, sizeof(side)))
		return false;
	for (enum fault_side i = SIDE_HOST; i <= SIDE_UNKNOWN; i++)
		if (side[0] && strcmp(side + 1, side_name(i)) == 0)
			m->side = i;
	built_in_line(meanings, name, 1, m->cause, sizeof(m->cause));
	built_in_line(meanings, name, 2, m->fix, sizeof(m->fix));
	built_in_line(meanings, name, 3, m->prevention, sizeof(m->prevention));
	return true;
}

void answer_meaning(const struct answer *a, struct meaning *m)
{
	bool call = strcmp(a->field, "kind") == 0 || strcmp(a->field, "call") == 0;
	const char *name = class_name(a->class, a->outcome);

	if (call && a->class == CLASS_MISMATCH)
		name = "mismatch-call";
	if (a->together && a->class == CLASS_UNEXPLAINED)
		name = "all-in-a-call";
	if (a->undated && a->class == CLASS_MISSING)
		name = "missing-undated";
	if (a->outcome == OUTCOME_INTERNAL && a->class == CLASS_UNEXPLAINED)
		name = "not-known";
	if (!read_meaning(name, m))
		read_meaning(a->outcome == OUTCOME_OK ? "ok" : "reported", m);
	if (a->class == CLASS_INIT_MISSING && strcmp(a->ranks, "-") == 0)
		m->side = SIDE_UNKNOWN; /* a missing rank may be behind a link */
}
