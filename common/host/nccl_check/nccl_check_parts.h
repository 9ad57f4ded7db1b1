/* nccl_check_parts.h: what the files of this room share. Internal to nccl_check. */
#pragma once

#include "nccl_check/nccl_check.h"
#include "nccl_log/nccl_log_raw.h"

#define COMPARES "  hang_diagnose --log FILE... compares the ranks' calls\n"

/* nccl_log_print.c: "ranks 0-3,7" of n numbers, which it sorts, after `lead`; nothing where n is 0. */
void nccl_print_ranks(FILE *out, const char *lead, int *ranks, int n);

/* nccl_failure.c: "rank 1 on nodea (GPU 0)", or the process where no line says a rank. */
void nccl_print_origin(FILE *out, const struct nccl_origin *origin);

/* nccl_check_ras.c: what ncclras says of ranks: those without an answer first. */
void nccl_print_ras(FILE *out, const struct nccl_log *log);

/* nccl_check_node.c: the rings of a communicator against what its nodes have (steps_known: lines tell of all steps). */
void nccl_lint_node(const struct nccl_log *log, const struct nccl_comm *comm, bool steps_known,
		    struct nccl_lint *out);

/* nccl_check_node.c: returns true if a setting turns P2P between GPUs off. */
bool nccl_p2p_is_off(const struct nccl_log *log);

/* nccl_log_lint.c: a finding, on a channel's ring (-1: on none). The same line for several channels is kept once. */
void nccl_lint_add(struct nccl_lint *out, enum nccl_finding_kind kind, int channel,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));
