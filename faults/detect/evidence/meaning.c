/* meaning.c: the reader of meanings.txt. */
#include "evidence/words.h"

#include "base/built_in.h"

BUILT_IN(meanings, "faults/detect/evidence/meanings.txt");

bool class_meaning(const char *name, struct class_meaning *m)
{
	char side[32];

	*m = (struct class_meaning){ .side = SIDE_NOT_SHOWN };
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
