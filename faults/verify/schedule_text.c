/* schedule_text.c: schedules as text: a line a rank. */
#include "verify/schedule.h"

#include "base/file.h"
#include "base/parse.h"

#define TEXT_BYTES ((int64_t)1 << 30)
#define PARTS	   6

static const char *const kinds[CALL_KIND_COUNT] = {
	[CALL_ALL_REDUCE] = "all_reduce",
	[CALL_ALL_GATHER] = "all_gather",
	[CALL_REDUCE_SCATTER] = "reduce_scatter",
	[CALL_BROADCAST] = "broadcast",
	[CALL_REDUCE] = "reduce",
	[CALL_ALLTOALL] = "alltoall",
	[CALL_ALLTOALLV] = "alltoallv",
	[CALL_GATHER] = "gather",
	[CALL_SCATTER] = "scatter",
	[CALL_SEND] = "send",
	[CALL_RECV] = "recv",
};

const char *schedule_kind_name(enum call_kind kind)
{
	return kinds[kind];
}

/* A text that is read, and where. */
struct reader {
	struct schedule *schedule;
	struct error *err;
	const char *path;
	int line;
	int ranks;	/* 0: not said yet */
	int world;	/* the group of all ranks, -1: none is known */
	bool *chosen;	/* the ranks that a line is of */
	size_t grouped; /* in "(...)": 1 + the calls so far; else 0 */
};

#define refuse(r, ...) refuse_at(r, __VA_ARGS__)
static int refuse_at(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int refuse_at(struct reader *r, const char *fmt, ...)
{
	char text[400];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return error_usage(r->err, "%s:%d: %s", r->path, r->line, make_printable(text));
}

static bool is_rooted(int kind)
{
	return kind == CALL_BROADCAST || kind == CALL_REDUCE || kind == CALL_GATHER ||
	       kind == CALL_SCATTER;
}

static bool is_reduced(int kind)
{
	return kind == CALL_ALL_REDUCE || kind == CALL_REDUCE_SCATTER || kind == CALL_REDUCE;
}

/* Reads "0-3,7" into a list, in its order; *n: how many. NULL, with the error set: it is none. */
static int *read_ranks(struct reader *r, char *text, int *n)
{
	int *ranks = NULL;
	char *item;

	*n = 0;
	while ((item = strsep(&text, ","))) {
		char *dash = strchr(item, '-'), *end = dash ? dash + 1 : item;
		int64_t first, last;

		if (dash)
			*dash = '\0';
		if (parse_int(item, 0, r->ranks - 1, &first) ||
		    parse_int(end, first, r->ranks - 1, &last)) {
			refuse(r, "ranks are numbers from 0 to %d, as 0-2,5; not '%.40s'",
			       r->ranks - 1, item);
			free(ranks);
			return NULL;
		}
		for (int64_t i = first; i <= last && *n <= r->ranks; i++) {
			ranks = must_room(ranks, *n, sizeof(*ranks));
			ranks[(*n)++] = (int)i;
		}
	}
	return ranks;
}

static int find_group(const struct schedule *s, const char *name)
{
	for (size_t g = 0; g < s->ngroups; g++)
		if (strcmp(s->groups[g].name, name) == 0)
			return (int)g;
	return -1;
}

static int take_group(struct reader *r, char *rest)
{
	char *name = strsep(&rest, " "), *list = rest ? text_trim(rest) : NULL;
	size_t length = sizeof(r->schedule->groups->name);
	bool seen = false, whole;
	int n, *ranks;

	if (!list || !*list || strlen(name) >= length || strpbrk(name, "/@()"))
		return refuse(r, "a group is: group NAME RANK,RANK...");
	if (find_group(r->schedule, name) >= 0)
		return refuse(r, "group %s is there twice", name);
	if (r->schedule->ngroups == SCHEDULE_GROUPS)
		return refuse(r, "more than %d groups", SCHEDULE_GROUPS);
	ranks = read_ranks(r, list, &n);
	if (!ranks)
		return -EINVAL;
	memset(r->chosen, 0, (size_t)r->ranks);
	whole = n == r->ranks;
	for (int i = 0; i < n && !seen; i++) {
		seen = r->chosen[ranks[i]];
		r->chosen[ranks[i]] = true;
		whole &= ranks[i] == i;
	}
	n = (int)schedule_add_group(r->schedule, name, ranks, n);
	if (seen)
		return refuse(r, "group %s has a rank twice", name);
	r->world = whole && r->world < 0 ? n : r->world;
	return 0;
}

/* The group of all ranks, made where none is. */
static int world_of(struct reader *r)
{
	int *ranks;

	if (r->world >= 0)
		return r->world;
	ranks = must(malloc((size_t)r->ranks * sizeof(*ranks)));
	for (int i = 0; i < r->ranks; i++)
		ranks[i] = i;
	r->world = (int)schedule_add_group(r->schedule, "world", ranks, r->ranks);
	return r->world;
}

static int find_kind(const char *name)
{
	for (int i = 0; i < CALL_KIND_COUNT; i++)
		if (strcmp(kinds[i], name) == 0)
			return i;
	return -1;
}

static int find_op(const char *name)
{
	for (int i = 0; i < OP_COUNT; i++)
		if (strcmp(redop_name((enum redop)i), name) == 0)
			return i;
	return -1;
}

/* Reads what a word says of a call: `parts`, "" where it says nothing. */
static int take_parts(struct reader *r, const char *const *parts, struct step *step)
{
	int kind = find_kind(parts[0]), group, op, dtype;
	bool asks_peer = kind >= 0 && (call_is_pair(kind) || is_rooted(kind));
	int64_t peer = is_rooted(kind) ? 0 : -1;
	size_t count = 1;

	if (kind < 0)
		return refuse(r,
			      "no call '%.40s': there are all_reduce, all_gather, reduce_scatter, "
			      "broadcast, reduce, alltoall, alltoallv, gather, scatter, send, recv",
			      parts[0]);
	group = parts[1][0] ? find_group(r->schedule, parts[1]) : world_of(r);
	if (group < 0)
		return refuse(r, "no group '%.40s': a line 'group NAME RANKS' has to come before",
			      parts[1]);
	if (parts[2][0] && parse_size(parts[2], &count))
		return refuse(r, "a count is a number of elements, not '%.40s'", parts[2]);
	if (parts[3][0] && strcmp(parts[3], "-1") != 0 &&
	    (!asks_peer || parse_int(parts[3], 0, r->schedule->groups[group].n - 1, &peer)))
		return refuse(r,
			      asks_peer ? "%s of group %s: no place %.40s in it, which has %d"
					: "%s of group %s has no root or partner, but '%.40s'",
			      parts[0], r->schedule->groups[group].name, parts[3],
			      r->schedule->groups[group].n);
	if (peer < 0 && call_is_pair(kind))
		return refuse(r, "%s to or from which rank? %s/GROUP/COUNT/RANK", parts[0],
			      parts[0]);
	dtype = parts[4][0] ? dtype_parse(parts[4]) : DT_FLOAT;
	op = !is_reduced(kind) ? OP_NONE : parts[5][0] ? find_op(parts[5]) : OP_SUM;
	if (dtype < 0)
		return refuse(r, "no type '%.40s': there are float, bfloat16, half, int32 ...",
			      parts[4]);
	if ((op < 0 && is_reduced(kind)) || (parts[5][0] && !is_reduced(kind)))
		return refuse(r, "no operator '%.40s' of %s: there are sum, prod, max, min, avg",
			      parts[5], parts[0]);
	*step = (struct step){ .count = kind == CALL_ALLTOALLV && !parts[2][0] ? 0 : count,
			       .peer = (int32_t)peer,
			       .group = (uint16_t)group,
			       .kind = (uint8_t)kind,
			       .dtype = (uint8_t)dtype,
			       .op = (int8_t)op };
	return 0;
}

/* Reads a word as a call. */
static int read_call(struct reader *r, char *word, struct step *step)
{
	char *site = strchr(word, '@'), *part;
	const char *parts[PARTS];
	size_t n = 0;

	if (site)
		*site++ = '\0';
	for (size_t i = 0; i < PARTS; i++)
		parts[i] = "";
	while ((part = strsep(&word, "/"))) {
		if (n == PARTS)
			return refuse(r,
				      "a call is KIND/GROUP/COUNT/PEER/TYPE/OP, and has no '%.40s'",
				      part);
		parts[n++] = strcmp(part, "-") == 0 ? "" : part;
	}
	if (take_parts(r, parts, step) < 0)
		return -EINVAL;
	step->site = site ? schedule_site(r->schedule, site) : 0;
	step->flags = r->grouped == 0 ? RECORD_ALONE : r->grouped == 1 ? RECORD_HEADS : 0;
	r->grouped += r->grouped > 0;
	return 0;
}

static int give_call(struct reader *r, struct step step)
{
	const struct schedule_group *g = &r->schedule->groups[step.group];

	for (int i = 0; i < r->ranks; i++) {
		if (!r->chosen[i])
			continue;
		if (schedule_place(g, i) < 0)
			return refuse(r, "rank %d is no member of group %s", i, g->name);
		if (call_is_pair(step.kind) && g->ranks[step.peer] == i)
			return refuse(r, "rank %d: a %s with itself", i, kinds[step.kind]);
		schedule_add_step(r->schedule, i, step);
	}
	return 0;
}

static int take_rank(struct reader *r, char *rest)
{
	char *list = strsep(&rest, " "), *word;
	int n, *ranks = read_ranks(r, list, &n);

	if (!ranks)
		return -EINVAL;
	memset(r->chosen, 0, (size_t)r->ranks);
	for (int i = 0; i < n; i++) {
		r->chosen[ranks[i]] = true;
		r->schedule->ranks[ranks[i]].known = true;
	}
	free(ranks);
	while ((word = strsep(&rest, " "))) {
		struct step step;

		if (!*word)
			continue;
		if (strcmp(word, r->grouped ? ")" : "(") == 0)
			r->grouped = !r->grouped;
		else if (strcmp(word, "(") == 0 || strcmp(word, ")") == 0)
			return refuse(r, "'%s': groups of calls begin and end in turn", word);
		else if (read_call(r, word, &step) < 0 || give_call(r, step) < 0)
			return -EINVAL;
	}
	return r->grouped ? refuse(r, "a group of calls has no ')' on its line") : 0;
}

static int take_word(struct reader *r, const char *name, char *rest)
{
	int64_t value;

	if (strcmp(name, "ranks") == 0) {
		if (r->ranks || parse_int(rest, 1, SCHEDULE_RANKS, &value))
			return refuse(r, "'ranks N' comes first, and once");
		schedule_release(r->schedule);
		schedule_init(r->schedule, (int)value);
		r->schedule->streams = STREAMS_EACH;
		r->ranks = (int)value;
		r->chosen = must(calloc((size_t)value, sizeof(*r->chosen)));
		return 0;
	}
	if (!r->ranks)
		return refuse(r, "'ranks N' comes first");
	if (strcmp(name, "group") == 0)
		return take_group(r, rest);
	if (strcmp(name, "rank") == 0)
		return take_rank(r, rest);
	if (strcmp(name, "ahead") == 0 && !parse_int(rest, -1, 1 << 20, &value))
		r->schedule->ahead = (int)value;
	else if (strcmp(name, "stream") == 0 && (!strcmp(rest, "one") || !strcmp(rest, "group")))
		r->schedule->streams = strcmp(rest, "one") == 0 ? STREAMS_ONE : STREAMS_EACH;
	else if (strcmp(name, "truth") != 0)
		return refuse(r,
			      "'%.40s %.40s': a line is 'ranks N', 'stream one|group', 'ahead N', "
			      "'group NAME RANKS' or 'rank RANKS CALL...'",
			      name, rest);
	return 0;
}

static int take_line(struct reader *r, char *line)
{
	char *comment = strchr(line, '#'), *text, *name;

	if (comment)
		*comment = '\0';
	for (char *c = line; *c; c++)
		*c = *c == '\t' || *c == '\r' || *c == '\n' ? ' ' : *c;
	text = text_trim(line);
	if (!*text)
		return 0;
	r->grouped = 0;
	name = strsep(&text, " ");
	return take_word(r, name, text ? text_trim(text) : (char[]){ "" });
}

int schedule_read(struct schedule *s, const char *path, struct error *err)
{
	struct reader r = { .schedule = s, .err = err, .path = path, .world = -1 };
	const char *why = NULL;
	FILE *file = file_open(path, TEXT_BYTES, &why);
	char *line = NULL;
	size_t room = 0;

	schedule_init(s, 0);
	if (!file)
		return error_usage(err, "%s: %s", path, why);
	while (err->code == 0 && getline(&line, &room, file) >= 0) {
		r.line++;
		take_line(&r, line);
	}
	if (err->code == 0 && r.ranks == 0)
		refuse(&r, "no schedule: its first line is 'ranks N'");
	fclose(file);
	free(line);
	free(r.chosen);
	return err->code;
}

/* ---- the text of a schedule ---- */

static void print_ranks(FILE *out, const int *ranks, int n)
{
	for (int i = 0, last; i < n; i = last + 1) {
		for (last = i; last + 1 < n && ranks[last + 1] == ranks[last] + 1;)
			last++;
		fprintf(out, "%s%d", i ? "," : " ", ranks[i]);
		if (last > i)
			fprintf(out, "-%d", ranks[last]);
	}
	putc('\n', out);
}

static void print_step(FILE *out, const struct schedule *s, const struct step *step)
{
	fprintf(out, " %s/%s/%lu", kinds[step->kind], s->groups[step->group].name, step->count);
	if (step->peer >= 0 && (call_is_pair(step->kind) || is_rooted(step->kind)))
		fprintf(out, "/%d", step->peer);
	else
		fprintf(out, "/-");
	fprintf(out, "/%s", step->dtype < DT_COUNT ? dtype_name((enum dtype)step->dtype) : "-");
	if (step->op >= 0 && is_reduced(step->kind))
		fprintf(out, "/%s", redop_name((enum redop)step->op));
	if (s->sites[step->site] && !strpbrk(s->sites[step->site], " #"))
		fprintf(out, "@%s", s->sites[step->site]);
}

void schedule_print(FILE *out, const struct schedule *s)
{
	fprintf(out, "ranks %d\nstream %s\n", s->nranks,
		s->streams == STREAMS_ONE ? "one" : "group");
	if (s->ahead >= 0)
		fprintf(out, "ahead %d\n", s->ahead);
	for (size_t g = 0; g < s->ngroups; g++) {
		fprintf(out, "group %s", s->groups[g].name);
		print_ranks(out, s->groups[g].ranks, s->groups[g].n);
	}
	for (int i = 0; i < s->nranks; i++) {
		const struct schedule_rank *r = &s->ranks[i];
		bool grouped = false;

		if (!r->known)
			continue;
		fprintf(out, "rank %d", i);
		for (size_t k = 0; k < r->n; k++) {
			bool alone = r->steps[k].flags & RECORD_ALONE,
			     heads = !alone && (!grouped || r->steps[k].flags & RECORD_HEADS);

			fputs(grouped && (alone || heads) ? " )" : "", out);
			fputs(heads ? " (" : "", out);
			print_step(out, s, &r->steps[k]);
			grouped = !alone;
		}
		fputs(grouped ? " )\n" : "\n", out);
	}
}
