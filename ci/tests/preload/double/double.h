/* double.h: what the test doubles of libcuda and libnccl have of each other, and what a subject calls. Streams
 * are threads that carry out what was enqueued, in order; ranks meet in files of DOUBLE_DIR. */
#pragma once

typedef void double_work(void *arg);

/* Enqueues work; `stream` NULL or 2: the default one. */
void double_push(void *stream, double_work *work, void *arg);

/* Returns true for memory of cuMemAlloc: the other addresses that subjects pass are none. */
bool double_owns(const void *memory);

int cuInit(unsigned flags);
int cuDeviceGetCount(int *n);
int cuDeviceGet(int *number, int wanted);
int cuDevicePrimaryCtxRetain(void **context, int number);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(uint64_t *at, size_t bytes);
int cuMemGetInfo_v2(size_t *left, size_t *total);
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
int cuMemsetD32_v2(uint64_t at, unsigned value, size_t n);
int cuStreamQuery(void *stream);
int cuStreamWaitValue32_v2(void *stream, uint64_t address, unsigned value, unsigned flags);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamSynchronize(void *stream);
int cudaStreamSynchronize(void *stream);
int cudaEventQuery(void *event);
int cuStreamBeginCapture_v2(void *stream, int mode);
int cuStreamEndCapture(void *stream, void **graph);
int cuStreamIsCapturing(void *stream, int *status);
int cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, void **graph,
			      const void **nodes, size_t *n);
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags);
int cuGraphLaunch(void *exec, void *stream);
int cuGraphExecDestroy(void *exec);
int cuStreamWriteValue64_v2(void *stream, uint64_t address, uint64_t value, unsigned flags);
int cuLaunchHostFunc(void *stream, double_work *work, void *arg);
int cuMemsetD8Async(uint64_t address, unsigned char value, size_t bytes, void *stream);
int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags);
int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags);
int cuThreadExchangeStreamCaptureMode(int *mode);
int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *stream);
int cuEventElapsedTime(float *ms, void *from, void *to);
int cuCtxGetCurrent(void **context);
int cuCtxGetDevice(int *number);
int cudaSetDevice(int number);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);

struct double_id {
	char bytes[128];
};
struct double_config {
	size_t size;
	unsigned magic, version;
	int blocking, rest[7];
	const char *name;
	int more[8];
};

int ncclGetVersion(int *version);
int ncclGetUniqueId(struct double_id *id);
int ncclCommInitRank(void **comm, int nranks, struct double_id id, int rank);
int ncclCommInitAll(void **comms, int n, const int *devices);
int ncclCommInitRankConfig(void **comm, int nranks, struct double_id id, int rank,
			   struct double_config *config);
int ncclCommSplit(void *comm, int color, int key, void **made, struct double_config *config);
int ncclCommShrink(void *comm, int *gone, int n, void **made, struct double_config *config, int flags);
const char *ncclGetErrorString(int code);
const char *ncclGetLastError(void *comm);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclCommGetAsyncError(void *comm, int *state);
int ncclGroupStart(void);
int ncclGroupEnd(void);
int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, void *comm,
		  void *stream);
int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm,
	       void *stream);
int ncclRedOpCreatePreMulSum(int *op, void *scalar, int type, int residence, void *comm);
int ncclRedOpDestroy(int op, void *comm);
int ncclAllGather(const void *send, void *recv, size_t count, int type, void *comm, void *stream);
int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, void *comm,
		      void *stream);
int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, void *comm,
		  void *stream);
int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, void *comm,
	       void *stream);
int ncclBcast(void *recv, size_t count, int type, int root, void *comm, void *stream);
int ncclSend(const void *send, size_t count, int type, int peer, void *comm, void *stream);
int ncclRecv(void *recv, size_t count, int type, int peer, void *comm, void *stream);
