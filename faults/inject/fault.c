/* fault.c: --fault taken apart. */
#include "inject/fault.h"

#include "base/parse.h"

/* ---- keys, as the row of the table words them ---- */

/* Kinds of values: numbers have a range, texts are any but an empty one. */
static const struct key_kind {
	const char *name, *help;
	int64_t min, max;
	bool real;
} kinds[] = {
	{ "SECONDS", "seconds from 0 to 86400", 0, 86400, true },
	{ "STATUS", "an exit status from 0 to 255", 0, 255, false },
	{ "NUMBER", "a number", -1000000000, 1000000000, false },
	{ "ELEMENT", "an element's number, from 0", 0, INT64_MAX, false },
	{ "BIT", "a bit from 0 to 63", 0, 63, false },
	{ "KBYTES", "KiB a second, from 1 to 100000000", 1, 100000000, false },
	{ "PERCENT", "a percentage from 0 to 100", 0, 100, true },
	{ "RANK", "a rank, from 0", 0, INT_MAX - 1, false },
	{ "VALUE", NULL, 0, 0, false },
	{ "PATH", NULL, 0, 0, false },
};

static const struct key_kind *kind_of(const struct key *key)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (key->value_len == strlen(kinds[i].name) &&
		    memcmp(key->value, kinds[i].name, key->value_len) == 0)
			return &kinds[i];
	return NULL;
}

bool fault_key_next(const char **args, struct key *key)
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
	key->kind = kind_of(key);
	*args = at + len + (at[len] == ' ');
	return true;
}

/* "NCCL_*" is the key of all names that begin so. */
static bool key_takes(const struct key *key, const char *name, size_t len)
{
	size_t head = key->name_len - 1;

	if (key->name[head] == '*')
		return len > head && memcmp(key->name, name, head) == 0;
	return key->name_len == len && memcmp(key->name, name, len) == 0;
}

/* The key of that name. False: there is none. */
static bool key_find(const char *args, const char *name, size_t len, struct key *key)
{
	while (fault_key_next(&args, key))
		if (key_takes(key, name, len))
			return true;
	return false;
}

/* Returns true if `value` is one of the words of "lock|read". */
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

static bool key_allows(const struct key *key, const char *value)
{
	const struct key_kind *kind = key->kind;
	int64_t number;
	double real;

	if (!kind)
		return word_of(key, value);
	if (!kind->help)
		return *value != '\0';
	return kind->real ? parse_real(value, (double)kind->min, (double)kind->max, &real) == 0
			  : parse_int(value, kind->min, kind->max, &number) == 0;
}

/* What a key takes, for a usage error. */
static void key_help(const struct key *key, char *buf, size_t len)
{
	if (key->kind && key->kind->help)
		snprintf(buf, len, "%s", key->kind->help);
	else
		snprintf(buf, len, "%.*s", (int)key->value_len, key->value);
}

/* ---- the spec ---- */

struct parser {
	struct fault_spec *spec;
	struct error *err;
	bool timed; /* when= was given */
};

#define WRONG(parser, ...) fault_usage((parser)->err, (parser)->spec, __VA_ARGS__)

int fault_usage(struct error *err, const struct fault_spec *spec, const char *fmt, ...)
{
	char why[460];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	return error_set(err, OUTCOME_USAGE, -EINVAL, "--fault=%.80s: %s", spec->text, why);
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
		return WRONG(p, "more than %d culprits", FAULT_MAX_RANKS);
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
	const struct fault *fault = p->spec->fault;
	int64_t op = 0;

	if (len == 4 && memcmp(*text, "init", len) == 0)
		op = FAULT_OP_INIT;
	else if (len == 5 && memcmp(*text, "first", len) == 0)
		op = 1;
	else if (number(*text, len, 1, LONG_MAX, &op) < 0)
		return WRONG(p,
			     "bad call \"@%.*s\": wanted the number of a call, from 1, or first "
			     "or init",
			     (int)(len < 40 ? len : 40), *text);
	if (fault->where == (op == FAULT_OP_INIT ? FAULT_AT_CALL : FAULT_AT_INIT))
		return WRONG(p, "%s fires at %s only", fault->name,
			     op == FAULT_OP_INIT ? "calls" : "init");
	p->spec->op = (long)op;
	*text += len;
	return 0;
}

static const char *const whens[] = {
	[FAULT_BEFORE] = "before",
	[FAULT_INFLIGHT] = "inflight",
	[FAULT_AFTER] = "after",
};

static int parse_when(struct parser *p, const char *value)
{
	int when = FAULT_BEFORE;

	while (when <= FAULT_AFTER && strcmp(value, whens[when]) != 0)
		when++;
	if (p->timed)
		return WRONG(p, "when is given twice");
	if (when > FAULT_AFTER)
		return WRONG(p, "bad when=%s: wanted before, inflight or after", value);
	if (when != FAULT_BEFORE && !p->spec->fault->any_when)
		return WRONG(p, "%s fires before the call only", p->spec->fault->name);
	p->timed = true;
	p->spec->when = (enum fault_when)when;
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
		return WRONG(p, "unknown key \"%s\": %s takes %s%swhen=before|inflight|after", name,
			     spec->fault->name, args ? args : "", args ? " " : "");
	if (fault_arg(spec, name))
		return WRONG(p, "%s is given twice", name);
	if (!key_allows(&key, value)) {
		key_help(&key, wanted, sizeof(wanted));
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
	if (spec->nargs == FAULT_MAX_ARGS)
		return WRONG(p, "more than %d keys", FAULT_MAX_ARGS);
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
	size_t len = strcspn(*text, ":@,");
	char name[32] = "";

	if (len < sizeof(name))
		memcpy(name, *text, len);
	p->spec->fault = fault_find(name);
	if (!p->spec->fault)
		return WRONG(p, "unknown fault; --list-faults says what there is");
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
	if (rc == 0 && spec->op == 0 && spec->fault->where == FAULT_AT_INIT)
		spec->op = FAULT_OP_INIT;
	if (rc == 0 && spec->op == FAULT_OP_INIT && spec->when == FAULT_INFLIGHT)
		rc = WRONG(&parser, "when=inflight is for calls: init returns when it is done");
	return rc;
}

const char *fault_arg(const struct fault_spec *spec, const char *key)
{
	for (int i = 0; i < spec->nargs; i++)
		if (strcmp(spec->args[i].key, key) == 0)
			return spec->args[i].value;
	return NULL;
}

double fault_real(const struct fault_spec *spec, const char *key, double otherwise)
{
	const char *text = fault_arg(spec, key);

	return text ? strtod(text, NULL) : otherwise;
}

int64_t fault_whole(const struct fault_spec *spec, const char *key, int64_t otherwise)
{
	const char *text = fault_arg(spec, key);

	return text ? strtoll(text, NULL, 10) : otherwise;
}

bool fault_says(const struct fault_spec *spec, const char *key, const char *word)
{
	const char *text = fault_arg(spec, key);

	return text && strcmp(text, word) == 0;
}

int fault_swallowed(int rc)
{
	return rc < 0 ? rc : FAULT_SWALLOW;
}

int fault_swallow(const struct fault_act *act)
{
	return FAULT_SWALLOW;
}

int fault_replace(const struct fault_act *act, const struct call *call)
{
	return fault_swallowed(chain_emit(act->chain, call));
}

bool fault_names(const struct fault_spec *spec, int rank, int nranks)
{
	for (int i = 0; i < spec->nranks; i++)
		if (spec->ranks[i] == rank)
			return true;
	return spec->nranks == 0 && rank == nranks - 1;
}
