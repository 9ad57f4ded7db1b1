/* evidence_text.h: the texts of an evidence folder: rank-N.stack.txt and ras.txt. */
#ifndef HANGAR_EVIDENCE_TEXT_H
#define HANGAR_EVIDENCE_TEXT_H

#include "evidence.h"

/* Write the stacks and the witness that there are. 0 or a negative errno with the error set.
 * evidence_save does not: texts may come later than the rest. */
int evidence_save_texts(const struct evidence *evidence, const char *dir, struct error *err);

/* Read those of ranks 0 to nranks - 1. What is missing stays NULL; of longer files the beginning
 * is taken; hostile content becomes printable text. */
void evidence_load_texts(struct evidence *evidence, const char *dir);

#endif
