/* sweep.c: walks types, operators, roots and sizes in nccl-tests' order. */
#include "measure/sweep.h"

/* A loop that does not apply to the collective has one step. */
void sweep_init(struct sweep *sweep, const struct options *options,
		const struct collective *collective, struct backend *backend, int nranks)
{
	bool reduces = collective->reduces, all = options->root < 0;

	*sweep = (struct sweep){
		.options = options,
		.collective = collective,
		.backend = backend,
		.nranks = nranks,
		.op_first = reduces ? options->op_first : OP_NONE,
		.op_last = reduces ? options->op_last : OP_NONE,
		.root_first = !collective->rooted ? -1
			      : all		  ? 0
						  : options->root,
		.root_last = !collective->rooted ? -1
			     : all		 ? nranks - 1
						 : options->root,
		.dtype = options->dtype_first,
	};
	sweep->op = sweep->op_first;
	sweep->root = sweep->root_first;
}

static bool supported(const struct sweep *sweep, char *why, size_t len)
{
	struct backend *be = sweep->backend;

	why[0] = '\0';
	return !be ||
	       be->ops->supports(be, (enum dtype)sweep->dtype, (enum redop)sweep->op, why, len);
}

/* Moves to the next (type, operator), supported or not. Returns false after the last. */
static bool next_pair(struct sweep *sweep)
{
	if (sweep->op < sweep->op_last) {
		sweep->op++;
		return true;
	}
	sweep->op = sweep->op_first;
	return ++sweep->dtype <= sweep->options->dtype_last;
}

static bool next_series(struct sweep *sweep)
{
	char why[128];
	bool more = sweep->dtype <= sweep->options->dtype_last;

	if (more && sweep->started && sweep->root < sweep->root_last) {
		sweep->root++;
		return true;
	}
	if (more && sweep->started)
		more = next_pair(sweep);
	while (more && !supported(sweep, why, sizeof(why)))
		more = next_pair(sweep);
	sweep->started = true;
	sweep->root = sweep->root_first;
	return more;
}

/* Returns the next size; 0 after the last. */
static size_t next_size(const struct options *options, size_t bytes)
{
	size_t factor = (size_t)options->step_factor, max = options->max_bytes;

	/* The end may be SIZE_MAX, so no size beyond it is computed. */
	if (factor > 1)
		return bytes > max / factor ? 0 : bytes * factor;
	if (options->step_bytes == 0 || bytes > max || options->step_bytes > max - bytes)
		return 0;
	return bytes + options->step_bytes;
}

bool sweep_next(struct sweep *sweep, struct point *point)
{
	const struct options *o = sweep->options;

	if (sweep->bytes && o->nsizes)
		sweep->bytes = ++sweep->at < o->nsizes ? o->sizes[sweep->at] : 0;
	else if (sweep->bytes)
		sweep->bytes = next_size(o, sweep->bytes);
	if (!sweep->bytes) {
		if (!next_series(sweep))
			return false;
		sweep->at = 0;
		sweep->bytes = o->nsizes ? o->sizes[0] : o->min_bytes;
	}
	*point = (struct point){
		.dtype = (enum dtype)sweep->dtype,
		.op = (enum redop)sweep->op,
		.root = sweep->root,
		.bytes = sweep->bytes,
	};
	return true;
}

/* Checks that some combination of type and operator is supported; `why`: the last is not. */
static bool any_supported(struct sweep cursor, char *why, size_t len)
{
	do
		if (supported(&cursor, why, len))
			return true;
	while (next_pair(&cursor));
	return false;
}

static int reject_unsupported(const struct sweep *sweep, const char *why, struct error *err)
{
	const struct options *o = sweep->options;
	const char *dtype =
		o->dtype_first == o->dtype_last ? dtype_name((enum dtype)o->dtype_first) : "all";
	const char *op = o->op_first == o->op_last ? redop_name((enum redop)o->op_first) : "all";
	bool reduces = sweep->collective->reduces;

	return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP, "-d %s%s%s: %s", dtype,
			 reduces ? " -o " : "", reduces ? op : "",
			 why[0] ? why : "this backend does not have it");
}

int sweep_check(const struct sweep *sweep, struct error *err)
{
	const struct collective *collective = sweep->collective;
	int n = sweep->nranks;
	char why[256];

	if (collective->rooted && sweep->options->root >= n)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "-r %d: must be a rank below %d, or all", sweep->options->root, n);
	if (collective->power_of_two && (n < 2 || (n & (n - 1))))
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "%s: needs 2, 4, 8 or another power of two of ranks, not %d",
				 collective->name, n);
	if (!any_supported(*sweep, why, sizeof(why)))
		return reject_unsupported(sweep, why, err);
	return 0;
}
