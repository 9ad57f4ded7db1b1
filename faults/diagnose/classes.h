/* classes.h: the names of what a diagnosis can find, and what each means, how to fix it, how to
 * prevent it. */
#ifndef HANGAR_CLASSES_H
#define HANGAR_CLASSES_H

#include "diagnose.h"

/* One object each: equal names are equal pointers. */
extern const char CLASS_MISSING[], CLASS_BLOCKED[], CLASS_BUSY[], CLASS_KILLED[], CLASS_CRASHED[],
	CLASS_EXITED[], CLASS_STOPPED[], CLASS_SKIPPED[], CLASS_EXTRA[], CLASS_EARLY[],
	CLASS_MISMATCH[], CLASS_OOM[], CLASS_GPU_OOM[], CLASS_INIT_MISSING[],
	CLASS_INIT_MISMATCH[], CLASS_INIT_UNREACHABLE[], CLASS_ABORTED[], CLASS_UNEXPLAINED[];

/* Fill in cause, fix and prevention of the diagnosis' class. */
void class_explain(struct diagnosis *diagnosis);

#endif
