/* block_rank.c: the rank is stuck in host code: at a lock, or in a read that never returns. */
#include <pthread.h>
#include <semaphore.h>

#include "inject/fault.h"

struct holder {
	pthread_mutex_t lock;
	sem_t held;
};

static void *hold(void *arg)
{
	struct holder *holder = arg;

	pthread_mutex_lock(&holder->lock);
	sem_post(&holder->held);
	for (;;)
		pause();
	return NULL;
}

static int block_lock(void)
{
	struct holder holder = { .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t thread;
	int rc;

	sem_init(&holder.held, 0, 0);
	rc = pthread_create(&thread, NULL, hold, &holder);
	if (rc)
		return -rc;
	while (sem_wait(&holder.held) < 0)
		;
	return -pthread_mutex_lock(&holder.lock); /* does not return */
}

static int block_read(void)
{
	char byte;
	int ends[2];

	if (pipe(ends) < 0)
		return -errno;
	/* The writing end stays open in this process: the read sees no end of file. */
	while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
		;
	return -EIO;
}

static int fire(const struct fault_act *act)
{
	const char *how = fault_arg(act->spec, "how");

	return how && strcmp(how, "read") == 0 ? block_read() : block_lock();
}

const struct fault fault_block_rank = {
	.name = "block-rank",
	.help = "stuck in host code: a lock that another thread keeps, or a read that never "
		"returns",
	.source = "NVIDIA/TensorRT-LLM#2560: one rank stuck in another place than the others",
	.args = "how=lock|read",
	.where = FAULT_AT_BOTH,
	.any_when = true,
	.mpi = "hang",
	.nccl = "hang",
	.fire = fire,
};
