/* launch_parts.h: shared by the two kinds of bare start. Internal to process/launch*. */
#pragma once

#include "process/launch.h"
#include "process/leftovers.h"

/* Opens a folder of a new run, whose key children inherit. Slurm's variables are forgotten. Returns 0 or a negative errno. */
int launch_open_run(struct run_folder *folder, struct error *err);
void launch_forget_slurm(void);

/* A run of which nothing runs. */
struct held {
	uint64_t since_ns, looked_ns; /* since 0: something runs */
	bool printed;
};

/* Returns the seconds for which nothing of the run has run; 0: something does. `mpirun`: 0 for none. */
double launch_look_for_held(struct held *held, pid_t mpirun, const struct run_folder *folder);
