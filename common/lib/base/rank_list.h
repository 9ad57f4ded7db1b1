/* rank_list.h: ranks as verdicts write them: "1,3", "-" for nobody; as sentences do: "rank 1",
 * "ranks 0-2,5". */
#pragma once

/* Returns true when `rank` is in the list. A text that is no number stands for no rank. */
bool rank_list_has(const char *list, int rank);

/* Returns how many numbers are in the list. */
size_t rank_list_count(const char *list);

/* Numbers i of 0..n-1 with in[i] as "0-2,5"; "..." ends a list for which there is no room. Returns how
 * many they are, as far as they were looked at. */
size_t rank_list_text(const bool *in, int n, char *buf, size_t len);

/* Ranks i of 0..nranks-1 with in[i] as "rank 1", "ranks 0-2,5", "no rank"; "..." ends a list for
 * which there is no room. `len` is at least 32. Returns buf. */
const char *rank_list_words(const bool *in, int nranks, char *buf, size_t len);
