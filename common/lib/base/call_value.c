/* call_value.c: names of calls. */
#include "base/call_value.h"

const char *call_kind_name(enum call_kind kind)
{
	static const char *const names[CALL_KIND_COUNT] = {
		[CALL_ALL_REDUCE] = "AllReduce",
		[CALL_ALL_GATHER] = "AllGather",
		[CALL_REDUCE_SCATTER] = "ReduceScatter",
		[CALL_BROADCAST] = "Broadcast",
		[CALL_REDUCE] = "Reduce",
		[CALL_ALLTOALL] = "AlltoAll",
		[CALL_ALLTOALLV] = "AlltoAllv",
		[CALL_GATHER] = "Gather",
		[CALL_SCATTER] = "Scatter",
		[CALL_SEND] = "Send",
		[CALL_RECV] = "Recv",
	};

	return (unsigned)kind < CALL_KIND_COUNT ? names[kind] : "unknown";
}
