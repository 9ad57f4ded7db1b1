/* json_value.h: jansson values from C values that JSON can't hold as they are. */
#pragma once

#include <jansson.h>

/* New references; NULL on lack of memory only. */

/* NULL becomes null; text that is not UTF-8 has its bytes above 0x7f replaced by "?". */
json_t *json_value_text(const char *text);

/* NaN and infinity become null. */
json_t *json_value_real(double value);

/* Written to `path`, which is made or overwritten; numbers with 15 digits. `flags`: jansson's besides.
 * 0 or a negative errno: -ENOSPC on a full disk. */
int json_value_save(const json_t *value, const char *path, size_t flags);

/* n strings. */
json_t *json_value_texts(char *const *texts, int n);
