/* gather.h: readings of all hosts of a job, on rank 0. */
#pragma once

#include "backend/job.h"
#include "machine/reading.h"

/* Gathers the hosts' readings into `hosts`, by node, at rank 0. `text` is one or several of
 * reading_dump, of this host's local rank 0; NULL on other ranks. A host with an invalid text stays
 * as it was. Returns 0, or a negative errno with the error set. Collective. */
int reading_gather(struct job *job, const char *text, struct reading *hosts);
