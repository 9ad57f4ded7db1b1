/* finding.c: what a rule found: notes, culprits, and what they and the others are doing, and what their hosts show. */

#include "finding/rule.h"

void finding_reset(struct finding *f)
{
	answer_blank(&f->answer);
	f->reasons = 0;
	f->collectives = false;
	f->sides[0] = f->sides[1] = 0;
	rank_set_clear(&f->culprits);
}

void finding_tie(struct finding *f, int one, int other)
{
	f->sides[0] = one + 1;
	f->sides[1] = other + 1;
	f->reasons |= 1u << REASON_NO_MAJORITY;
	rank_set_clear(&f->culprits);
}

void finding_place(struct finding *f, uint32_t comm, uint64_t low, uint64_t high, int64_t hang)
{
	f->answer.comm = comm;
	f->answer.seq_low = (int64_t)low;
	f->answer.seq_high = (int64_t)high;
	f->answer.hang_seq = hang;
}

void finding_differ(struct finding *f, const char *field, const char *theirs, const char *majority)
{
	snprintf(f->answer.field, sizeof(f->answer.field), "%s", field);
	snprintf(f->answer.theirs, sizeof(f->answer.theirs), "%s", theirs);
	snprintf(f->answer.majority, sizeof(f->answer.majority), "%s", majority);
}

bool culprits_list(const struct evidence *evidence, const struct rank_set *culprits, char *buf,
		   size_t len)
{
	bool all = true;

	buf[0] = '\0';
	for (int i = 0; i < culprits->nranks && all; i++)
		all = !culprits->in[i] || rank_list_add(buf, len, rank_number(evidence, i));
	if (!buf[0])
		snprintf(buf, len, "-");
	return all;
}

void note_rank(const struct rule_ctx *ctx, struct finding *f, int rank, const char *tail)
{
	const struct evidence_rank *r = &ctx->evidence->ranks[rank];
	const struct track *t = &ctx->comm->tracks[rank];
	uint64_t made = t->final ? t->final->seq : 0;
	int number = rank_number(ctx->evidence, rank);
	const char *verb = r->view.process == PROCESS_EXITED   ? ""
			   : r->view.process == PROCESS_KILLED ? "was "
							       : "is ";
	bool told = strcmp(ctx->run->program, "PyTorch") == 0; /* by dumps or logs */
	char how[320], doing[256], site[sizeof(r->sites->text) + 4] = "";

	if (!r->present)
		return; /* one note names all such ranks */
	view_process(&r->view, how, sizeof(how));
	if (told && r->view.process == PROCESS_EXITED)
		snprintf(how, sizeof(how), "ended with an error");
	if (evidence_doing(r, doing, sizeof(doing))[0])
		text_add(how, sizeof(how), "%s %s", strncmp(doing, "in ", 3) ? "," : "", doing);
	if (t->final && evidence_site(r, t->final, site + 4, sizeof(site) - 4)[0])
		memcpy(site, " at ", 4);
	if (!t->known)
		note(f, "Rank %d %s%s; its calls are not known here%s.", number, verb, how, tail);
	else if (made == 0)
		note(f, "Rank %d %s%s: no calls made on communicator %u%s.", number, verb, how,
		     ctx->comm->comm, tail);
	else if (told && r->view.process == PROCESS_ALIVE)
		note(f, "Rank %d had made %lu call%s on communicator %u when it wrote this%s.",
		     number, made, made == 1 ? "" : "s", ctx->comm->comm, tail);
	else
		note(f, "Rank %d %s%s: %lu call%s made on communicator %u, the last one%s %s%s.",
		     number, verb, how, made, made == 1 ? "" : "s", ctx->comm->comm, site,
		     t->inside ? "not returned" : "returned", tail);
}

/* Notes the others and their call, where a majority made one. */
static void note_others(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	uint64_t seq = (uint64_t)f->answer.hang_seq;
	const char *call;
	size_t n;

	if (f->answer.hang_seq < 1 || f->answer.comm != a->comm)
		return;
	call = common_call(ctx, &f->culprits, seq, &n);
	if (n > 0)
		note(f,
		     "%zu of %d ranks made %s %lu of communicator %u (%s) and wait%s in it or "
		     "behind it.",
		     n, a->nranks, call_noun(ctx), seq, a->comm, call, n == 1 ? "s" : "");
}

/* The rank's call at which timelines parted: the first of an interval of calls that are alike, else the last. */
static const struct record *call_there(const struct rule_ctx *ctx, const struct finding *f,
				       int rank)
{
	const struct record *low = progress_call(ctx->comm, rank, (uint64_t)f->answer.seq_low);
	const struct record *high = progress_call(ctx->comm, rank, (uint64_t)f->answer.seq_high);

	return low && high && call_signature(low) != call_signature(high) ? high : low;
}

/* The lines of code from which a culprit and another rank made the call at which timelines parted. */
static void name_lines(const struct rule_ctx *ctx, struct finding *f)
{
	bool seen[2] = { false, false }, tie = f->sides[0] > 0;

	if (!ctx->comm || f->answer.seq_low <= 0 || f->answer.comm != ctx->comm->comm)
		return;
	for (int i = 0; i < ctx->comm->nranks; i++) {
		bool other = tie ? f->sides[1] == i + 1 : !f->culprits.in[i];
		bool asked = !seen[other] && (!tie || other || f->sides[0] == i + 1);
		/* of large runs records are on disk: none is looked at without need */
		const struct record *r =
			asked && ctx->evidence->ranks[i].nsites > 1 ? call_there(ctx, f, i) : NULL;

		if (tie && asked)
			snprintf(f->answer.sides[other], sizeof(f->answer.sides[other]), "rank %d",
				 rank_number(ctx->evidence, i));
		if (!r)
			continue;
		seen[other] = true;
		snprintf(f->answer.lines_there[other], sizeof(f->answer.lines_there[other]), "%s",
			 call_site(ctx->evidence, i, r));
	}
}

void finding_conclude(const struct rule_ctx *ctx, struct finding *f, enum answer_class class,
		      enum confidence seen)
{
	char list[sizeof(f->answer.ranks)];

	f->answer.class = class;
	f->answer.confidence = seen;
	if (class == CLASS_MISSING || class == CLASS_BUSY || class == CLASS_BLOCKED)
		f->reasons |= reasons_of_place(ctx, &f->culprits);
	name_lines(ctx, f);
	if (!culprits_list(ctx->evidence, &f->culprits, list, sizeof(list)))
		note(f, "%zu ranks are culprits; the list is cut.", f->culprits.n);
	for (int i = 0; i < f->culprits.nranks && finding_has_room(f); i++)
		if (f->culprits.in[i])
			note_rank(ctx, f, i, "");
	note_others(ctx, f);
}

enum answer_class host_class(const struct evidence_rank *rank, enum answer_class idle)
{
	static const char blocking[] =
		" futex read readv recvfrom recvmsg poll ppoll select pselect6 epoll_wait "
		"epoll_pwait wait4 waitid flock fcntl accept connect write sendto sendmsg ";

	if (rank->state == 'R' && rank->cpu_share > 0.5)
		return CLASS_BUSY;
	return evidence_in_syscall(rank, blocking) ? CLASS_BLOCKED : idle;
}

enum answer_class shared_class(enum answer_class so_far, enum answer_class one,
			       enum answer_class mixed)
{
	return so_far == CLASS_OUTCOME || so_far == one ? one : mixed;
}

enum answer_class culprits_class(const struct rule_ctx *ctx, const struct rank_set *culprits,
				 enum answer_class idle)
{
	enum answer_class class = CLASS_OUTCOME;

	for (int i = 0; i < culprits->nranks; i++)
		if (culprits->in[i])
			class = shared_class(class, host_class(&ctx->evidence->ranks[i], idle),
					     idle);
	return class;
}

void note_missing_too(const struct rule_ctx *ctx, struct finding *f)
{
	const struct evidence_rank *ranks = ctx->evidence->ranks;
	struct rank_set behind = { .nranks = f->culprits.nranks };
	struct awaited call = progress_first_missing(ctx->comm);
	struct missing makers;
	char tail[64];
	uint64_t seq;

	behind.in = must(calloc((size_t)behind.nranks + 1, sizeof(*behind.in)));
	progress_missing(&call, &behind, &makers);
	seq = makers.call;
	snprintf(tail, sizeof(tail), "; it did not make call %lu%s", seq,
		 f->answer.seq_high == (int64_t)seq ? " either" : "");
	for (int i = 0; i < behind.nranks && f->answer.nnotes < ANSWER_NOTES - 4; i++)
		if (behind.in[i] && !f->culprits.in[i] && ranks[i].view.process < PROCESS_EXITED &&
		    !missing_passed(&makers, &ranks[i].view))
			note_rank(ctx, f, i, tail);
	free(behind.in);
}
