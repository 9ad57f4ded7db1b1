/* host.c: blocked, busy or stopped, by what the kernel says of a process. */
#include "diagnose/rule.h"

static bool one_of(const char *name, const char *const *list)
{
	while (*list && strcmp(*list, name) != 0)
		list++;
	return *list != NULL;
}

enum diagnosis_class host_class(const struct evidence_rank *rank, enum diagnosis_class idle)
{
	static const char *const blocking[] = {
		"futex",  "read",     "readv",	    "recvfrom",	   "recvmsg", "poll",	 "ppoll",
		"select", "pselect6", "epoll_wait", "epoll_pwait", "wait4",   "waitid",	 "flock",
		"fcntl",  "accept",   "connect",    "write",	   "sendto",  "sendmsg", NULL
	};

	if (rank->state == 'R' && rank->cpu_share > 0.5)
		return CLASS_BUSY;
	return one_of(rank->syscall, blocking) ? CLASS_BLOCKED : idle;
}

enum diagnosis_class shared_class(enum diagnosis_class so_far, enum diagnosis_class one,
				  enum diagnosis_class mixed)
{
	return so_far == CLASS_OUTCOME || so_far == one ? one : mixed;
}

enum diagnosis_class culprits_class(const struct rule_ctx *ctx, const struct culprits *culprits,
				    enum diagnosis_class idle)
{
	enum diagnosis_class class = CLASS_OUTCOME;

	for (int i = 0; i < culprits->nranks; i++)
		if (culprits->in[i])
			class = shared_class(class, host_class(&ctx->evidence->ranks[i], idle),
					     idle);
	return class;
}
