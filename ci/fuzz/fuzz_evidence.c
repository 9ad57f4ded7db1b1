/* fuzz_evidence.c: libFuzzer harness: the saved form of some ranks, whatever its bytes, through
 * reader, rules and report.
 *
 * The input is what `ci/fuzz/seeds` packs: for each rank, in order, 4 bytes of length (little
 * endian) and so many bytes of rank-N.fr; what is cut off is what a cut file would be. */

#include "find/find.h"
#include "answer/postmortem.h"
#include "evidence/evidence.h"
#include "evidence/saved.h"

#define RANKS 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every record that was taken is one that the contract promises. */
static void check_calls(const struct evidence_rank *rank)
{
	uint64_t ticket = 0;

	for (size_t i = 0; i < rank->ncalls; i++) {
		if (rank->calls[i].ticket <= ticket || rank->calls[i].comm >= RECORD_COMMS)
			abort();
		ticket = rank->calls[i].ticket;
	}
}

static void report(const struct evidence *evidence)
{
	static FILE *nowhere;
	struct answer diagnosis;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	find_answer(evidence, NULL, &diagnosis);
	if ((unsigned)diagnosis.class >= CLASS_COUNT ||
	    (unsigned)diagnosis.confidence > CONFIDENCE_PROVED || diagnosis.nnotes > ANSWER_NOTES ||
	    strlen(diagnosis.ranks) >= sizeof(diagnosis.ranks))
		abort();
	if (nowhere)
		answer_print_whole(nowhere, &diagnosis, evidence, "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct evidence evidence = { .nranks = RANKS };
	int n = 0;

	evidence.ranks = calloc(RANKS, sizeof(*evidence.ranks));
	if (!evidence.ranks)
		return 0;
	while (size >= 4 && n < RANKS) {
		uint32_t bytes;

		memcpy(&bytes, data, 4);
		data += 4;
		size -= 4;
		bytes = bytes < size ? bytes : (uint32_t)size;
		if (evidence_take_saved(&evidence.ranks[n], n, data, bytes) == 0)
			check_calls(&evidence.ranks[n]);
		data += bytes;
		size -= bytes;
		n++;
	}
	evidence.nranks = n;
	if (n > 0)
		report(&evidence);
	evidence.nranks = RANKS;
	evidence_release(&evidence);
	return 0;
}
