/* find.h: from recorded evidence to an answer: class, culprits, and where timelines parted. */
#pragma once

#include "answer/answer.h"
#include "evidence/evidence.h"

/* Fills `answer`. `seen`: the answer of views, of a run that was watched, which stands where the evidence lacks what was
 * seen (answer_settle); NULL: there is the evidence alone. Never fails: what does not fit is "unexplained", with the
 * evidence; without known ranks or calls, and nothing else wrong, "internal". Cost linear in ranks x calls. */
void find_answer(const struct evidence *evidence, const struct answer *seen, struct answer *answer);

/* Asks alone whether ranks' lines of code part, or their calls differ, of a run that goes on. False: they do not. */
bool find_lines(const struct evidence *evidence, struct answer *answer);
