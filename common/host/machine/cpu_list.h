/* cpu_list.h: sets of CPUs as the kernel writes them: "0-15,32". */
#pragma once

#include <sched.h>

enum { CPU_LIST_MOST = 8192 }; /* CPUs that a set has room for */

/* For the CPU_..._S macros, with its size. */
struct cpu_list {
	cpu_set_t sets[CPU_LIST_MOST / CPU_SETSIZE];
};

/* Read a list. How many, or -EINVAL: not a list, cut short ("..."), or a number too large. "" is
 * the empty set. */
int cpu_list_parse(struct cpu_list *list, const char *text);

/* Write one; too long for `len`, it ends in "...". Returns buf. */
char *cpu_list_text(const struct cpu_list *list, char *buf, size_t len);
