/* settings.h: one rank's NCCL settings and library versions as text, and the differences between
 * ranks. Pure; settings_read.h reads them. */
#pragma once

enum { SETTINGS_BYTES = 2048, SETTING_NAME = 48 };

/* The effect of different values on different ranks. */
enum setting_weight {
	SETTING_FREE,	 /* none: a rank may have its own value */
	SETTING_MAY,	 /* unknown, or it depends */
	SETTING_MATTERS, /* both ends of a connection, or all ranks of a call, use it */
	SETTING_BREAKS	 /* a single rank with another value usually breaks calls */
};

/* The weight of a setting's name. An unknown one has SETTING_MAY as NCCL_*, else SETTING_FREE. */
enum setting_weight setting_weight(const char *name);

/* Lines "NAME=VALUE" with newlines, then zeros. Ranks with equal settings have equal text. */
struct settings {
	char text[SETTINGS_BYTES];
	uint64_t more; /* hash of the settings that did not fit, shown in the last line; 0: none */
};

/* Adds a setting; settings_put omits FREE ones. A long value is cut and gets a hash. Space is
 * limited, so important settings come first, in the same order on all ranks. */
void settings_add(struct settings *settings, const char *name, const char *value);
void settings_put(struct settings *settings, const char *name, const char *value);

/* A hash of the settings of weight BREAKS; never 0. */
uint64_t settings_hash(const struct settings *settings);

struct setting_difference {
	char name[SETTING_NAME];
	enum setting_weight weight;
	char words[320]; /* "rank 3: Tree; ranks 0-2: unset", minorities first */
	char theirs[64]; /* the value of the first minority */
	char most[64];	 /* the value of the last group in `words` */
	int rank;	 /* a rank with the value of more than half of the known ranks; -1: none */
};

enum { SETTINGS_DIFFERENCES = 8 };

/* Writes differences of weight `least` or more between the texts of ranks 0 .. nranks-1 to `found`,
 * by weight, suspicion, name. A text has at most SETTINGS_BYTES and is not trusted; NULL: unknown.
 * Returns their number, at most SETTINGS_DIFFERENCES; 0 also without memory. */
size_t settings_compare(const char *const *texts, int nranks, enum setting_weight least,
			struct setting_difference *found);

/* Returns true if both texts have the same value of the setting. */
bool settings_like(const char *a, const char *b, const char *name);

/* All differences in one line: "NCCL_ALGO: rank 3: Tree; ranks 0-2: unset. ...". Returns buf. */
char *settings_words(const struct setting_difference *found, size_t n, char *buf, size_t len);
