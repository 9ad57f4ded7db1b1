/* abi.h: what the library has to know of NCCL's and CUDA's binary interfaces: it is built where neither is
 * installed, and loaded beside any version. */
#pragma once

enum { NCCL_SUCCESS = 0, NCCL_INTERNAL_ERROR = 3, NCCL_INVALID_USAGE = 5, NCCL_IN_PROGRESS = 7 };

#define NCCL_OLDEST 21800 /* versions that were read: 2.18 to 2.32 */
#define NCCL_NEWEST 23300

struct nccl_id {
	char bytes[128];
};

/* The beginning of ncclConfig_t: it only grows, and says how far it goes. */
struct nccl_config {
	size_t size;
	unsigned magic, version;
	int blocking, cga, min_ctas, max_ctas;
	const char *net;
	int split_share, traffic_class;
	const char *comm_name; /* since 2.27 */
};
#define NCCL_CONFIG_MAGIC 0xcafebeefu

#define CU_HOST_REGISTER  3 /* PORTABLE | DEVICEMAP */
#define CU_CAPTURE_LOOSE  2 /* CU_STREAM_CAPTURE_MODE_RELAXED */
#define CU_CAPTURE_ACTIVE 1
