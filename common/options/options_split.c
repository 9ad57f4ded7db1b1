/* options_split.c: which group of ranks a rank belongs to (NCCL_TESTS_SPLIT). */
#include "options/options.h"

int options_color(const struct options *options, int rank)
{
	unsigned long value = options->split_value, r = (unsigned long)rank;

	switch (options->split_kind) {
	case SPLIT_AND:
		return (int)(r & value);
	case SPLIT_OR:
		return (int)(r | value);
	case SPLIT_MOD:
		return value ? (int)(r % value) : 0;
	case SPLIT_DIV:
		return value ? (int)(r / value) : 0;
	case SPLIT_NONE:
		break;
	}
	return 0;
}
