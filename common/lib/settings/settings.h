/* settings.h: the settings of NCCL, and the libraries, that one rank has, as text; and in what ranks
 * differ. Pure; settings_read.h reads them. */
#pragma once

enum { SETTINGS_BYTES = 2048, SETTING_NAME = 48 };

/* What it means that ranks have different values. */
enum setting_weight {
	SETTING_FREE,	 /* nothing: each may have its own */
	SETTING_MAY,	 /* it may matter: nothing is known of this setting, or it depends */
	SETTING_MATTERS, /* both ends of a connection, or all ranks of a call, act on it */
	SETTING_BREAKS	 /* and one alone that has another value breaks calls, as a rule */
};

enum setting_weight setting_weight(const char *name);

/* Lines "NAME=VALUE", each ended by a newline, and then zeros: equal for ranks that have the same. */
struct settings {
	char text[SETTINGS_BYTES];
	uint64_t more; /* hash of what had no room, which the last line shows; 0: nothing */
};

/* Adds a setting; settings_put leaves out what is free. Of a long value the beginning is kept, and a hash.
 * Those that matter should come first, as there may be no room for all, and the same ones in the same
 * order. */
void settings_add(struct settings *settings, const char *name, const char *value);
void settings_put(struct settings *settings, const char *name, const char *value);

/* A hash of those that break calls where they differ; never 0. */
uint64_t settings_hash(const struct settings *settings);

/* Something in which ranks differ. */
struct setting_difference {
	char name[SETTING_NAME];
	enum setting_weight weight;
	char words[320]; /* "rank 3: Tree; ranks 0-2: unset", the odd ones first */
	char theirs[64]; /* the value of the first odd one */
	char most[64];	 /* ... and of the last ones in `words` */
	int rank; /* a rank that has the value of more than half of those known, -1: no value has
	                  * so many */
};

enum { SETTINGS_DIFFERENCES = 8 };

/* The differences between the texts of ranks 0 .. nranks-1 from the weight `least` on to `found`, those that
 * matter first, and of these the ones first that more often do harm, else by name. A text is of SETTINGS_BYTES at most and is not trusted; NULL: that
 * rank's is not known. Returns how many there are in `found`, at most SETTINGS_DIFFERENCES; 0 also without
 * memory. */
size_t settings_compare(const char *const *texts, int nranks, enum setting_weight least,
			struct setting_difference *found);

/* Returns true if both have the same value of the setting. */
bool settings_like(const char *a, const char *b, const char *name);

/* All differences in one line: "NCCL_ALGO: rank 3: Tree; ranks 0-2: unset. NCCL_X (may matter): ...".
 * Returns buf. */
char *settings_words(const struct setting_difference *found, size_t n, char *buf, size_t len);
