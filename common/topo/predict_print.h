/* predict_print.h: what topo_predict prints: tables, CSV, one derivation, vendor figures. */
#ifndef HANGAR_PREDICT_PRINT_H
#define HANGAR_PREDICT_PRINT_H

#include <stdio.h>

#include "model.h"

/* One row of CSV, and its header: topo, nodes, ranks, the point, the prediction and its terms. */
void predict_csv_header(FILE *out);
void predict_csv_row(FILE *out, const struct model *model, const struct predict_request *request,
		     const struct prediction *prediction);

/* One line of the table; the heading says what the columns are. */
void predict_table_header(FILE *out, const struct model *model);
void predict_table_row(FILE *out, const struct model *model, const struct predict_request *request,
		       const struct prediction *prediction);

/* The derivation of one point, with its numbers, and what every other algorithm and protocol would
 * give. */
void predict_explain(FILE *out, const struct model *model, const struct predict_request *request,
		     const struct prediction *prediction);

/* The vendor figures of `path`, or of vendor_specs.csv beside the specs; rows not verified are
 * marked. 0 or -errno. */
int predict_vendor(FILE *out, const char *path, struct error *err);

#endif
