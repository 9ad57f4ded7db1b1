/* decide_times.h: the monitor's time constants, each with its reason, in one table. The deadlines of
 * waits are not here: ranks set them (measure/timing.h). */
#pragma once

#define MS 1000000ull /* nanoseconds */

/* Fields that end in _ns are nanoseconds, the others are plain numbers. */
/* clang-format off */
#define DECIDE_TIMES(time) \
	/* ---- a tick ---- */ \
	/* Leaders read views so often. Every figure below is late by up to one tick. */ \
	time(uint64_t, leader_tick_ns, 20 * MS) \
	/* Members look at their own rank so often: a process that begins to end is found by asking, \
	 * since the kernel takes up to 0.5 s to take one with GPUs apart. */ \
	time(uint64_t, member_tick_ns, 40 * MS) \
	/* An observer that did not run for so long was stopped with the job, or starved. That \
	 * gap is no delay of a rank's: it is added to the deadline of the wait that was under \
	 * way. */ \
	time(uint64_t, pause_ns, 500 * MS) \
	/* ---- from something wrong to the verdict ---- */ \
	/* Deaths and errors that belong together come in within this time, and make one verdict. */ \
	time(uint64_t, settle_ns, 100 * MS) \
	/* A rank's death reaches its neighbours as an error of theirs before its own supervisor \
	 * sees it: a process with GPUs ends in up to 0.5 s. An error waits so long for a death. */ \
	time(uint64_t, error_ns, 600 * MS) \
	/* Where a rank died other hosts answer in this time, or the verdict is made without \
	 * them. */ \
	time(uint64_t, query_ns, 300 * MS) \
	/* Once the verdict is out the root saves the evidence of all hosts, and may be silent. */ \
	time(uint64_t, root_saves_ns, 10000 * MS) \
	/* Other hosts' slow evidence (stacks, RAS, counters) comes in this time. */ \
	time(uint64_t, slow_evidence_ns, 2500 * MS) \
	/* ---- several hosts ---- */ \
	/* Leaders send each other a heartbeat so often, ... */ \
	time(uint64_t, beat_ns, 100 * MS) \
	/* ... the root not more than a thousand a second: each should cost it some 5 us \
	 * (reckoned, not measured). */ \
	time(uint64_t, beat_each_ns, 1 * MS) \
	/* A leader whose connection is silent for so long makes a new one, again and again: TCP \
	 * waits twice as long after each loss, and would not see a link that heals. */ \
	time(uint64_t, rejoin_ns, 1000 * MS) \
	/* An attempt to connect is given up after this time. */ \
	time(uint64_t, connect_ns, 2000 * MS) \
	/* A leader that lives resets connections and never ends one; should it have done so it \
	 * is here again in this time: it begins to connect within a tick. Soon after, mpirun \
	 * ends what a killed one leaves. */ \
	time(uint64_t, come_again_ns, 500 * MS) \
	/* Watchers are looked at so often; one that has not run for so long is worth a line. */ \
	time(uint64_t, watchers_look_ns, 250 * MS) \
	time(uint64_t, watcher_ns, 1000 * MS) \
	/* Where another host's leader is held its members give the root so long to report it. */ \
	time(uint64_t, root_first_ns, 2000 * MS) \
	/* A packet that comes so much later than the last message is a repetition: its kernel \
	 * believes what it sent to be lost. */ \
	time(uint64_t, one_way_ns, 1000 * MS) \
	/* After something seemed wrong datagrams are sent to and fro with each \
	 * heartbeat for so long: longer than extension_cap, at whose end they are judged. */ \
	time(uint64_t, probe_ns, 12000 * MS) \
	/* ---- a busy host ---- */ \
	/* No rank is overdue while some rank of the host made a step so lately: slow is not \
	 * hung. It is also the shortest deadline that a rank sets. */ \
	time(uint64_t, progress_ns, 500 * MS) \
	/* A host that keeps a rank from running gives time to it, and to ranks that wait for it, \
	 * for so long and no longer: a crowded host always keeps some rank from running. */ \
	time(uint64_t, starvation_ns, 5000 * MS) \
	/* Ranks that each ran for less than this part of the last seconds: 2 % of a core for four gave them 0.9 to 2.4 % each. */ \
	time(uint64_t, starved_share_part, 25) \
	/* Where all ranks are starved a wait is looked at so often, for however long, ... */ \
	time(uint64_t, starved_look_ns, 2000 * MS) \
	/* ... with a line so often. */ \
	time(uint64_t, starved_line_ns, 60000 * MS) \
	/* A rank that has waited so long has the scheduler's accounts of all ranks read. Early \
	 * enough for own_time_ns to pass before progress_ns does. */ \
	time(uint64_t, watch_after_ns, 100 * MS) \
	/* Three windows: a starved rank gets its turn now and then, and is starved all the same. */ \
	time(uint64_t, starved_lately_ns, 300 * MS) \
	/* Between two readings of a scheduler's account; a shorter one says little. */ \
	time(uint64_t, window_ns, 100 * MS) \
	/* A rank that has had so much time for itself since some rank waits, running or asleep, \
	 * is where it is by its own will. */ \
	time(uint64_t, own_time_ns, 400 * MS) \
	/* A starved rank ran for less than a fiftieth of a window, ... */ \
	time(uint64_t, starved_ran_part, 50) \
	/* ... and was ready to run for more than half of it. */ \
	time(uint64_t, starved_queued_part, 2) \
	/* A rank that moves so many bytes a second works, as one that saves a checkpoint, reads data \
	 * or compiles; heartbeats and logs of others move less. So does one that runs half of the time, each time \
	 * in other functions. A pause of so long is no end. */ \
	time(uint64_t, work_bytes, 256 << 10) \
	/* A rank whose main thread ran for less than this part of a window, and moved less, did nothing. */ \
	time(uint64_t, idle_ran_part, 20) \
	time(uint64_t, works_lately_ns, 10000 * MS) \
	/* Where a rank is in init and none is named, a program is given so many times the patience: ten jobs \
	 * that start at once on a GPU, or thousands of ranks, take their time. */ \
	time(double, start_times, 5) \
	/* A rank that is stopped or frozen for so long needs no deadline: set-up and exit handlers have 60 s. */ \
	time(uint64_t, held_ns, 10000 * MS) \
	/* Launchers and Slurm give a job 30 s from a signal to SIGKILL. A rank that makes steps so much later has handled the \
	 * signal, and goes on. */ \
	time(uint64_t, told_ns, 60000 * MS) \
	/* ---- a hang that nothing explains ---- */ \
	/* A hang that nothing explains is given so many times what it had lasted when it was first \
	 * looked at: 2 of 151 healthy runs on crowded hosts were called hung before. */ \
	time(double, extension_times, 5) \
	/* But not more than this: first calls have ten seconds of their own. */ \
	time(double, extension_cap, 10) \
	/* It is looked at again after this part of the time that it has lasted, ... */ \
	time(double, extension_step, 0.5) \
	/* ... but not more often than this; of a wait on a starved rank, exactly so often. */ \
	time(uint64_t, extension_look_ns, 250 * MS) \
	/* ---- settings that differ ---- */ \
	/* Where settings that break calls differ, first calls that all ranks have enqueued are \
	 * given this part of the time for init, which progress_ns makes half a second, ... */ \
	time(double, settings_part, 0.5) \
	/* ... as long as some rank connects inside of its call, 3 s: 0.1 to 0.3 s were measured \
	 * with 16 processes on one H100 and sockets, ... */ \
	time(double, settings_inside, 4) \
	/* ... inside of init, which took less than 2 s there, 9.75 s; ... */ \
	time(double, settings_init, 13) \
	/* ... and calls what they take at a speed below that of any network in use. */ \
	time(double, settings_bytes_per_s, 1e8) \
	/* ---- communicator init, and a first call ---- */ \
	/* Ranks come to a communicator's first call in this part of the time in which all come \
	 * to init: 0.45 s after the first one did, since only a barrier lies between. An absent \
	 * rank has had own_time_ns by then. The library may take its time when all are there. */ \
	time(double, first_call_part, 0.6) \
	/* The first census at init is taken after this part of the time in which all come there. \
	 * Missing ranks are watched from then on, and have had own_time_ns when it is over. */ \
	time(double, census_early, 0.2) \
	/* The hosts answer a census in this time, or another one is taken. */ \
	time(uint64_t, census_answer_ns, 300 * MS) \
	/* From one census to the next, at least; the next one is due when a verdict could be. */ \
	time(uint64_t, census_again_ns, 100 * MS) \
	/* Once the missing have had twice the time, because their hosts keep them from running: \
	 * thousands of hosts need no query all the time. */ \
	time(uint64_t, census_seldom_ns, 1000 * MS)
/* clang-format on */

#define DECIDE_TIME(type, name, value) type name;
struct decide_times {
	DECIDE_TIMES(DECIDE_TIME)
};
extern const struct decide_times decide_times;

static inline double ns_seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}
