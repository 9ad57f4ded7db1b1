/* parse.h: text to value, as a whole or not at all: no blanks, no trailing letters, no overflow. */
#pragma once

/* All return 0, or -EINVAL for a text that is not one whole value of the kind, or -ERANGE for a
 * value that does not fit. *value is set on success only. No pointer may be NULL. */

/* Bytes: digits with an optional fraction, an optional K, M, G or T (powers of 1024, any case),
 * then an optional B or iB, as a whole number of bytes: "1.5M" is one, "1.3K" not. */
int parse_size(const char *text, size_t *value);

/* Decimal with an optional '-'. No leading zeros: nccl-tests reads them as octal. */
int parse_int(const char *text, int64_t min, int64_t max, int64_t *value);

/* A finite decimal number with an optional exponent. Not nan, inf or hexadecimal. */
int parse_real(const char *text, double min, double max, double *value);

/* Digits in `base`: 2, 10 or 16; 0 decides by the prefix 0b or 0x. Base 16 allows the prefix 0x. */
int parse_unsigned(const char *text, int base, uint64_t max, uint64_t *value);

/* Returns the index of `name` in a list with blanks or "|", "*" at an end: any rest; -1: none. */
int names_find(const char *names, const char *name);

/* The text without blanks at its ends; its end is written into. */
char *text_trim(char *text);

/* The variable's value inside of `environment` ("NAME=VALUE", NULL at the end); NULL: not set. */
const char *environment_get(char *const *environment, const char *name);

/* Returns the first variable of a blank-separated list that is a number >= 0, else `missing`. */
int environment_number(char *const *environment, const char *names, int missing);

/* The reverse: six significant digits, more if the integer part has more (up to 1e15): 12.3457,
 * 8e-06, 1234568; "nan", "inf", "-inf". Writes at most `len` bytes; returns buf. */
char *number_text(double value, char *buf, size_t len);
