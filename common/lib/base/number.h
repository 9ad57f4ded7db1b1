/* number.h: floating-point numbers as text. */
#pragma once

/* Six significant digits, more where the integer part has more (up to 1e15): 12.3457, 8e-06,
 * 1234568. NaN and infinity are "nan", "inf" and "-inf". Writes at most `len` bytes, always
 * terminated; returns buf. */
char *number_text(double value, char *buf, size_t len);

/* As many of two decimals as fit into `width` characters, an exponent where not even the integer
 * part does: what nccl-tests prints in its columns. len > width. Returns buf. */
char *number_fit(double value, int width, char *buf, size_t len);
