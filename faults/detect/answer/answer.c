/* answer.c: the answer of views, what stands of it beside that of the evidence, and the line that states it. */
#include "answer/answer.h"

#include "base/rank_list.h"
#include "settings/settings.h"

void answer_blank(struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	answer->comm = answer->seq_low = answer->seq_high = -1;
	answer->hang_seq = answer->wrong_seq = -1;
	answer->last_comm = answer->last_seq = -1;
	strcpy(answer->ranks, "-");
	strcpy(answer->evidence, "-");
}

void answer_note(struct answer *answer, const char *fmt, ...)
{
	va_list args;

	if (answer->nnotes == ANSWER_NOTES)
		return;
	va_start(args, fmt);
	vsnprintf(answer->notes[answer->nnotes++], sizeof(answer->notes[0]), fmt, args);
	va_end(args);
}

/* A launcher ends the others, with SIGTERM where it does not say so; where a rank's supervisor or launcher is gone the rank goes
 * with it. */
static bool died_by_itself(const struct rank_view *view)
{
	return view_died(view) && !view->told &&
	       !(view->process == PROCESS_KILLED &&
		 (view->status == SIGTERM || (view->reported && view->lost >= LOST_MONITOR)));
}

/* Names the ranks that are so. Returns how many. */
static size_t name_ranks(struct answer *answer, const struct rank_view *views, size_t n,
			 bool (*is_culprit)(const struct rank_view *))
{
	size_t len = sizeof(answer->ranks), found = 0;
	bool all = true;

	answer->ranks[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		found += is_culprit(&views[i]);
		all = all && (!is_culprit(&views[i]) || views[i].rank < 0 ||
			      rank_list_add(answer->ranks, len, views[i].rank));
	}
	if (!answer->ranks[0])
		snprintf(answer->ranks, len, "-");
	return found;
}

static void find_last(struct answer *answer, const struct rank_view *views, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!views[i].waiting || !views[i].last.ticket)
			continue;
		if (answer->last_seq >= 0 && (int64_t)views[i].seq >= answer->last_seq)
			continue;
		answer->last_comm = views[i].last.comm;
		answer->last_seq = (int64_t)views[i].seq;
	}
}

/* The latest rank to begin its wait has waited this long: seconds. */
static double shortest_wait(const struct rank_view *views, size_t n)
{
	double least = -1;

	for (size_t i = 0; i < n; i++)
		if (views[i].waiting && (least < 0 || views[i].waited < least))
			least = views[i].waited;
	return least < 0 ? 0 : least;
}

void answer_of_views(struct answer *answer, const struct rank_view *views, size_t n,
		     double death_seconds, double error_seconds)
{
	size_t dead;

	answer_blank(answer);
	for (size_t i = 0; i < n; i++)
		answer->outcome = outcome_worse(answer->outcome, view_outcome(&views[i]));
	answer->confidence = CONFIDENCE_PROVED;
	answer->detect_ms = death_seconds * 1e3;
	find_last(answer, views, n);
	if (answer->outcome == OUTCOME_DIED) {
		/* one death explains what others report; of several, one may have brought about the others */
		dead = name_ranks(answer, views, n, died_by_itself);
		dead = dead ? dead : name_ranks(answer, views, n, view_died);
		answer->class = CLASS_DIED;
		answer->confidence = dead == 1 ? CONFIDENCE_PROVED : CONFIDENCE_INCONCLUSIVE;
	} else if (answer->outcome == OUTCOME_HANG) {
		answer->class = CLASS_UNEXPLAINED;
		answer->confidence = CONFIDENCE_INCONCLUSIVE;
		answer->detect_ms = shortest_wait(views, n) * 1e3;
	} else if (answer->outcome == OUTCOME_ERROR || answer->outcome == OUTCOME_INTERNAL) {
		answer->detect_ms = error_seconds * 1e3;
		/* a rank reports an error because of another one, as a rule, unless all of these ended well */
		answer->class = CLASS_ERROR;
		name_ranks(answer, views, n, view_failed);
		answer->confidence =
			views_one_failed(views, n) ? CONFIDENCE_PROVED : CONFIDENCE_INCONCLUSIVE;
	} else if (answer->outcome == OUTCOME_WRONG_DATA) {
		/* the rank that received wrong data need not have made them so */
		answer->confidence = CONFIDENCE_INCONCLUSIVE;
	}
}

void answer_of_lost(struct answer *answer, enum view_lost lost)
{
	answer_blank(answer);
	answer->outcome = lost >= LOST_MONITOR ? OUTCOME_DIED : OUTCOME_HANG;
	answer->class = class_of_lost(lost);
	answer->confidence = CONFIDENCE_PROVED;
	answer->side = SIDE_HOST;
	gethostname(answer->hosts, sizeof(answer->hosts) - 1);
}

static bool is_named(const struct answer *answer)
{
	return answer->outcome != OUTCOME_OK && answer->class != CLASS_UNEXPLAINED;
}

bool answer_explains(const struct answer *answer)
{
	/* probably harmless */
	if (answer->class == CLASS_SETTINGS && setting_weight(answer->field) != SETTING_BREAKS)
		return false;
	if (answer->class == CLASS_PARTITION && answer->confidence == CONFIDENCE_INCONCLUSIVE)
		return false;
	return is_named(answer);
}

/* Returns true if the evidence says no more than the views did, or does not hold what was seen. */
static bool seen_stands(const struct answer *found, const struct answer *seen)
{
	bool ended = seen->outcome == OUTCOME_OK || seen->outcome == OUTCOME_WRONG_DATA ||
		     seen->outcome == OUTCOME_DIVERGED;

	if (ended && found->outcome == OUTCOME_INTERNAL)
		return true;
	if (ended && found->class == CLASS_OUTCOME && found->outcome == seen->outcome)
		return true;
	return class_is_lost(seen->class) ||
	       (!is_named(found) && seen->outcome != OUTCOME_OK && found->outcome != seen->outcome);
}

void answer_settle(struct answer *found, const struct answer *seen)
{
	if (seen_stands(found, seen)) {
		found->outcome = seen->outcome;
		found->class = seen->class;
		found->confidence = seen->confidence;
		found->side = seen->side;
		memcpy(found->ranks, seen->ranks, sizeof(found->ranks));
		memcpy(found->hosts, seen->hosts, sizeof(found->hosts));
		memcpy(found->pair, seen->pair, sizeof(found->pair));
		memcpy(found->doing, seen->doing, sizeof(found->doing));
	} else if (seen->outcome != OUTCOME_OK) {
		found->outcome = seen->outcome; /* a process without a rank may have died */
	}
	if (found->seq_low < 0 && seen->seq_low >= 0) {
		found->comm = seen->comm;
		found->seq_low = seen->seq_low;
		found->seq_high = seen->seq_high;
	}
	found->last_comm = seen->last_comm;
	found->last_seq = seen->last_seq;
	found->detect_ms = seen->detect_ms;
	memcpy(found->evidence, seen->evidence, sizeof(found->evidence));
}

/* Returns true if scripts are told in what ranks differ. */
static bool prints_field(const struct answer *a)
{
	return a->field[0] && (a->class == CLASS_MISMATCH || a->class == CLASS_INIT_MISMATCH ||
			       a->class == CLASS_PAIR_SIZE || a->class == CLASS_SETTINGS);
}

void answer_print(FILE *out, const struct answer *a)
{
	bool parted = a->seq_low >= 0;

	fprintf(out,
		"# verdict: outcome=%s class=%s ranks=%s comm=%ld seq=%ld confidence=%s "
		"detect_ms=%.0f",
		outcome_name(a->outcome), class_name(a->class, a->outcome), a->ranks,
		parted ? a->comm : a->last_comm, parted ? a->seq_low : a->last_seq,
		confidence_name(a->confidence), a->detect_ms);
	if (prints_field(a))
		fprintf(out, " field=%s", a->field);
	if (a->pair[0])
		fprintf(out, " pair=%s", a->pair);
	if (parted && a->hang_seq >= 0 && a->hang_seq != a->seq_low)
		fprintf(out, " hang_seq=%ld", a->hang_seq);
	if (parted && a->wrong_seq >= 0 && a->wrong_seq != a->seq_low)
		fprintf(out, " wrong_seq=%ld", a->wrong_seq);
	if (a->side)
		fprintf(out, " side=%s", side_name(a->side));
	if (a->hosts[0])
		fprintf(out, " hosts=%s", a->hosts);
	if (a->job[0])
		fprintf(out, " job=%s", a->job);
	fprintf(out, " evidence=%s\n", a->evidence);
	fflush(out);
}

int answer_exit_code(const struct answer *answer, const char *expect)
{
	return expect_exit_code(expect, answer->outcome, class_name(answer->class, answer->outcome),
				strcmp(answer->ranks, "-") ? answer->ranks : "");
}

void answer_print_expected(FILE *out, const struct answer *a, const char *expect)
{
	int exit_code = answer_exit_code(a, expect);
	bool ranks = strcmp(a->ranks, "-") != 0;

	if (expect && exit_code == 0)
		fprintf(out, "# as expected: %s\n", expect);
	else if (expect)
		fprintf(out, "# expected %s, came %s:%s%s%s: exit %d\n", expect,
			outcome_name(a->outcome), class_name(a->class, a->outcome),
			ranks ? ":" : "", ranks ? a->ranks : "", exit_code);
	fflush(out);
}
