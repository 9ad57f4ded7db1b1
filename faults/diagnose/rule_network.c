/* rule_network.c: rules about ranks that called init alike and do not reach each other. */

#include "diagnose/rule.h"
#include "base/stats.h"

static const struct rank_view *view_of(const struct rule_ctx *ctx, int rank)
{
	return &ctx->evidence->ranks[rank].view;
}

/* Namespace numbers mean something within one host. */
static bool same_host(const struct rule_ctx *ctx)
{
	const char *host = NULL;

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		if (!ctx->evidence->ranks[i].present)
			continue;
		if (host && strcmp(host, view_of(ctx, i)->host) != 0)
			return false;
		host = view_of(ctx, i)->host;
	}
	return true;
}

/* Returns true if its init ended with what the kernel says of an address that does not answer,
 * or is not this host's. NCCL hands on strerror's words. */
static bool cut_off_at_init(const struct rule_ctx *ctx, int rank)
{
	static const int reasons[] = { ENETUNREACH, EHOSTUNREACH, ECONNREFUSED,
				       ETIMEDOUT,   ENETDOWN,	  EADDRNOTAVAIL };
	const struct rank_view *v = view_of(ctx, rank);

	if (!ctx->evidence->ranks[rank].present || v->comm_state != RECORD_COMM_FAILED)
		return false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strstr(v->error, strerror(reasons[i])))
			return true;
	return false;
}

/* Some got an error, the others wait inside: the fewer of the two are where the many do not
 * reach. */
bool rule_cut_off(const struct rule_ctx *ctx, struct finding *f)
{
	size_t cut = 0, waiting = 0;
	bool few;

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		cut += cut_off_at_init(ctx, i);
		waiting += waits_at_init(ctx, i);
	}
	if (cut == 0 || cut + waiting < (size_t)ctx->evidence->nranks)
		return false;
	few = cut < waiting;
	for (int i = 0; i < ctx->evidence->nranks; i++) {
		if (cut_off_at_init(ctx, i) && finding_has_room(f))
			finding_note(f, "Rank %d: %.200s", rank_number(ctx->evidence, i),
				     view_of(ctx, i)->error);
		if (cut != waiting && cut_off_at_init(ctx, i) == few)
			mark_culprit(&f->culprits, i);
	}
	place_init(f, waiting > 0);
	finding_note(
		f,
		"%zu of %d ranks found no way to the others; %zu wait%s inside communicator init.",
		cut, ctx->evidence->nranks, waiting, waiting == 1 ? "s" : "");
	finding_conclude(ctx, f, CLASS_INIT_UNREACHABLE,
			 f->culprits.n ? "majority" : "inconclusive");
	return true;
}

/* Inside init, with a known network namespace. */
static bool has_network(const struct rule_ctx *ctx, int rank)
{
	return waits_at_init(ctx, rank) && ctx->evidence->ranks[rank].netns != 0;
}

static struct vote count_networks(const struct rule_ctx *ctx)
{
	uint64_t *ids = must(malloc(((size_t)ctx->evidence->nranks + 1) * sizeof(*ids)));
	struct vote found;
	size_t n = 0;

	for (int i = 0; i < ctx->evidence->nranks; i++)
		if (has_network(ctx, i))
			ids[n++] = ctx->evidence->ranks[i].netns;
	found = vote_words(ids, n);
	free(ids);
	return found;
}

/* Whoever of those inside init lives elsewhere than the largest group that can meet. Two of
 * equal size: nobody can say. All alone, as in containers: nothing strange about anyone, unless
 * there are but two. */
bool rule_namespace(const struct rule_ctx *ctx, struct finding *f)
{
	struct vote networks = count_networks(ctx);
	bool tie = networks.votes == networks.second;

	if (!same_host(ctx) || networks.kinds < 2 || (networks.votes == 1 && networks.n > 2))
		return false;
	for (int i = 0; !tie && i < ctx->evidence->nranks; i++)
		if (has_network(ctx, i) && ctx->evidence->ranks[i].netns != networks.most)
			mark_culprit(&f->culprits, i);
	place_init(f, true);
	finding_note(f,
		     "All are inside communicator init with the same arguments, but in %zu network "
		     "namespaces, of which the largest holds %zu of them.",
		     networks.kinds, networks.votes);
	finding_conclude(ctx, f, CLASS_INIT_UNREACHABLE,
			 networks.votes * 2 > networks.n ? "majority" : "inconclusive");
	return true;
}
