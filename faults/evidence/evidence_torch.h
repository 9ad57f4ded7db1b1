/* evidence_torch.h: dumps of PyTorch's Flight Recorder as evidence of a job that died without us. A process
 * group is a communicator; a rank with a call that had not completed waits too long. Reduction operator,
 * root, stream and how the process was are not recorded: alike on all ranks here, and remarked. */
#pragma once

#include "evidence/evidence.h"

/* Read the dumps in `dir`: files of any name that ends with the rank, as pickle or JSON, which python3 and
 * torch_dumps.py decode as data. 0, or a negative errno with the error set: OUTCOME_USAGE where there is
 * no dump, or of several jobs, OUTCOME_UNSUPPORTED without python3. evidence_release in either case. */
int evidence_load_torch(struct evidence *evidence, const char *dir, struct error *err);
