/* health_checks.c: PASS, FAIL or SKIP of each check of health, at one host and over all. */
#include "base/parse.h"
#include "machine/health.h"

static const char *const results[] = { "PASS", "FAIL", "SKIP" };

#define BLIND " (no GPUs seen"

/* The needs of a check; behind them the reason for which this host lacks them, where it is known. Returns true where the
 * host itself gives it. */
static bool say_why(const struct reading *host, const struct health_check *check, char *buf,
		    size_t len)
{
	const char *own = reading_text(host, check->group, "unchecked");
	bool blind =
		strncmp(check->needs, "a GPU", 5) == 0 && reading_value(host, "NVML", "gpus") <= 0;

	snprintf(buf, len, "needs %s", *check->needs ? check->needs : "what nothing here shows");
	if (*own)
		text_add(buf, len, " (%s)", own);
	else if (blind)
		text_add(buf, len, BLIND "%s%s)", host->why[0] ? ": " : "", host->why);
	return *own;
}

void health_checks_add(struct health_checks *checks, const struct health_finding *f)
{
	if (f->check < 0)
		return;
	checks->list[f->check].judged = true;
	checks->list[f->check].failed |= f->holds && f->weight >= HEALTH_WARN;
}

json_t *health_checks_host(struct health_checks *checks, const struct health *health,
			   const struct reading *host)
{
	json_t *all = json_object();
	const struct health_check *check;

	for (size_t i = 0; (check = health_check(health, i)); i++) {
		bool judged = checks->list[i].judged, failed = checks->list[i].failed;
		enum health_result result = failed   ? HEALTH_FAIL
					    : judged ? HEALTH_PASS
						     : HEALTH_SKIP;
		char why[sizeof(checks->list[i].why)] = "";
		bool known = false;

		checks->list[i].judged = checks->list[i].failed = false;
		if (!judged)
			known = say_why(host, check, why, sizeof(why));
		if (failed && checks->list[i].hosts[HEALTH_FAIL] == 0)
			snprintf(checks->list[i].failing, sizeof(checks->list[i].failing), "%s",
				 host->host);
		if (!judged &&
		    (checks->list[i].hosts[HEALTH_SKIP] == 0 || (known && !checks->list[i].known)))
			strcpy(checks->list[i].why, why);
		checks->list[i].known |= known;
		checks->list[i].whole |= judged && strchr(host->host, ' ');
		checks->list[i].hosts[result]++;
		json_object_set_new(all, check->group,
				    json_sprintf("%s%s%s", results[result], *why ? ": " : "", why));
	}
	return all;
}

#define WIDTH  100 /* columns */
#define INDENT 23  /* of the meaning */

/* Where a check was made: "2 hosts", "1 of 2 hosts, the first node3", "all hosts, 4 ranks". */
static void say_where(const struct health_checks *checks, size_t i, char *buf, size_t len)
{
	const int *n = checks->list[i].hosts;
	int made = n[HEALTH_PASS] + n[HEALTH_FAIL], all = made + n[HEALTH_SKIP];

	if (checks->list[i].whole)
		snprintf(buf, len, "all hosts");
	else if (n[HEALTH_FAIL] && all > 1)
		snprintf(buf, len, "%d of %d hosts, the first %s", n[HEALTH_FAIL], all,
			 checks->list[i].failing);
	else
		snprintf(buf, len, "%d host%s", made, made == 1 ? "" : "s");
	if (checks->list[i].whole && checks->ranks > 0)
		text_add(buf, len, ", %d rank%s", checks->ranks, checks->ranks == 1 ? "" : "s");
	if (!checks->brief && n[HEALTH_SKIP])
		text_add(buf, len, "; not at %d of %d hosts: %s", n[HEALTH_SKIP], all,
			 checks->list[i].why);
}

/* A text of words in columns from INDENT to WIDTH; the first line has begun. */
static void print_words(char *text)
{
	int used = INDENT;
	char *word;

	while ((word = strsep(&text, " "))) {
		if (used > INDENT && used + 1 + (int)strlen(word) > WIDTH)
			used = printf("\n%*s", INDENT, "") - 1;
		else if (used > INDENT)
			used += printf(" ");
		used += printf("%s", word);
	}
	printf("\n");
}

static enum health_result result_of(const struct health_checks *checks, size_t i)
{
	const int *n = checks->list[i].hosts;

	return n[HEALTH_FAIL] ? HEALTH_FAIL : n[HEALTH_PASS] ? HEALTH_PASS : HEALTH_SKIP;
}

/* The reason behind what a check needs stands in its first line alone: most lack the same GPUs. */
static void say_reason_once(char *text, const char **said, const char *why)
{
	const char *reason = strstr(why, BLIND);
	char *again = reason && *said ? strstr(text, reason) : NULL;

	if (again && strcmp(*said, reason) == 0)
		*again = '\0';
	*said = reason ? reason : *said;
}

/* The checks of one result, a line each. */
static void print_result(const struct health_checks *checks, const struct health *health,
			 enum health_result wanted, const char *word)
{
	const struct health_check *check;
	char text[768], where[400];
	const char *said = NULL;

	for (size_t i = 0; (check = health_check(health, i)); i++) {
		if (result_of(checks, i) != wanted)
			continue;
		say_where(checks, i, where, sizeof(where));
		snprintf(text, sizeof(text), "%s%s%s", check->meaning, *check->meaning ? "; " : "",
			 wanted == HEALTH_SKIP ? checks->list[i].why : where);
		say_reason_once(text, &said, checks->list[i].why);
		printf("%-5s %-16s ", word, check->group);
		print_words(text);
	}
}

void health_checks_print(const struct health_checks *checks, const struct health *health)
{
	bool brief = checks->brief;

	if (!brief)
		print_result(checks, health, HEALTH_FAIL, results[HEALTH_FAIL]);
	print_result(checks, health, HEALTH_PASS, results[HEALTH_PASS]);
	print_result(checks, health, HEALTH_SKIP, brief ? "N/A" : results[HEALTH_SKIP]);
}
