/* cpu_list.c: "0-15,32" to a set and back. */
#include "machine/cpu_list.h"

#include "base/rank_list.h"

/* Digits alone; strtol would take blanks and signs. */
static const char *read_cpu(const char *at, long *cpu)
{
	char *end;

	if (!isdigit((unsigned char)*at))
		return NULL;
	errno = 0;
	*cpu = strtol(at, &end, 10);
	return errno || *cpu >= CPU_LIST_MOST ? NULL : end;
}

int cpu_list_parse(struct cpu_list *list, const char *text)
{
	const char *at = text;
	long first, last;

	memset(list, 0, sizeof(*list));
	while (*at) {
		at = read_cpu(at, &first);
		last = first;
		if (at && *at == '-')
			at = read_cpu(at + 1, &last);
		if (!at || last < first || (*at && (*at != ',' || !at[1])))
			return -EINVAL;
		for (long cpu = first; cpu <= last; cpu++)
			CPU_SET_S((size_t)cpu, sizeof(*list), list->sets);
		at += *at == ',';
	}
	return CPU_COUNT_S(sizeof(*list), list->sets);
}

char *cpu_list_text(const struct cpu_list *list, char *buf, size_t len)
{
	bool in[CPU_LIST_MOST];

	for (size_t cpu = 0; cpu < CPU_LIST_MOST; cpu++)
		in[cpu] = CPU_ISSET_S(cpu, sizeof(*list), list->sets);
	rank_list_text(in, CPU_LIST_MOST, buf, len);
	return buf;
}
