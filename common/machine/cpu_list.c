/* cpu_list.c: "0-15,32" to a set and back. */
#include "machine/cpu_list.h"

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
	size_t used = 0;

	buf[0] = '\0';
	for (int cpu = 0; cpu < CPU_LIST_MOST; cpu++) {
		char item[32];
		int last = cpu, n;

		if (!CPU_ISSET_S((size_t)cpu, sizeof(*list), list->sets))
			continue;
		while (last + 1 < CPU_LIST_MOST &&
		       CPU_ISSET_S((size_t)last + 1, sizeof(*list), list->sets))
			last++;
		n = last > cpu ? snprintf(item, sizeof(item), "%s%d-%d", used ? "," : "", cpu, last)
			       : snprintf(item, sizeof(item), "%s%d", used ? "," : "", cpu);
		if (used + (size_t)n + 4 >= len) {
			snprintf(buf + used, len - used, "...");
			return buf;
		}
		memcpy(buf + used, item, (size_t)n + 1);
		used += (size_t)n;
		cpu = last;
	}
	return buf;
}
