/* health.c: the reader of health_rules.txt, and its rules on what lies between two readings. */
#include "machine/health.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "machine/file.h"

enum { FIELDS = 5, CONDITIONS = 4, RULES_BYTES = 256 << 10 };

struct condition {
	char name[48], op[4], other[48]; /* other: a name or a word; "": the factor alone */
	double factor;
};

struct rule {
	const char *group, *text, *fix;
	bool otherwise; /* only where the group is silent */
	enum health_weight weight;
	struct condition when[CONDITIONS];
	int n;
};

struct health {
	char *text; /* that the rules point into */
	struct rule *rules;
	size_t n;
};

extern const char health_built_in[];
__asm__(".section .rodata\n"
	".global health_built_in\n"
	"health_built_in:\n"
	".incbin \"common/machine/health_rules.txt\"\n"
	".byte 0\n"
	".previous\n");

static const char *const weights[] = { "note", "warn", "drain" };

const char *health_weight_name(enum health_weight weight)
{
	return weights[weight];
}

/* ---- rules -------------------------------------------------------------------------------- */

/* "NAME OP [NUMBER] [NAME]"; NULL, or what is wrong. */
static const char *take_condition(struct condition *c, const char *text)
{
	static const char *const ops[] = { "<", ">", ">=", "=", "!=", "&", "!&", "^" };
	char first[48], rest[2];
	bool known = false;
	uint64_t bits;
	int n;

	c->factor = 1;
	c->other[0] = '\0';
	n = sscanf(text, " %47s %3s %47s %47s %1s", c->name, c->op, first, c->other, rest);
	for (size_t i = 0; n >= 3 && i < sizeof(ops) / sizeof(ops[0]); i++)
		known |= strcmp(ops[i], c->op) == 0;
	if (n < 3 || n > 4 || !known)
		return "a condition is NAME OP VALUE, as \"gen < max_gen\"";
	if (parse_unsigned(first, 0, UINT64_MAX, &bits) == 0)
		c->factor = (double)bits;
	else if (parse_real(first, -1e18, 1e18, &c->factor) < 0 && n == 3)
		strcpy(c->other, first);
	else if (parse_real(first, -1e18, 1e18, &c->factor) < 0)
		return "a value is a number, a name, or a number and a name";
	return NULL;
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text + strspn(text, " \t");
}

/* A line without comment, changed; NULL, or what is wrong. */
static const char *take_rule(struct rule *rule, char *line)
{
	char *fields[FIELDS], *condition;
	const char *wrong = NULL;
	int n = 0;

	for (char *at; n < FIELDS && (at = strsep(&line, "|"));)
		fields[n++] = trim(at);
	if (n < FIELDS || line)
		return "a rule is GROUP | WEIGHT | WHEN | WHAT | WHAT TO DO";
	rule->otherwise = strncmp(fields[0], "else ", 5) == 0;
	rule->group = fields[0] + (rule->otherwise ? 5 : 0);
	rule->text = fields[3];
	rule->fix = fields[4];
	for (n = HEALTH_DRAIN; n >= 0 && strcmp(fields[1], weights[n]) != 0;)
		n--;
	if (n < 0)
		return "a weight is note, warn or drain";
	rule->weight = (enum health_weight)n;
	while (!wrong && (condition = strsep(&fields[2], ",")))
		wrong = rule->n == CONDITIONS ? "too many conditions"
					      : take_condition(&rule->when[rule->n++], condition);
	return wrong;
}

static int take_all(struct health *health, const char *path, struct error *err)
{
	char *rest = health->text, *line;
	const char *wrong = NULL;
	int number = 0;

	while (!wrong && (line = strsep(&rest, "\n"))) {
		number++;
		line = trim(line);
		if (*line && *line != '#')
			wrong = take_rule(&health->rules[health->n++], line);
	}
	if (!wrong && health->n == 0)
		wrong = "no rules";
	return wrong ? error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s: line %d: %s", path, number,
				 wrong)
		     : 0;
}

struct health *health_open(const char *path, struct error *err)
{
	struct health *health = calloc(1, sizeof(*health));
	size_t lines = 1;
	int rc = 0;

	if (health)
		health->text = path ? calloc(1, RULES_BYTES) : strdup(health_built_in);
	if (health && health->text && path)
		rc = file_text("", health->text, RULES_BYTES, "%s", path);
	for (const char *at = health ? health->text : NULL; at && (at = strchr(at, '\n')); at++)
		lines++;
	if (health)
		health->rules = calloc(lines, sizeof(*health->rules));
	if (rc < 0)
		rc = error_set(err, OUTCOME_USAGE, rc, "%.200s: %s", path, strerror(-rc));
	else if (!health || !health->text || !health->rules)
		rc = error_set(err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	else
		rc = take_all(health, path ? path : "health_rules.txt", err);
	if (rc == 0)
		return health;
	health_free(health);
	return NULL;
}

void health_free(struct health *health)
{
	if (!health)
		return;
	free(health->rules);
	free(health->text);
	free(health);
}

/* ---- judging one part --------------------------------------------------------------------- */

/* NaN: not seen. */
static double number(const struct reading *part, const char *name)
{
	double value = strcmp(name, "seconds") == 0 && part->seconds > 0
			       ? part->seconds
			       : (double)reading_value(part, part->list->part, name);

	return value < 0 ? NAN : value;
}

/* "": not seen. */
static const char *word(const struct reading *part, const char *name)
{
	return strcmp(name, "part") == 0 ? part->list->part
					 : reading_text(part, part->list->part, name);
}

/* -1: not seen. */
static int meets(const struct condition *c, const struct reading *part)
{
	double a = number(part, c->name), b = c->factor * (*c->other ? number(part, c->other) : 1);
	const char *text = word(part, c->name);

	if (*text && strcmp(c->op, "^") == 0)
		return strncmp(text, c->other, strlen(c->other)) == 0;
	if (*text)
		return (strcmp(text, c->other) == 0) == (*c->op == '=');
	if (isnan(a) || isnan(b))
		return -1;
	switch (c->op[0]) {
	case '<':
		return a < b;
	case '>':
		return a > b || (c->op[1] && a == b);
	case '=':
		return a == b;
	case '&':
		return ((uint64_t)a & (uint64_t)b) != 0;
	default:
		return c->op[1] == '&' ? ((uint64_t)a & (uint64_t)b) == 0 : a != b;
	}
}

/* -1: not all of it was seen. */
static int holds(const struct rule *rule, const struct reading *part)
{
	int rc = 1;

	for (int i = 0; i < rule->n; i++) {
		int met = meets(&rule->when[i], part);

		if (met < 0)
			return -1;
		rc &= met;
	}
	return rc;
}

/* "{NAME}" or "{NAME:s}", without its braces. Returns the number, NaN for a word. */
static double print_value(const char *name, const struct reading *part, FILE *out)
{
	bool seconds = strlen(name) > 2 && strcmp(name + strlen(name) - 2, ":s") == 0;
	char key[48];
	double value;

	snprintf(key, sizeof(key), "%.*s", (int)strlen(name) - (seconds ? 2 : 0), name);
	value = number(part, key);
	if (isnan(value))
		fputs(*word(part, key) ? word(part, key) : "?", out);
	else if (seconds || value != floor(value) || strcmp(key, "seconds") == 0)
		fprintf(out, "%.2f", seconds ? value * 1e-9 : value);
	else
		fprintf(out, "%.0f", value);
	return value;
}

static void fill_text(const struct rule *rule, const struct reading *part, char *buf, size_t len)
{
	FILE *out = fmemopen(buf, len, "w");
	double last = 0;
	char name[64];
	int n;

	for (const char *at = rule->text; out && *at; at++) {
		if (sscanf(at, "{%63[a-z0-9_:]}%n", name, &n) == 1) {
			last = print_value(name, part, out);
			at += n - 1;
		} else if (strncmp(at, "(s)", 3) == 0) {
			fputs(last == 1 ? "" : "s", out);
			at += 2;
		} else {
			putc(*at, out);
		}
	}
	if (out)
		fclose(out);
	buf[len - 1] = '\0';
}

static void judge_part(const struct health *health, const struct reading *part, health_fn *each,
		       void *ctx)
{
	const char *spoke = "";

	for (size_t i = 0; i < health->n; i++) {
		const struct rule *rule = &health->rules[i];
		struct health_finding finding = {
			.group = rule->group,
			.part = part->list->part,
			.fix = rule->fix,
			.weight = rule->weight,
		};
		int rc =
			rule->otherwise && strcmp(spoke, rule->group) == 0 ? -1 : holds(rule, part);

		if (rc < 0)
			continue;
		finding.holds = rc > 0;
		if (finding.holds) {
			spoke = rule->group;
			fill_text(rule, part, finding.text, sizeof(finding.text));
		}
		each(ctx, &finding);
	}
}

void health_judge(const struct health *health, const struct reading *delta, health_fn *each,
		  void *ctx)
{
	/* the entries of a part stand together */
	for (size_t i = 0, n; i < delta->n; i += n) {
		struct reading part = { .seconds = delta->seconds, .list = &delta->list[i] };

		for (n = 1; i + n < delta->n && strcmp(part.list->part, part.list[n].part) == 0;)
			n++;
		part.n = n;
		judge_part(health, &part, each, ctx);
	}
}

/* ---- a line ------------------------------------------------------------------------------- */

struct line {
	char *buf;
	size_t len, at, held, left_out;
	const char *part; /* of the finding before */
};

static void add_to_line(void *ctx, const struct health_finding *f)
{
	struct line *line = ctx;
	bool same = line->part && strcmp(line->part, f->part) == 0;
	char text[sizeof(f->text) + 64];

	if (!f->holds)
		return;
	line->held++;
	if (same)
		snprintf(text, sizeof(text), ", %s", f->text);
	else
		snprintf(text, sizeof(text), "%s%s: %s", line->part ? "; " : "", f->part, f->text);
	if (line->left_out || line->at + strlen(text) + 16 > line->len) {
		line->left_out++;
		return;
	}
	line->at += (size_t)snprintf(line->buf + line->at, line->len - line->at, "%s", text);
	line->part = f->part;
}

size_t health_line(const struct reading *delta, char *buf, size_t len)
{
	struct line line = { .buf = buf, .len = len };
	struct error err = { .rank = -1 };
	struct health *health = health_open(NULL, &err);

	buf[0] = '\0';
	if (health)
		health_judge(health, delta, add_to_line, &line);
	health_free(health);
	if (line.left_out)
		snprintf(buf + line.at, len - line.at, "; %zu more", line.left_out);
	return line.held;
}
