/* health_checks.c: PASS, FAIL or SKIP of each check of health, at one host and over all. */
#include "base/parse.h"
#include "machine/health.h"

static const char *const results[] = { "PASS", "FAIL", "SKIP" };

/* The reason for which a check could not be made. Returns false where none is known. */
static bool say_why(const struct reading *host, const char *group, char *buf, size_t len)
{
	static const char *const gpus = "nvml driver gone memory errors heat clocks nvlinks hidden "
					"pcie-errors persistence peer-access xid xids acs iommu";
	static const struct {
		const char *groups, *why;
		bool seen; /* where GPUs are */
	} reasons[] = {
		{ "port mtu gid", "no InfiniBand or RoCE port", false },
		{ "gpudirect", "no RDMA port that is up, or no NVIDIA driver", false },
		{ "verbs-bandwidth", "all hosts need ib_write_bw (perftest) and an active port",
		  false },
		{ "versions fewer", "compares hosts, and no other host shows it", false },
		{ "xid xids", "the kernel's log can't be read (/dev/kmsg, CAP_SYSLOG)", true },
		{ "acs iommu", "/sys does not show it: a virtual machine, or no CAP_SYS_ADMIN",
		  true },
	};
	bool seen = reading_value(host, "NVML", "gpus") > 0;
	const char *own = reading_text(host, group, "unchecked");

	snprintf(buf, len, "%s", own);
	if (!seen && names_find(gpus, group) >= 0)
		snprintf(buf, len, "no GPUs seen%s%s", host->why[0] ? ": " : "", host->why);
	for (size_t i = 0; i < LENGTH(reasons); i++)
		if (names_find(reasons[i].groups, group) >= 0 && (seen || !reasons[i].seen))
			snprintf(buf, len, "%s", reasons[i].why);
	if (*buf)
		return true;
	snprintf(buf, len, "nothing on this host shows it");
	return false;
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
	const char *group;

	for (size_t i = 0; (group = health_check(health, i)); i++) {
		bool judged = checks->list[i].judged, failed = checks->list[i].failed;
		enum health_result result = failed   ? HEALTH_FAIL
					    : judged ? HEALTH_PASS
						     : HEALTH_SKIP;
		char why[sizeof(checks->list[i].why)] = "";
		bool known = false;

		checks->list[i].judged = checks->list[i].failed = false;
		if (!judged)
			known = say_why(host, group, why, sizeof(why));
		if (failed && checks->list[i].hosts[HEALTH_FAIL] == 0)
			snprintf(checks->list[i].failing, sizeof(checks->list[i].failing), "%s",
				 host->host);
		if (!judged &&
		    (checks->list[i].hosts[HEALTH_SKIP] == 0 || (known && !checks->list[i].known)))
			strcpy(checks->list[i].why, why);
		checks->list[i].known |= known;
		checks->list[i].hosts[result]++;
		json_object_set_new(all, group,
				    json_sprintf("%s%s%s", results[result], *why ? ": " : "", why));
	}
	return all;
}

/* "FAIL", and ": node3 and 1 more of 8 hosts"; the text behind the check's name. */
static const char *sum_up(const struct health_checks *checks, size_t i, char *buf, size_t len)
{
	const int *n = checks->list[i].hosts, all = n[0] + n[1] + n[2];

	buf[0] = '\0';
	if (n[HEALTH_FAIL] && all > 1)
		text_add(buf, len, ": %d of %d hosts, the first %s", n[HEALTH_FAIL], all,
			 checks->list[i].failing);
	if (checks->brief && n[HEALTH_SKIP] < all)
		return results[n[HEALTH_FAIL] ? HEALTH_FAIL : HEALTH_PASS];
	if (n[HEALTH_SKIP] && n[HEALTH_SKIP] < all)
		text_add(buf, len, "; not checked at %d of %d hosts", n[HEALTH_SKIP], all);
	if (n[HEALTH_SKIP])
		text_add(buf, len, " (%s)", checks->list[i].why);
	return results[n[HEALTH_FAIL] ? HEALTH_FAIL : n[HEALTH_PASS] ? HEALTH_PASS : HEALTH_SKIP];
}

#define WIDTH 100 /* characters */

/* Checks of one result and one text share lines. */
static void print_result(const struct health_checks *checks, const struct health *health,
			 const char *wanted, const char *word)
{
	char text[512], other[512];
	const char *group;
	int used;

	for (size_t i = 0; health_check(health, i); i++) {
		bool first = sum_up(checks, i, text, sizeof(text)) == wanted;

		for (size_t k = 0; first && k < i; k++)
			first = sum_up(checks, k, other, sizeof(other)) != wanted ||
				strcmp(text, other) != 0;
		if (!first)
			continue;
		used = printf("%s:", word);
		for (size_t k = i; (group = health_check(health, k)); k++) {
			if (sum_up(checks, k, other, sizeof(other)) != wanted ||
			    strcmp(text, other) != 0)
				continue;
			if (k > i && (size_t)used + 1 + strlen(group) + strlen(text) > WIDTH)
				used = printf("%s\n%s:", text, word) - (int)strlen(text) - 1;
			used += printf(" %s", group);
		}
		printf("%s\n", text);
	}
}

void health_checks_print(const struct health_checks *checks, const struct health *health)
{
	bool brief = checks->brief;

	if (!brief)
		print_result(checks, health, results[HEALTH_FAIL], results[HEALTH_FAIL]);
	print_result(checks, health, results[HEALTH_PASS], results[HEALTH_PASS]);
	print_result(checks, health, results[HEALTH_SKIP], brief ? "N/A " : results[HEALTH_SKIP]);
}
