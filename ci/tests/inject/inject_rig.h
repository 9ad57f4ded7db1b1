/* inject_rig.h: an injector in a chain whose backend notes the calls that it gets. */
#pragma once

#include "inject/inject.h"
#include "rig/unit.h"
#include "fault_machine.h"

enum { MADE = 32 };

struct note {
	struct backend be;
	struct error err;
	int rc, n;
	_Atomic int *seen; /* n, for another process; may be NULL */
	struct call made[MADE];
	char comms[128];
	int started;
};

struct rig {
	struct note note;
	struct injector injector;
	struct call_filter filter;
	struct chain chain;
	struct fault_record record;
};

extern unsigned rig_have; /* what the machine has */
extern int rig_step_calls;
extern bool rig_alternates; /* every other call is communicator 1's */
extern char send_buffer[64], recv_buffer[64];

extern struct options rig_options;

int rig_open(struct rig *rig, const char *const *specs, int n, int rank, int nranks);

/* Call number k has count k, so that what was made can be told from what was asked for. */
int rig_call(struct rig *rig, size_t number, uint32_t comm);

void rig_calls(struct rig *rig, size_t n);

/* Counts of the calls made, as " 1 2 3". */
void made_text(const struct note *note, char *buf, size_t len);
