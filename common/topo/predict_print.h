/* predict_print.h: what topo_predict prints: tables, CSV, one derivation, vendor figures. */
#pragma once

#include <stdio.h>

#include "topo/model.h"

/* One row of CSV, and its header: topo, nodes, ranks, the point, the prediction and its terms. */
void predict_csv_header(FILE *out);
void predict_csv_row(FILE *out, const struct model *model, const struct predict_request *request,
		     const struct prediction *prediction);

/* One line of the table; the heading says what the columns are, and the nodes: the model's to
 * `most_nodes`; and the network, where it narrows, is shared or broken, or is to be explained. */
void predict_table_header(FILE *out, const struct model *model, int most_nodes, bool explain);
void predict_table_row(FILE *out, const struct model *model, const struct predict_request *request,
		       const struct prediction *prediction);

/* The derivation of one point, whose row was printed, with its numbers, and what every other
 * algorithm and protocol would give. `asked`: the user said which. */
void predict_explain(FILE *out, const struct model *model, const struct predict_request *request,
		     const struct prediction *prediction, bool asked);

/* The vendor figures of `path`, or of vendor_specs.csv beside the specs, all or those of a machine;
 * rows not verified are marked. 0 or -errno. */
int predict_vendor(FILE *out, const char *path, const struct topo_system *sys, struct error *err);
