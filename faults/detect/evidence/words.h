/* words.h: ranks and calls in words. A text that is returned lasts until eight more have been asked for on the thread. */
#pragma once

#include "evidence/evidence.h"
#include "run/comm.h"

/* A rank's number for people: in the run, where the evidence is of a group. */
int rank_number(const struct evidence *evidence, int rank);

/* Marked ranks, NULL: all, with these numbers, as rank_list_words has them in `room` bytes, 160 at most. */
char *ranks_words(const struct evidence *evidence, const bool *in, size_t room);

/* A call, its root or partner as people number it; "unknown" for NULL. */
const char *call_words(const struct evidence *evidence, const struct record *record);

/* The line of code of a rank's call, without its folder; "": not known. */
const char *call_site(const struct evidence *evidence, int rank, const struct record *record);

/* The value of one field of a call, and its name: "kind" "count" "dtype" "op" "root"; of a send or receive "peer". */
const char *field_words(const struct evidence *evidence, enum call_field field,
			const struct record *record);
const char *field_name(enum call_field field, const struct record *record);
