/* pattern.h: patterns of PCRE2 over bytes: any bytes are valid, "." is any of them. */
#pragma once

/* A pattern has named groups, and at most so many groups. */
#define PATTERN_GROUPS 15
#define PATTERN_SPANS  (2 * (PATTERN_GROUPS + 1))
#define PATTERN_UNSET  ((size_t)-1)

/* Zeroed but for `text`, which stays the caller's; compiled when it is first matched, for the processor when it is
 * matched often. */
struct pattern {
	const char *text;
	struct pcre2_real_code_8 *code, *folded;
	int matches;
};

/* The memory that matching needs. With `jit` off, or where the library has none, matching is slower and finds the same. */
struct matcher {
	struct pcre2_real_match_data_8 *data;
	struct pcre2_real_match_context_8 *context;
	struct pcre2_real_jit_stack_8 *stack;
	bool jit;
};

void matcher_init(struct matcher *matcher);
void matcher_release(struct matcher *matcher);

/* Compiles it. False: it is no pattern, or has too many groups; `why` says so. */
bool pattern_compile(struct pattern *pattern, char *why, size_t len);
void pattern_release(struct pattern *pattern);

/* Calls `take` with the name and number of each named group. */
void pattern_names(const struct pattern *pattern,
		   void (*take)(void *context, const char *name, int number), void *context);

/* The first match in the text: at[2n] and at[2n + 1] are beginning and end of group n, PATTERN_UNSET where it took no part.
 * A match that would take more steps or memory than a limit is none. A pattern that can't be compiled ends the process. */
bool pattern_find(struct pattern *pattern, struct matcher *matcher, const char *text, size_t len,
		  size_t at[PATTERN_SPANS]);

/* The shape of a text: a hash in which a digit is any digit, and a hexadecimal digit behind "0x" too. */
uint64_t pattern_shape(const char *text, size_t len);

/* Returns true if the pattern asks for certain digits, and a text of the same shape may fit. */
bool pattern_may_fit(struct pattern *pattern, struct matcher *matcher, const char *text,
		     size_t len);
