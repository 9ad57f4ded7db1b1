/* rule_group.c: the init of a communicator other than the first, to which some member does not come. */

#include "finding/rule.h"
#include "answer/answer.h"

/* Ranks with one id of init, and those that are known to belong to them. */
struct group {
	const struct claim *claims;
	size_t came;
	bool *members; /* by rank of the run; those that came, and the absent ones where they are known */
	size_t nmembers; /* marked so far */
};

static bool in_init(const struct rule_ctx *ctx, const struct claim *claim)
{
	const struct progress_rank *r = &ctx->progress->ranks[claim->rank];

	if (r->index && r->recorder)
		return r->recorder->inits[claim->comm].state == RECORD_COMM_INIT;
	return claim->comm < VIEW_COMMS && r->view->comms[claim->comm].state == RECORD_COMM_INIT;
}

/* A split or shrink, to which all ranks of the parent come. */
static bool is_child(const struct claim *claim)
{
	return claim->nranks <= RECORD_CHILD(0);
}

/* Some of them are inside, and fewer have come than were announced. */
static bool waits(const struct rule_ctx *ctx, const struct group *g)
{
	bool inside = false;

	for (size_t i = 0; i < g->came; i++)
		inside |= in_init(ctx, &g->claims[i]);
	return inside && g->claims[0].comm > 0 &&
	       (is_child(g->claims) || (int)g->came < g->claims[0].nranks);
}

/* Lives, and is in no call: it could come. */
static bool is_free(const struct rule_ctx *ctx, int rank)
{
	const struct rank_view *v = view_of(ctx, rank);
	bool in_call = ctx->played
			       ? progress_known(ctx->played, rank) && progress_at(ctx->played, rank)
			       : v->oldest.ticket > 0;

	return !view_in_init(v) && ctx->evidence->ranks[rank].present && !view_died(v) &&
	       !view_finished(v) && v->comm_state != RECORD_COMM_INIT && !in_call;
}

static bool is_among(const struct group *g, int rank)
{
	for (size_t i = 0; i < g->came; i++)
		if (g->claims[i].rank == rank)
			return true;
	return false;
}

static void mark(struct group *g, int rank)
{
	g->nmembers += !g->members[rank];
	g->members[rank] = true;
}

/* The communicator that was split. Its number is the first claimant's. */
static bool take_parent(struct group *g, const struct claim *claims, size_t n)
{
	const struct claim *first = g->claims;
	uint32_t parent = (uint32_t)RECORD_CHILD(first->nranks);
	uint64_t id = 0;

	for (size_t i = 0; i < n; i++)
		if (claims[i].rank == first->rank && claims[i].comm == parent)
			id = claims[i].id;
	for (size_t i = 0; i < n; i++)
		if (claims[i].id == id)
			mark(g, claims[i].rank);
	return id != 0;
}

/* Older communicators of as many ranks, all of which came to them, with those that came here among them: frameworks
 * make several of the same ranks. Where they are not the same (a rank's data and its tensor group) nothing is known. */
static bool take_like(const struct rule_ctx *ctx, struct group *g, const struct claim *claims,
		      size_t n)
{
	int nranks = g->claims[0].nranks;

	for (size_t i = 0, end; i < n; i = end) {
		size_t shared = 0;

		end = claims_end(claims, n, i);
		for (size_t k = i; k < end; k++)
			shared += is_among(g, claims[k].rank);
		if (claims[i].id == g->claims[0].id || (int)(end - i) != nranks ||
		    shared != g->came)
			continue;
		for (size_t k = i; k < end; k++)
			mark(g, claims[k].rank);
	}
	return (int)g->nmembers == nranks || ctx->evidence->nranks == nranks;
}

/* Marks the members. False: they are not known, and all ranks that could be some are marked. */
static bool take_members(const struct rule_ctx *ctx, struct group *g, const struct claim *claims,
			 size_t n)
{
	bool known;

	for (size_t i = 0; i < g->came; i++)
		mark(g, g->claims[i].rank);
	if (is_child(g->claims))
		return take_parent(g, claims, n);
	known = take_like(ctx, g, claims, n);
	for (int i = 0; i < ctx->evidence->nranks && (int)g->nmembers < ctx->evidence->nranks; i++)
		if (!known || g->claims[0].nranks == ctx->evidence->nranks)
			mark(g, i);
	return known || (int)g->nmembers == g->claims[0].nranks;
}

/* Marks those that came, to another child of the same split as well. */
static bool *mark_came(const struct rule_ctx *ctx, const struct group *g,
		       const struct claim *claims, size_t n)
{
	bool *came = must(calloc((size_t)ctx->evidence->nranks + 1, sizeof(*came)));

	for (size_t i = 0; i < g->came; i++)
		came[g->claims[i].rank] = true;
	for (size_t i = 0; i < n; i++)
		came[claims[i].rank] |=
			is_child(g->claims) && claims[i].nranks == g->claims->nranks &&
			claims[i].place == g->claims->place && in_init(ctx, &claims[i]);
	return came;
}

/* Names the ranks that did not come, where all of them could. */
static bool report(const struct rule_ctx *ctx, struct finding *f, struct group *g,
		   const struct claim *claims, size_t n)
{
	const struct claim *first = g->claims;
	bool known = take_members(ctx, g, claims, n), idle = true;
	bool *came = mark_came(ctx, g, claims, n);
	char list[128] = "";
	int inside = 0, last = 0;

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		inside += came[i] && g->members[i];
		if (!g->members[i] || came[i] || (!known && !is_free(ctx, i)))
			continue;
		idle = idle && is_free(ctx, i);
		last = i;
		rank_set_add(&f->culprits, i);
	}
	free(came);
	if (!idle || f->culprits.n == 0)
		return false;
	finding_place(f, first->comm, 0, 0, 0);
	finding_differ(f, "call", "no call", "communicator init");
	note(f, "%d of %d ranks are inside %s.", inside,
	     is_child(first) ? (int)g->nmembers : first->nranks,
	     is_child(first) ? "a communicator's split" : "a communicator's init");
	if (!known && (int)f->culprits.n + inside > first->nranks) {
		culprits_list(ctx->evidence, &f->culprits, list, sizeof(list));
		note(f, "Who the others are is not known: %d of ranks %s.", first->nranks - inside,
		     list);
		f->reasons |= 1u << REASON_NO_MAJORITY;
	}
	finding_conclude(ctx, f, culprits_class(ctx, &f->culprits, CLASS_INIT_MISSING),
			 CONFIDENCE_MAJORITY);
	if (inside + 1 == ctx->evidence->nranks && first->nranks == ctx->evidence->nranks)
		f->reasons &= ~(1u << REASON_SAME_LINE); /* all others wait for it alone */
	if (f->reasons & 1u << REASON_SAME_LINE) {
		rank_set_clear(&f->culprits); /* inits of pairs may wait for each other in a ring */
		snprintf(f->answer.notes[0], sizeof(f->answer.notes[0]),
			 "All stand in %s: each may wait for another's init.",
			 ctx->evidence->ranks[last].where);
	}
	return true;
}

/* ---- communicators that ranks make in another order ---- */

/* Inits for as many ranks, each of which waits, in different communicators. */
struct crossing {
	struct group largest; /* of them; the first where none is */
	size_t came, ngroups;
	const struct claim **claims; /* by rank of the run; NULL: it is in none of these */
};

/* Adds a group whose ranks wait for others in its init. */
static void cross(const struct rule_ctx *ctx, struct crossing *x, const struct claim *claims,
		  size_t n)
{
	const struct group g = { .claims = claims, .came = n };
	bool inside = waits(ctx, &g) && !is_child(claims) &&
		      (!x->ngroups || claims->nranks == x->largest.claims->nranks);

	for (size_t i = 0; i < n && inside; i++)
		inside = in_init(ctx, &claims[i]) && view_of(ctx, claims[i].rank)->waiting &&
			 !x->claims[claims[i].rank];
	if (!inside)
		return;
	for (size_t i = 0; i < n; i++)
		x->claims[claims[i].rank] = &claims[i];
	if (!x->ngroups || n > x->largest.came ||
	    (n == x->largest.came && claims->rank < x->largest.claims->rank))
		x->largest = g;
	x->came += n;
	x->ngroups++;
}

/* Waits in a collective that a rank in one of these inits has not made: it does not come before that is over. */
static bool is_held(const struct rule_ctx *ctx, const struct crossing *x, int rank)
{
	const struct rank_view *v = view_of(ctx, rank);
	const struct view_comm *comm = progress_open_comm(v);

	for (int i = 0; comm && !call_in_pairs(&v->oldest) && i < ctx->evidence->nranks; i++) {
		const struct view_comm *theirs =
			x->claims[i] ? progress_member(view_of(ctx, i), comm->id) : NULL;

		if (theirs && theirs->seq < v->oldest.seq)
			return true;
	}
	return false;
}

/* They are as many as each of them waits for, and no other rank comes: the class of that; else CLASS_OUTCOME. Ranks that are held
 * on their device may come by their host: time tells. */
static enum answer_class class_of_crossing(const struct rule_ctx *ctx, const struct crossing *x)
{
	bool held = false;

	if (x->ngroups < 2 || (int)x->came != x->largest.claims->nranks)
		return CLASS_OUTCOME;
	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct rank_view *v = view_of(ctx, i);
		bool gone = ctx->evidence->ranks[i].present && (view_died(v) || view_finished(v));

		if (x->claims[i] || gone)
			continue;
		if (!ctx->evidence->ranks[i].present || !is_held(ctx, x, i))
			return CLASS_OUTCOME;
		held = true;
	}
	return held ? CLASS_INIT_MISSING : CLASS_INIT_MISMATCH;
}

/* The rank's communicator whose id it handed to this init again; NULL: none is known. `claims`:
 * all. */
static const struct claim *made_before(const struct claim *claims, size_t n,
				       const struct claim *claim)
{
	unsigned char wide[COMM_ID_BYTES];

	for (size_t i = 0; i < n; i++)
		for (uint64_t times = 1; claims[i].rank == claim->rank && times <= claim->comm;
		     times++)
			if (record_again_id(claims[i].id, times, wide) == claim->id)
				return &claims[i];
	return NULL;
}

/* Some are in init with the id of a communicator that they made before, and all others with one
 * that is new. An old id lets no rank in. */
static bool report_stale(const struct rule_ctx *ctx, struct finding *f, const struct crossing *x,
			 const struct claim *claims, size_t n)
{
	const struct claim *fresh = NULL, *stale = NULL, *before = NULL;
	char old[64], new[32];
	bool alike = true;

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct claim *claim = x->claims[i];
		const struct claim *first = claim ? made_before(claims, n, claim) : NULL;

		if (first)
			rank_set_add(&f->culprits, i);
		if (claim && !first)
			alike = alike && (!fresh || fresh->id == claim->id);
		before = first ? first : before;
		stale = first ? claim : stale;
		fresh = claim && !first ? claim : fresh;
	}
	if (!stale || !fresh || !alike) {
		rank_set_clear(&f->culprits);
		return false;
	}
	snprintf(old, sizeof(old), "id %016lx, that of communicator %u again", stale->id,
		 before->comm);
	snprintf(new, sizeof(new), "id %016lx", fresh->id);
	finding_place(f, fresh->comm, 0, 0, 0);
	finding_differ(f, "id", old, new);
	note(f,
	     "Rank %d handed the id of communicator %u to init again, rank %d a new one. "
	     "A store or file that still has the old id gives it to a rank that reads early.",
	     rank_number(ctx->evidence, stale->rank), before->comm,
	     rank_number(ctx->evidence, fresh->rank));
	finding_conclude(ctx, f, CLASS_INIT_MISMATCH, CONFIDENCE_PROVED);
	return true;
}

static void report_crossing(const struct rule_ctx *ctx, struct finding *f, const struct crossing *x,
			    enum answer_class class)
{
	const struct claim *ours = x->largest.claims, *other = NULL;
	bool most = 2 * x->largest.came > x->came;
	char id[32], others[32];

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct claim *claim = x->claims[i];

		if (!claim || claim->id == ours->id)
			continue;
		other = other ? other : claim;
		if (most)
			rank_set_add(&f->culprits, i);
	}
	note(f, "Rank %d is in the init of one communicator, rank %d in another's.",
	     rank_number(ctx->evidence, ours->rank), rank_number(ctx->evidence, other->rank));
	for (int i = 0; i < ctx->evidence->nranks && finding_has_room(f); i++)
		if (x->claims[i])
			note(f, "Rank %d is in the init of id %016lx, of %d ranks%s%s.",
			     rank_number(ctx->evidence, i), x->claims[i]->id, ours->nranks,
			     ctx->evidence->ranks[i].where[0] ? ", at " : "",
			     ctx->evidence->ranks[i].where);
	snprintf(id, sizeof(id), "id %016lx", other->id);
	snprintf(others, sizeof(others), "id %016lx", ours->id);
	finding_place(f, ours->comm, 0, 0, 0);
	finding_differ(f, "id", id, others);
	if (!most && x->came == 2)
		finding_tie(f, other->rank, ours->rank);
	f->reasons |= reason_if(!most, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, class, CONFIDENCE_MAJORITY);
}

/* Ranks that are in the init of different communicators, each of which the others make first. */
static bool crosses(const struct rule_ctx *ctx, struct finding *f, const struct claim *claims,
		    size_t n)
{
	const size_t bytes = ((size_t)ctx->evidence->nranks + 1) * sizeof(claims);
	struct crossing x = { .claims = must(malloc(bytes)) };
	enum answer_class class = CLASS_OUTCOME;

	for (size_t from = 0; from < n && class == CLASS_OUTCOME;
	     from = claims_end(claims, n, from)) {
		x = (struct crossing){ .claims = memset(x.claims, 0, bytes) };
		for (size_t i = from, end; i < n; i = end) {
			end = claims_end(claims, n, i);
			cross(ctx, &x, claims + i, end - i);
		}
		class = class_of_crossing(ctx, &x);
	}
	if (class != CLASS_OUTCOME && !report_stale(ctx, f, &x, claims, n))
		report_crossing(ctx, f, &x, class);
	free(x.claims);
	return class != CLASS_OUTCOME;
}

/* ---- a communicator for another number of ranks ---- */

/* The claims that announce what most do (`votes` of them); where none is most of all, what the first does. */
static const struct claim *usual_claim(const struct claim *claims, size_t n, size_t *votes)
{
	const struct claim *most = claims;

	*votes = 0;
	for (size_t i = 0; i < n; i++) {
		size_t alike = 0;

		for (size_t k = 0; k < n; k++)
			alike += claims[k].nranks == claims[i].nranks;
		if (alike > *votes) {
			most = &claims[i];
			*votes = alike;
		}
	}
	return most;
}

/* Ranks in the init of one communicator announce other numbers. */
static bool disagrees(const struct rule_ctx *ctx, struct finding *f, const struct claim *claims,
		      size_t n)
{
	size_t votes;
	const struct claim *usual = usual_claim(claims, n, &votes), *other = NULL;
	bool inside = false, most = 2 * votes > n;
	char theirs[32], ours[32];

	for (size_t i = 0; i < n; i++)
		inside |= in_init(ctx, &claims[i]);
	if (!inside || !claims->comm || is_child(claims) || votes == n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (claims[i].nranks == usual->nranks)
			continue;
		other = other ? other : &claims[i];
		if (finding_has_room(f))
			note(f, "Rank %d called communicator init for %d ranks, rank %d for %d.",
			     rank_number(ctx->evidence, claims[i].rank), claims[i].nranks,
			     rank_number(ctx->evidence, usual->rank), usual->nranks);
		if (most)
			rank_set_add(&f->culprits, claims[i].rank);
	}
	snprintf(theirs, sizeof(theirs), "%d ranks", other->nranks);
	snprintf(ours, sizeof(ours), "%d ranks", usual->nranks);
	finding_place(f, claims->comm, 0, 0, 0);
	finding_differ(f, "nranks", theirs, ours);
	if (!most && n == 2)
		finding_tie(f, other->rank, usual->rank);
	f->reasons |= reason_if(!most, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_INIT_MISMATCH, CONFIDENCE_MAJORITY);
	return true;
}

bool rule_absent_from_group(const struct rule_ctx *ctx, struct finding *f)
{
	size_t n, end;
	struct claim *claims = progress_claims(ctx->progress, -1, &n);
	bool found = false;

	for (size_t i = 0; i < n && !found; i = end) {
		end = claims_end(claims, n, i);
		found = disagrees(ctx, f, claims + i, end - i);
	}
	found = found || crosses(ctx, f, claims, n);

	for (size_t i = 0; i < n && !found; i = end) {
		struct group g = { .claims = claims + i };
		size_t nranks = (size_t)ctx->evidence->nranks + 1;

		end = claims_end(claims, n, i);
		g.came = end - i;
		if (!waits(ctx, &g))
			continue;
		g.members = must(calloc(nranks, sizeof(*g.members)));
		found = report(ctx, f, &g, claims, n);
		free(g.members);
	}
	free(claims);
	return found;
}
