/* describe.c: an answer in words: ranks in groups by what they do, the culprits first. */
#include "answer/describe.h"

#include "base/call_value.h"
#include "base/error.h"
#include "base/rank_list.h"
#include "process/watch.h"

#define GROUPS	   16 /* ranks that do something else are counted alone */
#define LIST_WIDTH 28
#define DOING	   256
#define RANKS_MAX  (1 << 18) /* a rank above is as none: its memory is hostile */

/* Ranks that do the same. */
struct group {
	char doing[DOING];
	const struct rank_view *first;
	size_t n;
	bool culprit, timed;
	double least, most; /* seconds for which they do it */
};

struct scene {
	struct answer *answer;
	const struct rank_view *views;
	size_t n, ngroups;
	size_t left_out[2]; /* others and culprits in no group */
	int ranks;	    /* the highest number + 1 */
	bool several;	    /* communicators */
	bool brief;	    /* calls of others have no arguments, which differ: an alltoallv's */
	bool *marks;	    /* by rank */
	struct group groups[GROUPS];
};

char *describe_cut(char *text)
{
	if (strlen(text) > ANSWER_WIDTH)
		strcpy(text + ANSWER_WIDTH - 3, "...");
	return text;
}

__attribute__((format(printf, 2, 3))) static void add_line(struct answer *a, const char *fmt, ...)
{
	char line[1024] = ""; /* longer than what is copied of it */
	va_list args;

	if (a->nlines == ANSWER_LINES)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	memcpy(a->lines[a->nlines++], describe_cut(make_printable(line)), ANSWER_WIDTH + 1);
}

/* "AllGather count 8 float" reads as "AllGather 8 float". */
static char *without_count(char *text)
{
	char *at = strstr(text, "count ");

	if (at)
		memmove(at, at + strlen("count "), strlen(at + strlen("count ")) + 1);
	return text;
}

static const char *of_comm(const struct scene *s, int64_t comm, char *buf, size_t len)
{
	buf[0] = '\0';
	if (s->several && comm >= 0)
		snprintf(buf, len, " of comm %ld", comm);
	return buf;
}

/* The call that the rank is in, NULL: it is in none. */
static const struct record *open_call(const struct rank_view *v)
{
	bool inside = v->last.state == RECORD_ISSUING || v->last.state == RECORD_CLOSING;

	if (v->oldest.ticket)
		return &v->oldest;
	return v->last.ticket && (inside || v->completed < v->issued) ? &v->last : NULL;
}

/* How long the rank has been in no call; negative: not known. */
static double idle_seconds(const struct rank_view *v)
{
	if (v->last.ticket && v->last.returned_ns && v->seen_ns > v->last.returned_ns)
		return (double)(v->seen_ns - v->last.returned_ns) * 1e-9;
	return v->waiting ? v->waited : -1;
}

/* "8", of a group "15-16"; of calls on several communicators only the newest is known: "up to
 * 16". */
static void say_number(const struct scene *s, const struct rank_view *v, const struct record *r,
		       char *buf, size_t len)
{
	uint64_t open = v->issued - v->completed;

	if (v->oldest.ticket || v->issued <= v->completed + 1)
		snprintf(buf, len, " %lu", r->seq);
	else if (s->several || open > r->seq)
		snprintf(buf, len, "s up to %lu", r->seq);
	else
		snprintf(buf, len, "s %lu-%lu", r->seq - open + 1, r->seq);
}

static void say_call(const struct scene *s, const struct rank_view *v, const char *verb,
		     bool culprit, char *buf, size_t len)
{
	const struct record *r = open_call(v);
	char words[96], comm[40], number[64], site[sizeof(v->site)];
	bool brief = s->brief && !culprit;

	say_number(s, v, r, number, sizeof(number));
	snprintf(buf, len, "%s in call%s%s, %s", verb, number,
		 of_comm(s, r->comm, comm, sizeof(comm)),
		 brief ? call_kind_name((enum call_kind)r->kind)
		       : without_count(view_call(r, words, sizeof(words))));
	if (r->flags & RECORD_TAKEN)
		snprintf(buf, len, "%s in call%s%s, by its count alone", verb, number,
			 of_comm(s, r->comm, comm, sizeof(comm)));
	/* of one rank, in the job's own communicator */
	if (call_is_pair(r->kind) && r->peer >= 0 && r->comm == 0 && strncmp(verb, "waits", 5) == 0)
		text_add(buf, len, " %s %d", r->kind == CALL_SEND ? "to" : "from", r->peer);
	if (!brief && view_site(v, !culprit, site, sizeof(site))[0])
		text_add(buf, len, ", %s", site);
}

static void say_idle(const struct scene *s, const struct rank_view *v, bool one, char *buf,
		     size_t len)
{
	char comm[40], site[sizeof(v->site)];
	const char *is = one ? "is" : "are";

	view_site(v, false, site, sizeof(site));
	if (v->last.ticket && v->waited < 0)
		snprintf(buf, len, "had made no call after %lu%s when %s wrote this", v->last.seq,
			 of_comm(s, v->last.comm, comm, sizeof(comm)), one ? "it" : "they");
	else if (v->last.ticket)
		snprintf(buf, len, "%s in no call since call %lu%s%s%s", is, v->last.seq,
			 of_comm(s, v->last.comm, comm, sizeof(comm)), site[0] ? ", " : "", site);
	else
		snprintf(buf, len, "%s in phase %s, before all calls", is,
			 phase_name((enum phase)v->phase));
}

static const char *lost_words(uint32_t lost)
{
#define LOST_WORDS(name, number, class, words) [number] = words,
	static const char *const texts[LOST_KINDS] = { LOSTS(LOST_WORDS) };

	return lost < LOST_KINDS && texts[lost] ? texts[lost] : texts[LOST_SILENT];
}

/* Says of a culprit that it left, and after which call, where the line of code of that is known. */
static void say_after(const struct scene *s, const struct rank_view *v, char *buf, size_t len)
{
	char comm[40], site[sizeof(v->site)], how[64];

	if (!v->last.ticket || !view_site(v, false, site, sizeof(site))[0])
		return;
	snprintf(how, sizeof(how), "%.63s", buf);
	snprintf(buf, len, "%s%s", v->process == PROCESS_EXITED ? "left: " : "", how);
	text_add(buf, len, " after call %lu%s, %s", v->last.seq,
		 of_comm(s, v->last.comm, comm, sizeof(comm)), site);
}

/* Describes the end of a rank. Returns for how many seconds it has ended, negative: not told. */
static double say_end(const struct scene *s, const struct rank_view *v, bool culprit, bool one,
		      char *buf, size_t len)
{
	char how[48];

	if (view_finished(v)) {
		snprintf(buf, len, "%s",
			 view_failed(v)					? "left with an error"
			 : culprit && s->answer->class == CLASS_CORRUPT ? "is where data went wrong"
									: "ended");
		if (culprit && strcmp(buf, "ended") == 0)
			say_after(s, v, buf, len);
		return -1;
	}
	snprintf(buf, len, "%s%s",
		 v->process == PROCESS_EXITED ? ""
		 : one			      ? "was "
					      : "were ",
		 view_process(v, how, sizeof(how)));
	if (culprit)
		say_after(s, v, buf, len);
	return culprit && s->answer->outcome == OUTCOME_DIED ? s->answer->detect_ms / 1e3 : -1;
}

struct rank_doing rank_doing(const struct rank_view *v, bool culprit)
{
	struct rank_doing d = { .call = open_call(v), .seconds = v->waiting ? v->waited : -1 };

	if (v->lost && !v->reported)
		d.doing = DOING_HIDDEN;
	else if (view_died(v) || view_finished(v))
		d.doing = DOING_ENDED;
	else if (v->process == PROCESS_STOPPED)
		d.doing = DOING_STOPPED;
	else if (v->comm_state == RECORD_COMM_INIT)
		d.doing = DOING_INIT;
	else if (d.call)
		d.doing = DOING_CALL;
	else if (v->waiting && !culprit)
		d.doing = DOING_WAIT;
	else
		d = (struct rank_doing){ DOING_IDLE, v->last.ticket ? &v->last : NULL,
					 idle_seconds(v) };
	if (d.doing < DOING_INIT)
		d.seconds = -1;
	return d;
}

/* Describes a rank, or with `one` false several. Returns for how many seconds, negative: not
 * told. */
static double say_doing(const struct scene *s, const struct rank_view *v, bool culprit, bool one,
			char *buf, size_t len)
{
	const char *is = one ? "is" : "are", *wait = one ? "waits" : "wait";
	const struct rank_doing d = rank_doing(v, culprit);
	char comm[48];

	switch (d.doing) {
	case DOING_HIDDEN:
		snprintf(buf, len, "cannot be seen");
		break;
	case DOING_ENDED:
		return say_end(s, v, culprit, one, buf, len);
	case DOING_STOPPED:
		snprintf(buf, len, "%s stopped", is);
		break;
	case DOING_INIT:
		snprintf(buf, len, "%s in communicator init", wait);
		break;
	case DOING_CALL:
		if (!culprit || v->last.state != RECORD_RETURNED ||
		    strcmp(s->answer->theirs, "no call") != 0) {
			say_call(s, v, wait, culprit, buf, len);
			break;
		}
		/* whether it waits for its GPU is not known */
		snprintf(buf, len, "made its last call, %lu%s", v->last.seq,
			 of_comm(s, v->last.comm, comm, sizeof(comm)));
		return idle_seconds(v);
	case DOING_WAIT:
		snprintf(buf, len, "%s in '%.40s'", wait, v->what);
		break;
	case DOING_IDLE:
		/* a culprit of a later communicator's init is in it, with another id than the others */
		if (s->answer->class == CLASS_INIT_MISMATCH && v->waiting &&
		    strcmp(v->what, "communicator init") == 0) {
			snprintf(buf, len, "%s in communicator init", wait);
			return v->waited;
		}
		say_idle(s, v, one, buf, len);
	}
	return d.seconds;
}

static bool has_number(const struct rank_view *v)
{
	return v->rank >= 0 && v->rank < RANKS_MAX;
}

static bool is_culprit(const struct scene *s, const struct rank_view *v)
{
	return has_number(v) && rank_list_has(s->answer->ranks, v->rank);
}

static struct group *find_group(struct scene *s, const char *doing, bool culprit)
{
	for (size_t i = 0; i < s->ngroups; i++)
		if (s->groups[i].culprit == culprit && strcmp(s->groups[i].doing, doing) == 0)
			return &s->groups[i];
	if (s->ngroups >= (culprit ? GROUPS / 2 : GROUPS))
		return NULL;
	s->groups[s->ngroups] = (struct group){ .culprit = culprit };
	strcpy(s->groups[s->ngroups].doing, doing);
	return &s->groups[s->ngroups++];
}

static void put_in_group(struct scene *s, const struct rank_view *v)
{
	bool culprit = is_culprit(s, v);
	char doing[DOING];
	double seconds = say_doing(s, v, culprit, false, doing, sizeof(doing));
	struct group *g;

	if (view_finished(v) && !view_failed(v) && !culprit)
		return;
	g = find_group(s, doing, culprit);
	if (!g) {
		s->left_out[culprit]++;
		return;
	}
	g->first = g->first ? g->first : v;
	g->least = g->timed && g->least < seconds ? g->least : seconds;
	g->most = g->timed && g->most > seconds ? g->most : seconds;
	g->timed = seconds >= 0;
	g->n++;
}

/* "rank 3 (node1 pid 12)", "ranks 0-2", "4000 ranks (0,2,4,...)", "a process without rank". */
static void say_group(const struct scene *s, const struct group *g, char *buf, size_t len)
{
	char list[LIST_WIDTH + sizeof("ranks ")], doing[DOING];
	size_t n = 0;

	if (g->n == 1 && has_number(g->first)) {
		snprintf(buf, len, "rank %d", g->first->rank);
		if (g->culprit && g->first->pid)
			text_add(buf, len, " (%.24s pid %d)", g->first->host, g->first->pid);
		return;
	}
	memset(s->marks, 0, (size_t)s->ranks);
	for (size_t i = 0; i < s->n; i++) {
		const struct rank_view *v = &s->views[i];
		bool culprit = is_culprit(s, v);

		say_doing(s, v, culprit, false, doing, sizeof(doing));
		if (!has_number(v) || culprit != g->culprit || strcmp(doing, g->doing) != 0)
			continue;
		n += !s->marks[v->rank];
		s->marks[v->rank] = true;
	}
	rank_list_words(s->marks, s->ranks, list, sizeof(list));
	if (n == 0)
		snprintf(buf, len, "%zu process%s without rank", g->n, g->n == 1 ? "" : "es");
	else if (strstr(list, "..."))
		snprintf(buf, len, "%zu ranks (%s)", n, list + strlen("ranks "));
	else
		snprintf(buf, len, "%s", list);
}

/* Drops the function behind a line of code, or else what stands behind the last comma. False:
 * there is neither. */
static bool drop_last(char *doing)
{
	char *at = doing[0] && doing[strlen(doing) - 1] == ')' ? strrchr(doing, '(') : NULL;

	at = at ? at - 1 : strrchr(doing, ',');
	if (!at || at <= doing)
		return false;
	*at = '\0';
	return true;
}

/* Makes room for where the culprit stands now: where its last call came from matters less, and
 * the system call has a line of its own, `own`. */
static void make_room(size_t taken, char *doing, char *tail, char *own, size_t len)
{
	char *call;

	own[0] = '\0';
	while (taken + strlen(doing) + strlen(tail) > ANSWER_WIDTH &&
	       strstr(doing, " in no call since ") && drop_last(doing))
		;
	if (taken + strlen(doing) + strlen(tail) <= ANSWER_WIDTH)
		return;
	call = strstr(tail, ", system call");
	if (call) {
		snprintf(own, len, "in %s", call + 2);
		*call = '\0';
	}
	if (taken + strlen(doing) + strlen(tail) <= ANSWER_WIDTH)
		return;
	if (call)
		*call = ',';
	if (strchr(tail, '(')) /* a line of code */
		snprintf(own, len, "%s", tail);
	tail[0] = '\0';
}

/* In two lines, where one is too short. */
static void add_said(struct answer *a)
{
	size_t room = ANSWER_WIDTH - strlen("  said: "), n = strlen(a->said);

	for (size_t at = room; n > room && at > room / 2; at--)
		if (a->said[at] == ' ')
			n = at < n ? at : n;
	if (a->said[0])
		add_line(a, "  said: %.*s", (int)n, a->said);
	if (a->said[n])
		add_line(a, "       %s", a->said + n);
}

static void add_group(const struct scene *s, const struct group *g, const char *mark, char *tail)
{
	char name[128], doing[DOING], time[48] = "", own[sizeof(s->answer->doing) + 4];

	say_group(s, g, name, sizeof(name));
	say_doing(s, g->first, g->culprit, g->n == 1, doing, sizeof(doing));
	if (g->timed && g->most > 1.5 * g->least + 0.1)
		snprintf(time, sizeof(time), ", %.2f to %.2f s", g->least, g->most);
	else if (g->timed && g->most > 0)
		snprintf(time, sizeof(time), ", %.2f s", g->least);
	if (time[0] && (view_died(g->first) || strncmp(doing, "made", 4) == 0))
		strcat(time, " ago");
	make_room(strlen(mark) + strlen(name) + strlen(time) + 3, doing, tail, own, sizeof(own));
	while (strlen(mark) + strlen(name) + strlen(doing) + strlen(time) + 1 > ANSWER_WIDTH &&
	       drop_last(doing))
		;
	add_line(s->answer, "%s%s %s%s%s%s", mark, name, doing, time, tail[0] ? ", " : "", tail);
	if (own[0])
		add_line(s->answer, "  %s", own);
	if (mark[0])
		add_said(s->answer);
}

/* The groups of `most` lines at most, the largest first. */
static void add_groups(struct scene *s, bool culprit, size_t most)
{
	size_t more = s->left_out[culprit], all = 0;

	for (size_t i = 0; i < s->ngroups; i++)
		all += s->groups[i].culprit == culprit;
	for (size_t shown = 0; shown < all; shown++) {
		struct group *next = NULL;
		char tail[sizeof(s->answer->doing)] = "";

		for (size_t i = 0; i < s->ngroups; i++)
			if (s->groups[i].culprit == culprit && s->groups[i].n > 0 &&
			    (!next || s->groups[i].n > next->n))
				next = &s->groups[i];
		if (shown + 1 < most || (shown + 1 == most && all == most && more == 0)) {
			if (culprit && shown == 0)
				snprintf(tail, sizeof(tail), "%s", s->answer->doing);
			add_group(s, next, culprit ? "culprit: " : "", tail);
		} else {
			more += next->n;
		}
		next->n = 0;
	}
	if (more > 0)
		add_line(s->answer, "%s%zu more rank%s: in the report", culprit ? "culprit: " : "",
			 more, more == 1 ? "" : "s");
}

/* Hosts of which nothing is heard are the culprits then. */
static void add_hosts(const struct scene *s)
{
	const struct answer *v = s->answer;
	const char *to = strchr(v->pair, '>');
	const struct rank_view *lost = NULL;

	for (size_t i = 0; i < s->n && !lost; i++)
		lost = s->views[i].lost ? &s->views[i] : NULL;
	if (v->hosts[0])
		add_line(s->answer, "culprit: host%s %s: %s", strchr(v->hosts, ',') ? "s" : "",
			 v->hosts,
			 v->doing[0] ? v->doing
			 : lost	     ? lost_words(lost->lost)
				     : "lost");
	else if (v->class == CLASS_PARTITION && to && lost && lost->lost == LOST_LARGE)
		add_line(s->answer, "culprit: the way between %.*s and %s: %s", (int)(to - v->pair),
			 v->pair, to + 1, lost_words(LOST_LARGE));
	else if (v->class == CLASS_PARTITION && to)
		add_line(s->answer,
			 "culprit: the way from %.*s to %s: what is sent does not arrive",
			 (int)(to - v->pair), v->pair, to + 1);
}

/* "AllGather 8 float, train.py:88": `call` and its line of code, unless that stands there. */
static void take_call(char *buf, size_t len, const char *call, const char *line)
{
	int n = (int)strcspn(line, " ");
	char place[64];

	snprintf(buf, len, "%s", call);
	snprintf(place, sizeof(place), "%.*s", n, line);
	without_count(buf);
	if (n > 0 && call[0] && !strstr(call, place) && strcmp(call, "no call") != 0 &&
	    strcmp(call, "unknown") != 0)
		text_add(buf, len, ", %.*s", n, line);
}

/* Two calls and their lines of code may be too wide for one line. */
static void add_both(struct answer *a, const char *first, const char *of, const char *ours)
{
	bool wide = strlen(first) + strlen(of) + strlen(ours) + 3 > ANSWER_WIDTH;

	add_line(a, wide ? "%s" : "%s, %s %s", first, of, ours);
	if (wide)
		add_line(a, "  %s %s", of, ours);
}

/* The call that the culprit lacks or changed. */
static void add_difference(const struct scene *s)
{
	const struct answer *v = s->answer;
	char place[128], theirs[136], ours[136], comm[40], first[320];
	bool no_call = strcmp(v->theirs, "no call") == 0;

	if (!v->field[0] || v->seq_low < 0)
		return;
	first[0] = '\0';
	take_call(theirs, sizeof(theirs), v->theirs, v->lines_there[0]);
	take_call(ours, sizeof(ours), v->majority, v->lines_there[1]);
	if (v->seq_low == 0)
		snprintf(place, sizeof(place), "communicator init");
	else if (v->seq_high > v->seq_low)
		snprintf(place, sizeof(place), "calls %ld to %ld%s", v->seq_low, v->seq_high,
			 of_comm(s, v->comm, comm, sizeof(comm)));
	else
		snprintf(place, sizeof(place), "call %ld%s", v->seq_low,
			 of_comm(s, v->comm, comm, sizeof(comm)));
	if (v->sides[0][0]) {
		add_line(s->answer, "  %s: %s made %s", place, v->sides[0], theirs);
		add_line(s->answer, "  %*s  %s made %s", (int)strlen(place), "", v->sides[1], ours);
	} else if (no_call && strcmp(ours, "communicator init") == 0)
		add_line(s->answer, "  lacks %s", ours);
	else if (no_call)
		add_line(s->answer, "  lacks %s%s: %s", v->seq_high > v->seq_low ? "one of " : "",
			 place, ours);
	else if (strcmp(ours, "no call") == 0 || strcmp(ours, "unknown") == 0)
		add_line(s->answer, "  made %s: %s, the others did not", place, theirs);
	else if (strcmp(v->field, "order") == 0 && theirs[0])
		add_line(s->answer, "  made %s, the others %s", theirs, ours);
	else if (strcmp(v->field, "call") == 0)
		snprintf(first, sizeof(first), "  %s: made %s", place, theirs);
	else if (strcmp(v->field, "completion") == 0)
		add_line(s->answer, "  %s, %s: %s", place, ours, theirs);
	else if (theirs[0] || ours[0])
		snprintf(first, sizeof(first), "  %s of %s: %s", v->field, place, theirs);
	else
		add_line(s->answer, "  %s of %s differs", v->field, place);
	if (first[0])
		add_both(s->answer, first,
			 strcmp(v->field, "call") == 0 ? "the others"
			 : v->pair[0]		       ? "its partner's:"
						       : "the others':",
			 ours);
}

/* The error of a culprit, else of another rank. */
static void add_error(const struct scene *s)
{
	char text[sizeof(s->views->error) + 1], more[48] = "";
	const struct rank_view *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct rank_view *v = &s->views[i];

		if (!v->error[0] || !has_number(v))
			continue;
		if (!first || (rank_list_has(s->answer->ranks, v->rank) &&
			       !rank_list_has(s->answer->ranks, first->rank)))
			first = v;
		n++;
	}
	if (n > 1)
		snprintf(more, sizeof(more), " and %zu more", n - 1);
	if (first)
		add_line(s->answer, "rank %d%s reported: %s", first->rank, more,
			 view_error(first, text, sizeof(text)));
}

/* The communicator that the verdict line names, -1: none. */
static int64_t of_place(const struct answer *a)
{
	return a->seq_low >= 0 ? a->comm : a->last_comm;
}

static void scene_init(struct scene *s, struct answer *answer, const struct rank_view *views,
		       size_t n)
{
	size_t culprits;

	*s = (struct scene){ .answer = answer, .views = views, .n = n };
	for (size_t i = 0; i < n; i++) {
		const struct rank_view *v = &views[i];

		s->ranks = has_number(v) && v->rank >= s->ranks ? v->rank + 1 : s->ranks;
		s->several = s->several || of_place(answer) > 0 || v->last.comm > 0 ||
			     v->oldest.comm > 0 || v->comms[1].state;
	}
	s->marks = must(calloc((size_t)s->ranks + 1, sizeof(*s->marks)));
	for (size_t i = 0; i < n; i++)
		if (is_culprit(s, &views[i]))
			put_in_group(s, &views[i]);
	culprits = s->ngroups;
	for (int brief = 0; brief < 2 && (!brief || s->ngroups > culprits + 2); brief++) {
		s->brief = brief;
		s->ngroups = culprits;
		s->left_out[false] = 0;
		for (size_t i = 0; i < n; i++)
			if (!is_culprit(s, &views[i]))
				put_in_group(s, &views[i]);
	}
}

/* The first sentence of evidence, where it says more than the lines do. */
static const char *note_of(const struct answer *a)
{
	bool plain = a->outcome == OUTCOME_DIED || a->class == CLASS_STOPPED ||
		     a->class == CLASS_FROZEN || a->class == CLASS_TRACED ||
		     a->class == CLASS_ERROR;

	return a->nnotes > 0 && (!plain || strcmp(a->ranks, "-") == 0) ? a->notes[0] : "";
}

void answer_describe(struct answer *a, const struct rank_view *views, size_t n)
{
	struct scene *s = must(malloc(sizeof(*s)));
	const char *note = note_of(a);

	a->nlines = 0;
	scene_init(s, a, views, n);
	add_hosts(s);
	add_groups(s, true, 2);
	if (a->nlines == 0 && strcmp(a->ranks, "-") != 0 && note[0]) {
		add_line(a, "%s: rank%s %s: %s", a->class == CLASS_UNSEEN ? "unseen" : "culprit",
			 strchr(a->ranks, ',') ? "s" : "", a->ranks, note); /* it has no record */
		if (a->doing[0])
			add_line(a, "  %s", a->doing);
	} else if (a->nlines == 0) {
		add_line(a, "no culprit is named: %s",
			 note[0]			 ? note
			 : a->class == CLASS_UNEXPLAINED ? "no cause was found"
							 : class_name(a->class, a->outcome));
		add_said(a);
	} else if (!a->field[0] && note[0])
		add_line(a, "  %s", note);
	add_difference(s);
	add_error(s);
	if (a->nlines < ANSWER_LINES)
		add_groups(s, false, ANSWER_LINES - a->nlines);
	free(s->marks);
	free(s);
}

void answer_print_lines(FILE *out, const char *prefix, const struct answer *a)
{
	for (size_t i = 0; i < a->nlines; i++)
		fprintf(out, "%s%s\n", prefix, a->lines[i]);
	fflush(out);
}
