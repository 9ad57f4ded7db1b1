/* against.h: a table that nccl-tests or one of our programs printed, beside the prediction of a machine. */
#pragma once

#include "topo/model.h"

enum { AGAINST_ROWS = 128 };

struct against {
	int nrows;
	double bytes[AGAINST_ROWS];
	double time_us[AGAINST_ROWS],
		busbw[AGAINST_ROWS]; /* GB/s; the faster of out of place and in place */
	int nranks, nhosts;	     /* as its lines of ranks say; 0: it has none */
	int collective;		     /* enum model_coll by the program's name in it, -1: not said */
	int left_out;		     /* rows beyond AGAINST_ROWS */
};

/* Reads a table; lines may have a prefix of mpirun, srun or a log. 0 or -errno with the error set: the file cannot be
 * read, or has no row. */
int against_read(struct against *table, const char *path, struct error *err);

/* The same of a text. Returns how many rows there are. */
int against_parse(struct against *table, const char *text);

/* Takes the nodes and GPUs that the table lists, where the user named none. */
void against_fit(const struct against *table, const struct topo_system *sys,
		 struct topo_change *change, int *nodes);

/* Prints each row beside its prediction. `colls`: the user's collective as a bit, 0: the table's, else all_reduce.
 * 0 or -errno with the error set: nothing can be predicted. */
int against_show(const struct against *table, const struct model *model, unsigned colls,
		 const struct predict_request *request, struct error *err);
