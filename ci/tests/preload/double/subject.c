/* subject.c: a program that knows nothing of hangar: ranks of one process tree that train for some steps.
 *
 * usage: subject RANKS STEPS [WORD...]     words: what to mix in, and what one rank does wrong */
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "double.h"

static int rank, ranks, steps;
static char **words;
static void *world, *stream, *second, *graph;
static float data[4096];

static bool has(const char *word)
{
	for (char **w = words; *w; w++)
		if (strcmp(*w, word) == 0)
			return true;
	return false;
}

/* WORD=RANK@STEP is for this rank and step. */
static bool hits(const char *word, int step)
{
	size_t n = strlen(word);
	int r, at;

	for (char **w = words; *w; w++)
		if (strncmp(*w, word, n) == 0 && (*w)[n] == '=' &&
		    sscanf(*w + n + 1, "%d@%d", &r, &at) == 2 && r == rank && at == step)
			return true;
	return false;
}

/* A non-blocking communicator has launched when it is not in progress any more. */
static void settle(void)
{
	int state = 7;

	while (has("nonblocking") && state == 7)
		ncclCommGetAsyncError(world, &state);
}

static void reduce(void *comm, size_t count)
{
	int (*all_reduce)(const void *, void *, size_t, int, int, void *, void *) = ncclAllReduce;

	if (has("dlsym"))
		*(void **)&all_reduce = dlsym(dlopen("libnccl.so.2", RTLD_NOW), "ncclAllReduce");
	all_reduce(data, data, count, 7, 0, comm, stream);
}

static void ring(void *comm, int step)
{
	ncclGroupStart();
	ncclSend(data, 64, 7, (rank + 1) % ranks, comm, second);
	if (!hits("skip-recv", step))
		ncclRecv(data, 64, 7, (rank + ranks - 1) % ranks, comm, second);
	ncclGroupEnd();
}

static void misbehave(int step)
{
	if (hits("exit0", step))
		_exit(0);
	if (hits("exit3", step))
		exit(3);
	if (hits("kill", step))
		raise(SIGKILL);
	if (hits("crash", step))
		abort();
	if (hits("stop", step))
		raise(SIGSTOP);
	if (hits("away", step)) /* as for an evaluation */
		usleep(2000000);
	if (hits("asleep", step))
		sleep(600);
}

static void gather(void *half)
{
	ncclAllGather(data, data, 8, 7, half, has("one-stream") ? stream : second);
}

static void train(void *half, int step)
{
	bool swapped = half && hits("swap", step);

	misbehave(step);
	if (swapped)
		gather(half);
	if (!hits("skip", step))
		reduce(world, (size_t)(hits("count", step) ? 17 : 100 + step % 7));
	settle();
	ncclBcast(data, 32, 7, 0, world, stream);
	settle();
	ncclReduceScatter(data, data, 8, 7, 0, world, stream);
	settle();
	if (half && !swapped)
		gather(half);
	if (graph && !hits("skip-graph", step))
		cuGraphLaunch(graph, stream);
	if (has("pairs"))
		ring(world, step);
	usleep(500);
	if (step % 4 == 0 || has("sync")) {
		cudaStreamSynchronize(stream);
		cudaStreamSynchronize(second);
	}
}

static void capture(void)
{
	void *made;

	cuStreamBeginCapture_v2(stream, 0);
	for (size_t i = 0; i < 3; i++)
		reduce(world, 500 + i);
	cuStreamEndCapture(stream, &made);
	cuGraphInstantiateWithFlags(&graph, made, 0);
}

static int train_all(struct double_id id)
{
	struct double_config loose = { .size = sizeof(loose),
				       .magic = 0xcafebeef,
				       .version = 22809 };
	void *half = NULL, *many[200] = { 0 };

	cuStreamCreate(&stream, 0);
	cuStreamCreate(&second, 0);
	if (has("nonblocking"))
		ncclCommInitRankConfig(&world, ranks, id, rank, &loose);
	else
		ncclCommInitRank(&world, ranks, id, rank);
	if (has("halves"))
		ncclCommSplit(world, rank % 2, rank, &half, NULL);
	for (int i = 0; has("many") && i < 200; i++) {
		ncclCommSplit(world, 0, rank, &many[i], NULL);
		reduce(many[i], 3);
	}
	if (has("graph"))
		capture();
	for (int step = 1; step <= steps; step++)
		train(half, step);
	cudaStreamSynchronize(stream);
	cudaStreamSynchronize(second);
	ncclCommDestroy(world);
	return has("fails") ? 5 : 0;
}

/* The parent only waits: the exit code of the first that failed, or 128 + its signal. */
static int wait_for(int n)
{
	int status, code = 0;

	while (n-- > 0 && wait(&status) > 0)
		if (code == 0)
			code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return code;
}

int main(int argc, char **argv)
{
	struct double_id id;
	struct timespec now; /* process numbers come again */
	char text[16];

	clock_gettime(CLOCK_REALTIME, &now);
	if (argc < 3)
		return 2;
	ranks = atoi(argv[1]);
	steps = atoi(argv[2]);
	words = argv + 3;
	memset(&id, 0, sizeof(id));
	snprintf(id.bytes, sizeof(id.bytes), "%d-%ld", (int)getpid(), now.tv_nsec);
	for (rank = 0; rank < ranks; rank++)
		if (fork() == 0) {
			snprintf(text, sizeof(text), "%d", rank);
			setenv("RANK", text, 1);
			setenv("WORLD_SIZE", argv[1], 1);
			return train_all(id);
		}
	return wait_for(ranks);
}
