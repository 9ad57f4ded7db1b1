/* host.h: what the host's evidence shows of a rank's process. */
#pragma once

#include "diagnose/diagnose.h"

/* CLASS_BLOCKED or CLASS_BUSY where it shows so a rank whose call is missing, else `idle`. */
enum diagnosis_class host_class(const struct evidence_rank *rank, enum diagnosis_class idle);

/* Of several culprits: the class that they share, else `mixed`. `so_far`: CLASS_OUTCOME for none yet. */
enum diagnosis_class shared_class(enum diagnosis_class so_far, enum diagnosis_class one,
				  enum diagnosis_class mixed);

bool is_stopped(const struct evidence_rank *rank);
