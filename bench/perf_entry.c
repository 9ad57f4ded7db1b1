/* perf_entry.c: main() of every *_perf program; the Makefile passes the collective. */
#include "perf_main.h"

extern const struct collective COLLECTIVE;

int main(int argc, char **argv)
{
	return perf_main(&COLLECTIVE, argc, argv);
}
