/* fuzz_nccl_log.c: libFuzzer over the NCCL log reader and everything that looks at what it read. */

#include "nccl_check/nccl_check.h"
#include "rig/nccl_log_memory.h"
#include "topo/topo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads pieces that end at a byte of 1, each as a log of its own. */
static void read_pieces(struct nccl_log *log, const char *text, size_t size, int rank)
{
	for (size_t n = 0; size > 0; text += n, size -= n) {
		const char *end = memchr(text, 1, size);

		n = end ? (size_t)(end - text) + 1 : size;
		nccl_log_read(log, text, n, rank);
	}
}

/* The input is logs; what stands before a NUL in it, if any, is a topology file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *null;
	static struct topo_system topo;
	struct error err = { .rank = -1 };
	const char *text = (const char *)data;
	struct nccl_log log;
	size_t xml = 0;

	if (!null)
		null = fopen("/dev/null", "w");
	while (xml < size && data[xml])
		xml++;
	if (xml == size)
		xml = 0;
	if (!null)
		abort();
	nccl_log_init(&log);
	read_pieces(&log, text + xml, size - xml, size & 1 ? 2 : -1);
	nccl_log_finish(&log);
	if (xml > 0 && topo_parse_xml(&topo, text, xml, "topology", &err) == 0)
		nccl_log_print(null, &log, &topo);
	nccl_log_print(null, &log, NULL);
	nccl_log_release(&log);
	return 0;
}
