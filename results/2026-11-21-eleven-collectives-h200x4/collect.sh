#!/bin/bash
# accuracy-gpu.sh: what the accuracy helper needs from four H200. Environment: BUILD (folder of the binaries), OUT (an
# empty folder), mpirun and nvcc on PATH; LIMIT (seconds after which nothing more is started: 100).
# Sets: np4-COLL, np2-COLL, share2-COLL, share4-COLL, small-*, iso-* (each --out: CSV + JSON, and a .txt), probe-*.txt
# (host and device cost of launches, by a program of its own), launches.csv.
set -u
BUILD=${BUILD:?} OUT=${OUT:?} LIMIT=${LIMIT:-100}
BUILD=$(cd "$BUILD" && pwd)
export NCCL_NVLS_ENABLE=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$OUT"; cd "$OUT" || exit 1
start=$EPOCHREALTIME
elapsed() { awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $start }"; }
over() { awk "BEGIN { exit !($EPOCHREALTIME - $start > $LIMIT) }"; }
{ date -Is; uname -sr; grep -m1 'model name' /proc/cpuinfo; nproc; lscpu; cat /proc/loadavg; nvidia-smi --query-gpu=index,name,driver_version,clocks.max.sm,persistence_mode --format=csv; nvidia-smi topo -m; } >machine.txt 2>&1
echo 'name,exit_code,begin_s,seconds,command' >launches.csv
# Opened devices stay initialised: contexts open sooner.
for d in 0 1 2 3; do [ -e /dev/nvidia$d ] && eval "exec 1$d</dev/nvidia$d"; done

cat >probe.cu <<'CU'
// What launches cost on this host: per line, median, least and 95th percentile.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <algorithm>
#include <vector>
struct args { char b[4096]; };
__global__ void empty() {}
__global__ void big(const __grid_constant__ args a) { if (a.b[0] == 77) printf("x"); }
__global__ void small_args(const __grid_constant__ int a) { if (a == 77) printf("x"); }
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
static int rank_;
static void out(const char *what, std::vector<double> &v) {
	std::sort(v.begin(), v.end());
	printf("%d,%s,%.3f,%.3f,%.3f,%zu\n", rank_, what, v[v.size() / 2], v[0], v[v.size() * 95 / 100], v.size());
}
static cudaStream_t s;
static args a;
enum { N = 64, ROUNDS = 60 };
template <typename F> static void series(const char *what, F f) {
	std::vector<double> host, total, dev;
	char name[99];
	cudaEvent_t e0, e1;
	cudaEventCreate(&e0); cudaEventCreate(&e1);
	for (int r = 0; r < ROUNDS; r++) {
		cudaEventRecord(e0, s);
		double t0 = now();
		for (int i = 0; i < N; i++) f();
		double t1 = now();
		cudaEventRecord(e1, s);
		cudaStreamSynchronize(s);
		double t2 = now();
		float ms; cudaEventElapsedTime(&ms, e0, e1);
		if (r < 5) continue;
		host.push_back((t1 - t0) / N); total.push_back((t2 - t0) / N); dev.push_back(ms * 1e3 / N);
	}
	snprintf(name, 99, "%s-host", what); out(name, host);
	snprintf(name, 99, "%s-total", what); out(name, total);
	snprintf(name, 99, "%s-device", what); out(name, dev);
	std::vector<double> lat;
	for (int r = 0; r < 200; r++) { double t0 = now(); f(); cudaStreamSynchronize(s); lat.push_back(now() - t0); }
	snprintf(name, 99, "%s-latency", what); out(name, lat);
}
static void ex(int blocks, int threads, size_t smem, bool attrs, bool large) {
	cudaLaunchConfig_t c = {};
	cudaLaunchAttribute at[2] = {};
	int one = 1; void *p1[] = { &one }, *p4[] = { &a };
	c.gridDim = dim3(blocks); c.blockDim = dim3(threads); c.dynamicSmemBytes = smem; c.stream = s;
	if (attrs) {
		at[0].id = cudaLaunchAttributeClusterDimension; at[0].val.clusterDim.x = 4; at[0].val.clusterDim.y = at[0].val.clusterDim.z = 1;
		at[1].id = cudaLaunchAttributeMemSyncDomain; at[1].val.memSyncDomain = cudaLaunchMemSyncDomainRemote;
		c.attrs = at; c.numAttrs = 2;
	}
	cudaLaunchKernelExC(&c, large ? (void *)big : (void *)small_args, large ? p4 : p1);
}
int main() {
	const char *l = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
	rank_ = l ? atoi(l) : 0;
	if (cudaSetDevice(rank_) != cudaSuccess) return 77;
	cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
	cudaFuncSetAttribute(big, cudaFuncAttributeMaxDynamicSharedMemorySize, 80 << 10);
	cudaFuncSetAttribute(small_args, cudaFuncAttributeMaxDynamicSharedMemorySize, 80 << 10);
	cudaEvent_t e; cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
	{ std::vector<double> v; volatile unsigned x = 1;
	  for (int r = 0; r < 50; r++) { double t0 = now(); unsigned h = x; for (int i = 0; i < 20000; i++) h = h * 1664525u + (h >> 7); x = h; v.push_back((now() - t0) / 20); }
	  out("cpu-ns-per-step", v); }
	series("empty", [] { empty<<<1, 32, 0, s>>>(); });
	series("blocks24", [] { ex(24, 512, 0, false, false); });
	series("cluster4", [] { ex(4, 96, 0, true, false); });
	series("cluster24", [] { ex(24, 512, 0, true, false); });
	series("smem-cluster4", [] { ex(4, 96, 80 << 10, true, false); });
	series("args4k-cluster4", [] { ex(4, 96, 80 << 10, true, true); });
	series("args4k-cluster24", [] { ex(24, 512, 80 << 10, true, true); });
	series("event", [e] { cudaEventRecord(e, s); });
	series("event-wait", [e] { cudaEventRecord(e, s); cudaStreamWaitEvent(s, e, 0); });
	series("kernel-event", [e] { ex(4, 96, 80 << 10, true, true); cudaEventRecord(e, s); });
	return 0;
}
CU
nvcc -O2 -std=c++17 -gencode arch=compute_90,code=sm_90 -o probe probe.cu >probe-build.txt 2>&1 &
compile=$!

# go NAME VISIBLE RANKS BINARY OPTION...: one launch, and its line.
go() {
	local name=$1 visible=$2 n=$3 bin=$4 t0=$(elapsed) rc; shift 4
	if over; then echo "$name,skipped,$t0,0," >>launches.csv; return; fi
	local cmd=(mpirun --oversubscribe --bind-to none -np "$n" "$BUILD/${bin}_perf" --backend nccl "$@" --out "$OUT/$name")
	CUDA_VISIBLE_DEVICES=$visible timeout -k 5 30 "${cmd[@]}" >"$name.txt" 2>"$name.err" </dev/null
	rc=$?
	echo "$name,$rc,$t0,$(awk "BEGIN { printf \"%.1f\", $(elapsed) - $t0 }"),\"CUDA_VISIBLE_DEVICES=$visible ${cmd[*]}\"" >>launches.csv
}
probe() {
	over && return
	wait $compile
	[ -x probe ] && timeout 20 mpirun --oversubscribe --bind-to none -np 4 ./probe >"probe-$1.txt" 2>&1 </dev/null
}
sweep='-b 8 -e 1G -f 4 --budget 0.05'
known='all_reduce all_gather reduce_scatter broadcast alltoall sendrecv'

# shellcheck disable=SC2086
{
for c in gather hypercube; do go np4-$c 0,1,2,3 4 $c -b 8 -e 1G -f 2 --budget 0.05; done
probe 1
for c in scatter alltoallv reduce; do go np4-$c 0,1,2,3 4 $c -b 8 -e 1G -f 2 --budget 0.05; done
for c in $known; do go np4-$c 0,1,2,3 4 $c $sweep; done
# Two ranks each, on GPUs 0 and 1, beside others on 2 and 3.
set -- all_reduce sendrecv gather hypercube all_gather alltoall reduce broadcast scatter alltoallv reduce_scatter
while [ $# -gt 0 ]; do
	go np2-$1 0,1 2 $1 $sweep & p1=$!; p2=
	[ -n "${2:-}" ] && { go np2-$2 2,3 2 $2 $sweep & p2=$!; }
	wait $p1 $p2; shift; [ $# -gt 0 ] && shift
done
probe 2
# Several ranks on one GPU, four launches at a time, one a GPU. Sockets: 32 B to 64 MiB.
share='--share-gpu -b 32 -e 64M -f 8 -n 3 -w 1'
set -- all_reduce sendrecv gather alltoall all_gather hypercube reduce broadcast scatter alltoallv reduce_scatter
while [ $# -gt 0 ]; do
	go share2-$1 0 2 $1 $share & p1=$!
	go share4-$1 1 4 $1 $share & p2=$!; p3= p4=
	[ -n "${2:-}" ] && { go share2-$2 2 2 $2 $share & p3=$!; go share4-$2 3 4 $2 $share & p4=$!; }
	wait $p1 $p2 $p3 $p4; shift; [ $# -gt 0 ] && shift
done
# Launch to launch.
for i in 1 2; do for c in all_reduce sendrecv; do go small-$c-$i 0,1,2,3 4 $c -b 8 -e 256K -f 4 --budget 0.05; done; done
go iso-all_reduce 0,1,2,3 4 all_reduce --mode isolated -b 8 -e 256K -f 4 --budget 0.05
}
rm -f probe
echo "total $(elapsed) s" | tee total.txt
