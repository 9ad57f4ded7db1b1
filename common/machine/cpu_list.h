/* cpu_list.h: sets of CPUs as the kernel writes them: "0-15,32". */
#pragma once

#include <sched.h>

enum { CPU_LIST_MOST = 8192 }; /* CPUs that a set has room for */

struct cpu_set {
	unsigned char has[CPU_LIST_MOST];
	int n;
};

/* Read a list. 0, or -EINVAL: not one, cut short ("..."), or a number too large. "" is the empty
 * set. */
int cpu_list_parse(struct cpu_set *set, const char *text);

/* Write one; too long for `len`, it ends in "...". Returns buf. */
char *cpu_list_text(const struct cpu_set *set, char *buf, size_t len);

/* CPUs that are in both. */
int cpu_list_common(const struct cpu_set *a, const struct cpu_set *b);
