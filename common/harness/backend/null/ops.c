/* ops.c: the null backend: ranks, memory, waits and clocks of a real run, and calls that return at
 * once. A sweep on it measures the harness. No data are moved or written, so there is nothing to
 * check. */
#include "backend/backend.h"
#include "backend/call.h"
#include "check/check.h"

static int null_devices(void)
{
	return 1;
}

static int null_open(struct job *job, const struct watch *watch, struct error *err,
		     const struct backend_config *config, struct backend **out)
{
	*out = must(calloc(1, sizeof(**out)));
	**out = (struct backend){
		.ops = &backend_null,
		.job = job,
		.watch = watch,
		.err = err,
		.config = *config,
	};
	return 0;
}

static void null_close(struct backend *be)
{
	free(be);
}

static void null_facts(struct backend *be, struct backend_facts *facts)
{
	*facts = (struct backend_facts){
		.library = "null (calls return at once, no data are moved)",
		.device = "no device",
		.device_index = -1,
	};
}

static bool null_supports(struct backend *be, enum dtype dtype, enum redop op, char *why,
			  size_t len)
{
	return true;
}

static int null_comm_id(struct backend *be, unsigned char *id)
{
	memset(id, 0, COMM_ID_BYTES);
	return 0;
}

static int null_comm_open(struct backend *be, const struct comm_request *request)
{
	return 0;
}

static void null_comm_close(struct backend *be)
{
}

/* Reserves address space; pages are never touched. */
static int null_alloc(struct backend *be, size_t bytes, size_t used, void **ptr)
{
	*ptr = mmap(NULL, bytes ? bytes : 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    -1, 0);
	if (*ptr != MAP_FAILED)
		return 0;
	*ptr = NULL;
	return error_set(be->err, OUTCOME_USAGE, -ENOMEM, "no address space for %zu bytes", bytes);
}

static void null_release(struct backend *be, void *ptr, size_t bytes, size_t used)
{
	if (ptr)
		munmap(ptr, bytes ? bytes : 1);
}

static int null_fill(struct backend *be, void *ptr, const struct check_data *data, int rank,
		     uint64_t base, size_t count)
{
	return 0;
}

static int null_poison(struct backend *be, void *ptr, size_t bytes)
{
	return 0;
}

static int null_copy(struct backend *be, void *dst, const void *src, size_t bytes)
{
	return 0;
}

static int no_data(struct backend *be)
{
	return error_set(be->err, OUTCOME_INTERNAL, -ENOTSUP, "the null backend has no data");
}

static int null_fetch(struct backend *be, void *host, const void *src, size_t bytes)
{
	return no_data(be);
}

static int null_verify(struct backend *be, const void *recv, const struct segment *segments, int n,
		       const struct check_data *data, uint64_t base, struct verify_result *result)
{
	return no_data(be);
}

static int null_issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	return 0;
}

/* Begin and end of a group, and wait. */
static int null_nothing(struct backend *be)
{
	return 0;
}

const struct backend_ops backend_null = {
	.name = "null",
	.flags = BACKEND_FLAGS_NULL,
	.devices = null_devices,
	.open = null_open,
	.close = null_close,
	.facts = null_facts,
	.supports = null_supports,
	.comm_id = null_comm_id,
	.comm_open = null_comm_open,
	.comm_close = null_comm_close,
	.alloc = null_alloc,
	.release = null_release,
	.fill = null_fill,
	.poison = null_poison,
	.copy = null_copy,
	.store = null_copy,
	.fetch = null_fetch,
	.verify = null_verify,
	.issue = null_issue,
	.group_begin = null_nothing,
	.group_end = null_nothing,
	.wait = null_nothing,
};
