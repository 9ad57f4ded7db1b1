/* evidence_saved.h: three ranks, the last a call behind, and their evidence saved in a folder. */
#pragma once

#include "backend/call.h"
#include "answer/postmortem.h"
#include "evidence/evidence.h"
#include "record/recorder.h"
#include "evidence/saved.h"
#include "unit.h"
#include "process/watch.h"

#define RANKS 3

extern char saved_dir[UNIT_TEMP];
extern struct evidence saved, loaded;
extern struct error saved_err;

/* A rank that has made that many calls; the caller frees. */
struct record_memory *saved_memory(int rank, int calls);

void saved_set_up(void);

void saved_tear_down(void);

/* A file of that name in the folder, whatever was there. */
void saved_put(const char *name, const void *data, size_t bytes);

/* Reads the folder anew into `loaded`. */
int saved_load(void);

/* Rank 1's saved form, to be corrupted; the caller frees. */
struct saved_header *saved_image(size_t *bytes);
