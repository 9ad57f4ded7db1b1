/* nccl_log_print_calls.c: the ranks' calls side by side: the lines at which they part. */
#include <inttypes.h>
#include <stdlib.h>

#include "nccl_log/nccl_log_raw.h"

#define ODD_SHOWN 16 /* lines */

/* "AllReduce", "count 4", "dtype f32", "op sum", "root 0"; `blank` stands between. */
static const char *field_text(const struct nccl_call *call, int field, char blank, char *buf,
			      size_t len)
{
	/* nccl.h: ncclDataType_t and ncclRedOp_t; operators from 5 on are the user's. */
	static const char *const dtypes[] = { "i8",  "u8",  "i32", "u32",  "i64",    "u64",
					      "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2" };
	static const char *const ops[] = { "sum", "prod", "max", "min", "avg" };

	if (field == NCCL_FUNCTION)
		return call->function;
	if (field == NCCL_COUNT)
		snprintf(buf, len, "count%c%" PRIu64, blank, call->count);
	else if (field == NCCL_ROOT)
		snprintf(buf, len, "root%c%d", blank, call->root);
	else if (field == NCCL_DTYPE && call->dtype >= 0 && call->dtype < 12)
		snprintf(buf, len, "dtype%c%s", blank, dtypes[call->dtype]);
	else if (field == NCCL_DTYPE)
		snprintf(buf, len, "dtype%c%d", blank, call->dtype);
	else if (call->op >= 0 && call->op < 5)
		snprintf(buf, len, "op%c%s", blank, ops[call->op]);
	else
		snprintf(buf, len, "op%cuser%d", blank, call->op);
	return buf;
}

/* Those fields of the call, each after a blank. */
static void print_fields(FILE *out, const struct nccl_call *call, unsigned fields)
{
	char text[40];

	for (int f = 0; f < NCCL_FIELDS; f++)
		if (fields & 1u << f)
			fprintf(out, " %s", field_text(call, f, ' ', text, sizeof(text)));
}

char *nccl_call_text(const struct nccl_call *call, char *buf, size_t len)
{
	char text[4][40];

	for (int f = NCCL_COUNT; f <= NCCL_ROOT; f++)
		field_text(call, f, '=', text[f - 1], sizeof(text[0]));
	snprintf(buf, len, "%s %s %s %s %s", call->function, text[0], text[1], text[2], text[3]);
	return buf;
}

static const char *name_member(const struct nccl_member *member, char *buf, size_t len)
{
	if (member->rank >= 0)
		snprintf(buf, len, "rank %d", member->rank);
	else
		snprintf(buf, len, "%.64s:%" PRId64, member->host, member->pid);
	return buf;
}

/* The call that this member makes, and what most have instead in the fields in which they agree. */
static void print_other(FILE *out, const struct nccl_comm *comm, const struct nccl_log_calls *calls,
			const struct nccl_odd *odd)
{
	static const char *const how[] = { "", " left that out", " makes one call more here",
					   " makes that one next" };
	const unsigned name = 1u << NCCL_FUNCTION | 1u << NCCL_COUNT;
	unsigned fields = odd->how == NCCL_ODD_OTHER ? 0 : name;
	int others = calls->voters;
	char text[96];

	for (int f = 0; f < NCCL_FIELDS; f++)
		if (calls->votes[f].most &&
		    !nccl_field_same(odd->call, calls->votes[f].most, (enum nccl_field)f)) {
			fields |= 1u << f;
			others = calls->votes[f].votes < others ? calls->votes[f].votes : others;
		}
	fprintf(out, "    %s:%" PRId64 ":", odd->call->file, odd->call->line);
	print_fields(out, odd->call, fields | name);
	fprintf(out, " opCount %" PRIx64, odd->call->op_count);
	if (others == comm->n_members - 1)
		fprintf(out, "; all others:");
	else
		fprintf(out, "; %d other%s:", others, others == 1 ? "" : "s");
	for (int f = 0; f < NCCL_FIELDS; f++)
		print_fields(out, calls->votes[f].most, fields & 1u << f);
	fprintf(out, " (%s%s)\n", name_member(comm->members[odd->member], text, sizeof(text)),
		how[odd->how]);
}

static void print_ended(FILE *out, const struct nccl_comm *comm, const struct nccl_log_calls *calls,
			const struct nccl_odd *odd)
{
	const struct nccl_member *member = comm->members[odd->member];
	const struct nccl_call *next = calls->majority;
	char text[96];

	fprintf(out, "    %s ", member->file);
	if (odd->call)
		fprintf(out, "ends after opCount %" PRIx64, odd->call->op_count);
	else
		fprintf(out, "has no collective call");
	if (next)
		fprintf(out, "; %s issued %" PRIx64 " %s count %" PRIu64,
			calls->voters > 1 ? "the others" : "another", next->op_count,
			next->function, next->count);
	else
		fprintf(out, "; %s",
			calls->voters ? "the others differ" : "the others' lines are not kept");
	fprintf(out, " (%s)\n", name_member(member, text, sizeof(text)));
}

/* One side of a tie: the first call of its kind, and whose is the same. False: it is not the first. */
static bool print_side(FILE *out, const struct nccl_comm *comm, const struct nccl_log_calls *calls,
		       int odd)
{
	const struct nccl_call *side = calls->odd[odd].call, *call;
	int *ranks = malloc((size_t)calls->n_odd * sizeof(*ranks)), n = 0;
	bool first = ranks != NULL;
	char text[160];

	for (int i = 0; i < calls->n_odd && first; i++) {
		call = calls->odd[i].call;
		if (calls->odd[i].how == NCCL_ODD_ENDED || !nccl_call_same(call, side))
			continue;
		first = n > 0 || i == odd;
		ranks[n++] = comm->members[calls->odd[i].member]->rank;
	}
	if (first) {
		fprintf(out,
			"    no majority: %s:%" PRId64 ": %s opCount %" PRIx64 " (%d of %d: rank ",
			side->file, side->line, nccl_call_text(side, text, sizeof(text)),
			side->op_count, n, calls->voters);
		nccl_log_print_list(out, ranks, n, 1);
		fprintf(out, ")\n");
	}
	free(ranks);
	return first;
}

static bool print_odd(FILE *out, const struct nccl_comm *comm, const struct nccl_log_calls *calls,
		      int i)
{
	const struct nccl_odd *odd = &calls->odd[i];
	char text[96];

	if (calls->verdict == NCCL_CALLS_BEFORE)
		fprintf(out, "    %s:%" PRId64 ": other calls before this line than %s (%s)\n",
			odd->call->file, odd->call->line,
			calls->votes[NCCL_HISTORY].most ? "most" : "others, no majority",
			name_member(comm->members[odd->member], text, sizeof(text)));
	else if (odd->how == NCCL_ODD_ENDED)
		print_ended(out, comm, calls, odd);
	else if (calls->tie)
		return print_side(out, comm, calls, i);
	else
		print_other(out, comm, calls, odd);
	return true;
}

static void print_comparison(FILE *out, const struct nccl_comm *comm,
			     const struct nccl_log_calls *calls)
{
	static const char *const heads[] = {
		"no collective calls (subsystem COLL)",
		"these can't be told apart: Init lines, or the heads of logs, are missing",
		"the same calls on all ranks here",
		"the same calls, but not as many: some ranks end before call",
		"ranks differ, first at call",
		"ranks differ in lines that are not kept, before call",
	};
	int shown = 0;

	fprintf(out, "  %s", heads[calls->verdict]);
	if (calls->verdict > NCCL_CALLS_SAME)
		fprintf(out, " %" PRId64, calls->index + 1);
	if (calls->launch > 0 && calls->verdict >= NCCL_CALLS_SAME)
		fprintf(out, ", counted from opCount %" PRIx64, calls->launch);
	if (calls->verdict >= NCCL_CALLS_SAME)
		fprintf(out, " (%d ranks made %" PRId64, comm->n_members, calls->fewest);
	if (calls->most > calls->fewest)
		fprintf(out, " to %" PRId64, calls->most);
	fprintf(out, "%s\n", calls->verdict >= NCCL_CALLS_SAME ? ")" : "");
	for (int i = 0; i < calls->n_odd && shown < ODD_SHOWN; i++)
		shown += print_odd(out, comm, calls, i);
	if (shown == ODD_SHOWN)
		fprintf(out, "    ...\n");
}

static int print_comm(FILE *out, const struct nccl_comm *comm)
{
	struct nccl_log_calls calls;
	int rc = nccl_log_calls_compare(comm, &calls);

	if (rc == 0)
		print_comparison(out, comm, &calls);
	nccl_log_calls_release(&calls);
	return rc;
}

int nccl_log_print_calls(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_comms; i++) {
		nccl_log_print_title(out, log, &log->comms[i]);
		if (print_comm(out, &log->comms[i]) < 0)
			return -1;
	}
	return 0;
}
