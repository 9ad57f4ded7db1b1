/* fuzz_topo_xml.c: libFuzzer over the readers of topologies (XML, nvidia-smi's table) and the predictions made from what it
 * read. */

#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Whatever was accepted must give finite predictions that no ceiling contradicts. */
static void predict_all(const struct topo_system *sys, const struct model_constants *constants)
{
	static struct model model;

	model_init(&model, sys, constants, false);
	for (int nodes = 1; nodes <= 4; nodes += 3) {
		model_scale(&model, nodes);
		for (int coll = 0; coll < MODEL_COLLS; coll++) {
			struct predict_request request = { .collective = (enum model_coll)coll,
							   .bytes = 1 << 20,
							   .algo = -1,
							   .proto = -1 };
			struct prediction p;

			if (model_predict(&model, &request, &p) == 0 &&
			    !(isfinite(p.time_us) && p.time_us > 0 &&
			      p.busbw <= p.ceiling_busbw * 1.0001))
				abort();
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct topo_system sys;
	static struct model_constants constants;
	static char text[1 << 16];
	struct error err = { .outcome = OUTCOME_OK };
	struct topo_change change = { .nnodes = 2, .nic_gbps = 400 };
	bool xml = size > 0 && data[0] == '<';
	int rc;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	model_physical(&constants);
	rc = xml ? topo_parse_xml(&sys, text, size, "topology", &err)
		 : topo_parse_smi(&sys, text, "topology", &err);
	if (rc == 0 && size % 2 == 0)
		change.gpu = "H100";
	if (rc == 0 && topo_reshape(&sys, &change, &err) == 0)
		predict_all(&sys, &constants);
	else if (err.code == 0)
		abort();
	return 0;
}
