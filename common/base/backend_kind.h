/* backend_kind.h: what the name of a backend says, also where this build lacks it: rows and evidence
 * on disk carry the name alone. */
#ifndef HANGAR_BACKEND_KIND_H
#define HANGAR_BACKEND_KIND_H

enum alloc_kind {
	ALLOC_NCCL, /* ncclMemAlloc, nccl-tests' kind */
	ALLOC_CUDA  /* cudaMalloc; without a GPU both are host memory */
};

#endif
