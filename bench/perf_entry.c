/* perf_entry.c: main() of every *_perf program; the Makefile passes the collective, a row of collectives.h. */
#include "perf_main.h"

PROGRAMS_BESIDE(COLLECTIVE_DECLARE)

int main(int argc, char **argv)
{
	return perf_main(&COLLECTIVE, argc, argv);
}
