"""plain_c.py: a program in C, one process a rank, which this file compiles. Its last rank reads a configuration from a pipe.

Source: https://github.com/NVIDIA/nccl/issues/968
"""
import os
import subprocess
import sys

import common

LABEL = {"kind": 12, "ranks": 3, "rank": "last", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "the last rank waits for a line of configuration; there is no Python", "two": True, "launch": "ranks", "line": "-"}
SOURCE = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
typedef struct { char bytes[128]; } unique;
int ncclGetUniqueId(unique *), ncclCommInitRank(void **, int, unique, int);
int ncclAllReduce(const void *, void *, size_t, int, int, void *, void *), ncclCommDestroy(void *);
#ifndef DOUBLES
int cudaSetDevice(int), cudaGetDeviceCount(int *), cudaMalloc(void **, size_t);
int cudaStreamCreate(void **), cudaStreamSynchronize(void *);
#else
int cuStreamSynchronize(void *);
#define cudaStreamSynchronize cuStreamSynchronize
#endif

static void strike(int rank)
{
	struct timespec now;
	FILE *f;

	if (getenv("INCIDENT_STRUCK") && (f = fopen(getenv("INCIDENT_STRUCK"), "wx"))) {
		clock_gettime(CLOCK_REALTIME, &now);
		fprintf(f, "%.3f %d\n", now.tv_sec + now.tv_nsec * 1e-9, rank);
		fclose(f);
	}
}

static void read_configuration(const char *folder, int rank)
{
	char path[4096], line[64];
	int fd;

	snprintf(path, sizeof(path), "%s/configuration", folder);
	mkfifo(path, 0600);
	fd = open(path, O_RDWR);
	strike(rank);
	if (read(fd, line, sizeof(line)) < 0)
		exit(1);
}

/* The id, from rank 0 to the others through a file. */
static void exchange(unique *id, int rank, const char *path)
{
	char part[4096];
	FILE *f;

	snprintf(part, sizeof(part), "%s.new", path);
	if (rank == 0 && (ncclGetUniqueId(id) || !(f = fopen(part, "wb")) || fwrite(id, sizeof(*id), 1, f) != 1 || fclose(f) || rename(part, path)))
		exit(1);
	while (!(f = fopen(path, "rb")))
		usleep(20000);
	if (fread(id, sizeof(*id), 1, f) != 1)
		exit(1);
	fclose(f);
}

int main(int argc, char **argv)
{
	int rank = atoi(getenv("RANK")), size = atoi(getenv("WORLD_SIZE")), gpus = 1;
	void *comm, *x = NULL, *stream = NULL;
	unique id = { "" };

	exchange(&id, rank, argv[2]);
#ifndef DOUBLES
	if (cudaGetDeviceCount(&gpus) || cudaSetDevice(rank % gpus) || cudaMalloc(&x, 1 << 20) || cudaStreamCreate(&stream))
		return 1;
#endif
	if (ncclCommInitRank(&comm, size, id, rank))
		return 1;
	for (int step = 0; step < 60; step++) {
		usleep(50000);
		if (step == 30 && rank == size - 1 && argc < 4) {
#ifdef LEAVES_OUT
			strike(rank);
			continue;
#endif
			read_configuration(argv[1], rank);
		}
		if (ncclAllReduce(x, x, 1 << 16, 7, 0, comm, stream) || cudaStreamSynchronize(stream))
			return 1;
	}
	return ncclCommDestroy(comm);
}
"""


def libraries():
    if common.doubles:
        return ["-DDOUBLES", "-l:libnccl.so.2", "-l:libcuda.so.1", "-L" + os.environ["LD_LIBRARY_PATH"].split(":")[0]]
    nccl = common.Nccl.path()
    with open("/proc/self/maps") as maps:
        runtime = next(line.split()[-1] for line in maps if "libcudart" in line)
    return [nccl, runtime, f"-Wl,-rpath,{os.path.dirname(nccl)}:{os.path.dirname(runtime)}"]


def main(*defines):
    if not common.doubles:
        common.place()  # settings of NCCL
    binary = os.path.join(common.folder, "plain_c")
    if common.rank == 0:
        with open(binary + ".c", "w") as file:
            file.write(SOURCE)
        subprocess.run(["cc", "-g", "-o", binary + ".made", binary + ".c", *defines, *libraries()], check=True)
        os.rename(binary + ".made", binary)
    while not os.path.exists(binary):
        common.time.sleep(0.05)
    return subprocess.call([binary, common.folder, binary + ".id", *(["healthy"] if common.healthy else [])])


if __name__ == "__main__":
    sys.exit(main())
