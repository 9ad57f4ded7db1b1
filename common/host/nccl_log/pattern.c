/* pattern.c: PCRE2, compiled when needed; shapes of texts. */
#include "nccl_log/pattern.h"

#include "base/error.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define JIT_AFTER   32	      /* matches: compiling for the processor costs as much as a thousand */
#define STACK_BYTES (1 << 20) /* of compiled patterns; beyond it the slow way is taken */
#define STEPS	    200000    /* from each byte of the text on: 2 ms */
#define HEAP_KIB    (16 << 10)

void matcher_init(struct matcher *matcher)
{
	uint32_t jit = 0;

	pcre2_config(PCRE2_CONFIG_JIT, &jit);
	*matcher = (struct matcher){
		.data = must(pcre2_match_data_create(PATTERN_GROUPS + 1, NULL)),
		.context = must(pcre2_match_context_create(NULL)),
		.jit = jit,
	};
	pcre2_set_match_limit(matcher->context, STEPS);
	pcre2_set_heap_limit(matcher->context, HEAP_KIB);
	matcher->stack = jit ? pcre2_jit_stack_create(32 << 10, STACK_BYTES, NULL) : NULL;
	if (matcher->stack)
		pcre2_jit_stack_assign(matcher->context, NULL, matcher->stack);
}

void matcher_release(struct matcher *matcher)
{
	pcre2_match_data_free(matcher->data);
	pcre2_match_context_free(matcher->context);
	pcre2_jit_stack_free(matcher->stack);
	*matcher = (struct matcher){ 0 };
}

static pcre2_code *compile(const char *text, char *why, size_t len)
{
	PCRE2_UCHAR message[128];
	PCRE2_SIZE at;
	uint32_t groups;
	int error;
	pcre2_code *code =
		pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
			      PCRE2_DOLLAR_ENDONLY | PCRE2_DOTALL | PCRE2_NEVER_BACKSLASH_C, &error,
			      &at, NULL);

	if (!code) {
		pcre2_get_error_message(error, message, sizeof(message));
		snprintf(why, len, "no pattern: %s at character %zu of it", (char *)message, at);
		return NULL;
	}
	pcre2_pattern_info(code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (groups <= PATTERN_GROUPS)
		return code;
	snprintf(why, len, "no pattern: it has %u groups, %d fit", groups, PATTERN_GROUPS);
	pcre2_code_free(code);
	return NULL;
}

bool pattern_compile(struct pattern *pattern, char *why, size_t len)
{
	if (!pattern->code)
		pattern->code = compile(pattern->text, why, len);
	return pattern->code;
}

void pattern_release(struct pattern *pattern)
{
	pcre2_code_free(pattern->code);
	pcre2_code_free(pattern->folded);
	pattern->code = pattern->folded = NULL;
}

void pattern_names(const struct pattern *pattern,
		   void (*take)(void *context, const char *name, int number), void *context)
{
	uint32_t n, size;
	PCRE2_SPTR table;

	pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMECOUNT, &n);
	pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMEENTRYSIZE, &size);
	pcre2_pattern_info(pattern->code, PCRE2_INFO_NAMETABLE, &table);
	for (; n > 0; n--, table += size) /* two bytes of number, then the name */
		take(context, (const char *)table + 2, table[0] << 8 | table[1]);
}

static void must_compile(struct pattern *pattern)
{
	char why[256];

	if (pattern_compile(pattern, why, sizeof(why)))
		return;
	fprintf(stderr, "%s: %s\n", pattern->text, why);
	abort(); /* a test compiles all rows, and a user's are compiled when they are read */
}

static bool match(pcre2_code *code, struct matcher *matcher, const char *text, size_t len)
{
	uint32_t options = matcher->jit ? 0 : PCRE2_NO_JIT;
	int rc = pcre2_match(code, (PCRE2_SPTR)text, len, 0, options, matcher->data,
			     matcher->context);

	if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
		rc = pcre2_match(code, (PCRE2_SPTR)text, len, 0, PCRE2_NO_JIT, matcher->data,
				 matcher->context);
	return rc > 0;
}

bool pattern_find(struct pattern *pattern, struct matcher *matcher, const char *text, size_t len,
		  size_t at[PATTERN_SPANS])
{
	must_compile(pattern);
	if (++pattern->matches == JIT_AFTER && matcher->jit)
		pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* else the slow way */
	if (!match(pattern->code, matcher, text, len))
		return false;
	memcpy(at, pcre2_get_ovector_pointer(matcher->data), PATTERN_SPANS * sizeof(*at));
	return true;
}

/* ---- shapes -------------------------------------------------------------------------------- */

uint64_t pattern_shape(const char *text, size_t len)
{
	uint64_t hash = len;
	bool hex = false;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= '0' && c <= '9')
			c = '0';
		else if (hex && (c | 32) >= 'a' && (c | 32) <= 'f')
			c = '0';
		else
			hex = c == 'x' && i > 0 && text[i - 1] == '0';
		hash = (hash ^ c) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash;
}

/* The pattern with "\d" for each digit that it asks for, NULL: it asks for none. */
static char *fold(const char *text)
{
	char *folded = must(malloc(2 * strlen(text) + 1)), *to = folded;
	bool digits = false;

	for (; *text; text++) {
		if (isdigit((unsigned char)*text)) {
			digits = true;
			*to++ = '\\';
			*to++ = 'd';
			continue;
		}
		if (*text == '{')
			while (text[1] && *text != '}')
				*to++ = *text++;
		*to++ = *text;
		if (*text == '\\' && text[1])
			*to++ = *++text;
	}
	*to = '\0';
	if (digits)
		return folded;
	free(folded);
	return NULL;
}

bool pattern_may_fit(struct pattern *pattern, struct matcher *matcher, const char *text, size_t len)
{
	char *folded = pattern->folded ? NULL : fold(pattern->text), why[256];

	if (!pattern->folded && !folded)
		return false;
	if (!pattern->folded)
		pattern->folded = compile(folded, why, sizeof(why));
	free(folded);
	return !pattern->folded || match(pattern->folded, matcher, text, len);
}
