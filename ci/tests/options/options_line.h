/* options_line.h: command lines and environments as one string each, for the option parser. */
#pragma once

#include "options/options.h"
#include "base/dtype.h"
#include "rig/unit.h"

/* Rows leave out fields that are NULL. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static const struct option_target all_reduce = { .name = "all_reduce", .reduces = true };
static const struct option_target all_gather = { .name = "all_gather" };
static const struct option_target broadcast = { .name = "broadcast", .rooted = true };
static const struct option_target reduce = { .name = "reduce", .reduces = true, .rooted = true };
static const struct option_target alltoallv = { .name = "alltoallv", .irregular = true };
static const struct option_target p2p_matrix = { .name = "p2p_matrix" };
static const struct option_target step = { .name = "step", .irregular = true };

/* Parses "a b ''": words split at blanks, '' is the empty one. `buf` outlives the options. */
int line_parse(struct options *options, const struct option_target *collective, const char *line,
	       char *buf, size_t len, struct error *err);

/* Sets or removes "NAME=value;NAME=value" in the environment. */
void line_environment(const char *list, bool set);

/* unit_main in a clean environment. */
int options_main(void);
