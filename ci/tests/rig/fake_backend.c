/* fake_backend.c: a backend without communication. */
#include "rig/fake_backend.h"

int fake_alloc(struct backend *be, size_t bytes, size_t used, void **ptr)
{
	struct fake *f = (struct fake *)be;

	*ptr = NULL;
	if (++f->allocs == f->fail_alloc || bytes > (size_t)1 << 40)
		return -ENOMEM;
	*ptr = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	f->bytes[f->allocs - 1] = bytes;
	f->used[f->allocs - 1] = used;
	f->ptrs[f->allocs - 1] = *ptr;
	return *ptr == MAP_FAILED ? -ENOMEM : 0;
}

static void fake_release(struct backend *be, void *ptr, size_t bytes, size_t used)
{
	struct fake *f = (struct fake *)be;

	for (int i = 0; i < 4; i++)
		if (ptr && f->ptrs[i] == ptr && f->bytes[i] == bytes && f->used[i] == used) {
			munmap(ptr, bytes);
			f->ptrs[i] = NULL;
			f->released++;
		}
}

static int fake_fill(struct backend *be, void *ptr, const struct check_data *data, int rank,
		     uint64_t base, size_t count)
{
	struct fake *f = (struct fake *)be;

	if (f->fail_fill)
		return -EIO;
	f->fills++;
	f->fill_at = ptr;
	f->fill_base = base;
	f->fill_count = count;
	check_fill(data, rank, base, count, ptr);
	return 0;
}

static int fake_poison(struct backend *be, void *ptr, size_t bytes)
{
	struct fake *f = (struct fake *)be;

	f->poisons++;
	f->poison_at = ptr;
	f->poison_bytes = bytes;
	memset(ptr, CHECK_POISON, bytes);
	return 0;
}

static int fake_copy(struct backend *be, void *dst, const void *src, size_t bytes)
{
	memmove(dst, src, bytes);
	return 0;
}

static int fake_fetch(struct backend *be, void *host, const void *src, size_t bytes)
{
	memcpy(host, src, bytes);
	return 0;
}

static int fake_verify(struct backend *be, const void *recv, const struct segment *segments, int n,
		       const struct check_data *data, uint64_t base, struct verify_result *result)
{
	check_verify(data, recv, segments, n, base, result);
	return 0;
}

static int fake_issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	struct fake *f = (struct fake *)be;

	if (f->ncalls < FAKE_CALLS)
		f->calls[f->ncalls++] = *call;
	if (f->move && call->recv && call->send)
		memmove(call->recv, call->send, call->count * dtype_size(call->dtype));
	return 0;
}

static int fake_nothing(struct backend *be)
{
	return 0;
}

const struct backend_ops fake_ops = {
	.name = "fake",
	.alloc = fake_alloc,
	.release = fake_release,
	.fill = fake_fill,
	.poison = fake_poison,
	.copy = fake_copy,
	.store = fake_copy,
	.fetch = fake_fetch,
	.verify = fake_verify,
	.issue = fake_issue,
	.group_begin = fake_nothing,
	.group_end = fake_nothing,
	.wait = fake_nothing,
};
