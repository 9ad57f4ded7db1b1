/* input.h: schedules from what a command line names. */
#pragma once

#include "answer/answer.h"
#include "verify/schedule.h"

struct input {
	const char **paths;
	size_t n;
	bool log; /* they are logs */
};

/* Reads a text, a folder of evidence (several of one run) or of Flight Recorder dumps, or logs. `run`: the answer about the
 * run of which this is evidence; CLASS_OUTCOME and OUTCOME_OK of a text. 0, or a negative errno with the error set.
 * schedule_release() in either case. */
int input_read(const struct input *input, struct schedule *schedule, struct answer *run,
	       struct error *err);
