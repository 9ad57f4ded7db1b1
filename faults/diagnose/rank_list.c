/* rank_list.c: reading lists of ranks. */
#include "rank_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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
