/* gather.h: readings of all hosts of a job, on rank 0. */
#pragma once

#include "backend/job.h"
#include "machine/reading.h"

/* The hosts' readings into `hosts`, by node, at rank 0; elsewhere it is not looked at. `text` is one or
 * several of reading_dump, of this host's local rank 0; NULL on other ranks. A host whose text is none
 * stays as it was. 0, or a negative errno with the error set. Collective. */
int reading_gather(struct job *job, const char *text, struct reading *hosts);
