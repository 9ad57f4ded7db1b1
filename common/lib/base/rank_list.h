/* rank_list.h: lists of ranks in verdicts ("1,3", "-" for none) and sentences ("ranks 0-2,5"). */
#pragma once

/* Returns true if `rank` is in the list. Text that is not a number matches no rank. */
bool rank_list_has(const char *list, int rank);

size_t rank_list_count(const char *list);

/* Adds a rank to a list, "" at first. False: no room, and the list is as it was. */
bool rank_list_add(char *list, size_t len, int rank);

/* Writes the numbers i of 0..n-1 with in[i] as "0-2,5"; "..." ends a long one. Returns how many. */
size_t rank_list_text(const bool *in, int n, char *buf, size_t len);

/* Writes the ranks i of 0..nranks-1 with in[i] as "rank 1", "ranks 0-2,5" or "no rank"; "..." ends
 * a list that does not fit. `len` is at least 32. Returns buf. */
const char *rank_list_words(const bool *in, int nranks, char *buf, size_t len);

/* Some of the ranks 0..nranks - 1. */
struct rank_set {
	bool *in; /* owned by the creator */
	int nranks;
	size_t n; /* number of its members */
};

static inline void rank_set_add(struct rank_set *set, int rank)
{
	set->n += !set->in[rank];
	set->in[rank] = true;
}

static inline void rank_set_clear(struct rank_set *set)
{
	memset(set->in, 0, (size_t)set->nranks);
	set->n = 0;
}
