/* api.h: NCCL's functions, found at run time: the backend's, and those of programs that call NCCL by themselves. */
#pragma once

#include <nccl.h>

#include "base/error.h"

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 19, 0)
#error "hangar needs the headers of NCCL 2.19 or later"
#endif

/* NCCL's functions. Nothing links libnccl: nccl_api_load finds them. */
#define NCCL_NEEDED(F)                                                                             \
	F(AllGather)                                                                               \
	F(AllReduce)                                                                               \
	F(Broadcast)                                                                               \
	F(CommAbort)                                                                               \
	F(CommDestroy)                                                                             \
	F(CommGetAsyncError)                                                                       \
	F(CommInitRankConfig)                                                                      \
	F(CommSplit)                                                                               \
	F(GetErrorString)                                                                          \
	F(GetLastError)                                                                            \
	F(GetUniqueId)                                                                             \
	F(GroupEnd)                                                                                \
	F(GroupStart)                                                                              \
	F(Recv)                                                                                    \
	F(RedOpCreatePreMulSum)                                                                    \
	F(RedOpDestroy)                                                                            \
	F(Reduce)                                                                                  \
	F(ReduceScatter)                                                                           \
	F(Send)
#define NCCL_SINCE_2_19(F) F(CommDeregister) F(CommRegister) F(MemAlloc) F(MemFree)
#define NCCL_POINTER(name) __typeof__(nccl##name) *name;

/* NULL: the library lacks it; only those behind NCCL_NEEDED never are. Older headers lack those with a type of their own. */
struct nccl_api {
	NCCL_NEEDED(NCCL_POINTER)
	NCCL_SINCE_2_19(NCCL_POINTER)
	ncclResult_t (*AlltoAll)(const void *, void *, size_t, ncclDataType_t, ncclComm_t,
				 cudaStream_t);
	ncclResult_t (*Gather)(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t,
			       cudaStream_t);
	ncclResult_t (*Scatter)(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t,
				cudaStream_t);
	ncclResult_t (*CommWindowRegister)(ncclComm_t, void *, size_t, void **, int);
	ncclResult_t (*CommWindowDeregister)(ncclComm_t, void *);
	ncclResult_t (*CommShrink)(ncclComm_t, int *, int, ncclComm_t *, ncclConfig_t *, int);
	ncclResult_t (*CommRevoke)(ncclComm_t, int);
	ncclResult_t (*CommGetUniqueId)(ncclComm_t, ncclUniqueId *);
	ncclResult_t (*CommGrow)(ncclComm_t, int, const ncclUniqueId *, int, ncclComm_t *,
				 ncclConfig_t *);
};
extern struct nccl_api nccl_api;

/* Fills nccl_api, and *version by ncclGetVersion. Returns 0, or a negative errno with the error set (OUTCOME_UNSUPPORTED): no
 * library, a version before 2.18, or a needed function is absent. */
int nccl_api_load(int *version, struct error *err);
