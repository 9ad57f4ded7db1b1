/* ras_json.c: the ranks that an answer of NCCL RAS in JSON names, compared with a diagnosis. */
#include "probe/probe.h"

#include <jansson.h>

#include "base/error.h"
#include "base/rank_list.h"
#include "base/stats.h"
#include "record/verdict.h"

#define COLLECTIVES 64 /* with counts of their own; NCCL has five */

/* One rank of a communicator. */
struct member {
	int rank; /* in the job */
	const json_t *entry;
};

struct reading {
	const struct evidence *evidence;
	bool all_pids; /* the processes of all ranks are known: others are another job's */
	bool *named;   /* by rank */
	char why[160]; /* the first was named */
	struct member *members;
	uint64_t *values; /* of what is compared now: room for all */
	size_t n;
};

static bool all_pids_known(const struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++)
		if (!e->ranks[i].present || e->ranks[i].view.pid <= 0)
			return false;
	return true;
}

static json_int_t whole(const json_t *of, const char *key)
{
	return json_integer_value(json_object_get(of, key));
}

/* The job's rank of an entry: the one of its process, where none tells (two hosts may have one
 * number) its rank in the communicator; -1: none of ours. */
static int rank_of(const struct reading *r, const json_t *entry)
{
	json_int_t pid = whole(entry, "pid"), number = whole(entry, "rank");
	int found = -1, n = 0;

	for (int i = 0; pid > 0 && i < r->evidence->nranks; i++)
		if (r->evidence->ranks[i].view.pid == pid) {
			found = i;
			n++;
		}
	if (n == 1 || (n == 0 && pid > 0 && r->all_pids))
		return found;
	return json_is_integer(json_object_get(entry, "rank")) && number >= 0 &&
			       number < r->evidence->nranks
		       ? (int)number
		       : -1;
}

static void name_rank(struct reading *r, int rank, const char *why)
{
	r->named[rank] = true;
	if (!r->why[0])
		snprintf(r->why, sizeof(r->why), "%s", why);
}

/* The value of `key` in the object `part` of a member. */
static int64_t value_of(const struct member *m, const char *part, const char *key)
{
	const json_t *value = json_object_get(json_object_get(m->entry, part), key);

	return json_is_true(value) ? 1 : json_integer_value(value);
}

/* Names the members whose value is not that of most; of counts, where as many have something else,
 * not the greatest. */
static void compare(struct reading *r, const char *part, const char *key, bool counts)
{
	struct vote vote;
	char why[160];

	for (size_t i = 0; i < r->n; i++)
		r->values[i] = (uint64_t)value_of(&r->members[i], part, key);
	vote = vote_words(r->values, r->n);
	for (size_t i = 0; i < r->n && (counts || vote.votes > vote.second); i++) {
		int64_t value = value_of(&r->members[i], part, key);

		if ((uint64_t)value == vote.most)
			continue;
		snprintf(why, sizeof(why),
			 counts ? "rank %d has launched up to %.40s %" PRId64
				  ", others up to %" PRId64
				: "rank %d has %.40s %" PRId64 ", others %" PRId64,
			 r->members[i].rank, key, value, (int64_t)vote.most);
		name_rank(r, r->members[i].rank, why);
	}
}

static void compare_members(struct reading *r)
{
	static const char *const states[] = { "init_state", "async_error", "finalize_called",
					      "destroy_flag", "abort_flag" };
	json_t *counted = json_object(); /* collectives that anybody counted */
	const char *key;
	json_t *value;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		json_object_update(counted,
				   json_object_get(r->members[i].entry, "collective_counts"));
	json_object_foreach(counted, key, value) if (n++ < COLLECTIVES)
		compare(r, "collective_counts", key, true);
	json_decref(counted);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		compare(r, "status", states[i], false);
}

static void read_missing(struct reading *r, const json_t *comm)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(comm, "missing_ranks"), i, entry)
	{
		const json_t *status = json_object_get(entry, "status");
		int rank = rank_of(r, entry);
		char why[80];

		if (rank < 0)
			continue;
		snprintf(why, sizeof(why), "rank %d %s", rank,
			 json_is_true(json_object_get(status, "considered_dead"))
				 ? "is considered dead"
			 : json_is_true(json_object_get(status, "unresponsive")) ? "does not answer"
										 : "is missing");
		name_rank(r, rank, why);
	}
}

static void read_comm(struct reading *r, const json_t *comm)
{
	const json_t *ranks = json_object_get(comm, "ranks");
	json_t *entry;
	size_t i;

	read_missing(r, comm);
	r->n = 0;
	r->members = must(calloc(json_array_size(ranks) + 1, sizeof(*r->members)));
	r->values = must(calloc(json_array_size(ranks) + 1, sizeof(*r->values)));
	json_array_foreach(ranks, i, entry)
	{
		int rank = rank_of(r, entry);

		/* no more than there are: the peer is not trusted */
		if (rank >= 0 && r->n < (size_t)r->evidence->nranks)
			r->members[r->n++] = (struct member){ .rank = rank, .entry = entry };
	}
	compare_members(r);
	free(r->members);
	free(r->values);
}

/* A copy with the commas that NCCL 2.28.7 and 2.28.9 forget before "status" where a rank is
 * missing: in JSON a string stands behind one of "{[,:". */
static char *add_commas(const char *text)
{
	char *fixed = must(malloc(2 * strlen(text) + 1)), *to = fixed, last = ',';
	bool inside = false;

	for (; *text; text++) {
		if (*text == '"' && !inside && !strchr("{[,:", last))
			*to++ = ',';
		if (*text == '"')
			inside = !inside;
		*to++ = *text;
		if (inside && *text == '\\' && text[1])
			*to++ = *++text;
		if (!isspace((unsigned char)*text))
			last = *text;
	}
	*to = '\0';
	return fixed;
}

/* The answer's list of communicators, with *answer to release; NULL: in another form. */
static const json_t *read_answer(const char *text, json_t **answer)
{
	const json_t *comms;
	char *fixed;

	*answer = json_loads(text, 0, NULL);
	if (!*answer) {
		fixed = add_commas(text);
		*answer = json_loads(fixed, 0, NULL);
		free(fixed);
	}
	comms = json_object_get(*answer, "communicators");
	return json_is_array(comms) ? comms : NULL;
}

/* The named ranks as a list, cut at `len`; false when they are not the diagnosis' ranks. */
static bool compare_ranks(const struct reading *r, const char *culprits, char *list, size_t len)
{
	size_t n = 0;
	bool same = true;

	list[0] = '\0';
	for (int i = 0; i < r->evidence->nranks; i++) {
		if (!r->named[i])
			continue;
		same = same && rank_list_has(culprits, i);
		ranks_add(list, len, i);
		n++;
	}
	return same && n == rank_list_count(culprits);
}

static void compare_answer(const json_t *comms, const struct evidence *evidence,
			   const char *culprits, char *line, size_t len)
{
	struct reading r = { .evidence = evidence, .all_pids = all_pids_known(evidence) };
	char list[128];
	json_t *comm;
	size_t i;

	r.named = must(calloc((size_t)evidence->nranks + 1, sizeof(*r.named)));
	json_array_foreach(comms, i, comm) read_comm(&r, comm);
	if (!r.why[0])
		snprintf(line, len, "NCCL RAS names nobody");
	else if (compare_ranks(&r, culprits, list, sizeof(list)))
		snprintf(line, len, "NCCL RAS agrees: %s", r.why);
	else
		snprintf(line, len, "NCCL RAS disagrees, it names %s: %s", list, r.why);
	free(r.named);
}

bool ras_compare(const char *text, const struct evidence *evidence, const char *culprits,
		 char *line, size_t len)
{
	const json_t *comms;
	const char *trouble;
	json_t *answer;

	line[0] = '\0';
	if (!text)
		return false;
	/* in brackets ras_ask says why nothing or no more came */
	trouble = strstr(text, "[no answer");
	if (!trouble)
		trouble = strstr(text, "[cut: ");
	comms = read_answer(text, &answer);
	if (comms)
		compare_answer(comms, evidence, culprits, line, len);
	else if (trouble)
		snprintf(line, len, "NCCL RAS names nobody: %.*s", (int)strcspn(trouble + 1, "]\n"),
			 trouble + 1);
	else
		snprintf(line, len, "NCCL RAS did not answer in JSON: ras.txt is left unread");
	json_decref(answer);
	make_printable(line); /* a key of the peer's JSON may hold an escape, a newline */
	return true;
}
