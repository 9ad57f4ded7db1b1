/* meaning.h: the names of what a diagnosis can find, and what each means, how to fix it, how to
 * prevent it. */
#ifndef HANGAR_MEANING_H
#define HANGAR_MEANING_H

#include <stdbool.h>
#include <stddef.h>

#include "diagnose/diagnose.h"

/* One object each: equal names are equal pointers. */
extern const char CLASS_MISSING[], CLASS_BLOCKED[], CLASS_BUSY[], CLASS_KILLED[], CLASS_CRASHED[],
	CLASS_EXITED[], CLASS_STOPPED[], CLASS_SKIPPED[], CLASS_EXTRA[], CLASS_EARLY[],
	CLASS_MISMATCH[], CLASS_OOM[], CLASS_GPU_OOM[], CLASS_INIT_MISSING[], CLASS_INIT_MISMATCH[],
	CLASS_INIT_UNREACHABLE[], CLASS_ABORTED[], CLASS_UNEXPLAINED[];

/* Can a verdict have this class? Those above, the monitor's own "rank-died", and the outcomes'
 * names, which a run has whose calls say no more. */
bool class_known(const char *name);

/* The classes above and "rank-died", with blanks between them. Returns buf. */
char *class_list(char *buf, size_t len);

/* Fill in cause, fix and prevention of the diagnosis' class. */
void class_explain(struct diagnosis *diagnosis);

#endif
