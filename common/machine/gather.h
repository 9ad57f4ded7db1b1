/* gather.h: what the hosts of a job read, brought together. */
#ifndef HANGAR_GATHER_H
#define HANGAR_GATHER_H

#include "backend/job.h"
#include "machine/reading.h"

/* The hosts' readings into `hosts`, by node, at rank 0; elsewhere it is not looked at. `text` is one or
 * several of reading_dump, of this host's local rank 0; NULL on other ranks. A host whose text is none
 * stays as it was. 0, or a negative errno with the error set. Collective. */
int reading_gather(struct job *job, const char *text, struct reading *hosts);

#endif
