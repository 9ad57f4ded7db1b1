/* fault.c: --fault taken apart, and the table of faults: checked and listed. */
#include "fault.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

#include "parse.h"

/* ---- one key of fault.args ---- */

struct key {
	const char *name, *value; /* what stands before and behind '=' in the table */
	size_t name_len, value_len;
};

/* The first key at *args, which moves behind it. False at the end. */
static bool key_next(const char **args, struct key *key)
{
	const char *at = *args;
	size_t len;

	if (!at || !*at)
		return false;
	len = strcspn(at, " ");
	key->name = at;
	key->name_len = strcspn(at, "= ");
	key->value = at + key->name_len + (at[key->name_len] == '=');
	key->value_len = (size_t)(at + len - key->value);
	*args = at + len + (at[len] == ' ');
	return true;
}

static bool key_find(const char *args, const char *name, size_t len, struct key *key)
{
	while (key_next(&args, key))
		if (key->name_len == len && memcmp(key->name, name, len) == 0)
			return true;
	return false;
}

static bool kind_is(const struct key *key, const char *kind)
{
	return key->value_len == strlen(kind) && memcmp(key->value, kind, key->value_len) == 0;
}

/* Is `value` one of the words of "lock|read"? */
static bool word_of(const struct key *key, const char *value)
{
	const char *at = key->value, *end = key->value + key->value_len;
	size_t len = strlen(value);

	while (at < end) {
		size_t word = strcspn(at, "| ");

		if (word == len && memcmp(at, value, len) == 0)
			return true;
		at += word + 1;
	}
	return false;
}

static bool value_allowed(const struct key *key, const char *value)
{
	int64_t status;
	double seconds;

	if (kind_is(key, "SECONDS"))
		return parse_real(value, 0, 86400, &seconds) == 0;
	if (kind_is(key, "STATUS"))
		return parse_int(value, 0, 255, &status) == 0;
	return word_of(key, value);
}

/* What a key takes, for a usage error. */
static void value_help(const struct key *key, char *buf, size_t len)
{
	if (kind_is(key, "SECONDS"))
		snprintf(buf, len, "seconds from 0 to 86400");
	else if (kind_is(key, "STATUS"))
		snprintf(buf, len, "an exit status from 0 to 255");
	else
		snprintf(buf, len, "%.*s", (int)key->value_len, key->value);
}

/* ---- the spec ---- */

struct parser {
	struct fault_spec *spec;
	struct error *err;
	bool timed; /* when= was given */
};

#define WRONG(parser, ...) usage((parser)->err, (parser)->spec->text, __VA_ARGS__)

static int usage(struct error *err, const char *text, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int usage(struct error *err, const char *text, const char *fmt, ...)
{
	char why[360];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return error_set(err, OUTCOME_USAGE, -EINVAL, "--fault=%.80s: %s", text, why);
}

/* The first `len` characters of `text` as a number. -EINVAL: they are none that fits. */
static int number(const char *text, size_t len, int64_t min, int64_t max, int64_t *value)
{
	char digits[24];

	if (len == 0 || len >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	return parse_int(digits, min, max, value);
}

/* Keeps ranks ascending, whatever the order they are named in. */
static int add_rank(struct parser *p, int rank)
{
	struct fault_spec *spec = p->spec;
	int at = spec->nranks;

	while (at > 0 && spec->ranks[at - 1] > rank)
		at--;
	if (at > 0 && spec->ranks[at - 1] == rank)
		return WRONG(p, "rank %d is named twice", rank);
	if (spec->nranks == FAULT_MAX_RANKS)
		return WRONG(p, "more than %d guilty ranks", FAULT_MAX_RANKS);
	memmove(&spec->ranks[at + 1], &spec->ranks[at],
		(size_t)(spec->nranks - at) * sizeof(spec->ranks[0]));
	spec->ranks[at] = rank;
	spec->nranks++;
	return 0;
}

/* "3" or "0-2". */
static int parse_range(struct parser *p, const char *text, size_t len)
{
	const char *dash = memchr(text, '-', len);
	size_t head = dash ? (size_t)(dash - text) : len;
	int64_t first = 0, last = 0;
	int rc = number(text, head, 0, INT_MAX - 1, &first);

	last = first;
	if (rc == 0 && dash)
		rc = number(dash + 1, len - head - 1, first, INT_MAX - 1, &last);
	if (rc < 0)
		return WRONG(p, "bad ranks \"%.*s\": wanted 3, 1,3 or 0-2",
			     (int)(len < 40 ? len : 40), text);
	for (int64_t rank = first; rank <= last && rc == 0; rank++)
		rc = add_rank(p, (int)rank);
	return rc;
}

/* Ranks end at '@', at the first item with '=', or with the text. */
static int parse_ranks(struct parser *p, const char **text)
{
	const char *at = *text;
	int rc;

	for (;;) {
		size_t len = strcspn(at, ",@");
		const char *next = at + len;

		rc = parse_range(p, at, len);
		if (rc < 0 || *next != ',' || next[1 + strcspn(next + 1, ",@=")] == '=') {
			*text = next;
			return rc;
		}
		at = next + 1;
	}
}

static int parse_op(struct parser *p, const char **text)
{
	size_t len = strcspn(*text, ",");
	int64_t op = 0;

	if (number(*text, len, 1, LONG_MAX, &op) < 0)
		return WRONG(p, "bad call \"@%.*s\": wanted the number of a call, from 1",
			     (int)(len < 40 ? len : 40), *text);
	p->spec->op = (long)op;
	*text += len;
	return 0;
}

static int parse_when(struct parser *p, const char *value)
{
	bool after = strcmp(value, "after") == 0;

	if (p->timed)
		return WRONG(p, "when is given twice");
	if (!after && strcmp(value, "before") != 0)
		return WRONG(p, "bad when=%s: wanted before or after", value);
	if (after && p->spec->fault->only_before)
		return WRONG(p, "%s fires before the call only", p->spec->fault->name);
	p->timed = true;
	p->spec->when = after ? FAULT_AFTER : FAULT_BEFORE;
	return 0;
}

/* A pair that has been copied to spec->args[spec->nargs]. */
static int take_pair(struct parser *p)
{
	struct fault_spec *spec = p->spec;
	const char *name = spec->args[spec->nargs].key, *value = spec->args[spec->nargs].value;
	const char *args = spec->fault->args;
	char wanted[64];
	struct key key;

	if (!key_find(args, name, strlen(name), &key))
		return WRONG(p, "unknown key \"%s\": %s takes %s%swhen=before|after", name,
			     spec->fault->name, args ? args : "", args ? " " : "");
	if (fault_arg(spec, name))
		return WRONG(p, "%s is given twice", name);
	if (!value_allowed(&key, value)) {
		value_help(&key, wanted, sizeof(wanted));
		return WRONG(p, "bad %s=%s: wanted %s", name, value, wanted);
	}
	spec->nargs++;
	return 0;
}

/* "key=value" up to the next comma. */
static int parse_pair(struct parser *p, const char **text)
{
	struct fault_spec *spec = p->spec;
	size_t len = strcspn(*text, ","), name = strcspn(*text, "=,");
	const char *value = *text + name + 1;
	size_t value_len = name < len ? len - name - 1 : 0;

	if (name == 0 || name >= sizeof(spec->args[0].key) || value_len == 0 ||
	    value_len >= sizeof(spec->args[0].value))
		return WRONG(p, "bad \"%.*s\": wanted key=value", (int)(len < 40 ? len : 40),
			     *text);
	/* A place is left: no key is kept twice, and the table check sees to the number of keys. */
	memset(&spec->args[spec->nargs], 0, sizeof(spec->args[0]));
	memcpy(spec->args[spec->nargs].key, *text, name);
	memcpy(spec->args[spec->nargs].value, value, value_len);
	*text += len;
	if (strcmp(spec->args[spec->nargs].key, "when") == 0)
		return parse_when(p, spec->args[spec->nargs].value);
	return take_pair(p);
}

static int parse_name(struct parser *p, const char **text)
{
	size_t len = strcspn(*text, ":@,"), n = 0;
	char name[32] = "", known[320] = "";

	if (len < sizeof(name))
		memcpy(name, *text, len);
	p->spec->fault = fault_find(name);
	for (size_t i = 0; fault_table[i] && n < sizeof(known); i++)
		n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s", i ? " " : "",
				      fault_table[i]->name);
	if (!p->spec->fault)
		return WRONG(p, "unknown fault; known: %s", known);
	*text += len;
	return 0;
}

int fault_parse(struct fault_spec *spec, const char *text, struct error *err)
{
	struct parser parser = { .spec = spec, .err = err };
	int rc;

	*spec = (struct fault_spec){ .text = text };
	rc = parse_name(&parser, &text);
	if (rc == 0 && *text == ':') {
		text++;
		rc = parse_ranks(&parser, &text);
	}
	if (rc == 0 && *text == '@') {
		text++;
		rc = parse_op(&parser, &text);
	}
	while (rc == 0 && *text == ',') {
		text++;
		rc = parse_pair(&parser, &text);
	}
	return rc;
}

const char *fault_arg(const struct fault_spec *spec, const char *key)
{
	for (int i = 0; i < spec->nargs; i++)
		if (strcmp(spec->args[i].key, key) == 0)
			return spec->args[i].value;
	return NULL;
}

/* ---- the table ---- */

const struct fault *fault_find(const char *name)
{
	for (size_t i = 0; fault_table[i]; i++)
		if (strcmp(fault_table[i]->name, name) == 0)
			return fault_table[i];
	return NULL;
}

static bool is_line(const char *text)
{
	return text && *text && !strchr(text, '\n');
}

static bool outcomes_ok(const char *text)
{
	char one[48];

	for (;;) {
		size_t len = strcspn(text, "|");

		if (len >= sizeof(one))
			return false;
		memcpy(one, text, len);
		one[len] = '\0';
		if (expect_check(one) < 0)
			return false;
		if (!text[len])
			return true;
		text += len + 1;
	}
}

static bool args_ok(const char *args)
{
	const char *const lower = "abcdefghijklmnopqrstuvwxyz";
	struct fault_spec *spec;
	struct key key;
	int n = 0;

	while (key_next(&args, &key)) {
		if (++n == FAULT_MAX_ARGS || key.name_len == 0 ||
		    key.name_len >= sizeof(spec->args[0].key) ||
		    strspn(key.name, lower) != key.name_len || key.name[key.name_len] != '=')
			return false;
		if (kind_is(&key, "SECONDS") || kind_is(&key, "STATUS"))
			continue;
		if (key.value_len == 0 ||
		    strspn(key.value, "abcdefghijklmnopqrstuvwxyz|") != key.value_len)
			return false;
	}
	return true;
}

static const char *row_check(const struct fault *fault)
{
	bool everywhere = fault->mpi && fault->nccl;

	if (!is_line(fault->name) ||
	    strspn(fault->name, "abcdefghijklmnopqrstuvwxyz-") != strlen(fault->name) ||
	    strlen(fault->name) >= 32)
		return "a fault without a name of small letters and '-'";
	if (!is_line(fault->help))
		return "a fault without a line of help";
	if (!is_line(fault->source))
		return "a fault without a source";
	if (!fault->fire)
		return "a fault that does nothing";
	if (fault->min_ranks < 1)
		return "a fault without a number of ranks";
	if (fault->args && (!*fault->args || !args_ok(fault->args)))
		return "a fault with malformed keys";
	if (fault->sticky && !fault->only_before)
		return "a sticky fault that may fire after the call";
	if (!fault->mpi && !fault->nccl)
		return "a fault that can occur nowhere";
	if ((fault->mpi && !outcomes_ok(fault->mpi)) || (fault->nccl && !outcomes_ok(fault->nccl)))
		return "a fault with malformed outcomes";
	if (everywhere ? fault->why_not != NULL : !is_line(fault->why_not))
		return "a fault whose why_not does not fit its outcomes";
	return NULL;
}

const char *fault_rows_check(const struct fault *const *table)
{
	if (!table[0])
		return "no faults";
	for (size_t i = 0; table[i]; i++) {
		const char *wrong = row_check(table[i]);

		if (wrong)
			return wrong;
		for (size_t k = 0; k < i; k++)
			if (strcmp(table[i]->name, table[k]->name) == 0)
				return "two faults of one name";
	}
	return NULL;
}

const char *fault_table_check(void)
{
	return fault_rows_check(fault_table);
}

void fault_list(FILE *out, const char *backend)
{
	bool nccl = strcmp(backend, "nccl") == 0;

	fprintf(out, "# --fault=NAME[:RANKS][@OP][,key=value...]  (outcomes on the %s backend)\n",
		nccl ? "nccl" : "mpi");
	for (size_t i = 0; fault_table[i]; i++) {
		const struct fault *fault = fault_table[i];
		const char *outcomes = nccl ? fault->nccl : fault->mpi;

		fprintf(out, "# %-17s %s\n", fault->name, fault->help);
		fprintf(out, "#   keys: %s%s%s\n", fault->args ? fault->args : "",
			fault->args ? " " : "",
			fault->only_before ? "when=before" : "when=before|after");
		if (outcomes)
			fprintf(out, "#   outcome: %s\n", outcomes);
		else
			fprintf(out, "#   cannot occur here: %s\n", fault->why_not);
		fprintf(out, "#   as in: %s\n", fault->source);
	}
}
