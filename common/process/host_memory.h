/* host_memory.h: how much memory this host, or the cgroup that holds us, can still give. */
#pragma once

/* Bytes that can still be allocated before the kernel must kill or swap: the minimum of
 * MemAvailable and of what every memory cgroup above this process has left (version 1 and 2).
 * SIZE_MAX when nothing is known. `root` is put before /proc and /sys: "" outside of tests. */
size_t host_memory_available(const char *root);
