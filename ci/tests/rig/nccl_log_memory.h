/* nccl_log_memory.h: a log that is in memory, read as a file is. */
#pragma once

#include "nccl_log/nccl_log.h"

void nccl_log_read(struct nccl_log *log, const char *data, size_t len, int rank_hint);
