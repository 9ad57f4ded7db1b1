/* rank_list.c: lists of ranks, parsed and printed. */
#include "base/rank_list.h"

static const char *next_item(const char *at)
{
	at += strcspn(at, ",");
	return *at ? at + 1 : at;
}

bool rank_list_has(const char *list, int rank)
{
	for (; *list; list = next_item(list))
		if (isdigit((unsigned char)*list) && strtol(list, NULL, 10) == rank)
			return true;
	return false;
}

size_t rank_list_count(const char *list)
{
	size_t n = 0;

	for (; *list; list = next_item(list))
		n += isdigit((unsigned char)*list) != 0;
	return n;
}

size_t rank_list_text(const bool *in, int n, char *buf, size_t len)
{
	size_t count = 0, at = 0;

	buf[0] = '\0';
	for (int i = 0, next; i < n; i = next) {
		char item[32];
		int step;

		for (next = i + 1; in[i] && next < n && in[next];)
			next++;
		if (!in[i])
			continue;
		count += (size_t)(next - i);
		step = snprintf(item, sizeof(item), "%s%d", at ? "," : "", i);
		if (next - i > 1)
			step += snprintf(item + step, sizeof(item) - (size_t)step, "%c%d",
					 next - i > 2 ? '-' : ',', next - 1);
		if (at + (size_t)step + sizeof(",...") > len) {
			snprintf(buf + at, len - at, ",...");
			break;
		}
		memcpy(buf + at, item, (size_t)step + 1);
		at += (size_t)step;
	}
	return count;
}

const char *rank_list_words(const bool *in, int nranks, char *buf, size_t len)
{
	size_t begin = strlen("ranks "), n = rank_list_text(in, nranks, buf + begin, len - begin);

	if (n == 0)
		return strcpy(buf, "no rank");
	memcpy(buf, "ranks ", begin);
	if (n == 1)
		memmove(buf + begin - 2, buf + begin - 1, strlen(buf + begin - 1) + 1); /* cuts the
											 * plural
											 * s */
	return buf;
}

bool rank_list_add(char *list, size_t len, int rank)
{
	size_t at = strlen(list);
	int n = snprintf(list + at, len - at, "%s%d", at ? "," : "", rank);
	bool fits = n >= 0 && (size_t)n < len - at;

	if (!fits)
		list[at] = '\0';
	return fits;
}
