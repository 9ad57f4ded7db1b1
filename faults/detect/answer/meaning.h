/* meaning.h: the words of a class for people, of meanings.txt. */
#pragma once

#include "answer/answer.h"

/* Cause, fix and prevention: a paragraph each. */
struct meaning {
	enum fault_side side; /* where the class shows it */
	char cause[400], fix[400], prevention[400];
};

/* The words of an answer's class. An answer of a class without words gets those of what ranks reported. */
void answer_meaning(const struct answer *answer, struct meaning *meaning);
