/* fault.c: the parser of --fault. */
#include "inject/fault.h"

#include "base/keys.h"
#include "base/parse.h"

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

/* Keeps ranks ascending. */
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
static int parse_range(struct parser *p, char *text)
{
	char *last_text = text, *first_text = strsep(&last_text, "-");
	int64_t first = 0, last = 0;
	int rc = parse_int(first_text, 0, INT_MAX - 1, &first);

	last = first;
	if (rc == 0 && last_text)
		rc = parse_int(last_text, first, INT_MAX - 1, &last);
	if (last_text)
		last_text[-1] = '-';
	if (rc < 0)
		return WRONG(p, "bad ranks \"%.40s\": wanted 3, 1,3 or 0-2", text);
	for (int64_t rank = first; rank <= last && rc == 0; rank++)
		rc = add_rank(p, (int)rank);
	return rc;
}

static int parse_op(struct parser *p, const char *text)
{
	const struct fault *fault = p->spec->fault;
	int64_t op = strcmp(text, "init") == 0 ? FAULT_OP_INIT : 1;

	if (op != FAULT_OP_INIT && strcmp(text, "first") != 0 &&
	    parse_int(text, 1, LONG_MAX, &op) < 0)
		return WRONG(p,
			     "bad call \"@%.40s\": wanted the number of a call, from 1, or first "
			     "or init",
			     text);
	if (fault->where == (op == FAULT_OP_INIT ? FAULT_AT_CALL : FAULT_AT_INIT))
		return WRONG(p, "%s fires at %s only", fault->name,
			     op == FAULT_OP_INIT ? "calls" : "init");
	p->spec->op = (long)op;
	return 0;
}

static int parse_when(struct parser *p, const char *value)
{
	int when = names_find("before inflight after", value); /* as enum fault_when has them */

	if (p->timed)
		return WRONG(p, "when is given twice");
	if (when < 0)
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
	const char *args = spec->fault->args, *wanted;
	char values[64];

	if (!keys_values(args, name, values, sizeof(values)))
		return WRONG(p, "unknown key \"%s\": %s takes %s%swhen=before|inflight|after", name,
			     spec->fault->name, args ? args : "", args ? " " : "");
	if (fault_arg(spec, name))
		return WRONG(p, "%s is given twice", name);
	wanted = keys_refused(values, value);
	if (wanted)
		return WRONG(p, "bad %s=%s: wanted %s", name, value, wanted);
	spec->nargs++;
	slowdown_take(&spec->slow, name, value);
	return 0;
}

/* "key=value". */
static int parse_pair(struct parser *p, const char *text)
{
	struct fault_spec *spec = p->spec;
	size_t name = strcspn(text, "=");
	const char *value = text[name] ? text + name + 1 : "";

	if (name == 0 || name >= sizeof(spec->args[0].key) || !*value)
		return WRONG(p, "bad \"%.40s\": wanted key=value", text);
	if (strlen(value) >= sizeof(spec->args[0].value))
		return WRONG(p, "the value of %.40s is longer than %zu characters", text,
			     sizeof(spec->args[0].value) - 1);
	if (spec->nargs == FAULT_MAX_ARGS)
		return WRONG(p, "more than %d keys", FAULT_MAX_ARGS);
	snprintf(spec->args[spec->nargs].key, name + 1, "%s", text);
	strcpy(spec->args[spec->nargs].value, value);
	return strcmp(spec->args[spec->nargs].key, "when") == 0
		       ? parse_when(p, spec->args[spec->nargs].value)
		       : take_pair(p);
}

/* The text up to one of `ends`, behind which *at moves; *end: which one, 0: the text's end. */
static char *take(char **at, const char *ends, char *end)
{
	char *text = *at;

	*at += strcspn(text, ends);
	*end = **at;
	if (*end)
		*(*at)++ = '\0';
	return text;
}

static int parse_spec(struct parser *p, char *text)
{
	char end;
	int rc = 0;

	p->spec->fault = fault_find(take(&text, ":@,", &end));
	if (!p->spec->fault)
		return WRONG(p, "unknown fault; --list-faults says what there is");
	if (p->spec->fault->slow)
		slowdown_init(&p->spec->slow,
			      (enum slowdown_kind)slowdown_find(p->spec->fault->name));
	/* ranks end at '@', at the first item with '=', or with the text */
	for (bool more = end == ':'; more && rc == 0;
	     more = end == ',' && text[strcspn(text, ",@=")] != '=')
		rc = parse_range(p, take(&text, ",@", &end));
	if (rc == 0 && end == '@')
		rc = parse_op(p, take(&text, ",", &end));
	while (rc == 0 && end == ',')
		rc = parse_pair(p, take(&text, ",", &end));
	return rc;
}

int fault_parse(struct fault_spec *spec, const char *text, struct error *err)
{
	struct parser parser = { .spec = spec, .err = err };
	char *copy = must(strdup(text));
	int rc;

	*spec = (struct fault_spec){ .text = text };
	rc = parse_spec(&parser, copy);
	free(copy);
	if (rc == 0 && spec->fault->required && !fault_arg(spec, spec->fault->required))
		rc = WRONG(&parser, "%s needs %s=", spec->fault->name, spec->fault->required);
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
	return spec->nranks == 0 && (spec->fault->everywhere || rank == nranks - 1);
}
