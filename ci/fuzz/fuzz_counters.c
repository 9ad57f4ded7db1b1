/* fuzz_counters.c: libFuzzer harness: rank-N.counters.json, whatever its bytes, through reader,
 * lines, report and post-mortem; what was read is written, and read again, as it was. */

#include "evidence/evidence.h"
#include "answer/counter_delta.h"
#include "probe/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show(const struct evidence *evidence)
{
	struct answer diagnosis = { .nlines = 0 };
	static FILE *nowhere;

	if (!nowhere)
		nowhere = fopen("/dev/null", "w");
	counter_delta_note(evidence, &diagnosis);
	if (!nowhere || diagnosis.nnotes > 1)
		abort();
	counter_delta_print(nowhere, evidence, false);
	counter_delta_print(nowhere, evidence, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct evidence_rank rank = { .present = true };
	struct evidence evidence = { .nranks = 1, .ranks = &rank };
	char *text = malloc(size + 1), *first = NULL, *again = NULL;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (evidence_parse_counters(&rank, text)) {
		show(&evidence);
		first = evidence_counters_text(&rank);
		if (!first || !evidence_parse_counters(&rank, first))
			abort();
		again = evidence_counters_text(&rank);
		if (!again || strcmp(first, again) != 0)
			abort();
	}
	free(text);
	free(first);
	free(again);
	evidence_rank_release(&rank);
	return 0;
}
