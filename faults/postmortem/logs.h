/* logs.h: NCCL's own logs in an evidence folder (nccl-*.log), as the post-mortem shows them. */
#pragma once

#define LOGS_MOST  1024	     /* that many logs are read */
#define LOGS_BYTES (1 << 28) /* larger ones are passed over */

/* Sections of a Markdown page: rings with their transports, whether they are rational, the calls
 * of all ranks compared, warnings; or (`rings`) the first alone. What cannot be read is passed over, and counted. Returns how
 * many logs there were; with 0 nothing is printed. */
int logs_print(FILE *out, const char *dir, bool rings);
