/* rule_network.c: rules about hosts that cannot be looked at, and about ranks that called init alike and do not meet. */

#include "finding/rule.h"
#include "base/stats.h"
#include "answer/answer.h"

/* A packet that is sent again so often is lost by something that lasts: where a tenth of all packets is lost it is by
 * chance once in 1,000, and once in 1,000,000. That takes 1.4 and 13 s, of a new connection 7 and 63 s. */
#define RESENDS_TELL 3
#define RESENDS_SHOW 6

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
	for (size_t i = 0; i < LENGTH(reasons); i++)
		if (strstr(v->error, strerror(reasons[i])))
			return true;
	return false;
}

/* Some got an error, the others wait inside: the fewer are where the many do not reach. */
bool rule_cut_off(const struct rule_ctx *ctx, struct finding *f)
{
	size_t cut = 0, waiting = 0;
	bool few;

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		cut += cut_off_at_init(ctx, i);
		waiting += progress_in_init(ctx->comm, i);
	}
	if (cut == 0 || cut + waiting < (size_t)ctx->evidence->nranks)
		return false;
	few = cut < waiting;
	for (int i = 0; i < ctx->evidence->nranks; i++) {
		if (cut_off_at_init(ctx, i) && finding_has_room(f))
			note(f, "Rank %d: %.200s", rank_number(ctx->evidence, i),
			     view_of(ctx, i)->error);
		if (cut != waiting && cut_off_at_init(ctx, i) == few)
			rank_set_add(&f->culprits, i);
	}
	place_init(f, waiting > 0);
	note(f, "%zu of %d ranks found no way to the others; %zu wait%s inside communicator init.",
	     cut, ctx->evidence->nranks, waiting, waiting == 1 ? "s" : "");
	f->reasons |= reason_if(f->culprits.n == 0, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_INIT_UNREACHABLE, CONFIDENCE_MAJORITY);
	return true;
}

/* Adds "one>other" to the finding's pairs. */
static void add_way(struct finding *f, const char *from, const char *to)
{
	size_t at = strlen(f->answer.pair);
	char pair[130];

	snprintf(pair, sizeof(pair), "%.60s>%.60s", from, to);
	if (!strstr(f->answer.pair, pair) && at + strlen(pair) + 2 < sizeof(f->answer.pair))
		snprintf(f->answer.pair + at, sizeof(f->answer.pair) - at, "%s%s", at ? "," : "",
			 pair);
}

/* The rank on another host that has the peer's address of `of`; NULL: none that is known. */
static const struct evidence_rank *addressed(const struct rule_ctx *ctx,
					     const struct evidence_rank *of)
{
	for (int i = 0; i < ctx->run->nranks; i++) {
		const struct evidence_rank *r = &ctx->run->ranks[i];

		if (r->present && strcmp(r->view.host, of->view.host) != 0 &&
		    sockets_has(&r->sockets, of->sockets.peer))
			return r;
	}
	return NULL;
}

/* A rank waits, and another host's kernel, whose monitor lives, answers nothing of what it sends there: that stops calls
 * before any rank does, and a rank without a call behind it is not at fault. After the first packets that were sent
 * again nothing is said yet: they may have been lost by chance. */
bool rule_unanswered(const struct rule_ctx *ctx, struct finding *f)
{
	int most = 0;

	for (int i = 0; i < ctx->run->nranks; i++) {
		const struct evidence_rank *r = &ctx->run->ranks[i], *o;

		if (!r->present || !r->view.waiting || r->sockets.resends == 0)
			continue;
		o = addressed(ctx, r);
		if (!o)
			continue;
		most = r->sockets.resends > most ? r->sockets.resends : most;
		add_way(f, r->view.host, o->view.host);
		if (finding_has_room(f))
			note(f,
			     "What rank %d (%.60s) sends to port %d of %s (%.60s) is not "
			     "acknowledged: sent again %d times.",
			     i, r->view.host, r->sockets.port, r->sockets.peer, o->view.host,
			     r->sockets.resends);
	}
	f->answer.class = most < RESENDS_TELL ? CLASS_UNEXPLAINED : CLASS_PARTITION;
	f->answer.confidence = most < RESENDS_SHOW ? CONFIDENCE_INCONCLUSIVE : CONFIDENCE_MAJORITY;
	if (most < RESENDS_TELL)
		f->answer.pair[0] = '\0';
	return most > 0;
}

/* Inside init, with a known network namespace. */
static bool has_network(const struct rule_ctx *ctx, int rank)
{
	return progress_in_init(ctx->comm, rank) && ctx->evidence->ranks[rank].netns != 0;
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

/* Names the ranks inside init that live elsewhere than the largest group that can meet; none in a tie. Where each
 * is alone, as in containers, that is no fault, unless there are but two. */
bool rule_namespace(const struct rule_ctx *ctx, struct finding *f)
{
	struct vote networks = count_networks(ctx);
	bool tie = networks.votes == networks.second;

	if (!same_host(ctx) || networks.kinds < 2 || (networks.votes == 1 && networks.n > 2))
		return false;
	for (int i = 0; !tie && i < ctx->evidence->nranks; i++)
		if (has_network(ctx, i) && ctx->evidence->ranks[i].netns != networks.most)
			rank_set_add(&f->culprits, i);
	place_init(f, true);
	note(f,
	     "All are inside communicator init with the same arguments, but in %zu network "
	     "namespaces, of which the largest holds %zu of them.",
	     networks.kinds, networks.votes);
	f->reasons |= reason_if(networks.votes * 2 <= networks.n, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_INIT_UNREACHABLE, CONFIDENCE_MAJORITY);
	return true;
}

#define LOST_WORDS(name, number, class, words) [name] = words,
static const char *const words[LOST_KINDS] = { LOSTS(LOST_WORDS) };

static bool lists(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; (at = strstr(at, name)); at += len)
		if ((at == list || at[-1] == ',') && (at[len] == ',' || !at[len]))
			return true;
	return false;
}

/* The host's ranks, "2-3", are known as of the last message. */
static void note_host(const struct rule_ctx *ctx, struct finding *f, const struct rank_view *v)
{
	bool in[1024] = { false };
	char ranks[128];
	int n = ctx->run->nranks < 1024 ? ctx->run->nranks : 1024;

	for (int i = 0; i < n; i++)
		in[i] = ctx->run->ranks[i].present && ctx->run->ranks[i].view.lost &&
			strcmp(ctx->run->ranks[i].view.host, v->host) == 0;
	rank_list_words(in, n, ranks, sizeof(ranks));
	if (v->reported) /* by its own host, which sees its ranks */
		note(f, "Host %s: %s. No rank is blamed for it.", v->host, words[v->lost]);
	else
		note(f, "Host %s: %s. What %s did since is not seen: no rank is blamed for it.",
		     v->host[0] ? v->host : "?", words[v->lost], ranks);
}

bool rule_lost_hosts(const struct rule_ctx *ctx, struct finding *f)
{
	uint32_t worst = LOST_NOT;

	for (int i = 0; i < ctx->run->nranks; i++) {
		const struct rank_view *v = &ctx->run->ranks[i].view;
		size_t at = strlen(f->answer.hosts);

		if (!ctx->run->ranks[i].present || !v->lost)
			continue;
		worst = v->lost > worst ? v->lost : worst;
		if (v->lost == LOST_LARGE || lists(f->answer.hosts, v->host))
			continue;
		snprintf(f->answer.hosts + at, sizeof(f->answer.hosts) - at, "%s%s", at ? "," : "",
			 v->host);
		note_host(ctx, f, v);
	}
	/* a death that was seen, on a host that is heard of, explains more */
	for (int i = 0; i < ctx->run->nranks; i++)
		if (ctx->run->ranks[i].present && view_died(&ctx->run->ranks[i].view) &&
		    !ctx->run->ranks[i].view.lost)
			return false;
	if (worst == LOST_NOT)
		return false;
	f->answer.class = class_of_lost(worst);
	f->answer.confidence = worst == LOST_SILENT  ? CONFIDENCE_INCONCLUSIVE
			       : worst == LOST_LARGE ? CONFIDENCE_MAJORITY
						     : CONFIDENCE_PROVED;
	return true;
}
