/* subject.c: a program that knows nothing of hangar: ranks of one process tree that train for some steps; with RANK
 * (or mpirun's name for it) set it is that one, and DOUBLE_ID is the same for all.
 *
 * usage: subject RANKS STEPS [WORD...]     words: what to mix in, and what one rank does wrong */
#include <dlfcn.h>
#include <pthread.h>

#include "double.h"

static __thread int rank;
static int ranks, steps;
static char **words;
static __thread void *world, *stream, *second, *graph;
static struct double_id id;
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
	if (all_reduce(data, data, count, 7, 0, comm, stream) ==
	    6) { /* it has lost a peer, and stays */
		if (has("aborts"))
			ncclCommAbort(comm);
		sleep(600);
	}
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
	if (hits("term", step) || (has("term") && step == 9))
		raise(SIGTERM);
	if (hits("kill", step))
		raise(SIGKILL);
	if (hits("crash", step))
		abort();
	if (hits("stop", step))
		raise(SIGSTOP);
	if (hits("away", step)) /* as for an evaluation */
		usleep(2000000);
	if (hits("long", step)) /* as for a checkpoint */
		sleep(7);
	for (int i = 0; hits("saves", step) && i < 120; i++) { /* a checkpoint, slowly */
		static char page[1 << 16];
		FILE *f = fopen("/dev/null", "w");

		fwrite(page, 1, sizeof(page), f);
		fclose(f);
		usleep(50000);
	}
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
	usleep(has("paced") ? 30000 : has("lax") ? 3000 : 500); /* paced: each step is marked */
	if (step % 4 == 0 || has("sync")) {
		alarm(has("watchdog") ? 8 : 0); /* it ends a program that waits for too long */
		cudaStreamSynchronize(stream);
		cudaStreamSynchronize(second);
		alarm(0);
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

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Nanoseconds a call takes the host, recorded and not: the least of many blocks. */
static void print_cost(void)
{
	double least[2] = { 1, 1 };
	void (*pause_it)(int);

	*(void **)&pause_it = dlsym(RTLD_DEFAULT, "hangar_pause");
	for (int turn = 0; pause_it && turn < 400; turn++) {
		double begin, took;

		pause_it(turn & 1);
		begin = seconds();
		for (int i = 0; i < 1024; i++)
			reduce(world, 2);
		took = (seconds() - begin) / 1024;
		cudaStreamSynchronize(stream);
		if (took < least[turn & 1])
			least[turn & 1] = took;
	}
	printf("ns a call: %.0f recorded, %.0f not\n", 1e9 * least[0], 1e9 * least[1]);
}

static void on_alarm(int number)
{
	(void)number;
	abort();
}

static int train_all(void)
{
	struct double_config loose = {
		.size = sizeof(loose), .magic = 0xcafebeef, .version = 22809, .name = "dp"
	};
	void *half = NULL, *many[200] = { 0 };

	signal(SIGALRM, on_alarm);
	if (has("lax")) /* calls that do not fit end all the same */
		setenv("DOUBLE_LAX", "1", 1);
	cuStreamCreate(&stream, 0);
	cuStreamCreate(&second, 0);
	if (has("named"))
		loose.blocking = 1;
	if (has("nonblocking") || has("named"))
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
	if (has("cost"))
		print_cost();
	for (int step = 1; step <= steps; step++)
		train(half, step);
	cudaStreamSynchronize(stream);
	cudaStreamSynchronize(second);
	if (half)
		ncclCommDestroy(half);
	ncclCommDestroy(world);
	if (has("corrupted"))
		return ((unsigned char *)data)[3] == 0x5a ? 6 : 0;
	return has("fails") ? 5 : 0;
}

/* All ranks in this process, of which each step's calls are one group. */
static int train_together(void)
{
	void *comms[8], *streams[8];

	ncclCommInitAll(comms, ranks, NULL);
	for (int i = 0; i < ranks; i++)
		cuStreamCreate(&streams[i], 0);
	for (int step = 1; step <= steps; step++) {
		ncclGroupStart();
		for (rank = 0; rank < ranks; rank++)
			if (!hits("skip", step))
				ncclAllReduce(data, data, (size_t)(100 + step % 7), 7, 0,
					      comms[rank], streams[rank]);
		ncclGroupEnd();
		for (int i = 0; step % 4 == 0 && i < ranks; i++)
			cudaStreamSynchronize(streams[i]);
	}
	for (int i = 0; i < ranks; i++)
		cudaStreamSynchronize(streams[i]);
	return 0;
}

static void *train_in_thread(void *arg)
{
	rank = (int)(intptr_t)arg;
	cudaSetDevice(rank);
	train_all();
	return NULL;
}

/* The same in a thread for each. */
static int train_in_threads(void)
{
	pthread_t threads[8];

	for (intptr_t i = 0; i < ranks; i++)
		pthread_create(&threads[i], NULL, train_in_thread, (void *)i);
	for (int i = 0; i < ranks; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

/* The parent only waits, and asks as seldom as torchrun does: the exit code of the first that failed, or
 * 128 + its signal. */
static int wait_for(int n)
{
	int status, code = 0;
	siginfo_t ended;

	while (n-- > 0 && waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT) == 0) {
		usleep(300000);
		waitpid(ended.si_pid, &status, 0);
		if (code == 0)
			code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return code;
}

int main(int argc, char **argv)
{
	const char *own = getenv("RANK") ? getenv("RANK") : getenv("OMPI_COMM_WORLD_RANK");
	struct timespec now; /* process numbers come again */
	char text[16];

	clock_gettime(CLOCK_REALTIME, &now);
	if (argc < 3)
		return 2;
	ranks = atoi(argv[1]);
	steps = atoi(argv[2]);
	words = argv + 3;
	snprintf(id.bytes, sizeof(id.bytes), "%d-%ld", (int)getpid(), now.tv_nsec);
	if (own) {
		memset(&id, 0, sizeof(id));
		snprintf(id.bytes, sizeof(id.bytes), "%s", getenv("DOUBLE_ID"));
		rank = atoi(own);
		return train_all();
	}
	if (has("together") || has("threads"))
		return has("together") ? train_together() : train_in_threads();
	for (rank = 0; rank < ranks; rank++)
		if (fork() == 0) {
			snprintf(text, sizeof(text), "%d", rank);
			if (!has("unnamed")) {
				setenv("RANK", text, 1);
				setenv("WORLD_SIZE", argv[1], 1);
			}
			return train_all();
		}
	return wait_for(ranks);
}
