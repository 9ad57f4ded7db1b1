/* test_pairs.c: which pairs are measured, what slow ones share, the spec and its digest. */
#include <jansson.h>

#include "pairs/matrix.h"
#include "pairs/shared.h"
#include "rig/unit.h"
#include "model/model.h"

static int nodes[4096];

static void place(int n, int per_node)
{
	for (int i = 0; i < n; i++)
		nodes[i] = i / per_node;
}

/* No rank twice in a round, no pair twice at all, all indices in order. */
static bool is_sound(const struct pair_plan *plan)
{
	for (int i = 0; i < plan->npairs; i++) {
		const struct pair *p = &plan->pairs[i];

		if (p->a < 0 || p->a >= p->b || p->b >= plan->n || p->round >= plan->nrounds ||
		    p->far != (nodes[p->a] != nodes[p->b]))
			return false;
		for (int j = 0; j < i; j++) {
			const struct pair *q = &plan->pairs[j];

			if (p->round == q->round &&
			    (p->a == q->a || p->a == q->b || p->b == q->a || p->b == q->b))
				return false;
		}
	}
	return true;
}

static bool covers(const struct pair_plan *plan, int rank, bool far)
{
	for (int i = 0; i < plan->npairs; i++)
		if ((plan->pairs[i].a == rank || plan->pairs[i].b == rank) &&
		    plan->pairs[i].far == far)
			return true;
	return false;
}

UNIT_TEST(test_plan, "plan")
{
	static const struct {
		int n, per_node, most, pairs, rounds;
		bool sampled;
	} plans[] = {
		{ 2, 2, 100, 1, 1, false },	  { 3, 3, 100, 3, 3, false },
		{ 8, 4, 100, 28, 7, false },	  { 7, 1, 21, 21, 7, false },
		{ 8, 4, 8, 8, 2, true },	  { 1, 1, 100, 0, 0, false },
		{ 65, 8, 100, 0, 0, true },	  { 512, 8, 600, 0, 0, true },
		{ 1024, 1, 1024, 1024, 2, true },
	};

	UNIT_ROWS(row, plans) {
		int n = row->n, per_node = row->per_node;
		struct pair_plan plan;

		place(n, per_node);
		pair_plan_make(&plan, n, nodes, row->most, 1);
		UNIT_ALL(is_sound(&plan), plan.sampled == row->sampled, plan.n == n);
		if (row->rounds > 0 && !row->sampled)
			UNIT_ALL(plan.npairs == row->pairs, plan.nrounds == row->rounds);
		CU_ASSERT(plan.npairs <= row->most + 2 * n);
		for (int rank = 0; n > 1 && rank < n; rank++)
			UNIT_ALL(covers(&plan, rank, false) == (per_node > 1 && n > 1) ||
					 n % per_node == 1,
				 covers(&plan, rank, true) == (per_node < n),
				 pair_plan_find(&plan, 0, rank) >= 0 || n % 2);
		pair_plan_release(&plan);
	}
}

/* The same seed makes the same sample, another one another. */
UNIT_TEST(test_seed, "seed")
{
	struct pair_plan a, b, c;

	place(64, 8);
	pair_plan_make(&a, 64, nodes, 128, 1);
	pair_plan_make(&b, 64, nodes, 128, 1);
	pair_plan_make(&c, 64, nodes, 128, 2);
	UNIT_ALL(a.npairs == b.npairs,
		 memcmp(a.pairs, b.pairs, (size_t)a.npairs * sizeof(*a.pairs)) == 0,
		 a.npairs != c.npairs ||
			 memcmp(a.pairs, c.pairs, (size_t)a.npairs * sizeof(*a.pairs)) != 0);
	UNIT_ALL(pair_plan_of(&a, 5, 5) == -1, pair_plan_of(&a, a.pairs[3].b, a.pairs[3].a) == 3);
	pair_plan_release(&a);
	pair_plan_release(&b);
	pair_plan_release(&c);
}

/* Eight ranks on two hosts: a socket has two ranks, a switch and a NIC too, a GPU is a rank. */
UNIT_TEST(test_shared, "shared")
{
	static const struct {
		const char *slow; /* "a-b" with blanks around it; "3-*" any pair of 3 */
		const char *says;
		int rest;
	} cases[] = {
		{ "", "", 0 },
		{ " 0-1 ", "", 1 },
		{ " 3-0 3-1 3-2 3-4 3-5 3-6 3-7 ", "rank 3 (7 slow pairs)", 0 },
		/* ranks 2 and 3 reach the other host by one NIC */
		{ " 2-4 2-5 2-6 2-7 3-4 3-5 3-6 3-7 ", "NIC 1 of a (8 slow pairs)", 0 },
		/* the same, and a fast pair over the NIC: each pair for itself */
		{ " 2-4 2-5 2-6 2-7 3-4 3-5 3-6 ", "", 7 },
		/* all that leave host a, by either NIC: the network, not the host */
		{ " 0-4 0-5 0-6 0-7 1-4 1-5 1-6 1-7 2-4 2-5 2-6 2-7 3-4 3-5 3-6 3-7 ",
		  "the network of host a (16 slow pairs)", 0 },
		/* out of a switch inside of host b */
		{ " 4-6 4-7 5-6 5-7 ", "switch 2 of b (4 slow pairs)", 0 },
		/* everything that host a takes part in */
		{ " 0-1 0-2 0-3 1-2 1-3 2-3 0-4 0-5 0-6 0-7 1-4 1-5 1-6 1-7 2-4 2-5 2-6 2-7 3-4 "
		  "3-5 "
		  "3-6 3-7 ",
		  "host a (22 slow pairs)", 0 },
		/* two causes, and a pair by itself */
		{ " 2-4 2-5 2-6 2-7 3-4 3-5 3-6 3-7 0-1 4-6 4-7 5-6 5-7 ",
		  "NIC 1 of a (8 slow pairs), switch 2 of b (4 slow pairs)", 1 },
	};
	struct pair_end ends[8] = { 0 };
	struct pair_plan plan;

	place(8, 4);
	pair_plan_make(&plan, 8, nodes, 100, 1);
	for (int r = 0; r < 8; r++) {
		const char *host = r < 4 ? "a" : "b";

		snprintf(ends[r].name[PAIR_HOST], 48, "%s", host);
		snprintf(ends[r].name[PAIR_GPU], 48, "rank %d", r);
		snprintf(ends[r].name[PAIR_SWITCH], 48, "%d of %s", r / 2, host);
		snprintf(ends[r].name[PAIR_NIC], 48, "%d of %s", r / 2, host);
	}
	for (size_t i = 0; i < LENGTH(cases); i++) {
		bool slow[28];
		char text[400];

		for (int k = 0; k < plan.npairs; k++) {
			char there[16], back[16];

			snprintf(there, sizeof(there), " %d-%d ", plan.pairs[k].a, plan.pairs[k].b);
			snprintf(back, sizeof(back), " %d-%d ", plan.pairs[k].b, plan.pairs[k].a);
			slow[k] = strstr(cases[i].slow, there) || strstr(cases[i].slow, back);
		}
		UNIT_ALL(pair_shared(&plan, ends, slow, text, sizeof(text)) == cases[i].rest,
			 strcmp(text, cases[i].says) == 0);
		if (strcmp(text, cases[i].says) != 0)
			printf("%zu: %s\n", i, text);
	}
	pair_plan_release(&plan);
}

/* Two nodes of two ranks; a message takes 1 us and 1 us per 1,000 bytes, ten times as much between them. */
static void make_matrix(struct pair_matrix *m)
{
	struct pair_plan plan;

	place(4, 2);
	pair_plan_make(&plan, 4, nodes, 100, 1);
	pair_matrix_init(m, &plan, 2);
	m->nsizes = 2;
	m->bytes[0] = 8;
	m->bytes[1] = 1e6;
	m->host = true;
	for (int i = 0; i < 2 * 2 * m->plan.npairs; i++)
		*pair_us(m, PAIR_DISJOINT, i % 2, i / 4, i / 2 % 2) =
			*pair_us(m, PAIR_ALONE, i % 2, i / 4, i / 2 % 2) =
				(1 + m->bytes[i % 2] / 1e3) * (m->plan.pairs[i / 4].far ? 10 : 1);
}

UNIT_TEST(test_digest, "digest")
{
	struct pair_matrix m;
	struct pair_digest d;

	make_matrix(&m);
	pair_digest_make(&d, &m);
	UNIT_ALL(d.nranks == 4, d.nnodes == 2, d.host,
		 fabs(pair_gbs(&m, PAIR_ALONE, pair_plan_of(&m.plan, 2, 3), true) - 1e3 / 1001) <
			 1e-9,
		 isnan(pair_gbs(&m, PAIR_ALL, 0, true)), fabs(d.us[0] - 1.008) < 1e-9,
		 fabs(d.us[1] - 10.08) < 1e-9, fabs(d.gbs[0] - 1e3 / 1001) < 1e-9,
		 fabs(d.gbs[1] - 1e2 / 1001) < 1e-9, d.alone_gbs == d.gbs[0]);
	/* a pair that takes twice as long decides, one that takes a fifth longer does not */
	*pair_us(&m, PAIR_DISJOINT, 1, pair_plan_of(&m.plan, 0, 1), false) *= 1.2;
	pair_digest_make(&d, &m);
	CU_ASSERT_DOUBLE_EQUAL(d.gbs[0], 1e3 / 1001, 1e-9);
	*pair_us(&m, PAIR_DISJOINT, 1, pair_plan_of(&m.plan, 0, 1), false) *= 2;
	pair_digest_make(&d, &m);
	CU_ASSERT_DOUBLE_EQUAL(d.gbs[0], 1e3 / 2402.4, 1e-9);
	pair_matrix_release(&m);
}

/* A written matrix is read back; other JSON is refused, and its file named. */
UNIT_TEST(test_json, "JSON")
{
	static const char *const wrong[] = { "ranks", "nodes", "bytes", "pairs" };
	struct pair_matrix m, again;
	struct error err = { .rank = -1 };
	json_t *json, *row;

	make_matrix(&m);
	json = pair_matrix_json(&m);
	CU_ASSERT_EQUAL_FATAL(pair_matrix_parse(&again, json, "f.json", &err), 0);
	UNIT_ALL(again.plan.npairs == 6, again.nsizes == 2, again.host,
		 memcmp(again.us, m.us, pair_places(&m) * sizeof(*m.us)) == 0,
		 again.plan.pairs[5].far == m.plan.pairs[5].far);
	pair_matrix_release(&again);
	for (size_t i = 0; i < LENGTH(wrong); i++) {
		json_t *copy = json_copy(json);

		json_object_set_new(copy, wrong[i], json_integer(-1));
		err = (struct error){ .rank = -1 };
		UNIT_ALL(pair_matrix_parse(&again, copy, "f.json", &err) == -EINVAL,
			 err.outcome == OUTCOME_USAGE, strstr(err.text, "f.json") != NULL);
		json_decref(copy);
	}
	row = json_array_get(json_object_get(json, "pairs"), 2);
	for (int place = 0; place < 4;
	     place += 3) { /* a rank that is not there, a time that is none */
		json_t *was = json_incref(json_array_get(row, (size_t)place));

		json_array_set_new(row, (size_t)place, json_real(place ? -3 : 9));
		CU_ASSERT_EQUAL(pair_matrix_parse(&again, json, "f.json", &err), -EINVAL);
		json_array_set_new(row, (size_t)place, was);
	}
	json_decref(json);
	pair_matrix_release(&m);
}

/* Messages, each of .65 us where nothing comes back for it, and the bytes; in place no slice is copied. */
static const struct {
	enum model_coll coll;
	int n;
	double bytes, us, low;
	bool in_place;
} host_cases[] = {
	{ MODEL_SENDRECV, 4, 2e6, 1 + 2000, .2, false },
	{ MODEL_ALL_GATHER, 4, 1e6, 2 + 1000, .2, false },
	{ MODEL_ALL_GATHER, 4, 1e6, 2 + 750, .2, true },
	{ MODEL_ALL_REDUCE, 4, 2e6, 2 + 4500, .2, false },
	{ MODEL_ALL_REDUCE, 3, 2e6, 2 + 4000, .2, true },
	{ MODEL_BROADCAST, 2, 1e3, .65 + 1, .2, false },
	{ MODEL_REDUCE, 4, 2e6, 1.3 + 6000, .2, false },
	{ MODEL_REDUCE_SCATTER, 2, 2e6, 1 + 7000, .2, false },
	{ MODEL_ALLTOALL, 4, 2e6, 3 + 2000, .2, false },
	{ MODEL_GATHER, 32, 1e6, 20.15 + 1000, .15, false },
	{ MODEL_SCATTER, 2, 1e6, .65 + 500, .2, true },
};

/* Ranks of one host, whose messages take 1 us and 1 us per 1,000 bytes. */
UNIT_TEST(test_hosts, "hosts")
{
	struct pair_digest d = { .nnodes = 1, .us = { 1 }, .gbs = { 1 }, .host = true };
	struct error err = { .rank = -1 };
	static struct model_constants constants;
	static struct topo_system sys;
	static struct model model;
	struct prediction p;

	model_physical(&constants);
	UNIT_ROWS(c, host_cases) {
		struct predict_request request = { .collective = c->coll,
						   .bytes = c->bytes,
						   .algo = -1,
						   .proto = -1,
						   .in_place = c->in_place };

		d.nranks = c->n;
		CU_ASSERT_EQUAL_FATAL(topo_from_pairs(&sys, "x", "x", &d, &err), 0);
		model_init(&model, &sys, &constants, false);
		UNIT_ALL(model_predict(&model, &request, &p) == 0,
			 fabs(p.time_us - c->us) < 1e-6 * c->us,
			 fabs(p.low_busbw - c->low * p.busbw) < 1e-9);
	}
	model_scale(&model, 2); /* pairs of one host alone were measured */
	CU_ASSERT_EQUAL(model_predict(&model,
				      &(struct predict_request){
					      .bytes = 1e6, .algo = -1, .proto = -1 },
				      &p),
			-EINVAL);
	d.host = false; /* GPUs', without their topology */
	CU_ASSERT_EQUAL(topo_from_pairs(&sys, "x", "x", &d, &err), -EINVAL);
}
