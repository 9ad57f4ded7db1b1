/* fuzz_ras.c: libFuzzer harness: what NCCL RAS answered, whatever its bytes, as a diagnosis' line. */

#include "evidence/evidence.h"
#include "probe/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct evidence_rank ranks[4] = { { .present = true, .view.pid = 100 },
					  { .present = true, .view.pid = 101 },
					  { .present = false } };
	struct evidence evidence = { .nranks = 4, .ranks = ranks };
	char line[256], *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	evidence_clean(text);
	if (!ras_compare(text, &evidence, "1", line, sizeof(line)) || strlen(line) == 0)
		abort();
	free(text);
	return 0;
}
