/* model_bars.c: how far measurements lay from predictions: the 90 % interval by class of machine,
 * collective and size. */
#include "topo/model_parts.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

const char *model_class(const struct model *model, int algo)
{
	static const char *const names[2][2] = { { "node-other", "node-hopper" },
						 { "network-other", "network-hopper" } };
	const struct topo_system *sys = model->sys;
	const struct topo_layout *l = &sys->layout;
	bool far = model->nnodes > 1, hopper = model_arch(model) == MODEL_HOPPER;

	if (topo_is_host(sys) || model->constants.nbars == 0 ||
	    (model->ppn > 1 && model->hop != MODEL_HOP_NVLINK) ||
	    (far && sys->transport != TOPO_IB && sys->transport != TOPO_ROCE) ||
	    l->failed_nic > 0 || l->slow_node > 0 || l->half_nvlink || l->beside > 0 || l->no_gdr ||
	    l->far_nic || sys->oversubscription > 1)
		return "";
	if (algo == MODEL_NVLS)
		return "node-nvls";
	return !far && hopper && model->constants.calibrated ? "node-hopper-live"
							     : names[far][hopper];
}

void model_bar(const struct model *model, const struct predict_request *request,
	       struct prediction *out)
{
	int sizes = request->bytes < 1 << 20 ? 0 : request->bytes <= 64 << 20 ? 1 : 2;
	const char *name = model_class(model, out->algo);

	out->bar = NULL;
	out->low_busbw = out->high_busbw = NAN;
	for (int i = 0; i < model->constants.nbars; i++) {
		const struct model_bar *bar = &model->constants.bar[i];

		if (bar->coll != (int)request->collective || bar->sizes != sizes ||
		    strcmp(bar->name, name) != 0)
			continue;
		out->bar = bar;
		out->low_busbw = out->busbw * bar->low;
		out->high_busbw = out->busbw * bar->high;
	}
}

int model_read_bars(struct model_constants *constants, json_t *json)
{
	json_t *bars = json_object_get(json, "bars"), *row;
	size_t i;

	if ((bars != NULL && !json_is_array(bars)) || json_array_size(bars) > MODEL_BARS)
		return -EINVAL;
	json_array_foreach(bars, i, row)
	{
		struct model_bar *bar = &constants->bar[i];
		const char *name, *coll;

		if (json_unpack(row, "{s:s, s:s, s:i, s:F, s:F, s:i, s:i}", "class", &name,
				"collective", &coll, "sizes", &bar->sizes, "low", &bar->low, "high",
				&bar->high, "points", &bar->points, "sources", &bar->sources) != 0)
			return -EINVAL;
		bar->coll = model_find(model_coll_names, MODEL_COLLS, coll);
		snprintf(bar->name, sizeof(bar->name), "%s", name);
		if (bar->coll < 0 || !(bar->low > 0 && bar->low <= bar->high && bar->high < 1e3))
			return -EINVAL;
	}
	constants->nbars = (int)json_array_size(bars);
	return 0;
}
