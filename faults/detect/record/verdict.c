/* verdict.c: outcome of a run from the views of its ranks, and the line that states it. */
#include "record/verdict.h"

bool view_finished(const struct rank_view *view)
{
	return view->process == PROCESS_EXITED && view->outcome >= 0 &&
	       view->outcome == view->status;
}

bool view_died(const struct rank_view *view)
{
	return view->process >= PROCESS_EXITED && !view_finished(view);
}

bool view_failed(const struct rank_view *view)
{
	return view_finished(view) &&
	       (view->outcome == OUTCOME_ERROR || view->outcome == OUTCOME_INTERNAL);
}

bool views_abnormal(const struct rank_view *views, size_t n, bool deadlines)
{
	for (size_t i = 0; i < n; i++)
		if (view_died(&views[i]) || view_failed(&views[i]) ||
		    (deadlines && views[i].overdue))
			return true;
	return false;
}

bool views_one_failed(const struct rank_view *views, size_t n)
{
	size_t failed = 0, well = 0;

	for (size_t i = 0; i < n; i++) {
		failed += view_failed(&views[i]);
		well += view_finished(&views[i]) && views[i].outcome == OUTCOME_OK;
	}
	return failed == 1 && well + 1 == n;
}

bool ranks_add(char *list, size_t len, int rank)
{
	size_t at = strlen(list);
	int n = snprintf(list + at, len - at, "%s%d", at ? "," : "", rank);
	bool fits = n >= 0 && (size_t)n < len - at;

	if (!fits)
		list[at] = '\0';
	return fits;
}

/* A launcher ends the others with it. */
static bool died_by_itself(const struct rank_view *view)
{
	return view_died(view) && !(view->process == PROCESS_KILLED && view->status == SIGTERM);
}

/* Names the ranks that are so. Returns how many. */
static size_t name_ranks(struct verdict *verdict, const struct rank_view *views, size_t n,
			 bool (*is_culprit)(const struct rank_view *))
{
	size_t len = sizeof(verdict->ranks), found = 0;
	bool all = true;

	verdict->ranks[0] = '\0';
	for (size_t i = 0; i < n; i++) {
		found += is_culprit(&views[i]);
		all = all && (!is_culprit(&views[i]) || views[i].rank < 0 ||
			      ranks_add(verdict->ranks, len, views[i].rank));
	}
	if (!verdict->ranks[0])
		snprintf(verdict->ranks, len, "-");
	return found;
}

enum outcome view_outcome(const struct rank_view *view)
{
	return view_died(view)	     ? OUTCOME_DIED
	       : view_finished(view) ? (enum outcome)view->outcome
	       : view->overdue	     ? OUTCOME_HANG
				     : OUTCOME_OK;
}

/* Finds where the run stands: at the last call of the waiting rank that is furthest behind. */
static void find_place(struct verdict *verdict, const struct rank_view *views, size_t n)
{
	verdict->comm = verdict->seq = -1;
	for (size_t i = 0; i < n; i++) {
		if (!views[i].waiting || !views[i].last.ticket)
			continue;
		if (verdict->seq >= 0 && (int64_t)views[i].seq >= verdict->seq)
			continue;
		verdict->comm = views[i].last.comm;
		verdict->seq = (int64_t)views[i].seq;
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

void verdict_make(struct verdict *verdict, const struct rank_view *views, size_t n,
		  double death_seconds, double error_seconds)
{
	size_t dead;

	memset(verdict, 0, sizeof(*verdict));
	verdict->outcome = OUTCOME_OK;
	for (size_t i = 0; i < n; i++)
		verdict->outcome = outcome_worse(verdict->outcome, view_outcome(&views[i]));
	verdict->confidence = CONFIDENCE_PROVED;
	verdict->detect_ms = death_seconds * 1e3;
	snprintf(verdict->ranks, sizeof(verdict->ranks), "-");
	snprintf(verdict->evidence, sizeof(verdict->evidence), "-");
	find_place(verdict, views, n);
	verdict->hang_seq = verdict->wrong_seq = -1;
	if (verdict->outcome == OUTCOME_DIED) {
		/* one death explains what others report; of several, one may have brought about the others */
		dead = name_ranks(verdict, views, n, died_by_itself);
		dead = dead ? dead : name_ranks(verdict, views, n, view_died);
		verdict->class = CLASS_DIED;
		verdict->confidence = dead == 1 ? CONFIDENCE_PROVED : CONFIDENCE_INCONCLUSIVE;
	} else if (verdict->outcome == OUTCOME_HANG) {
		verdict->class = CLASS_UNEXPLAINED;
		verdict->confidence = CONFIDENCE_INCONCLUSIVE;
		verdict->detect_ms = shortest_wait(views, n) * 1e3;
	} else if (verdict->outcome == OUTCOME_ERROR || verdict->outcome == OUTCOME_INTERNAL) {
		verdict->detect_ms = error_seconds * 1e3;
		/* who reports an error may do so because of another one, unless all of these ended well */
		verdict->class = CLASS_ERROR;
		name_ranks(verdict, views, n, view_failed);
		verdict->confidence =
			views_one_failed(views, n) ? CONFIDENCE_PROVED : CONFIDENCE_INCONCLUSIVE;
	} else if (verdict->outcome == OUTCOME_WRONG_DATA) {
		/* whose data are wrong says nothing of who made them so */
		verdict->confidence = CONFIDENCE_INCONCLUSIVE;
	}
}

void verdict_print(FILE *out, const struct verdict *v)
{
	fprintf(out,
		"# verdict: outcome=%s class=%s ranks=%s comm=%ld seq=%ld confidence=%s "
		"detect_ms=%.0f",
		outcome_name(v->outcome), class_name(v->class, v->outcome), v->ranks, v->comm,
		v->seq, confidence_name(v->confidence), v->detect_ms);
	if (v->field[0])
		fprintf(out, " field=%s", v->field);
	if (v->pair[0])
		fprintf(out, " pair=%s", v->pair);
	if (v->hang_seq >= 0 && v->hang_seq != v->seq)
		fprintf(out, " hang_seq=%ld", v->hang_seq);
	if (v->wrong_seq >= 0 && v->wrong_seq != v->seq)
		fprintf(out, " wrong_seq=%ld", v->wrong_seq);
	if (v->side)
		fprintf(out, " side=%s", side_name(v->side));
	if (v->hosts[0])
		fprintf(out, " hosts=%s", v->hosts);
	fprintf(out, " evidence=%s\n", v->evidence);
	fflush(out);
}

int verdict_exit_code(const struct verdict *v, const char *expect)
{
	return expect_exit_code(expect, v->outcome, class_name(v->class, v->outcome),
				strcmp(v->ranks, "-") ? v->ranks : "");
}

void verdict_print_expected(FILE *out, const struct verdict *v, const char *expect)
{
	int exit_code = verdict_exit_code(v, expect);
	bool ranks = strcmp(v->ranks, "-") != 0;

	if (expect && exit_code == 0)
		fprintf(out, "# as expected: %s\n", expect);
	else if (expect)
		fprintf(out, "# expected %s, came %s:%s%s%s: exit %d\n", expect,
			outcome_name(v->outcome), class_name(v->class, v->outcome),
			ranks ? ":" : "", ranks ? v->ranks : "", exit_code);
	fflush(out);
}

void verdict_make_lost(struct verdict *verdict, enum view_lost lost)
{
	*verdict = (struct verdict){
		.outcome = lost >= LOST_MONITOR ? OUTCOME_DIED : OUTCOME_HANG,
		.class = class_of_lost(lost),
		.ranks = "-",
		.comm = -1,
		.seq = -1,
		.hang_seq = -1,
		.wrong_seq = -1,
		.confidence = CONFIDENCE_PROVED,
		.side = SIDE_HOST,
		.evidence = "-",
	};
	gethostname(verdict->hosts, sizeof(verdict->hosts) - 1);
}
