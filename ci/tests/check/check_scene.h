/* check_scene.h: one finished call on host memory, correct until a test corrupts it, and its check. */
#pragma once

#include "backend/check_call.h"
#include "check/check_plan.h"
#include "rig/check_corrupt.h"
#include "rig/unit.h"

extern int scene_fetches_left; /* fetches until one fails; -1: all succeed */
extern struct backend scene_backend;

int scene_fetch(struct backend *be, void *host, const void *src, size_t bytes);

#define COUNT 3000
#define BASE  8192 /* elements before the send buffer: more than a guard of any type */

struct scene {
	struct check_data data;
	struct segment segments[4];
	struct check_place place;
	size_t width;
	char *pool, *area, *send, *recv;
};

/* Fills the receive buffer with correct results. */
void scene_right_results(struct scene *s);

void scene_init(struct scene *s, enum dtype type, enum redop op, int nranks,
		const struct segment *segments, int n);

void scene_reduce(struct scene *s, enum dtype type, enum redop op, int nranks);

/* An all-gather of three ranks, moved data. */
void scene_gather(struct scene *s, enum dtype type);

void scene_release(struct scene *s);

struct check_report scene_checked(struct scene *s);

/* Corrupts [at, at + count) of the buffer; returns what changed, and its first element. */
int scene_corrupt(struct scene *s, enum wrong_kind kind, int culprit, size_t at, size_t count,
		  size_t *first);
