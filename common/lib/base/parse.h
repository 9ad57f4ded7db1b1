/* parse.h: text to value, all or nothing: no blanks, no trailing letters, no overflow. */
#pragma once

/* All return 0, or -EINVAL when the text is not one whole value of that kind, or -ERANGE when
 * the value does not fit; then *value is left alone. No pointer may be NULL. */

/* Bytes: digits, perhaps a fraction, perhaps K, M, G or T (powers of 1024, any case) and then B
 * or iB. A fraction must come out as a whole number of bytes: "1.5M" does, "1.3K" does not. */
int parse_size(const char *text, size_t *value);

/* Decimal, perhaps with '-'. No leading zeros: nccl-tests reads them as octal. */
int parse_int(const char *text, int64_t min, int64_t max, int64_t *value);

/* A finite decimal number, perhaps with exponent. Not nan, inf or hexadecimal. */
int parse_real(const char *text, double min, double max, double *value);

/* Digits in `base`: 2, 10 or 16, or 0 to tell by the prefix 0b or 0x. 0x is allowed, not
 * required, in base 16. */
int parse_unsigned(const char *text, int base, uint64_t max, uint64_t *value);

/* Which of the names, a blank between two, `name` is; one with "*" at its end is all that begin so. -1:
 * none. */
int names_find(const char *names, const char *name);

/* The other way round: six significant digits, more where the integer part has more (up to 1e15): 12.3457,
 * 8e-06, 1234568; "nan", "inf", "-inf". Returns buf. */
char *number_text(double value, char *buf, size_t len);
