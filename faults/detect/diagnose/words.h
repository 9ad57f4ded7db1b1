/* words.h: ranks and calls in words. */
#pragma once

#include "evidence/evidence.h"
#include "progress/comm.h"

/* A rank's number for people: in the run, where the evidence is of a group. */
int rank_number(const struct evidence *evidence, int rank);

/* Marked ranks, NULL: all, with these numbers, as rank_list_words has them. Returns buf. */
const char *ranks_words(const struct evidence *evidence, const bool *in, char *buf, size_t len);

/* A call in words, its root or partner as people number it, "unknown" for NULL. Returns buf. */
const char *call_words(const struct evidence *evidence, const struct record *record, char *buf,
		       size_t len);

/* The value of one field of a call. Returns buf. */
const char *field_words(const struct evidence *evidence, enum call_field field,
			const struct record *record, char *buf, size_t len);

/* "kind" "count" "dtype" "op" "root"; of a send or receive "peer". */
const char *field_name(enum call_field field, const struct record *record);
