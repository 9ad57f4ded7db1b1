/* nccl_check.h: what a log comes to: its first failure, whether its rings are rational, all of it as text. */
#pragma once

#include "nccl_log/nccl_log.h"

enum nccl_class nccl_warning_class(const struct nccl_warning *warning);

/* The failure that explains the others, by class, then time, then place in the log; NULL: the log holds none. */
const struct nccl_warning *nccl_log_failure(const struct nccl_log *log);

/* Returns true if the log tells of a failure or a hang: a line of NCCL's, of PyTorch's watchdog, of ncclras, a traceback. */
bool nccl_log_failed(const struct nccl_log *log);

enum nccl_verdict { NCCL_RATIONAL, NCCL_IRRATIONAL, NCCL_CANNOT_SAY };

enum nccl_finding_kind {
	NCCL_FOUND,   /* why irrational */
	NCCL_MISSING, /* why it can't be said, or not in full */
	NCCL_NOTE     /* what looks odd and is none */
};

struct topo_system; /* topo.h */

struct nccl_finding {
	enum nccl_finding_kind kind;
	int channel;  /* the first one that has it */
	int channels; /* how many do */
	char *reason; /* one line */
};

struct nccl_lint {
	enum nccl_verdict verdict;
	struct nccl_finding *findings;
	int n_findings;
};

/* Checks if a communicator's rings are rational. `topo` (may be NULL) is every host's topology, in
 * place of the log's own graph lines. The caller releases the lint. */
void nccl_log_lint(const struct nccl_log *log, const struct nccl_comm *comm,
		   const struct topo_system *topo, struct nccl_lint *lint);
void nccl_lint_release(struct nccl_lint *lint);

/* "rational", "irrational", "cannot say" */
extern const char *const nccl_verdict_names[];

/* ---- text --------------------------------------------------------------------------------- */

/* The first failure with its meaning, then what follows from it; nothing where there is none. */
void nccl_log_print_failure(FILE *out, const struct nccl_log *log);
/* Where ranks wait in process groups, by PyTorch's watchdog. */
void nccl_log_print_hang(FILE *out, const struct nccl_log *log);
/* The traceback of the rank that ended first. */
void nccl_log_print_traceback(FILE *out, const struct nccl_log *log);
/* The rows of class slow: all that makes the run slower, by the table. */
void nccl_log_print_slow(FILE *out, const struct nccl_log *log);

/* NICs and networks of the hosts. */
void nccl_log_print_node(FILE *out, const struct nccl_log *log);

/* How many collectives ranks have enqueued, by lines of calls. */
void nccl_log_print_calls(FILE *out, const struct nccl_log *log);

/* The head of the log, its failure, then all of the following. */
void nccl_log_print(FILE *out, const struct nccl_log *log, const struct topo_system *topo);

/* The failure, or else where ranks wait, as a verdict (verdict.schema.json). */
void nccl_log_print_json(FILE *out, const struct nccl_log *log);

/* Rings of every communicator, equal channels merged:
 * "channels 00-23: 0 -P2P/CUMEM-> 1 -P2P/CUMEM-> 0". */
void nccl_log_print_rings(FILE *out, const struct nccl_log *log);
void nccl_log_print_lints(FILE *out, const struct nccl_log *log);
void nccl_log_print_warnings(FILE *out, const struct nccl_log *log);
