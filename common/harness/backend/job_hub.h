/* job_hub.h: the process between ranks that meet over TCP: a star, at rank 0's side. */
#pragma once

struct job_hub_config {
	int listener; /* taken; -1: rank 0 is alone */
	int first;    /* taken: rank 0's end of a pair of sockets */
	int nranks;
	uint64_t token;
	double seconds;	   /* for all to come */
	const char *place; /* in words, for the line of those that did not */
};

/* Forks it. It ends with the caller, or with the last connection. Returns 0 or a negative errno. */
int job_hub_start(const struct job_hub_config *config);

/* A number of this host: equal for processes whose clock and abstract sockets are the same. */
uint64_t job_host_id(void);
