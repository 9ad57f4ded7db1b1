/* test_host_model.c: collectives over the memory of hosts, against cases worked out by hand. */
#include "rig/unit.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "topo/host_model.h"

#define MIB  (1024. * 1024)
#define CALL .15 /* us */

/* A flag takes 1 us, one alone .5; copies 10 GB/s, reads of another rank 8 GB/s, fresh memory 4
 * GB/s, sums 20 GB/s; each more message costs .2 us and, when it is
 * read, a message two flags (host_constants). */
static struct host_model make(int nranks, int nnodes)
{
	struct host_model m = {
		.nranks = nranks, .nnodes = nnodes, .ppn = nranks / nnodes, .share = 1
	};

	for (int i = 0; i < HOST_SIZES; i++) {
		m.figures.copy_alone[i] = m.figures.copy_all[i] = .1;
		m.figures.read_alone[i] = m.figures.read_all[i] = .125;
	}
	for (int d = 0; d < DT_COUNT; d++)
		for (int o = 0; o < OP_COUNT; o++)
			m.figures.reduce[d][o] = .05;
	m.figures.step_us = 1;
	m.figures.hop_us = .5;
	m.figures.fresh = .25;
	m.library = (struct host_library){ .path = HOST_SINGLE_COPY, .eager = 4096 };
	m.net_gbs = 1;
	m.net_us = 10;
	return m;
}

static struct host_prediction ask(const struct host_model *m, enum model_coll coll, double bytes,
				  bool in_place)
{
	struct host_request r = { coll, bytes, DT_FLOAT, OP_SUM, in_place };
	struct host_prediction p;

	CU_ASSERT_EQUAL(host_predict(m, &r, &p), 0);
	return p;
}

static void test_constants(void)
{
	CU_ASSERT_EQUAL(host_constants.call_us, CALL);
	CU_ASSERT_EQUAL(host_constants.message_us, .2); /* the cases below count on them */
	CU_ASSERT_EQUAL(host_constants.handshakes, 2);
}

static void test_by_hand(void)
{
	static const struct {
		enum model_coll coll;
		int nranks, nnodes;
		double bytes;
		bool in_place;
		double time_us, busbw;
		const char *algo, *way;
	} table[] = {
		/* two copies of 64 bytes */
		{ MODEL_SENDRECV, 4, 1, 64, false, 1 + 64 * .2e-3, 0, "exchange", "copy" },
		/* 4, 2, 2, 4 MiB read: 12 MiB in all, 6 of them added, at the speed of a copy */
		{ MODEL_ALL_REDUCE, 4, 1, 8 * MIB, true,
		  4 * 2 + 12 * MIB * .125e-3 + 6 * MIB * .1e-3, 5.69322, "halving", "cma" },
		/* and 8 MiB copied to where the result will be */
		{ MODEL_ALL_REDUCE, 4, 1, 8 * MIB, false,
		  4 * 2 + 12 * MIB * .125e-3 + 14 * MIB * .1e-3, 0, "halving", "cma" },
		/* 2 KiB each are copied in and out; one's own once */
		{ MODEL_ALLTOALL, 4, 1, 8192, false, 1 + .4 + 3 * 2048 * .2e-3 + 2048 * .1e-3, 0,
		  "linear", "copy" },
		/* the operands to memory of the call's own, half of them exchanged, the result out
		 * of it */
		{ MODEL_REDUCE_SCATTER, 2, 1, MIB, true,
		  MIB * .1e-3 + MIB * .25e-3 + 2 + MIB / 2 * (.125 + .1 + .1) * 1e-3, 0, "halving",
		  "cma" },
		/* three messages to one rank: flags of one at a time */
		{ MODEL_GATHER, 4, 1, MIB, true, 2 * .5 + .4 + MIB * .75 * .125e-3, 0, "linear",
		  "cma" },
		/* two rounds of 1/4 and 2/4 */
		{ MODEL_HYPERCUBE, 4, 1, MIB, true, 2 * 2 + MIB * .75 * .125e-3, 0, "doubling",
		  "cma" },
		/* round two hosts: one part crosses each link in each of three steps, at 1 GB/s */
		{ MODEL_ALL_GATHER, 4, 2, 8 * MIB, true, 3 * (2 + 10 + 2 * MIB * 1e-3), 0, "ring",
		  "net" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct host_model m = make(table[i].nranks, table[i].nnodes);
		struct host_prediction p =
			ask(&m, table[i].coll, table[i].bytes, table[i].in_place);

		CU_ASSERT_DOUBLE_EQUAL(p.time_us, CALL + table[i].time_us, 1e-6 * table[i].time_us);
		CU_ASSERT_DOUBLE_EQUAL(p.latency_us + p.copy_us + p.net_us + p.reduce_us, p.time_us,
				       1e-6);
		CU_ASSERT_STRING_EQUAL(p.algo, table[i].algo);
		CU_ASSERT_STRING_EQUAL(p.way, table[i].way);
		if (table[i].busbw > 0)
			CU_ASSERT_DOUBLE_EQUAL(p.busbw, table[i].busbw, 1e-3);
	}
}

/* Whether the kernel lets a rank read another one, and what MPI was told. */
static void test_two_copies(void)
{
	struct host_model m = make(4, 1);
	double twice = CALL + 1 + MIB * .2e-3;

	CU_ASSERT_DOUBLE_EQUAL(ask(&m, MODEL_SENDRECV, MIB, false).time_us,
			       CALL + 2 + MIB * .125e-3, 1e-6);
	m.library.path = HOST_TWO_COPIES;
	CU_ASSERT_DOUBLE_EQUAL(ask(&m, MODEL_SENDRECV, MIB, false).time_us, twice, 1e-6);
	m = make(4, 1);
	for (int i = 0; i < HOST_SIZES; i++)
		m.figures.read_all[i] = m.figures.read_alone[i] = INFINITY;
	CU_ASSERT_DOUBLE_EQUAL(ask(&m, MODEL_SENDRECV, MIB, false).time_us, twice, 1e-6);
	CU_ASSERT_STRING_EQUAL(ask(&m, MODEL_SENDRECV, MIB, false).way, "copy");
}

/* Alone a rank reads 16 GB/s; four together reach 16 GB/s, and so three get a third of it each. */
static void test_contention(void)
{
	struct host_model m = make(4, 1);
	struct host_prediction p;

	for (int i = 0; i < HOST_SIZES; i++) {
		m.figures.read_alone[i] = .0625;
		m.figures.read_all[i] = .25;
	}
	p = ask(&m, MODEL_BROADCAST, MIB, true);
	CU_ASSERT_DOUBLE_EQUAL(p.time_us, CALL + 1 + MIB * .1875e-3, 1e-6);
	CU_ASSERT_STRING_EQUAL(p.algo, "linear");
	/* a library that works on ranks that share a core in turn */
	m = make(4, 1);
	m.share = 2;
	p = ask(&m, MODEL_ALLTOALL, 8192, false);
	CU_ASSERT_DOUBLE_EQUAL(p.time_us, 2 * CALL + 1 + .8 + 3 * 2048 * .2e-3 + 2048 * .1e-3,
			       1e-6);
}

static void test_ceiling(void)
{
	struct host_model m = make(4, 1);

	CU_ASSERT_DOUBLE_EQUAL(ask(&m, MODEL_ALL_REDUCE, MIB, true).ceiling_busbw, 10, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(ask(&m, MODEL_BROADCAST, MIB, true).ceiling_busbw, 10 / .75, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(ask(&m, MODEL_GATHER, MIB, true).ceiling_busbw, 40, 1e-9);
}

static void test_every_one(void)
{
	static const int ranks[] = { 2, 3, 4, 5, 8, 16, 33, 512 };

	for (int coll = 0; coll < MODEL_COLLS; coll++)
		for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
			for (double bytes = 512 * 8; bytes < 1e10; bytes *= 16) {
				struct host_model m = make(ranks[i], 1);
				struct host_prediction p =
					ask(&m, (enum model_coll)coll, bytes, false);

				CU_ASSERT_TRUE(p.time_us > .5 && isfinite(p.time_us)); /* a flag */
				CU_ASSERT_TRUE(p.busbw <= p.ceiling_busbw);
			}
}

static void test_refused(void)
{
	struct host_model m = make(1, 1);
	struct host_request r = { MODEL_ALL_REDUCE, 1024, DT_FLOAT, OP_SUM, false };
	struct host_prediction p;

	CU_ASSERT_EQUAL(host_predict(&m, &r, &p), -ERANGE);
	m = make(4, 2);
	m.net_gbs = 0;
	CU_ASSERT_EQUAL(host_predict(&m, &r, &p), -ENOTSUP);
	m = make(4, 1);
	for (int i = 0; i < 3; i++) {
		static const double sizes[] = { 0, -1, NAN };

		r.bytes = sizes[i];
		CU_ASSERT_EQUAL(host_predict(&m, &r, &p), -ERANGE);
	}
	r.bytes = 1024;
	m.figures.reduce[DT_FLOAT][OP_SUM] = INFINITY; /* an operator that MPI does not have */
	CU_ASSERT_EQUAL(host_predict(&m, &r, &p), -ERANGE);
}

static void test_between(void)
{
	static const double figure[HOST_SIZES] = { 1, 2, 4, 8, 16 };

	CU_ASSERT_DOUBLE_EQUAL(host_figure_at(figure, 0), 1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(host_figure_at(figure, 8), 1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(host_figure_at(figure, 4096), 1, 1e-12);
	CU_ASSERT_DOUBLE_EQUAL(host_figure_at(figure, 4096 * sqrt(8)), 1.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(host_figure_at(figure, 32768), 2, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(host_figure_at(figure, 16 * MIB), 16, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(host_figure_at(figure, 1e18), 16, 1e-12);
}

static const struct unit_case cases[] = {
	{ "constants", test_constants },   { "by hand", test_by_hand },
	{ "two copies", test_two_copies }, { "contention", test_contention },
	{ "ceiling", test_ceiling },	   { "every collective", test_every_one },
	{ "refused", test_refused },	   { "between measured sizes", test_between },
};

int main(void)
{
	return unit_main("host_model", cases, sizeof(cases) / sizeof(cases[0]));
}
