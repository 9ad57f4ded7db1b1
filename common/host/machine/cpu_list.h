/* cpu_list.h: sets of CPUs as the kernel writes them: "0-15,32". */
#pragma once

#include <sched.h>

enum { CPU_LIST_MOST = 8192 }; /* CPUs that a set has room for */

/* For the CPU_..._S macros, with its size. */
struct cpu_list {
	cpu_set_t sets[CPU_LIST_MOST / CPU_SETSIZE];
};

/* Reads a list. Returns the number of CPUs, or -EINVAL: no list, cut short, too large. */
int cpu_list_parse(struct cpu_list *list, const char *text);

/* Writes a set; a text too long for `len` ends in "...". Returns buf. */
char *cpu_list_text(const struct cpu_list *list, char *buf, size_t len);
