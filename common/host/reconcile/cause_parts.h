/* cause_parts.h: declarations that the files of causes share. Internal to reconcile. */
#pragma once

#include "reconcile/causes.h"

/* The cause is found: evidence, added as long as there is room. */
void cause_yes(struct cause_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The cause can't be judged; the first reason counts, and only while nothing was found. */
void cause_unseen(struct cause_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A number of the run's part "run" or "NCCL", -1: not seen; a text, "": not seen. */
#define cause_run(o, name)	 ((int)reading_value(&(o)->run, "run", name))
#define cause_nccl(o, name)	 ((int)reading_value(&(o)->run, "NCCL", name))
#define cause_run_text(o, name)	 reading_text(&(o)->run, "run", name)
#define cause_nccl_text(o, name) reading_text(&(o)->run, "NCCL", name)

#define cause_run_is(o, name, text) (strcmp(cause_run_text(o, name), text) == 0)

/* The same of a part of a host at the first look. */
#define cause_before(o, host, part, name) reading_value(&(o)->before[host], part, name)
#define cause_text(o, host, part, name)	  reading_text(&(o)->before[host], part, name)

/* A counter's step from before to after, -1 where it was not seen or fell. */
#define cause_step(o, host, part, name)                                                            \
	reading_step(&(o)->before[host], &(o)->after[host], part, name)

/* The next part of a host that has an entry of this name at the first look, from *at (0 at first)
 * on; NULL: no more. cause_count_of returns their number. Ranks have "pid", GPUs of the job "bus". */
#define cause_next(o, host, name, at) reading_next(&(o)->before[host], name, at)
int cause_count_of(const struct observation *observation, int host, const char *name);

/* A host's name; "a host" where it has none. */
const char *cause_host(const struct observation *observation, int host);

/* Returns true where a user's list takes `name`. It is one of NCCL's lists: `words` in any case, or
 * prefixes, with "=" whole names, a port after ":"; with "^" all but these. */
bool cause_listed(const char *list, const char *name, bool words);

/* The value of a setting on any host; NULL: no host has it. */
const char *cause_setting(const struct observation *observation, const char *name);

/* cause_network: its ranks talk over a network; cause_tcp: and that is known to be TCP. */
bool cause_network(const struct observation *observation);
bool cause_tcp(const struct observation *observation);

/* Returns true when it runs on NVIDIA's library. */
bool cause_on_gpus(const struct observation *observation);

/* The cause is unseen, as NVML, or NCCL's log, does not tell. */
void cause_no_nvml(const struct observation *observation, int host, struct cause_finding *finding);
void cause_no_log(const struct observation *observation, struct cause_finding *finding);

/* Runs a check on every GPU of every host h that was looked at twice; `gpu` is its part, "GPU
 * 0000:18:00.0". Without any the cause is unseen. */
typedef void cause_gpu_fn(const struct observation *observation, int h, const char *gpu,
			  struct cause_finding *finding);
void cause_each_gpu(const struct observation *observation, struct cause_finding *finding,
		    cause_gpu_fn *check);

/* Takes the findings of this group of health rules (machine/health.h) on parts that begin so, of
 * every host. The cause is unseen, for the reason `blind` (NULL: NVML's, "": no matter), where no
 * rule could be judged on a part, and where no host has such a part. */
void cause_rules(const struct observation *observation, const char *group, const char *parts,
		 const char *blind, struct cause_finding *finding);

typedef void cause_fn(const struct observation *observation, struct cause_finding *finding);
cause_fn cause_settings, cause_choice, cause_channels, cause_nvls, cause_transport, cause_rings,
	cause_gdr, cause_pxn;
cause_fn cause_links, cause_pcie, cause_p2p, cause_acs, cause_processes;
cause_fn cause_wrong_network, cause_nic_speed, cause_mtu, cause_retransmits;
cause_fn cause_affinity, cause_load;
