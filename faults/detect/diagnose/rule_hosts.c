/* rule_hosts.c: the rule about hosts that cannot be looked at: their monitor or their launcher is lost, or
 * the way to them. Their ranks' state is not known, so no rank is blamed. */

#include "base/rank_list.h"
#include "diagnose/rule.h"
#include "record/verdict.h"

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
		finding_note(f, "Host %s: %s. No rank is blamed for it.", v->host, words[v->lost]);
	else
		finding_note(
			f, "Host %s: %s. What %s did since is not seen: no rank is blamed for it.",
			v->host[0] ? v->host : "?", words[v->lost], ranks);
}

/* A death that was seen, on a host that is heard of, explains more. */
static bool any_died(const struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++)
		if (e->ranks[i].present && view_died(&e->ranks[i].view) && !e->ranks[i].view.lost)
			return true;
	return false;
}

bool rule_lost_hosts(const struct rule_ctx *ctx, struct finding *f)
{
	uint32_t worst = LOST_NOT;

	for (int i = 0; i < ctx->run->nranks; i++) {
		const struct rank_view *v = &ctx->run->ranks[i].view;
		size_t at = strlen(f->d.hosts);

		if (!ctx->run->ranks[i].present || !v->lost)
			continue;
		worst = v->lost > worst ? v->lost : worst;
		if (lists(f->d.hosts, v->host))
			continue;
		snprintf(f->d.hosts + at, sizeof(f->d.hosts) - at, "%s%s", at ? "," : "", v->host);
		note_host(ctx, f, v);
	}
	if (worst == LOST_NOT || any_died(ctx->run))
		return false;
	f->d.class = class_of_lost(worst);
	f->d.confidence = worst == LOST_SILENT ? CONFIDENCE_INCONCLUSIVE : CONFIDENCE_PROVED;
	return true;
}
