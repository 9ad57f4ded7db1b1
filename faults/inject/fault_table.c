/* fault_table.c: all faults, in the order of --list-faults. */
#include "inject/fault.h"

/* clang-format off */
#define FAULTS(row)                                                                                \
	row(fault_drop_rank) row(fault_block_rank) row(fault_busy_rank) row(fault_late_rank)       \
	row(fault_exit_rank) row(fault_kill_rank) row(fault_crash_rank) row(fault_stop_rank)       \
	row(fault_skip_call) row(fault_extra_call) row(fault_early_exit)                           \
	row(fault_conditional_call)                                                                \
	row(fault_oom_rank) row(fault_gpu_oom)                                                     \
	row(fault_init_missing) row(fault_init_nranks) row(fault_init_id) row(fault_init_iface)    \
	row(fault_abort_one)                                                                       \
	row(fault_size_mismatch) row(fault_dtype_mismatch) row(fault_redop_mismatch)               \
	row(fault_root_mismatch) row(fault_coll_mismatch) row(fault_swap_calls)                    \
	row(fault_order_swap) row(fault_p2p_unmatched) row(fault_p2p_size) row(fault_p2p_peer)     \
	row(fault_p2p_deadlock) row(fault_alltoallv_counts) row(fault_group_unbalanced)            \
	row(fault_graph_replay)                                                                    \
	row(fault_settings_mismatch)          \
	row(fault_corrupt_send) row(fault_corrupt_recv) row(fault_nan) row(fault_stale_buffer)     \
	row(fault_gpu_stuck) row(fault_stream_wait) row(fault_gpu_fault)                           \
	row(fault_slow_rank) row(fault_pause_rotating) row(fault_host_contend)                     \
	row(fault_gpu_contend) row(fault_slow_link)                                                \
	row(fault_command)
/* clang-format on */

#define DECLARE(name) extern const struct fault name;
FAULTS(DECLARE)

#define REFER(name) &name,
const struct fault *const fault_table[] = { FAULTS(REFER) NULL };
