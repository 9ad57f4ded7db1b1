/* stacks_text.h: reading stacks that were taken earlier (probe/probe.h has their form), perhaps on another machine. */
#pragma once

/* The most telling line for "where is it stuck": that of Python's main thread, else the innermost frame of the main thread that has a
 * source line of the application's, else the innermost that has a name. Without "#N ". false, and
 * "", when there is none. `text` may be NULL or hostile. */
bool stacks_stuck_on(const char *text, char *line, size_t len);
