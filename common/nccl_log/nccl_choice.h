/* nccl_choice.h: how NCCL carried out calls, from the lines that its log has for them. */
#pragma once

/* The calls of a log agree in this. */
struct nccl_choice {
	const char *algo,
		*proto; /* string constants, of model_algo_names and model_proto_names; NULL
				   * where the calls differ, or the name is none that the model has */
	int channels;	/* that took part, over all the calls; -1: not known */
};

/* Read the log of some calls on one communicator, written at level INFO with subsystems COLL and
 * TUNING by rank 0 (NCCL 2.25 to 2.30). 0, or -ENODATA when no line says anything (`choice` is left
 * alone). */
int nccl_choice_read(struct nccl_choice *choice, const char *log, size_t len);
