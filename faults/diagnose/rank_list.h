/* rank_list.h: ranks as verdicts write them: "1,3", "-" for nobody. */
#ifndef HANGAR_RANK_LIST_H
#define HANGAR_RANK_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Is `rank` in the list? Anything that is no number names nobody. */
bool rank_list_has(const char *list, int rank);

/* How many numbers are in the list. */
size_t rank_list_count(const char *list);

#endif
