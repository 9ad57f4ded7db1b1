/* health.c: the reader of health_rules.txt, and its rules on the difference of two readings. */
#include "machine/health.h"

#include "base/built_in.h"
#include "base/parse.h"
#include "base/file.h"

struct rule {
	const char *group, *text, *fix;
	const char *when; /* n conditions, each with a NUL behind it */
	int n;
	bool otherwise; /* only where the group is silent */
	enum health_weight weight;
	int check; /* number of its group; -1: a cause's */
};

struct health {
	char text[64 << 10]; /* that the rules point into */
	struct rule rules[256];
	size_t n;
	struct health_check checks[256]; /* groups of rules other than causes */
	size_t nchecks;
	struct health_check said[256]; /* the rows "check", in the file's order */
	size_t nsaid;
};

BUILT_IN(health_built_in, "common/host/machine/health_rules.txt");

const char *const health_weights[] = { "cause", "note", "warn", "drain", "hung" };

/* ---- one part against one rule ------------------------------------------------------------ */

/* NaN: not seen. */
static double number(const struct reading *part, const char *name)
{
	double value = strcmp(name, "seconds") == 0 && part->seconds > 0
			       ? part->seconds
			       : (double)reading_value(part, part->list->part, name);

	/* a kernel's log that was read, without this Xid */
	if (value < 0 && strncmp(name, "xid_", 4) == 0 &&
	    reading_value(part, part->list->part, "xids") >= 0)
		return 0;
	return value < 0 ? NAN : value;
}

enum { WRONG = -2, UNSEEN = -1 };

/* "NAME OP [NUMBER] [NAME]"; 1: yes, 0: no. */
static int meets(const char *condition, const struct reading *part)
{
	char name[48], op[3], first[48], other[48] = "", rest[2];
	int n = sscanf(condition, " %47s %2s %47s %47s %1s", name, op, first, other, rest);
	bool not = n > 1 && *op == '!';
	double a, b = 1;
	const char *text;
	uint64_t bits;

	if (n < 3 || n > 4 || !op[not ] || !strchr("<>=&", op[not ]) || op[not +1])
		return WRONG;
	if (parse_unsigned(first, 0, UINT64_MAX, &bits) == 0)
		b = (double)bits;
	else if (parse_real(first, -1e18, 1e18, &b) < 0 && n == 4)
		return WRONG;
	else if (parse_real(first, -1e18, 1e18, &b) < 0)
		strcpy(other, first);
	text = reading_text(part, part->list->part, name);
	if (*text && op[not ] == '=')
		return (strcmp(text, first) == 0) != not ;
	a = number(part, name);
	b *= *other ? number(part, other) : 1;
	if (isnan(a) || isnan(b))
		return UNSEEN;
	/* "rdma = 1": the rule is about ports alone */
	if (op[0] == '=' && a != b)
		return UNSEEN;
	return (op[not ] == '<'	  ? a < b
		: op[not ] == '>' ? a > b
		: op[not ] == '=' ? a == b
				  : ((uint64_t)a & (uint64_t)b) != 0) != not ;
}

/* All conditions; WRONG and UNSEEN before yes and no. */
static int holds(const struct rule *rule, const struct reading *part)
{
	const char *at = rule->when;
	int all = 1;

	for (int i = 0; i < rule->n; i++, at += strlen(at) + 1) {
		int met = meets(at, part);

		all = met < all ? met : all;
	}
	return all;
}

/* "{NAME}"; nanoseconds as seconds. Returns the number. */
static double print_value(FILE *out, const char *name, const struct reading *part)
{
	const char *text = reading_text(part, part->list->part, name);
	bool ns = strlen(name) > 3 && strcmp(name + strlen(name) - 3, "_ns") == 0;
	double value = number(part, name);

	if (isnan(value))
		fputs(*text ? text : "?", out);
	else if (ns)
		fprintf(out, "%.2f s", value * 1e-9);
	else
		fprintf(out, strcmp(name, "seconds") == 0 ? "%.2f" : "%.0f", value);
	return value;
}

static void fill_text(const char *at, const struct reading *part, char *buf, size_t len)
{
	FILE *out = fmemopen(buf, len, "w");
	double last = 0;
	char name[48];
	int n;

	for (; out && *at; at += n) {
		n = 1;
		if (sscanf(at, "{%47[a-z0-9_]}%n", name, &n) == 1)
			last = print_value(out, name, part);
		else if (strncmp(at, "(s)", 3) == 0)
			n = 3 + (last != 1 && putc('s', out) == EOF);
		else
			putc(*at, out);
	}
	if (out)
		fclose(out);
	buf[len - 1] = '\0';
}

/* ---- rules -------------------------------------------------------------------------------- */

/* A line without comment, changed; NULL, or what is wrong. */
static const char *take_rule(struct rule *rule, char *line)
{
	struct reading_entry entry = { .part = "" };
	const struct reading nothing = { .list = &entry };
	char *fields[5], *at;
	int n = 0, weight = HEALTH_HUNG;

	while (n < 5 && (at = strsep(&line, "|")))
		fields[n++] = text_trim(at);
	if (n < 5 || line)
		return "a rule is GROUP | WEIGHT | WHEN | WHAT | WHAT TO DO";
	rule->otherwise = strncmp(fields[0], "else ", 5) == 0;
	rule->group = fields[0] + (rule->otherwise ? 5 : 0);
	rule->when = fields[2];
	rule->text = fields[3];
	rule->fix = fields[4];
	while (weight >= 0 && strcmp(fields[1], health_weights[weight]) != 0)
		weight--;
	if (weight < 0)
		return "a weight is cause, note, warn, drain or hung";
	rule->weight = (enum health_weight)weight;
	while (strsep(&fields[2], ","))
		rule->n++;
	return holds(rule, &nothing) == WRONG
		       ? "a condition is NAME < > = & !VALUE, as \"gen < max_gen\", or \"a > 2 b\""
		       : NULL;
}

/* The same of a line that says what a group means. */
static const char *take_check(struct health_check *check, char *line)
{
	const char **fields[] = { &check->group, &check->meaning, &check->needs };
	size_t n = 0;
	char *at;

	while (n < LENGTH(fields) && (at = strsep(&line, "|")))
		*fields[n++] = text_trim(at);
	return n < LENGTH(fields) || line ? "a check is check GROUP | MEANING | WHAT IT NEEDS"
					  : NULL;
}

static const char *take_line(struct health *health, char *line)
{
	static const char mark[] = "check ";

	if (health->n == LENGTH(health->rules) || health->nsaid == LENGTH(health->said))
		return "too many rules";
	return strncmp(line, mark, strlen(mark)) == 0
		       ? take_check(&health->said[health->nsaid++], line + strlen(mark))
		       : take_rule(&health->rules[health->n++], line);
}

/* The number of the rule's group, new or not. */
static int number_check(struct health *health, const struct rule *rule)
{
	size_t i = 0;

	if (rule->weight == HEALTH_CAUSE)
		return -1;
	while (i < health->nchecks && strcmp(health->checks[i].group, rule->group) != 0)
		i++;
	if (i < health->nchecks)
		return (int)i;
	health->checks[health->nchecks++] = (struct health_check){ rule->group, "", "" };
	for (size_t k = 0; k < health->nsaid; k++)
		if (strcmp(health->said[k].group, rule->group) == 0)
			health->checks[i] = health->said[k];
	return (int)i;
}

struct health *health_open(const char *path, const char *more, struct error *err)
{
	struct health *health = must(calloc(1, sizeof(*health)));
	char *rest = health->text, *line;
	const char *wrong = NULL;
	int number = 0, n;

	if (path)
		n = file_text("", health->text, sizeof(health->text), "%s", path);
	else
		n = snprintf(health->text, sizeof(health->text), "%s", health_built_in);
	text_add(health->text, sizeof(health->text), "\n%s", more ? more : "");
	n = n < 0 ? n : (int)strlen(health->text);
	if (n < 0 || n >= (int)sizeof(health->text) - 1)
		wrong = n < 0 ? strerror(-n) : "too long";
	while (!wrong && (line = strsep(&rest, "\n"))) {
		number++;
		line = text_trim(line);
		if (*line && *line != '#')
			wrong = take_line(health, line);
	}
	for (size_t i = 0; !wrong && i < health->n; i++)
		health->rules[i].check = number_check(health, &health->rules[i]);
	if (!wrong && health->n > 0)
		return health;
	error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s: line %d: %s", path ? path : "the rules",
		  number, wrong ? wrong : "no rules");
	free(health);
	return NULL;
}

/* ---- all of a host ------------------------------------------------------------------------ */

static void judge_part(const struct health *health, const struct reading *part, health_fn *each,
		       void *ctx)
{
	const char *spoke = "";

	for (size_t i = 0; i < health->n; i++) {
		const struct rule *rule = &health->rules[i];
		struct health_finding finding = { rule->group, part->list->part,
						  rule->fix,   rule->weight,
						  rule->check, false,
						  "",	       "" };
		int rc = holds(rule, part);

		if (rc < 0 || (rule->otherwise && strcmp(spoke, rule->group) == 0))
			continue;
		finding.holds = rc > 0;
		if (finding.holds) {
			spoke = rule->group;
			fill_text(rule->text, part, finding.text, sizeof(finding.text));
			fill_text(rule->fix, part, finding.advice, sizeof(finding.advice));
			finding.fix = strchr(rule->fix, '{') ? finding.advice : rule->fix;
		}
		each(ctx, &finding);
	}
}

void health_judge(const struct health *health, const struct reading *delta, health_fn *each,
		  void *ctx)
{
	/* the entries of a part stand together */
	for (size_t i = 0; i < delta->n;) {
		struct reading part = { .seconds = delta->seconds, .list = &delta->list[i] };

		while (i < delta->n && strcmp(part.list->part, delta->list[i].part) == 0)
			part.n++, i++;
		judge_part(health, &part, each, ctx);
	}
}

const struct health_check *health_check(const struct health *health, size_t i)
{
	return i < health->nchecks ? &health->checks[i] : NULL;
}

struct line {
	char *buf;
	size_t len, at, held, left_out;
	char part[40]; /* of the finding before */
};

static void add_to_line(void *ctx, const struct health_finding *f)
{
	struct line *line = ctx;
	bool same = strcmp(line->part, f->part) == 0;
	char text[sizeof(f->text) + 64];

	if (!f->holds || f->weight == HEALTH_CAUSE)
		return;
	snprintf(text, sizeof(text), "%s%s%s%s",
		 same		? ", "
		 : line->held++ ? "; "
				: "",
		 same ? "" : f->part, same ? "" : ": ", f->text);
	if (line->left_out || line->at + strlen(text) + 16 > line->len) {
		line->left_out++;
		return;
	}
	line->at += (size_t)sprintf(line->buf + line->at, "%s", text);
	strcpy(line->part, f->part);
}

bool health_line(const struct reading *delta, char *buf, size_t len)
{
	struct line line = { .buf = buf, .len = len };
	struct error err = { .rank = -1 };
	struct health *health = health_open(NULL, NULL, &err);

	buf[0] = '\0';
	if (health)
		health_judge(health, delta, add_to_line, &line);
	free(health);
	if (line.left_out)
		sprintf(buf + line.at, "; %zu more", line.left_out);
	return buf[0] != '\0';
}
