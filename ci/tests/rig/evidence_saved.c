/* evidence_saved.c: three ranks' evidence, saved in a folder. */
#include "rig/evidence_saved.h"

char saved_dir[UNIT_TEMP];
static struct record_memory *saved_memories[RANKS];
struct evidence saved, loaded;
struct error saved_err;

struct record_memory *saved_memory(int rank, int calls)
{
	struct record_memory *m = aligned_alloc(_Alignof(struct record_memory), sizeof(*m));
	struct recorder recorder;
	struct watch watch;

	memset(m, 0, sizeof(*m));
	memcpy(m->header.magic, RECORD_MAGIC, sizeof(m->header.magic));
	m->header.version = RECORD_VERSION;
	m->header.header_bytes = sizeof(m->header);
	m->header.record_bytes = sizeof(struct record);
	m->header.ring_records = RECORD_RING;
	m->header.rank = rank;
	m->header.outcome = -1;
	recorder_init(&recorder, m, true, 0);
	watch = recorder_watch(&recorder);
	for (int i = 0; i < calls; i++) {
		struct call call = { .kind = CALL_ALL_GATHER,
				     .count = 10 + (size_t)i,
				     .dtype = DT_HALF,
				     .op = OP_NONE,
				     .peer = -1 };

		watch.returned(watch.ctx, watch.call(watch.ctx, &call), 0);
	}
	return m;
}

void saved_set_up(void)
{
	CU_ASSERT_EQUAL_FATAL(unit_folder(saved_dir), 0);
	memset(&saved, 0, sizeof(saved));
	memset(&saved_err, 0, sizeof(saved_err));
	saved.nranks = RANKS;
	strcpy(saved.backend, "mpi");
	strcpy(saved.command, "./all_reduce_perf --fault=x -b 8\xff");
	strcpy(saved.library, "Open MPI v4.1.4");
	strcpy(saved.program, "all_reduce_perf");
	strcpy(saved.when, "2026-11-21T03:00:00+0000");
	saved.detect_ms = 640.5;
	saved.ranks = calloc(RANKS, sizeof(*saved.ranks));
	for (int i = 0; i < RANKS; i++) {
		saved_memories[i] = saved_memory(i, i == 2 ? 9 : 10);
		saved.ranks[i].present = true;
		saved.ranks[i].cpu_share = i == 2 ? 0.25 : -1;
		saved.ranks[i].view.outcome = -1;
		if (i == 1)
			saved_memories[i]->times[10] =
				(struct record_times){ .start_ns = 70, .end_ns = 90 };
		view_read(&saved.ranks[i].view, saved_memories[i], 1);
		saved.ranks[i].view.overdue = i != 2;
		saved.ranks[i].view.waited = 1.5;
		saved.ranks[i].view.seen_ns = 1000 + (uint64_t)i;
		evidence_take_calls(&saved.ranks[i], saved_memories[i]);
	}
	strcpy(saved.ranks[2].syscall, "pause");
	saved.ranks[2].state = 'S';
	saved.ranks[1].view.pid = 4711;
	CU_ASSERT_EQUAL(evidence_save(&saved, saved_dir, &saved_err), 0);
}

void saved_tear_down(void)
{
	CU_ASSERT_EQUAL(unit_remove(saved_dir), 0);
	for (int i = 0; i < RANKS; i++)
		free(saved_memories[i]);
	evidence_release(&saved);
	evidence_release(&loaded);
}

void saved_put(const char *name, const void *data, size_t bytes)
{
	CU_ASSERT_EQUAL(unit_put(saved_dir, name, data, bytes), 0);
}

int saved_load(void)
{
	const char *const dir = saved_dir;

	evidence_release(&loaded);
	return evidence_load_all(&loaded, &dir, 1, &saved_err);
}

struct saved_header *saved_image(size_t *bytes)
{
	struct saved_header *image;

	*bytes = saved_bytes(&saved.ranks[1], SIZE_MAX);
	image = saved_alloc(*bytes);
	saved_pack(&saved.ranks[1], 1, SIZE_MAX, image);
	return image;
}
