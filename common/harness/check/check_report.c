/* check_report.c: the text of a failed check. */
#include "check/check.h"

static const char *const kind_names[] = {
	[WRONG_NONE] = "none",	     [WRONG_ZERO] = "zero",	  [WRONG_STALE] = "stale",
	[WRONG_SHIFTED] = "shifted", [WRONG_MISSING] = "missing", [WRONG_DOUBLED] = "doubled",
	[WRONG_NAN] = "nan",	     [WRONG_FLIPPED] = "flipped", [WRONG_GUARD] = "guard",
	[WRONG_SEND] = "send",	     [WRONG_KEEP] = "keep",	  [WRONG_OTHER] = "other",
};

const char *wrong_kind_name(enum wrong_kind kind)
{
	return kind_names[kind];
}

static const char *describe_kind(const struct check_report *report, char *buf, size_t len)
{
	const char *name = wrong_kind_name((enum wrong_kind)report->kind);

	if (report->kind == WRONG_SHIFTED)
		snprintf(buf, len, "%s by %+ld", name, report->shift);
	else if ((report->kind == WRONG_MISSING || report->kind == WRONG_DOUBLED) &&
		 report->culprit >= 0)
		snprintf(buf, len, "%s contribution of rank %d", name, report->culprit);
	else if (report->kind == WRONG_MISSING || report->kind == WRONG_DOUBLED)
		snprintf(buf, len, "%s contribution of an unknown rank", name);
	else if (report->kind == WRONG_FLIPPED && report->culprit >= 0)
		snprintf(buf, len, "one bit %s in the contribution of rank %d", name,
			 report->culprit);
	else
		snprintf(buf, len, "%s", name);
	return buf;
}

char *check_describe(const struct check_report *report, char *buf, size_t len)
{
	const char *what = report->kind == WRONG_GUARD	? "byte"
			   : report->kind == WRONG_SEND ? "send element"
							: "element";
	char kind[80];

	if (report->wrong == 0) {
		snprintf(buf, len, "rank %d: nothing wrong", report->rank);
		return buf;
	}
	snprintf(buf, len, "rank %d %s %ld: expected %s got %s: %s (%lu wrong)", report->rank, what,
		 (int64_t)report->element, report->expected, report->got,
		 describe_kind(report, kind, sizeof(kind)), report->wrong);
	return buf;
}
