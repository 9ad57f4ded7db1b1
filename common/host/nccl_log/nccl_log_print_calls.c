/* nccl_log_print_calls.c: the ranks' calls side by side: the lines at which they part. */

#include "nccl_log/nccl_log_raw.h"

#define ODD_SHOWN 16 /* lines */

enum field { FUNCTION, COUNT, DTYPE, OP, ROOT, FIELDS };

/* "AllReduce", "count 4", "dtype f32", "op sum", "root 0". */
static const char *field_text(const struct nccl_call *call, enum field field, char *buf, size_t len)
{
	/* nccl.h: ncclDataType_t and ncclRedOp_t; operators from 5 on are the user's. */
	static const char *const dtypes[] = { "i8",  "u8",  "i32", "u32",  "i64",    "u64",
					      "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2" };
	static const char *const ops[] = { "sum", "prod", "max", "min", "avg" };

	if (field == FUNCTION)
		return call->function;
	if (field == COUNT)
		snprintf(buf, len, "count %lu", call->count);
	else if (field == ROOT)
		snprintf(buf, len, "root %d", call->root);
	else if (field == DTYPE && call->dtype >= 0 && call->dtype < 12)
		snprintf(buf, len, "dtype %s", dtypes[call->dtype]);
	else if (field == DTYPE)
		snprintf(buf, len, "dtype %d", call->dtype);
	else if (call->op >= 0 && call->op < 5)
		snprintf(buf, len, "op %s", ops[call->op]);
	else
		snprintf(buf, len, "op user%d", call->op);
	return buf;
}

/* Those fields of the call, each after a blank. */
static void print_fields(FILE *out, const struct nccl_call *call, unsigned fields)
{
	char text[40];

	for (int f = 0; f < FIELDS; f++)
		if (fields & 1u << f)
			fprintf(out, " %s", field_text(call, (enum field)f, text, sizeof(text)));
}

static const char *name_member(const struct nccl_member *member, char *buf, size_t len)
{
	if (member->rank >= 0)
		snprintf(buf, len, "rank %d", member->rank);
	else
		snprintf(buf, len, "%.64s:%ld", member->host, member->pid);
	return buf;
}

/* The call that this member makes, and what most have instead. */
static void print_other(FILE *out, const struct nccl_comm *comm, const struct nccl_log_calls *calls,
			const struct nccl_odd *odd)
{
	static const char *const how[] = { "", " left that out", " makes one call more here",
					   " makes that one next" };
	const struct nccl_call *a = odd->call, *b = calls->majority;
	const unsigned name = 1u << FUNCTION | 1u << COUNT;
	unsigned fields = odd->how == NCCL_ODD_OTHER ? 0 : name;
	char text[96], other[40];

	for (int f = 0; f < FIELDS; f++)
		if (strcmp(field_text(a, (enum field)f, text, sizeof(text)),
			   field_text(b, (enum field)f, other, sizeof(other))) != 0)
			fields |= 1u << f;
	fprintf(out, "    %s:%ld:", a->file, a->line);
	print_fields(out, a, fields | name);
	fprintf(out, " opCount %lx", a->op_count);
	if (calls->votes == comm->n_members - 1)
		fprintf(out, "; all others:");
	else
		fprintf(out, "; %d other%s:", calls->votes, calls->votes == 1 ? "" : "s");
	print_fields(out, b, fields);
	fprintf(out, " (%s%s)\n", name_member(odd->member, text, sizeof(text)), how[odd->how]);
}

static void print_ended(FILE *out, const struct nccl_log_calls *calls, const struct nccl_odd *odd)
{
	const struct nccl_call *next = calls->majority;
	char text[96];

	fprintf(out, "    %s ", odd->member->file);
	if (odd->call)
		fprintf(out, "ends after opCount %lx", odd->call->op_count);
	else
		fprintf(out, "has no collective call");
	if (next)
		fprintf(out, "; %s issued %lx %s count %lu",
			calls->voters > 1 ? "the others" : "another", next->op_count,
			next->function, next->count);
	else
		fprintf(out, "; the others differ");
	fprintf(out, " (%s)\n", name_member(odd->member, text, sizeof(text)));
}

/* One side of a tie: the first call of its kind, and whose is the same. 0: it is not the first. */
static int print_side(FILE *out, const struct nccl_log_calls *calls, const struct nccl_odd *odd)
{
	int *ranks = must(malloc((size_t)calls->n_odd * sizeof(*ranks))), n = 0;

	for (const struct nccl_odd *o = calls->odd; o < calls->odd + calls->n_odd; o++) {
		if (o->how == NCCL_ODD_ENDED || !nccl_call_same(o->call, odd->call))
			continue;
		if (o < odd)
			break;
		ranks[n++] = o->member->rank;
	}
	if (n > 0) {
		fprintf(out, "    no majority: %s:%ld:", odd->call->file, odd->call->line);
		print_fields(out, odd->call, (1u << FIELDS) - 1);
		fprintf(out, " opCount %lx (%d of %d: rank ", odd->call->op_count, n,
			calls->voters);
		nccl_log_print_list(out, ranks, n, 1);
		fprintf(out, ")\n");
	}
	free(ranks);
	return n > 0;
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
	};
	int shown = 0;

	fprintf(out, "  %s", heads[calls->verdict]);
	if (calls->verdict > NCCL_CALLS_SAME)
		fprintf(out, " %d", calls->index + 1);
	if (calls->verdict >= NCCL_CALLS_SAME)
		fprintf(out, " (%d ranks made %d", comm->n_members, calls->fewest);
	if (calls->verdict >= NCCL_CALLS_SAME && calls->most > calls->fewest)
		fprintf(out, " to %d", calls->most);
	fprintf(out, "%s\n", calls->verdict >= NCCL_CALLS_SAME ? ")" : "");
	for (int i = 0; i < calls->n_odd && shown < ODD_SHOWN; i++) {
		const struct nccl_odd *odd = &calls->odd[i];

		if (odd->how != NCCL_ODD_ENDED && !calls->majority) {
			shown += print_side(out, calls, odd);
			continue;
		}
		shown++;
		if (odd->how == NCCL_ODD_ENDED)
			print_ended(out, calls, odd);
		else
			print_other(out, comm, calls, odd);
	}
	if (shown == ODD_SHOWN)
		fprintf(out, "    ...\n");
}

void nccl_log_print_calls(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_comms; i++) {
		struct nccl_log_calls calls;

		nccl_log_print_title(out, log, &log->comms[i]);
		nccl_log_calls_compare(&log->comms[i], &calls);
		print_comparison(out, &log->comms[i], &calls);
		nccl_log_calls_release(&calls);
	}
}
