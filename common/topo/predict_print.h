/* predict_print.h: what topo_predict prints: tables, CSV, one derivation, vendor figures. */
#pragma once

#include <stdio.h>

#include "topo/model.h"

/* One row of CSV, and its header: topo, nodes, ranks, the point, the prediction and its terms. */
void predict_csv_header(FILE *out);
void predict_csv_row(FILE *out, const struct model *model, const struct predict_request *request,
		     const struct prediction *prediction);

/* One line of the table; the heading says what the columns are, and the nodes: the model's to
 * `most_nodes`. */
void predict_table_header(FILE *out, const struct model *model, int most_nodes);
void predict_table_row(FILE *out, const struct model *model, const struct predict_request *request,
		       const struct prediction *prediction);

/* A remark where the oversubscription that was asked for has no effect on so many nodes. */
void predict_oversubscription(FILE *out, const struct model *model, int most_nodes);

/* The derivation of one point, whose row was printed, with its numbers, and what every other
 * algorithm and protocol would give. `asked`: the user said which. */
void predict_explain(FILE *out, const struct model *model, const struct predict_request *request,
		     const struct prediction *prediction, bool asked);

/* The vendor figures of `path`, or of vendor_specs.csv beside the specs, all or those of a machine;
 * rows not verified are marked. 0 or -errno. */
int predict_vendor(FILE *out, const char *path, const struct topo_system *sys, struct error *err);
