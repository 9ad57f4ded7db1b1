/* output.h: did what was written arrive? Disks fill up, and streams say so late. */
#pragma once

#include "base/error.h"

/* Closes `f`. 0 when all that was written to it arrived, else a negative errno: -ENOSPC on a full
 * disk. Where an earlier write failed, and closing does not, it is what errno says at the call: the
 * writes come right before it. */
int output_close(FILE *f);

/* Flushes standard output. 0, or a negative errno with the error set (OUTCOME_INTERNAL) when
 * anything that was printed did not arrive; why, as above. */
int output_stdout(struct error *err);

/* Write a file whole or not at all, whoever else does at the same time: under another name in its
 * folder, then renamed. What was there is replaced. 0 or a negative errno. */
int output_whole(const char *path, const void *data, size_t bytes);

/* From now on the end of this process, by exit() or from main(), asks output_stdout(): a failure is
 * told on standard error, in the name of `program`, and turns the exit code into 1. */
void output_guard(const char *program);

/* Could a line be written to standard output by another process that would not tell of a failure?
 * 0, or a negative errno with the error set: it is closed, or its disk is full. Writes nothing. */
int output_room(struct error *err);
