/* preflight_local.h: ranks of a host wait for word of the process beside them, and tell it of their calls. */
#pragma once

#include "process/launch.h"

enum { LOCAL_MOST = 256 /* ranks of a host */ };

struct local {
	int listener, n, fds[LOCAL_MOST];
	char *texts[LOCAL_MOST]; /* what each said, owned */
};

/* A rank's connection, which it waits for so long; not connected, its reads fail. The caller closes it. */
int local_join(const struct launch *launch, double seconds);

/* Waits for ranks of this launch on this host. Returns 0 or a negative errno. */
int local_open(struct local *local, const struct launch *launch);

/* Gives `ranks` ranks the word; those that do not come within 5 s are not waited for. */
void local_give(struct local *local, int ranks, char word);

/* Takes what ranks say until all have ended. Returns false where the time is over first. */
bool local_take(struct local *local, double seconds);

/* Gives all the exit code as a last word, and releases what they said. */
void local_close(struct local *local, int code);
