/* next_profiler.h: another profiler plugin behind this one, in version 5 or 6 of the interface: the
 * value of HANGAR_NEXT_PROFILER is its path, or NAME of libnccl-profiler-NAME.so. NCCL takes one plugin
 * alone. The next one hears what its own mask asks for, with its own contexts and handles. It is
 * open while a communicator has it, as NCCL opens it. */
#pragma once

/* The arguments of a plugin's init, as NCCL gives them. */
struct next_made {
	uint64_t hash;
	const char *name;
	int nnodes, nranks, rank;
	void *logger;
};

/* Takes lines for standard error. */
typedef void next_say(const char *line);

/* Hands a new communicator, whose context is `own`, to the next plugin. Returns what NCCL gets as its
 * context: `own` where there is no next plugin. A name that is none, or that refuses, is one line. */
void *next_profiler_init(void *own, const struct next_made *made, next_say *say);
/* Returns `own` of a context of this process. */
void *next_profiler_own(void *context);
/* Ends the communicator there. Returns `own`. */
void *next_profiler_finalize(void *context);
/* Returns true while a next plugin is there. */
bool next_profiler_there(void);
/* Returns true if the kinds of events that it asks for are others than at the last time. Its bits are *mask. */
bool next_profiler_asks(int *mask);

/* An event's handle at NCCL contains both plugins': the next one's address, `own` in the three lowest bits, and
 * `ticket` in the 16 highest. */
enum { NEXT_OWN = 7 };
#define NEXT_TICKET(handle) ((uintptr_t)(handle) >> 48)
void *next_profiler_start(void *context, const void *event, unsigned own, uint64_t ticket);
void next_profiler_stop(void *handle);
void next_profiler_record(void *handle, int state, void *arguments);
