/* tree.h: made-up /proc and /sys: folders of small files, for what reads them below a root. */
#pragma once

#include "unit.h"

/* Lists end with a NULL path. A path that ends in "@" is a link to `text`. */
struct tree_file {
	const char *path, *text;
	size_t len; /* of the text; 0: up to its NUL */
};

/* A new root with these files; returns it. */
const char *tree_make(const struct tree_file *files);

void tree_remove(void);
