/* json_value.h: jansson values from C values that JSON cannot hold. */
#pragma once

#include <jansson.h>

/* All return new references, NULL only without memory. */

/* NULL becomes null. In text that is not UTF-8 bytes above 0x7f become "?". */
json_t *json_value_text(const char *text);

/* NaN and infinity become null. */
json_t *json_value_real(double value);

/* Writes the value to `path` with 15 digits a number, as output_whole does. `flags` are added to
 * jansson's. Returns 0 or a negative errno: -ENOSPC on a full disk. */
int json_value_save(const json_t *value, const char *path, size_t flags);

/* Writes it as lines, with 15 digits a number. */
void json_value_print(FILE *out, const json_t *value);

/* A text's lines, each a string; ends of lines, and an empty last one, are left out. */
json_t *json_value_lines(const char *text);

/* An array of n strings. */
json_t *json_value_texts(char *const *texts, int n);
