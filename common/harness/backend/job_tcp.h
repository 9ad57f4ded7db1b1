/* job_tcp.h: ranks that meet over TCP, without MPI: a star around a process of rank 0, of up to some 1,024 ranks.
 *
 * They meet at the HOST:PORT that the environment gives; else where all are on this host at a Unix socket; else at MASTER_ADDR, two ports
 * behind MASTER_PORT (hangar_run has the first); else at that host of the launcher's list where rank 0 answers. */
#pragma once

extern const struct job_ops job_tcp;

/* Seconds that a meeting takes at most: those that the environment gives, or 60. */
double job_tcp_seconds(void);

/* Where ranks of this launch meet, in words, "" for nowhere. Pure but for the environment that is given. */
struct launch;
struct job_place {
	char hosts[8192]; /* separated by blanks; "": a Unix socket */
	int port;
	char words[300];
};
bool job_tcp_place(struct job_place *place, const struct launch *launch, char *const *environment);
