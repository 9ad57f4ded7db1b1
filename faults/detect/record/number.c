/* number.c: numbers of ranks that a program has given twice. */
#include "record/record.h"

#define RANKS_MOST (1 << 18)

void record_number_ranks(struct record_memory *const *memories, size_t n)
{
	int32_t next = 0;

	for (size_t i = 0; i < n; i++) {
		const struct record_memory *r = memories[i];

		next = r->header.nranks > next ? r->header.nranks : next;
		if (r->header.rank >= next && r->header.rank < RANKS_MOST)
			next = r->header.rank + 1;
		next = r->program.number > next ? r->program.number : next;
	}
	for (size_t i = 0; i < n; i++) {
		int32_t rank = memories[i]->header.rank, *number = &memories[i]->program.number;
		bool taken = false;

		for (size_t k = 0; k < i && rank >= 0; k++)
			taken |= memories[k]->header.rank == rank;
		if (taken && !*number && next < RANKS_MOST) {
			*number = ++next;
			printf("# pid %d has the number of another rank, %d: it is rank %d here\n",
			       memories[i]->header.pid, rank, next - 1);
			fflush(stdout);
		}
		*number = taken ? *number : 0;
	}
}
