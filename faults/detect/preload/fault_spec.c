/* fault_spec.c: the text of a fault, and whether a call is the one. */
#include "preload/fault_spec.h"

static const struct {
	const char *name;
	double value; /* unless one is given */
	const char *refused;
} faults[] = {
	[PRELOAD_SKIP] = { "skip-call", 0, NULL },
	[PRELOAD_LATE] = { "late", 5, NULL },
	[PRELOAD_SLOW] = { "slow", 0.01, NULL },
	[PRELOAD_COUNT] = { "count", 0, NULL },
	[PRELOAD_DTYPE] = { "dtype", 0, NULL },
	[PRELOAD_REDOP] = { "redop", 0, NULL },
	[PRELOAD_ROOT] = { "root", 0, NULL },
	[PRELOAD_EXTRA] = { "extra-call", 0, NULL },
	[PRELOAD_GPU] = { "gpu-late", 5, NULL },
	[PRELOAD_WRONG] = { "corrupt", 16, NULL },
	[PRELOAD_ERROR] = { "error", 2, NULL },
	[PRELOAD_EXIT] = { "exit", 0, NULL },
	[PRELOAD_KILL] = { "kill", 0, NULL },
	[PRELOAD_STOP] = { "stop", 0, NULL },
	[PRELOAD_CRASH] = { "crash", 0, NULL },
	[PRELOAD_INIT_LATE] = { "init-late", 5, NULL },
	[PRELOAD_INIT_RANK] = { "init-rank", 0, NULL },
	[PRELOAD_INIT_SIZE] = { "init-size", 0, NULL },
	{ "count-larger", 0, "would write past the program's buffers" },
	{ "dtype-wider", 0, "would write past the program's buffers" },
	{ "corrupt-input", 0, "would change the program's own data" },
	{ "swap", 0, "would hand the program results that are not NCCL's" },
	{ "abort-comm", 0, "would leave the program with a communicator that is gone" },
};

const char *fault_spec_names(void)
{
	static char names[256];

	for (size_t i = 0, at = 0; i < PRELOAD_FAULTS && !(at == 0 && names[0]); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? " " : "",
				       faults[i].name);
	return names;
}

/* "AllReduce", "allreduce" or "all_reduce". */
static int kind_of(const char *name, size_t len)
{
	for (int kind = 0; kind < CALL_KIND_COUNT; kind++) {
		const char *own = call_kind_name(kind);
		size_t i = 0;

		for (; i < len && (name[i] == '_' || tolower(name[i]) == tolower(*own)); i++)
			own += name[i] != '_';
		if (i == len && !*own)
			return kind;
	}
	return -1;
}

/* One of ",comm=NAME", ",size=N", ",order=K", ",kind=NAME", ",value=V". Returns its end, NULL: it
 * is none. */
static const char *take_option(struct fault_spec *spec, const char *text)
{
	size_t len = strcspn(text + 1, ",") + 1;
	int end = 0;

	if (strncmp(text, ",kind=", 6) == 0)
		return (spec->kind = kind_of(text + 6, len - 6)) < 0 ? NULL : text + len;
	if ((sscanf(text, ",comm=%31[^,]%n", spec->name, &end) == 1 ||
	     sscanf(text, ",size=%d%n", &spec->size, &end) == 1 ||
	     sscanf(text, ",order=%d%n", &spec->order, &end) == 1 ||
	     sscanf(text, ",value=%lf%n", &spec->value, &end) == 1) &&
	    (size_t)end == len)
		return text + len;
	return NULL;
}

const char *fault_spec_parse(struct fault_spec *spec, const char *text)
{
	size_t name = strcspn(text, ":"), i = 0;
	int end = 0;

	while (i < sizeof(faults) / sizeof(faults[0]) &&
	       (strlen(faults[i].name) != name || strncmp(faults[i].name, text, name) != 0))
		i++;
	if (i == sizeof(faults) / sizeof(faults[0]))
		return "is none of the faults that there are";
	if (faults[i].refused)
		return faults[i].refused;
	*spec = (struct fault_spec){
		.fault = i, .order = -1, .kind = -1, .value = faults[i].value
	};
	if (sscanf(text + name, ":%d@%" SCNu64 "%n", &spec->rank, &spec->call, &end) != 2 ||
	    spec->rank < 0 || spec->call == 0)
		return "needs a rank and the number of a call: NAME:RANK@CALL";
	for (text += name + end; text && *text;)
		text = take_option(spec, text);
	return text ? NULL : "has more behind it than comm=, size=, order=, kind= or value=";
}

static bool changes(enum preload_fault fault, int kind)
{
	bool reduces =
		     kind == CALL_ALL_REDUCE || kind == CALL_REDUCE_SCATTER || kind == CALL_REDUCE,
	     rooted = kind == CALL_REDUCE || kind == CALL_BROADCAST || kind == CALL_GATHER ||
		      kind == CALL_SCATTER || call_is_pair(kind);

	if (fault >= PRELOAD_INIT_LATE)
		return kind < 0;
	return kind >= 0 && (fault != PRELOAD_REDOP || reduces) &&
	       (fault != PRELOAD_ROOT || rooted) && (fault != PRELOAD_WRONG || kind != CALL_SEND);
}

bool fault_spec_hits(const struct fault_spec *spec, const struct fault_place *place)
{
	uint64_t n = spec->kind >= 0 ? place->nth_kind : place->nth;

	return place->rank == spec->rank && changes(spec->fault, place->kind) &&
	       (!spec->name[0] || strcmp(spec->name, place->name) == 0) &&
	       (spec->order < 0 || spec->order == place->order) &&
	       (spec->size == 0 || spec->size == place->size) &&
	       (spec->kind < 0 || spec->kind == place->kind) &&
	       (n == spec->call || (spec->fault == PRELOAD_SLOW && n > spec->call));
}
