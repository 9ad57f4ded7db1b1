#!/bin/bash
# e2e_kill.sh: whoever is killed in whatever phase, the run ends and leaves nothing; a rank's death
# and a hang are named.
# timeout: 1000
if [ -z "${HANGAR_E2E_OWN_MOUNTS:-}" ]; then
	# For own_shm
	export HANGAR_E2E_OWN_MOUNTS=1
	unshare -rm true 2>/dev/null && exec unshare -rm bash "$0" "$@"
fi
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
own_shm

KILL=9 STOP=19
tool=$BUILD/tests/tool_phase
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
ranks=2
phase_seconds=10

# Options that make a run stay in a phase. Init and finalise are short: there the tool must
# be quick.
declare -A hold=(
	[init]='-n 1 -w 0 -c 1 -b 8 -e 8'
	[warmup]='-w 100000000 -n 1 -b 8 -e 8'
	[timed]='-n 100000000 -b 8 -e 8'
	[check]='-n 1 -w 0 -c 100000000 -b 1M -e 1M'
	[finalise]='-n 1 -w 0 -c 1 -b 8 -e 8'
	[any]='-n 1 -w 0 -c 1 -b 8 -e 8'
)

left_files() {
	left_in_shm
	ls -d "$TMPDIR"/* 2>/dev/null
}
before=$(left_files)

nothing_left() {
	no_process && [ "$(left_files)" = "$before" ]
}

# gone_soon WHAT: within 5 s no process and no file of the run
gone_soon() {
	checks=$((checks + 1))
	within 5 nothing_left && return
	explain "$1: after 5 s there is still something left"
	no_process || ps -o pid,ppid,stat,args -p "$(pids_of_run | paste -sd,)"
	left_files
	end_leftovers
}

start_held() {
	# shellcheck disable=SC2086 # words
	start "$BUILD/all_reduce_perf" --backend mpi --topo none -g $ranks ${hold[$1]} "${@:2}"
}

# strike PHASE WHO SIGNAL [OPTION...]: start a run, send the signal in that phase. A short phase can
# be missed, then it is tried again. Leaves $hit, the process that was hit.
strike() {
	local try
	for try in 1 2 3 4 5; do
		start_held "$1" "${@:4}"
		hit=$("$tool" "$token" "$1" $phase_seconds "$2" "$3") && return
		limit=10 ended
		gone_soon "phase $1 not met" # or the next try finds this run's ranks
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

# saved WHAT: the evidence has all ranks
saved() {
	for ((i = 0; i < ranks; i++)); do
		holds "$1: no evidence of rank $i" test -s "$(sed -n 's/^# verdict: .* evidence=//p' "$work/out" | tail -n 1)/rank-$i.fr"
	done
}

for phase in init warmup timed check finalise; do
	strike $phase rank:1 $KILL && {
		died_in $phase rank
		expect_rc 14 "rank killed in $phase:"
		expect_out '^# verdict: outcome=died class=rank-killed ranks=1 '
		expect_out '^# culprit: rank 1 .*killed by SIGKILL'
	}
	strike $phase leader $KILL && {
		died_in $phase leader
		[ $phase = finalise ] || {
			expect_out '^# verdict: outcome=died class=monitor-gone ranks=- '
			expect_out '^# culprit: host .*: the monitor \(pid [0-9]+\) is gone$'
			expect_no_out 'cannot be seen'
			expect_rc 14 "leader killed in $phase:"
			[ $phase = init ] || saved "leader killed in $phase"
		}
	}
	for who in member parent; do
		strike $phase $who $KILL && {
			died_in $phase $who
			[ $phase = finalise ] || {
				expect_out '^# verdict: outcome=died class=monitor-gone ranks=- '
				expect_rc 14 "$who killed in $phase:"
			}
		}
	done
	strike $phase launcher $KILL && died_in $phase launcher
	strike $phase guard $KILL && died_in $phase guard
done

# --expect of a death
strike timed rank:0 $KILL --expect died:rank-killed:0 && {
	limit=10 ended
	expect_rc 0 'expected death:'
	expect_out '^# as expected: died:rank-killed:0$'
}

# Under mpirun typed by the user
start mpirun --quiet -np $ranks "$BUILD/all_reduce_perf" --backend mpi --topo none -n 100000000 -b 8 -e 8
hit=$("$tool" "$token" timed $phase_seconds rank:1 $KILL) || explain 'mpirun: no rank to kill'
limit=10 ended
expect_rc 14 'rank killed under mpirun:'
expect_out '^# verdict: outcome=died class=rank-killed ranks=1 '
gone_soon 'rank killed under mpirun'

# Asked to end
for signal in TERM INT; do
	start_held timed
	within 10 "$tool" "$token" >"$work/ranks" || explain "SIG$signal: run does not come up"
	kill -$signal $pid
	died_in timed "bare start by SIG$signal"
done

# Stopped for a moment: no fault
strike timed rank:1 $STOP -n 4000 && {
	sleep 0.3
	kill -CONT "$hit"
	ended
	expect_rc 0 'stopped for 0.3 s:'
	expect_no_out '^# verdict'
}

# A leader that is killed while it saves: the next one begins a folder of its own, within the same second, too
start "$BUILD/all_reduce_perf" --backend mpi --topo none -g $ranks --fault=drop-rank:1
leader_known() { leader=$("$tool" "$token" 2>/dev/null | grep -Po 'leader=\K[1-9][0-9]*'); }
within 10 leader_known
until grep -q '^# verdict' "$work/out" || is_over "$pid"; do :; done
kill -KILL "$leader"
limit=10 ended
holds "leader killed while it saves: exit $rc" grep -qx '1[04]' <<<"$rc"
holds 'leader killed while it saves: no folder' bash -c '! grep -q "no evidence can be saved" "$1"' - "$work/err"
saved 'leader killed while it saves'

# Watchers that do not run: said, then a verdict and the end; a leader that is continued meanwhile is none
for who in leader launcher; do
	strike timed $who $STOP -n 2000 --partition-timeout 2 && {
		limit=30 ended
		expect_rc 10 "$who stopped:"
		expect_out '^# the (monitor|launcher) of this host \(pid [0-9]+\) is stopped: '
		expect_out '^# verdict: outcome=hang class=watcher-held ranks=- .* side=host hosts='
		expect_out '^# culprit: host .*: the (monitor|launcher) \(pid [0-9]+\) is stopped$'
		holds "$who stopped: $(grep -c '^# verdict' "$work/out") verdicts" [ "$(grep -c '^# verdict' "$work/out")" = 1 ]
		gone_soon "$who stopped"
		saved "$who stopped"
	}
done
# In MPI_Init, whose deadline comes before this timeout: the wait is the launcher's
strike any launcher $STOP --partition-timeout 30 && {
	limit=30 ended
	expect_rc 10 'launcher stopped in MPI_Init:'
	expect_out '^# verdict: outcome=hang class=watcher-held ranks=- .* side=host hosts='
	expect_out '^# culprit: host .*: the launcher \(pid [0-9]+\) is stopped$'
	gone_soon 'launcher stopped in MPI_Init'
}
strike timed leader $STOP --partition-timeout 2 && {
	sleep 3
	kill -CONT "$hit"
	sleep 3
	expect_no_out '^# verdict'
	expect_out '^# the monitor of this host '
	kill -TERM "$pid"
	died_in timed 'after a leader that was stopped, the start'
}

# Nothing runs: all supervisors, or mpirun before it has ranks; the parent says it
held() {
	limit=30 ended
	expect_rc 10 "$1 stopped:"
	expect_out "^# $2 \(pid [0-9]+\) is stopped: continue it"
	expect_out '^# verdict: outcome=hang class=watcher-held ranks=- .* side=host hosts='
	gone_soon "$1 stopped"
}
strike timed member $STOP --partition-timeout 2 && "$tool" "$token" any 5 parent $STOP >/dev/null &&
	"$tool" "$token" any 5 leader $STOP >/dev/null && held 'all supervisors' 'no supervisor of this run runs: the first'
mkdir "$work/stopped" && printf '#!/bin/sh\nkill -STOP $$\n' >"$work/stopped/mpirun" && chmod 755 "$work/stopped/mpirun"
PATH=$work/stopped:$PATH start_held timed --partition-timeout 2
held mpirun mpirun

# Descriptors that mpirun lacks: more, where that may be, else an error at once
run bash -c 'ulimit -Sn 24 && exec "$@"' - "$BUILD/all_reduce_perf" --backend mpi --topo none -g 16 -b 8 -e 8
expect_rc 0 'few descriptors'
run bash -c 'ulimit -n 24 && exec "$@"' - "$BUILD/all_reduce_perf" --backend mpi --topo none -g 16 -b 8 -e 8
[ $rc = 0 ] || { expect_rc 77 'few descriptors allowed' && expect_err '24 open files are allowed, and 16 ranks need [0-9]+: ulimit -n'; }

# An mpirun that cannot start has no ssh, as in a container: its own words, and no verdict
mkdir "$work/bare" && ln -s "$(type -P mpirun)" "$(type -P sh)" "$work/bare"
run env PATH="$work/bare" "$BUILD/all_reduce_perf" --backend mpi --topo none -g 2 -b 8 -e 8
expect_rc 1 'no ssh:'
expect_err 'plm_rsh_agent: ssh : rsh'
expect_no_out .

# Stopped for good
strike timed rank:1 $STOP && {
	limit=20 ended
	expect_rc 10 'stopped:'
	expect_out '^# verdict: outcome=hang class='
	expect_out '^# (culprit: )?rank 1 .*stopped'
	expect_out '^# rank 0 waits in calls? '
	gone_soon 'stopped'
}
begun=$(now_ms)
strike timed rank:1 $STOP -T 2 && {
	limit=20 ended
	expect_rc 10 'stopped, -T 2:'
	holds "-T 2: took $(($(now_ms) - begun)) ms" [ $(($(now_ms) - begun)) -ge 2000 ]
}
# In every other phase, too: -T is the deadline of all waits
for phase in init warmup check finalise; do
	strike $phase rank:1 $STOP -T 1 && {
		limit=20 ended
		expect_rc 10 "stopped in $phase:"
		expect_out '^# verdict: outcome=hang '
		expect_out '^# (culprit: )?rank 1 .*stopped'
		gone_soon "stopped in $phase"
	}
done
strike timed rank:1 $STOP --expect hang && {
	limit=20 ended
	expect_rc 0 'stopped, --expect hang:'
	expect_out '^# verdict: outcome=hang'
}
strike timed rank:1 $STOP --expect ok && {
	limit=20 ended
	expect_rc 1 'stopped, --expect ok:'
	expect_out '^# expected ok, came hang:[a-z-]+:1: exit 1$'
	gone_soon 'stopped, --expect ok'
}

# Nobody watches
strike timed rank:1 $STOP --no-watch -n 4000 && {
	sleep 2
	kill -CONT "$hit"
	ended
	expect_rc 0 'stopped for 2 s, --no-watch:'
	expect_no_out '^# verdict'
}
# unwatched PHASE RANK [OPTION...]: the run of `strike` or `start` ends with the death, watched or not
unwatched() {
	died_in "$1" "rank $2 with --no-watch"
	expect_rc 14 "killed in $1, --no-watch:"
	expect_out "^# verdict: outcome=died class=rank-killed ranks=$2 "
}
ranks=4
for phase in init warmup timed check; do
	for rank in 0 3; do
		strike $phase rank:$rank $KILL --no-watch && unwatched $phase $rank
	done
done
for rank in 0 2; do # in a hang that nothing else ends, started by hand
	start mpirun --quiet --oversubscribe -np 4 "$BUILD/all_gather_perf" --backend mpi --topo none --no-watch \
		--schedule mixed --fault=drop-rank:1@9
	hit=$("$tool" "$token" any $phase_seconds rank:$rank 0) && sleep 2 && kill -KILL "$hit"
	unwatched hang $rank
done
ranks=2

# An mpirun that does not end when its ranks have, as 4.1 does now and then when one dies in MPI_Init: it is stopped
# when it has printed the line, and again where it is continued.
for try in 1 2 3 4 5; do
	start mpirun --quiet -np 2 "$BUILD/all_reduce_perf" --backend mpi --topo none -n 100000000 -b 8 -e 8
	"$tool" "$token" timed $phase_seconds rank:1 $KILL >/dev/null || continue
	until grep -q '^# culprit' "$work/out" || is_over "$pid"; do sleep 0.01; done
	for ((i = 0; i < 100; i++)); do
		kill -STOP "$pid" 2>/dev/null
		sleep 0.02
	done
	is_over "$pid" || break
done
holds 'stuck mpirun: it has ended before it was stopped' kill -0 "$pid"
holds 'stuck mpirun: it does not end' within 14 is_over "$pid"
ended
expect_out '^# verdict: outcome=died class=rank-killed ranks=1 '
rm -rf "$TMPDIR"/ompi.*
gone_soon 'end of the test'
finish
