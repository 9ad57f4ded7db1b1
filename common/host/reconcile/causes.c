/* causes.c: the table of causes, their checks, and the lines about them. */
#include "reconcile/cause_parts.h"

#include "base/built_in.h"
#include "machine/health.h"
#include "settings/backend_kind.h"

BUILT_IN(causes_built_in, "common/host/reconcile/causes.txt");

const struct cause cause_table[] = {
	{ "forced-settings", true, cause_settings },
	{ "transport", true, cause_transport },
	{ "p2p", true, cause_p2p },
	{ "nvlinks", true, cause_links },
	{ "pcie", true, cause_pcie },
	{ "acs-iommu", true, cause_acs },
	{ "choice", true, cause_choice },
	{ "channels", true, cause_channels },
	{ "nvls", true, cause_nvls },
	{ "rings", true, cause_rings },
	{ "gdr", true, cause_gdr },
	{ "pxn", true, cause_pxn },
	{ "wrong-network", true, cause_wrong_network },
	{ "nic-speed", false, cause_nic_speed },
	{ "mtu", false, cause_mtu },
	{ "tcp-retransmits", false, cause_retransmits },
	{ "clocks", true, NULL },
	{ "errors", true, NULL },
	{ "other-processes", true, cause_processes },
	{ "affinity", false, cause_affinity },
	{ "loaded-host", false, cause_load },
};

const size_t cause_count = LENGTH(cause_table);

const char *cause_says(const struct cause *cause, enum cause_line line, char text[CAUSE_LINE])
{
	built_in_line(causes_built_in, cause->name, line, text, CAUSE_LINE);
	return text;
}

/* ---- what the checks share ---------------------------------------------------------------- */

/* Room below which the rest of the evidence becomes "...". */
#define ROOM_FOR_ONE 160

void cause_yes(struct cause_finding *finding, const char *format, ...)
{
	size_t used = finding->state == CAUSE_YES ? strlen(finding->text) : 0;
	size_t left = sizeof(finding->text) - used;
	va_list args;

	if (used > 0 && left < ROOM_FOR_ONE) {
		if (strcmp(finding->text + used - 3, "...") != 0)
			strcpy(finding->text + used, "; ...");
		return;
	}
	if (used > 0) {
		strcpy(finding->text + used, "; ");
		used += 2;
		left -= 2;
	}
	finding->state = CAUSE_YES;
	va_start(args, format);
	/* leaves room for the dots */
	vsnprintf(finding->text + used, left - sizeof("; ..."), format, args);
	va_end(args);
}

void cause_unseen(struct cause_finding *finding, const char *format, ...)
{
	va_list args;

	if (finding->state != CAUSE_NO)
		return;
	finding->state = CAUSE_UNSEEN;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

bool cause_listed(const char *list, const char *name, bool words)
{
	bool negated = *list == '^', whole = words || list[negated] == '=', listed = false;

	list += negated + (whole && !words);
	for (; *list; list += strcspn(list, ","), list += *list == ',') {
		size_t n = strcspn(list, words ? "," : ":,");

		listed |= n > 0 && (words ? strncasecmp : strncmp)(list, name, n) == 0 &&
			  (!whole || strlen(name) == n);
	}
	return listed != negated;
}

const char *cause_host(const struct observation *o, int host)
{
	return o->before[host].host[0] ? o->before[host].host : "a host";
}

const char *cause_setting(const struct observation *o, const char *name)
{
	for (int h = 0; h < o->nhosts; h++) {
		const struct reading_entry *entry =
			reading_find(&o->before[h], "environment", name);

		if (entry && entry->text)
			return entry->text;
	}
	return NULL;
}

bool cause_on_gpus(const struct observation *o)
{
	return backend_has(cause_run_text(o, "backend"), BACKEND_DEVICE);
}

bool cause_network(const struct observation *o)
{
	return o->nhosts > 1 || cause_run(o, "nodes") > 1 || cause_run(o, "shared_gpu") == 1;
}

bool cause_tcp(const struct observation *o)
{
	const char *network = cause_nccl_text(o, "network");

	return network[0] ? strcmp(network, "Socket") == 0
			  : cause_run_is(o, "transport", "TCP") || cause_run(o, "shared_gpu") == 1;
}

void cause_no_nvml(const struct observation *o, int host, struct cause_finding *f)
{
	const char *why = o->before[host].why;

	cause_unseen(f, "%s",
		     cause_before(o, host, "NVML", "gpus") >= 0 ? "NVML does not tell here"
		     : why[0]					? why
								: "NVML was not asked");
}

void cause_no_log(const struct observation *o, struct cause_finding *f)
{
	const char *why = cause_nccl_text(o, "why");

	cause_unseen(f, "%s", why[0] ? why : "NCCL's log does not tell");
}

void cause_each_gpu(const struct observation *o, struct cause_finding *finding, cause_gpu_fn *check)
{
	const char *gpu;
	int n = 0;

	for (int h = 0; h < o->nhosts; h++)
		for (size_t at = 0; (gpu = cause_next(o, h, "bus", &at));)
			if (reading_find(&o->after[h], gpu, "bus")) {
				check(o, h, gpu, finding);
				n++;
			}
	if (n == 0)
		cause_unseen(finding, "no GPU was looked at twice");
}

int cause_count_of(const struct observation *o, int host, const char *name)
{
	int n = 0;

	for (size_t at = 0; cause_next(o, host, name, &at);)
		n++;
	return n;
}

/* A host's findings of one group on parts of one kind; they come part by part. */
struct ruled {
	const struct observation *o;
	int host;
	const char *group, *parts;
	char judged[40]; /* the part whose rules could be judged last */
	int parts_judged;
	struct cause_finding *finding;
};

static void take_rule(void *ctx, const struct health_finding *f)
{
	struct ruled *r = ctx;

	if (strcmp(f->group, r->group) != 0 || strncmp(f->part, r->parts, strlen(r->parts)) != 0)
		return;
	r->parts_judged += strcmp(r->judged, f->part) != 0;
	snprintf(r->judged, sizeof(r->judged), "%s", f->part);
	if (f->holds)
		cause_yes(r->finding, "%s on %s: %s", f->part, cause_host(r->o, r->host), f->text);
}

/* The number of parts of this kind in both looks. */
static int parts_of(const struct observation *o, int h, const char *parts)
{
	const struct reading *before = &o->before[h];
	int n = 0;

	for (size_t i = 0; i < before->n; i++) {
		const char *part = before->list[i].part;

		n += strncmp(part, parts, strlen(parts)) == 0 &&
		     (i == 0 || strcmp(before->list[i - 1].part, part) != 0) &&
		     reading_find(&o->after[h], part, NULL);
	}
	return n;
}

void cause_rules(const struct observation *o, const char *group, const char *parts,
		 const char *blind, struct cause_finding *f)
{
	struct error err = { .rank = -1 };
	struct health *rules = health_open(NULL, NULL, &err);
	int seen = 0;

	for (int h = 0; rules && h < o->nhosts; h++) {
		struct ruled r = { o, h, group, parts, "", 0, f };
		int n = parts_of(o, h, parts);
		struct reading delta;

		seen += n;
		if (n == 0)
			continue;
		counter_delta(&o->before[h], &o->after[h], &delta);
		health_judge(rules, &delta, take_rule, &r);
		reading_release(&delta);
		if (r.parts_judged < n && !blind)
			cause_no_nvml(o, h, f);
		else if (r.parts_judged < n && *blind)
			cause_unseen(f, "%s", blind);
	}
	free(rules);
	if (seen == 0 && (!blind || *blind))
		cause_unseen(f, "%s", strcmp(parts, "GPU ") ? blind : "no GPU was looked at twice");
}

/* ---- running and telling ------------------------------------------------------------------ */

void cause_check(const struct cause *cause, const struct observation *observation,
		 struct cause_finding *finding)
{
	memset(finding, 0, sizeof(*finding));
	if (cause->check)
		cause->check(observation, finding);
	else
		cause_rules(observation, cause->name, "GPU ", NULL, finding);
}

static void add_name(char *names, size_t len, const char *name)
{
	text_add(names, len, "%s%s", names[0] ? ", " : "", name);
}

/* Prints each reason once, behind all causes that were not seen for it. */
static int tell_unseen(struct cause_finding *findings, int (*line)(void *ctx, const char *text),
		       void *ctx)
{
	char text[1000];
	int rc = 0;

	for (size_t i = 0; i < cause_count && rc >= 0; i++) {
		char names[400] = "";

		if (findings[i].state != CAUSE_UNSEEN)
			continue;
		for (size_t j = i; j < cause_count; j++) {
			if (findings[j].state != CAUSE_UNSEEN ||
			    strcmp(findings[j].text, findings[i].text) != 0)
				continue;
			add_name(names, sizeof(names), cause_table[j].name);
			findings[j].state = CAUSE_NO;
		}
		snprintf(text, sizeof(text), "not seen: %s: %s", names, findings[i].text);
		rc = line(ctx, text);
	}
	return rc;
}

bool causes_slowest(const struct observation *observation, char *text, size_t len)
{
	const char *proto = cause_run_text(observation, "worst_proto");
	int worst = cause_run(observation, "worst_ppm");

	if (worst < 0)
		return false;
	snprintf(text, len,
		 "The slowest row, of %ld bytes, reaches %.1f %% of its prediction (%.15s%s%.15s)",
		 reading_value(&observation->run, "run", "worst_bytes"), worst * 1e-4,
		 cause_run_text(observation, "worst_algo"), proto[0] ? "/" : "", proto);
	return true;
}

int causes_tell(const struct observation *observation, bool only,
		int (*line)(void *ctx, const char *text), void *ctx)
{
	struct cause_finding *findings = must(calloc(cause_count, sizeof(*findings)));
	char text[1000], names[600] = "", what[CAUSE_LINE], fix[CAUSE_LINE];
	size_t asked = 0, out = 0;
	int found = 0, rc = 0;

	for (size_t i = 0; i < cause_count && rc >= 0; i++) {
		const struct cause *cause = &cause_table[i];

		if (cause->gpu && !cause_on_gpus(observation))
			continue;
		asked++;
		cause_check(cause, observation, &findings[i]);
		out += (size_t)(findings[i].state == CAUSE_NO);
		if (findings[i].state == CAUSE_NO)
			add_name(names, sizeof(names), cause->name);
		if (findings[i].state != CAUSE_YES)
			continue;
		found++;
		snprintf(text, sizeof(text), "cause: %s: %s: %s. Fix: %s", cause->name,
			 cause_says(cause, CAUSE_WHAT, what), findings[i].text,
			 cause_says(cause, CAUSE_FIX, fix));
		rc = line(ctx, text);
	}
	if (found == 0 && !only && rc >= 0) {
		snprintf(text, sizeof(text), "no cause found: %zu of %zu were ruled out%s%s", out,
			 asked, names[0] ? ": " : "", names);
		if (asked < cause_count)
			text_add(text, sizeof(text), "; the other %zu are about GPUs and NICs",
				 cause_count - asked);
		rc = line(ctx, text);
	}
	if (rc >= 0 && !only)
		rc = tell_unseen(findings, line, ctx);
	free(findings);
	return rc;
}
