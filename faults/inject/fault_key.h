/* fault_key.h: one key of fault.args, "delay=SECONDS how=lock|read". Internal to faults/inject/. */
#pragma once

struct key {
	const char *name, *value; /* what stands before and behind '=' in the table;
	                           * not terminated */
	size_t name_len, value_len;
};

/* The first key at *args (may be NULL), which moves behind it. False at the end. */
bool fault_key_next(const char **args, struct key *key);

/* The key of that name. False: there is none. */
bool fault_key_find(const char *args, const char *name, size_t len, struct key *key);

/* Returns true if the key takes a kind of value ("SECONDS" "STATUS" "NUMBER" "ELEMENT" "BIT" "VALUE"
 * "PATH"), false if words. */
bool fault_key_has_kind(const struct key *key);

/* Returns true if this text is a value that the key takes. */
bool fault_key_allows(const struct key *key, const char *value);

/* Writes what a key takes, for a usage error. */
void fault_key_help(const struct key *key, char *buf, size_t len);
