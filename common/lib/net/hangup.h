/* hangup.h: the end of a job whose launcher waits for a host that it cannot reach. */
#pragma once

#include <sys/types.h>

#define HANGUP_HOSTS 8

/* Leaves a process behind, for ten seconds at most and until `launcher` has ended, that shuts the launcher's TCP
 * connections whose other end does not answer: mpirun and orted take that for what it is and end, with
 * the exit code of the ranks, instead of waiting for TCP to give up after a quarter of an hour.
 * So are, after two seconds, connections to the hosts to which `links` lead (n sockets, of which the first
 * HANGUP_HOSTS count): the kernel there may answer for a launcher that does not run. A launcher that
 * is stopped is continued. Where its descriptors may not be taken (kernel before 5.6, ptrace forbidden)
 * it gets SIGTERM after half of the time. One that lives nine seconds later, and whose output is read, is ended by
 * SIGKILL: Open MPI 4.1.4's deadlock or crash where a rank is killed while it connects. Only of launchers known by name (Open MPI's, PRRTE's); of
 * others nothing is touched. */
void launcher_hang_up(pid_t launcher, const int *links, size_t n);
