/* buffers.h: the buffers of a call as data faults need them: how long they are on a rank, one element
 * read and written. Internal to faults/inject/data/. */
#pragma once

#include "inject/fault.h"

/* A call reads or writes this on its rank; `count` elements, 0: nothing. */
struct extent {
	char *first;
	size_t count, width; /* bytes of an element */
};

struct extent extent_sent(const struct fault_act *act);
struct extent extent_received(const struct fault_act *act);

/* For a fault's `applies`: the rank sends something; it receives something, which is there when the call
 * has completed. */
bool sends_data(const struct planned_call *planned);
bool receives_data(const struct planned_call *planned);

/* The element that at= names, counted modulo the length, else the one in the middle. `extent` is not
 * empty. */
char *extent_element(const struct extent *extent, const struct fault_act *act);

/* Flip the bit of the element that bit= names, modulo its width, else the second highest, which
 * changes any number by much. Waits for the calls before. 0 or a negative errno. */
int element_flip(const struct fault_act *act, char *element, size_t width);

/* An alltoallv's matrix may leave a rank without such data: -ENOTSUP, with the error set. `what`: "sends"
 * or "receives". */
int extent_empty(const struct fault_act *act, const char *what);
