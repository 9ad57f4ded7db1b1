/* test_diagnose_strangers.c: generated programs whose ranks have plans of their own (strangers.h): the rank that goes wrong
 * is named, no other one is for certain, and a run that is well is never said to differ. */
#include "strangers.h"

#define SEEN   1 /* the first seed; those that were looked at while the rules were written */
#define UNSEEN 200001
#define SEEDS  1500

struct tally {
	int cases, right, unsure, unnamed, wrong;
};

struct tallies {
	struct tally all, deeds[DEEDS];
};

static struct stranger stranger;

static bool is_sure(void)
{
	return strcmp(confidence_name(found.confidence), "inconclusive") != 0;
}

/* $STRANGER is one seed alone. */
static unsigned first_seed(unsigned first)
{
	return getenv("STRANGER") ? (unsigned)atoi(getenv("STRANGER")) : first;
}

static unsigned last_seed(unsigned first)
{
	return getenv("STRANGER") ? first_seed(first) + 1 : first + (unsigned)unit_times(SEEDS);
}

/* Two of which either may be the one: both are told. */
static bool tells_both(void)
{
	bool both[2] = { false };

	for (size_t i = 0; i < found.nnotes && stranger.nranks == 2; i++)
		for (int r = 0; r < 2; r++) {
			char one[16];

			snprintf(one, sizeof(one), "ank %d", r);
			both[r] |= strstr(found.notes[i], one) != NULL;
		}
	return both[0] && both[1];
}

static void tell(const char *how)
{
	if (!getenv("STRANGERS"))
		return;
	printf("%s seed %u %s %d ranks%s: %s of rank %d: %s, %s, %s, field %s, seq %ld\n", how,
	       stranger.seed, stranger.name, stranger.nranks, stranger.sites ? "" : " no sites",
	       deed_name(stranger.deed), stranger.rank, class_name(found.class, found.outcome),
	       found.ranks, confidence_name(found.confidence), found.field, (long)found.seq_high);
	for (size_t i = 0; i < found.nnotes && getenv("STRANGERS")[0] == '2'; i++)
		printf("    %s\n", found.notes[i]);
}

static void count(struct tally *t)
{
	char culprit[8];
	bool right;

	snprintf(culprit, sizeof(culprit), "%d", stranger.rank);
	right = strcmp(found.ranks, culprit) == 0;
	t->cases++;
	if (right && is_sure())
		t->right++;
	else if (right || (!is_sure() && tells_both()))
		t->unsure++;
	else if (is_sure() && strcmp(found.ranks, "-") != 0)
		t->wrong++;
	else
		t->unnamed++;
}

/* The newest calls of each rank: S3 a send to 3, R3, another letter a collective; ! it is not over. */
static void draw(void)
{
	for (int i = 0; i < evidence.nranks && getenv("STRANGER"); i++) {
		const struct evidence_rank *r = &evidence.ranks[i];

		printf("  %d:", i);
		for (size_t k = r->ncalls > 40 ? r->ncalls - 40 : 0; k < r->ncalls; k++) {
			const struct record *c = &r->calls[k];

			printf(" %s%.1s%d%s", c->comm ? "'" : "",
			       c->kind == CALL_ALL_REDUCE ? "A"
			       : c->kind == CALL_ALL_GATHER
				       ? "G"
				       : call_kind_name((enum call_kind)c->kind),
			       c->peer >= 0 ? c->peer : (int)c->count,
			       c->state == RECORD_COMPLETED ? "" : "!");
		}
		printf("%s\n", r->view.process == PROCESS_EXITED ? " ended" : "");
	}
}

/* Each seed is a program with a deed. A deed that holds no rank up is not counted. */
static void play_broken(unsigned first, struct tallies *all)
{
	memset(all, 0, sizeof(*all));
	for (unsigned seed = first_seed(first); seed < last_seed(first); seed++) {
		struct tally before = all->all;

		stranger_make(&stranger, seed);
		if (!stranger_plant(&stranger) || !stranger_play(&stranger, -1))
			continue;
		stranger_show(&stranger);
		draw();
		finish();
		count(&all->all);
		count(&all->deeds[stranger.deed]);
		tell(all->all.right > before.right     ? "right  "
		     : all->all.wrong > before.wrong   ? "WRONG  "
		     : all->all.unsure > before.unsure ? "unsure "
						       : "unnamed");
	}
}

static void print_tallies(const char *what, const struct tallies *all)
{
	printf("\n  %s: %d broken runs: the rank for certain in %d (%.1f %%), unsure in %d, no "
	       "rank in "
	       "%d, another for certain in %d\n ",
	       what, all->all.cases, all->all.right, 100. * all->all.right / all->all.cases,
	       all->all.unsure, all->all.unnamed, all->all.wrong);
	for (int i = 0; i < DEEDS; i++)
		printf(" %s %d/%d%s", deed_name((enum deed)i), all->deeds[i].right,
		       all->deeds[i].cases, i + 1 < DEEDS ? "," : " ... ");
}

/* No rank is named wrongly for certain, one that does not come always, and three of four others: of few trials, where the
 * share may be less by chance, two of three. */
static void check_tallies(const struct tallies *all)
{
	CU_ASSERT_EQUAL(all->all.wrong, 0);
	CU_ASSERT(100 * all->all.right >= (unit_times(SEEDS) < SEEDS ? 66 : 74) * all->all.cases);
	for (int i = DEED_IDLE; i <= DEED_BLOCK; i++)
		CU_ASSERT_EQUAL(all->deeds[i].right, all->deeds[i].cases);
}

UNIT_TEST(test_broken, "strangers that go wrong")
{
	struct tallies all;

	play_broken(SEEN, &all);
	print_tallies("seen", &all);
	check_tallies(&all);
	play_broken(UNSEEN, &all);
	print_tallies("unseen", &all);
	check_tallies(&all);
}

/* A run that is well, stopped at some moment: a rank that others wait for may be told, and nothing else. */
static bool is_accused(void)
{
	const char *class = class_name(found.class, found.outcome);
	bool late = false;

	if (strcmp(class, "unexplained") == 0 || strcmp(class, "ok") == 0)
		return false;
	if (strcmp(class, "p2p-deadlock") == 0)
		return is_sure();
	if (strcmp(class, "missing-call") && strcmp(class, "host-busy") &&
	    strcmp(class, "host-blocked"))
		return true;
	for (int i = 0; i < stranger.nranks; i++) {
		char one[16];

		snprintf(one, sizeof(one), "%d", i);
		late |= !stranger_is_late(&stranger, i) && strcmp(found.ranks, one) == 0;
	}
	return late;
}

static int play_healthy(unsigned first, int *cases)
{
	int accused = 0;

	for (unsigned seed = first_seed(first); seed < last_seed(first); seed++) {
		stranger_make(&stranger, seed);
		CU_ASSERT_FALSE(stranger_play(&stranger, -1));
		stranger_play(&stranger, 1 + (int)(seed * 7919 % 700));
		stranger_show(&stranger);
		finish();
		++*cases;
		if (!is_accused())
			continue;
		accused++;
		tell("accused");
	}
	return accused;
}

UNIT_TEST(test_healthy, "strangers that are well, looked at at any moment")
{
	int cases = 0, seen = play_healthy(SEEN, &cases), unseen = play_healthy(UNSEEN, &cases);

	printf("\n  %d looks: accused in %d seen, %d unseen ... ", cases, seen, unseen);
	CU_ASSERT_EQUAL(seen, 0);
	CU_ASSERT_EQUAL(unseen, 0);
}
