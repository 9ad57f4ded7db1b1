/* decide_times.h: all that the monitor knows of time, in one table, with the reasons. */
#pragma once

/* Fields that end in _ns are nanoseconds, the others are plain numbers. */
struct decide_times {
	/* ---- a tick ---- */
	uint64_t leader_tick_ns;
	uint64_t member_tick_ns;
	uint64_t pause_ns;
	/* ---- from something wrong to the verdict ---- */
	uint64_t settle_ns;
	uint64_t error_ns;
	uint64_t query_ns;
	uint64_t root_saves_ns;
	uint64_t slow_evidence_ns;
	/* ---- several hosts ---- */
	uint64_t beat_ns;
	uint64_t beat_each_ns;
	uint64_t rejoin_ns;
	uint64_t connect_ns;
	uint64_t come_again_ns;
	uint64_t watchers_look_ns;
	uint64_t watcher_ns;
	uint64_t root_first_ns;
	uint64_t one_way_ns;
	uint64_t probe_ns;
	/* ---- a busy host ---- */
	uint64_t progress_ns;
	uint64_t starvation_ns;
	uint64_t watch_after_ns;
	uint64_t starved_lately_ns;
	uint64_t window_ns;
	uint64_t own_time_ns;
	uint64_t starved_ran_part;
	uint64_t starved_queued_part;
	/* ---- a hang that nothing explains ---- */
	double extension_times;
	double extension_cap; /* seconds */
	double extension_step;
	uint64_t extension_look_ns;
	/* ---- settings that differ ---- */
	double settings_part;
	double settings_inside;
	double settings_init;
	double settings_bytes_per_s;
	/* ---- communicator init, and a first call ---- */
	double first_call_part;
	double census_early;
	uint64_t census_answer_ns;
	uint64_t census_again_ns;
	uint64_t census_seldom_ns;
};

/* See decide_times.c. */
extern const struct decide_times decide_times;

static inline double ns_seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}
