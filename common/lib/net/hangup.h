/* hangup.h: ends a job whose launcher waits for an unreachable host. */
#pragma once

#define HANGUP_HOSTS 8

/* Starts a process that shuts the TCP connections of `launcher` whose other end does not answer. It
 * lives until the launcher has ended, at most ten seconds. mpirun and orted then end with the exit
 * code of the ranks, and do not wait a quarter of an hour for TCP to give up. After two seconds it
 * also shuts connections to the hosts of the sockets `links` (n of them; the first HANGUP_HOSTS
 * count), whose kernel may answer for a launcher that does not run. It continues a stopped launcher.
 * If the launcher's descriptors cannot be taken (kernel before 5.6, ptrace forbidden) the launcher
 * gets SIGTERM after half of the time. After nine seconds, and with its output read, it gets
 * SIGKILL: Open MPI 4.1.4 can deadlock when a rank is killed while it connects. Without `links` it
 * gets neither while children of it with the caller's name live. For Open MPI and PRRTE alone. */
void launcher_hang_up(pid_t launcher, const int *links, size_t n);

/* Returns true for the launcher of a host, which another host's mpirun started. */
bool launcher_is_remote(pid_t launcher);
