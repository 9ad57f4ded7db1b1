/* c.h: the C headers that most files use. The Makefile includes it before each file (INCLUDES). */
#pragma once

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The elements of an array. */
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
