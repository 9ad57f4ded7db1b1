/* keys.h: the keys of a fault, "delay=SECONDS how=lock|read". One text is parser and help, for --fault of our own
 * programs and of hangar_run. Pure. */
#pragma once

/* Copies the values of a key in "delay=SECONDS how=lock|read" to `buf` of `len` bytes: "lock|read". "NCCL_*" is the
 * key of all names that begin so. `keys` may be NULL: none. Returns buf, or NULL if there is no such key. */
const char *keys_values(const char *keys, const char *key, char *buf, size_t len);

/* Returns NULL if these values ("SECONDS", "lock|read") include `value`, else their description as the end of
 * "wanted ...": a static text, or `values` itself. */
const char *keys_refused(const char *values, const char *value);

/* Parses PACE: "10%" sets *share to 0.1, "5ms" (us, ms, s; without a unit seconds) sets *seconds to 0.005; the other
 * becomes 0. Limits: 1000 %, 60 s. Returns 0 or -EINVAL, and then both are as they were. */
int keys_pace(const char *text, double *share, double *seconds);
