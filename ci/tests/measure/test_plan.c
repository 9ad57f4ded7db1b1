/* test_plan.c: places of a batch's calls, separation of the checked one, and its expected data, for
 * every collective; on one rank also that the check passes and fails correctly. */
#include "rig/unit.h"

#include "bench/perf_main.h"
#include "rig/fake_backend.h"
#include "measure/plan.h"
#include "backend/traffic.h"

#define MIB ((size_t)1 << 20)

static struct fake fake;
static struct options options;
static struct job job;
static struct error err;
static struct bench bench;
static struct plan plan;

static void set_up(const struct collective *c, int rank, int nranks)
{
	fake.be = (struct backend){ .ops = &fake_ops, .err = &err };
	fake.ncalls = 0;
	fake.allocs = 0;
	err = (struct error){ .rank = -1 };
	options = (struct options){ .align = 16, .seed = 7, .agg_iters = 1 };
	job = (struct job){
		.rank = rank, .nranks = nranks, .group_rank = rank, .group_size = nranks
	};
	bench = (struct bench){
		.collective = c,
		.options = &options,
		.err = &err,
		.job = &job,
		.backend = &fake.be,
		.chain = { .backend = &fake.be },
		.traffic = { .nranks = nranks, .spread = 0.5 },
	};
	CU_ASSERT_EQUAL_FATAL(buffers_init(&bench.buffers, &fake.be, 8, BUFFERS_POOL, SIZE_MAX), 0);
}

static void tear_down(void)
{
	buffers_release(&bench.buffers);
}

static struct point point_of(const struct collective *c, size_t bytes)
{
	return (struct point){ .dtype = DT_FLOAT,
			       .op = c->reduces ? OP_SUM : OP_NONE,
			       .root = c->rooted ? 0 : -1,
			       .bytes = bytes };
}

static int plan_of(size_t bytes, bool in_place)
{
	struct point point = point_of(bench.collective, bytes);

	return plan_init(&plan, &bench, &point, in_place);
}

struct stretch {
	const char *from, *to;
};

static bool overlap(struct stretch a, struct stretch b)
{
	return a.from < b.to && b.from < a.to;
}

/* The whole buffer of a call on this slot; in place any part may be written. */
static struct stretch slot_stretch(size_t index, const char *pool, size_t margin)
{
	const char *at =
		pool + buffers_offset(&bench.buffers, plan.slot_bytes, index) + plan.shift_bytes;

	return (struct stretch){ at - margin, at + plan.shape.bytes + margin };
}

static struct stretch pool_stretch(const char *pool)
{
	return (struct stretch){ pool - CHECK_GUARD, pool + bench.buffers.bytes + CHECK_GUARD };
}

/* Counts pointers of recent calls outside of the two stretches of the slot's pools. */
static int pointers_outside(size_t index)
{
	struct stretch send = slot_stretch(index, bench.buffers.send, 0);
	struct stretch recv = slot_stretch(index, bench.buffers.recv, 0);
	int n = 0;

	for (int i = 0; i < fake.ncalls; i++) {
		const char *from = fake.calls[i].send, *to = fake.calls[i].recv;

		if (plan.in_place)
			send = recv;
		/* later rounds of a hypercube pass on received data */
		n += from && (from < send.from || from > send.to) &&
		     (from < recv.from || from > recv.to);
		n += to && (to < recv.from || to > recv.to);
		n += fake.calls[i].offset !=
		     buffers_offset(&bench.buffers, plan.slot_bytes, index) + plan.shift_bytes;
	}
	fake.ncalls = 0;
	return n;
}

/* The calls of a batch of `calls` before its last one, against the place of its check. */
static void check_batch(size_t calls)
{
	struct checked_slot slot = plan_last_slot(&plan, calls);
	size_t slots = buffers_slots(&bench.buffers, plan.slot_bytes);
	const char *pool = slot.spare ? bench.buffers.send : bench.buffers.recv;
	struct stretch mine = slot_stretch(slot.index, pool, slot.crowded ? 0 : CHECK_GUARD);
	int touched = 0, outside = 0;

	for (size_t i = 0; i + 1 < calls; i++)
		touched += overlap(slot_stretch(i % slots, bench.buffers.recv, 0), mine);
	/* with room it is used; without, only the out-of-place call shares */
	if (calls + 4096 / 512 < slots || plan.in_place)
		CU_ASSERT_EQUAL(touched, 0);
	if (slots > 1 && !slot.crowded)
		CU_ASSERT_EQUAL(touched, 0);
	UNIT_ALL(!slot.crowded || !plan.in_place, !slot.spare || plan.in_place, slot.index < slots);
	outside = mine.from < pool_stretch(pool).from || mine.to > pool_stretch(pool).to;
	CU_ASSERT_EQUAL(outside, 0);
	fake.ncalls = 0;
	CU_ASSERT_EQUAL(plan_issue_checked(&plan, slot), 0);
	if (!slot.spare)
		CU_ASSERT_EQUAL(pointers_outside(slot.index), 0);
}

static void check_point(size_t bytes, bool in_place, int unalign)
{
	static const size_t batches[] = { 1, 2, 3, 20, 256, 2560 };

	options.unalign = unalign;
	CU_ASSERT_EQUAL_FATAL(plan_of(bytes, in_place), 0);
	CU_ASSERT_EQUAL(plan.slot_bytes, plan.shape.bytes + 4 * (size_t)unalign);
	for (size_t i = 0; i < 5; i++) {
		fake.ncalls = 0;
		UNIT_ALL(plan_issue(&plan, i) == 0, pointers_outside(i) == 0);
	}
	for (size_t i = 0; i < LENGTH(batches); i++)
		check_batch(batches[i]);
	plan_release(&plan);
}

UNIT_TEST(test_batches, "the checked call of a batch lies apart")
{
	static const size_t sizes[] = { 1024, 4096, 65536, MIB, 60 * MIB, 120 * MIB, 200 * MIB };

	for (int c = 0; collectives[c]; c++) {
		const struct collective *collective = collectives[c];

		for (int rank = 0; rank < 4; rank += 3) {
			set_up(collective, rank, 4);
			for (size_t i = 0; i < LENGTH(sizes); i++)
				for (int in_place = 0; in_place <= collective->in_place;
				     in_place++) {
					check_point(sizes[i], in_place, 0);
					check_point(sizes[i], in_place, 3);
				}
			tear_down();
		}
	}
}

/* Slots begin at multiples of 512 bytes; -u shifts all of them by elements. */
UNIT_TEST(test_alignment, "alignment")
{
	set_up(&all_reduce, 0, 4);
	for (int unalign = 0; unalign < 4; unalign += 3) {
		options.unalign = unalign;
		CU_ASSERT_EQUAL_FATAL(plan_of(1000, false), 0);
		for (size_t i = 0; i < 100; i++) {
			const struct call *call = &fake.calls[0];

			fake.ncalls = 0;
			UNIT_ALL(plan_issue(&plan, i) == 0, fake.ncalls == 1,
				 (size_t)((const char *)call->send - bench.buffers.send) % 512 ==
					 (size_t)unalign * 4,
				 (size_t)((char *)call->recv - bench.buffers.recv) % 512 ==
					 (size_t)unalign * 4,
				 call->offset % 512 == (size_t)unalign * 4);
		}
		plan_release(&plan);
	}
	tear_down();
}

UNIT_TEST(test_too_small, "sizes too small")
{
	for (int c = 0; collectives[c]; c++) {
		const struct collective *collective = collectives[c];
		int rc;

		set_up(collective, 0, 4);
		rc = plan_of(4, false);
		UNIT_ALL(rc == 0 || rc == -ENODATA, (rc == 0) == (plan.shape.bytes > 0));
		CU_ASSERT_EQUAL(err.outcome, OUTCOME_OK); /* no error: left out */
		plan_release(&plan);
		tear_down();
	}
}

/* The same data at the same place for any sweep: element k of slot i. */
UNIT_TEST(test_rotation, "rotation")
{
	size_t far;

	set_up(&all_reduce, 0, 2);
	CU_ASSERT_EQUAL_FATAL(plan_of(100 * MIB, false), 0); /* two slots */
	far = (size_t)100 * MIB;
	fake.ncalls = 0;
	for (size_t i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(plan_issue(&plan, i), 0);
	UNIT_ALL(fake.calls[0].offset == 0, fake.calls[1].offset == far, fake.calls[2].offset == 0,
		 fake.calls[3].offset == far);
	plan_release(&plan);
	tear_down();
}

/* Segments tile the receive buffer, in order; in place KEEP is the rank's own data. */
static void check_segments(const struct collective *c, int rank, int root, bool in_place)
{
	struct point point = point_of(c, 4096);
	size_t at = 0;

	point.root = c->rooted ? root : -1;
	set_up(c, rank, 4);
	CU_ASSERT_EQUAL_FATAL(plan_init(&plan, &bench, &point, in_place), 0);
	for (int i = 0; i < plan.nsegments; i++) {
		const struct segment *s = &plan.segments[i];
		size_t own = plan.shape.inplace_recv + s->at - plan.shape.inplace_send;

		UNIT_ALL(s->at == at, s->count > 0);
		at += s->count;
		/* this rank's send data in place must not count as poison */
		if (in_place && s->kind == SEGMENT_KEEP)
			CU_ASSERT(own >= plan.shape.send);
	}
	CU_ASSERT_EQUAL(at, plan.shape.recv);
	plan_release(&plan);
	tear_down();
}

UNIT_TEST(test_segments, "segments tile the receive buffer")
{
	for (int c = 0; collectives[c]; c++) {
		const struct collective *collective = collectives[c];

		for (int rank = 0; rank < 4; rank++)
			for (int root = 0; root < (collective->rooted ? 4 : 1); root++)
				for (int in_place = 0; in_place <= collective->in_place; in_place++)
					check_segments(collective, rank, root, in_place);
	}
}

/* gather in place on rank 2, root 0: own share amid poison. */
UNIT_TEST(test_kept_share, "what a rank keeps in place")
{
	set_up(&gather, 2, 4);
	CU_ASSERT_EQUAL_FATAL(plan_of(64, true), 0); /* 4 floats of each rank */
	CU_ASSERT_EQUAL_FATAL(plan.nsegments, 3);
	UNIT_ALL(plan.segments[0].kind == SEGMENT_KEEP, plan.segments[0].count == 8,
		 plan.segments[1].kind == SEGMENT_COPY, plan.segments[1].at == 8,
		 plan.segments[1].count == 4, plan.segments[1].from == 2,
		 plan.segments[1].from_at == 0, plan.segments[2].kind == SEGMENT_KEEP,
		 plan.segments[2].at == 12, plan.segments[2].count == 4);
	plan_release(&plan);
	tear_down();
}

static const struct checked_slot slots[] = {
	{ .index = 0 },
	{ .index = 3 },
	{ .index = 5, .crowded = true },
	{ .index = 0, .spare = true },
};

static char *slot_pointer(struct checked_slot slot)
{
	return (slot.spare ? bench.buffers.send : bench.buffers.recv) +
	       buffers_offset(&bench.buffers, plan.slot_bytes, slot.index) + plan.shift_bytes;
}

/* Prepares a checked call on a slot, and makes it unless `dropped`. */
static void checked_call(struct checked_slot slot, bool dropped)
{
	UNIT_ALL(buffers_fill(&bench.buffers, &plan.data, 0,
			      buffers_offset(&bench.buffers, plan.slot_bytes, slot.index) +
				      plan.slot_bytes) == 0,
		 plan_prepare(&plan, slot) == 0);
	fake.move = true;
	if (!dropped)
		CU_ASSERT_EQUAL(plan_issue_checked(&plan, slot), 0);
	fake.move = false;
}

static struct check_report check(struct checked_slot slot)
{
	struct check_report report;

	CU_ASSERT_EQUAL(plan_check(&plan, slot, &report), 0);
	return report;
}

UNIT_TEST(test_check_right, "a right call passes")
{
	for (size_t i = 0; i < LENGTH(slots); i++) {
		struct checked_slot slot = slots[i];

		if (slot.crowded && slot.spare)
			continue;
		for (int in_place = slot.spare; in_place <= !slot.crowded; in_place++) {
			set_up(&all_reduce, 0, 1); /* all_reduce: of one rank a copy */
			options.unalign = 1;
			CU_ASSERT_EQUAL_FATAL(plan_of(4000, in_place), 0);
			checked_call(slot, false);
			CU_ASSERT_EQUAL(check(slot).wrong, 0);
			/* after a spare slot the send pool is refilled */
			checked_call((struct checked_slot){ .index = 1 }, false);
			CU_ASSERT_EQUAL(check((struct checked_slot){ .index = 1 }).wrong, 0);
			plan_release(&plan);
			tear_down();
		}
	}
}

/* A spare slot's writes to the send pool are undone before the next send from it. */
UNIT_TEST(test_after_spare, "after a spare slot")
{
	const struct checked_slot first = { .index = 0 }, spare = { .index = 0, .spare = true };

	set_up(&all_reduce, 0, 1);
	CU_ASSERT_EQUAL_FATAL(plan_of(4000, true), 0);
	checked_call(spare, true);
	memset(slot_pointer(spare), 0, 4000);
	plan_release(&plan);
	CU_ASSERT_EQUAL_FATAL(plan_of(4000, false), 0);
	checked_call(first, false);
	CU_ASSERT_EQUAL(check(first).wrong, 0);
	plan_release(&plan);
	tear_down();
}

UNIT_TEST(test_check_wrong, "a wrong one does not")
{
	const struct checked_slot slot = { .index = 2 }, crowded = { .index = 2, .crowded = true };
	struct check_report report;

	set_up(&all_reduce, 0, 1);
	CU_ASSERT_EQUAL_FATAL(plan_of(4000, false), 0);
	checked_call(slot, true);
	report = check(slot);
	UNIT_ALL(report.wrong == 1000, report.kind == WRONG_STALE);

	checked_call(slot, false);
	slot_pointer(slot)[400] ^= 1;
	report = check(slot);
	UNIT_ALL(report.wrong == 1, report.element == 100);

	for (int side = 0; side < 2; side++) {
		checked_call(slot, false);
		slot_pointer(slot)[side ? 4000 : -1] = 0;
		report = check(slot);
		UNIT_ALL(report.wrong == 1, report.kind == WRONG_GUARD);
		CU_ASSERT_EQUAL(check(crowded).wrong, 0); /* a neighbour may have written it */
	}
	checked_call(slot, false);
	bench.buffers.send[buffers_offset(&bench.buffers, 4000, 2)] ^= 1;
	report = check(slot);
	UNIT_ALL(report.wrong == 1, report.kind == WRONG_SEND);
	plan_release(&plan);

	CU_ASSERT_EQUAL_FATAL(plan_of(4000, true), 0);
	buffers_dirty(&bench.buffers);
	checked_call(slot, false);
	slot_pointer(slot)[4000] = 0;
	CU_ASSERT_EQUAL(check(slot).kind, WRONG_GUARD);
	plan_release(&plan);
	tear_down();
}
