/* fuzz_topo_xml.c: libFuzzer over the topology XML reader and the predictions made from what it
 * read. */

#include "topo/model.h"

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
	struct error err = { .outcome = OUTCOME_OK };

	model_physical(&constants);
	if (topo_parse_xml(&sys, (const char *)data, size, "topology", &err) == 0 &&
	    topo_check(&sys, &err) == 0)
		predict_all(&sys, &constants);
	else if (err.code == 0)
		abort();
	return 0;
}
