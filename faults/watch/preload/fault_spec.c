/* fault_spec.c: the text of a fault, and whether a call is the one. */
#include "preload/fault_spec.h"

#include "base/keys.h"
#include "base/parse.h"

/* As enum preload_fault has them. */
static const char names[] = "skip-call late slow-rank pause-rotating host-contend count dtype "
			    "redop root extra-call gpu-late corrupt "
			    "error exit kill stop crash init-late init-rank init-size";

/* Unless a value is given. */
static const double values[PRELOAD_FAULTS] = { [PRELOAD_LATE] = 5,
					       [PRELOAD_GPU] = 5,
					       [PRELOAD_WRONG] = 16,
					       [PRELOAD_ERROR] = 2,
					       [PRELOAD_INIT_LATE] = 5 };

/* Faults of hangar's own programs that no other program gets, and why. */
static const char *const refused[][2] = {
	{ "count-larger", "would write past the program's buffers" },
	{ "dtype-wider", "would write past the program's buffers" },
	{ "corrupt-input", "would change the program's own data" },
	{ "swap", "would hand the program results that are not NCCL's" },
	{ "abort-comm", "would leave the program with a communicator that is gone" },
	{ "slow-link",
	  "is out of reach in NCCL: faults/inject/netns slow, between hosts of namespaces" },
	{ "gpu-contend", "needs a kernel of its own: the programs of hangar have one" },
};

const char *fault_spec_names(void)
{
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

static bool is_slow(enum preload_fault fault)
{
	return fault >= PRELOAD_SLOW && fault <= PRELOAD_CONTEND;
}

/* A key of a slow fault, ",by=10%". */
static bool take_key(struct fault_spec *spec, const char *text, size_t len)
{
	char key[16] = "", value[32] = "", kinds[64];

	if (!is_slow(spec->fault) || len >= sizeof(key) + sizeof(value) ||
	    sscanf(text, ",%15[^=,]=%31[^,]", key, value) != 2 ||
	    !keys_values(slowdown_keys(spec->slow.kind), key, kinds, sizeof(kinds)) ||
	    keys_refused(kinds, value))
		return false;
	slowdown_take(&spec->slow, key, value);
	return true;
}

/* One of ",comm=NAME", ",size=N", ",order=K", ",kind=NAME", ",value=V", or a key of the fault. Returns its end, NULL:
 * it is none. */
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
	return take_key(spec, text, len) ? text + len : NULL;
}

/* Keys of each slow fault, for the end of a sentence. */
static const char *slow_refusal(enum slowdown_kind kind)
{
	static char text[160];

	snprintf(text, sizeof(text), "takes comm=, size=, order=, kind= and %s",
		 slowdown_keys(kind));
	return text;
}

/* "slow" has a value=, in seconds, and is slow-rank. */
static void slow_init(struct fault_spec *spec, const char *name)
{
	int kind = slowdown_find(name);

	slowdown_init(&spec->slow, kind < 0 ? SLOW_RANK : (enum slowdown_kind)kind);
	spec->value = kind < 0 ? 0.01 : -1;
}

const char *fault_spec_parse(struct fault_spec *spec, const char *text)
{
	int end = (int)strcspn(text, ":@"), fault;
	char name[32];

	snprintf(name, sizeof(name), "%.*s", end, text);
	text += end;
	for (size_t i = 0; i < LENGTH(refused); i++)
		if (strcmp(refused[i][0], name) == 0)
			return refused[i][1];
	fault = strcmp(name, "slow") == 0 ? PRELOAD_SLOW : names_find(names, name);
	if (fault < 0)
		return "is none of the faults that there are";
	*spec = (struct fault_spec){
		.fault = (enum preload_fault)fault, .order = -1, .kind = -1, .value = values[fault]
	};
	if (is_slow(spec->fault))
		slow_init(spec, name);
	if (fault == PRELOAD_PAUSE && sscanf(text, "@%lu%n", &spec->call, &end) == 1)
		spec->rank = -1;
	else if (sscanf(text, ":%d@%lu%n", &spec->rank, &spec->call, &end) != 2 || spec->rank < 0)
		spec->call = 0;
	if (spec->call == 0)
		return "needs a rank and the number of a call: NAME:RANK@CALL";
	for (text += end; text && *text;)
		text = take_option(spec, text);
	if (text && is_slow(spec->fault) && spec->value >= 0)
		spec->slow.share = 0, spec->slow.seconds = spec->value;
	return text ? NULL
	       : is_slow(spec->fault)
		       ? slow_refusal(spec->slow.kind)
		       : "has more behind it than comm=, size=, order=, kind= or value=";
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

	return (place->rank == spec->rank || spec->rank < 0) && changes(spec->fault, place->kind) &&
	       (!spec->name[0] || strcmp(spec->name, place->name) == 0) &&
	       (spec->order < 0 || spec->order == place->order) &&
	       (spec->size == 0 || spec->size == place->size) &&
	       (spec->kind < 0 || spec->kind == place->kind) &&
	       (n == spec->call || (is_slow(spec->fault) && n > spec->call)) &&
	       (!is_slow(spec->fault) || slowdown_due(&spec->slow, n - spec->call, 1, place->rank,
						      place->size > 0 ? place->size : 1));
}
