#!/bin/bash
# e2e_faults_edges.sh: faults that are none: late, slow, refused, never fired; hostile evidence, the command line, and states that
# flicker under a debugger or a limiter.
# timeout: 750
# quiet: ranks have to be slower than others by so much
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=ci/tests/faults/faults.sh
source "$(dirname "$0")/faults.sh"
ranks_sleep

# A rank late by less than the deadline is no fault, and neither is the healthy schedule.
for spec in late-rank:1,delay=0.2 none; do
	perf all_reduce -g 4 "--fault=$spec" --csv "$work/$spec.csv"
	expect_rc 0 "$spec:"
	expect_no_out '^# verdict'
	expect_no_out 'out-of-place' # no heading of a table without rows
	expect_no_out 'minBytes'     # nor sizes of a sweep
	holds "$spec: not 20 steps" [ "$(column "$work/$spec.csv" step | paste -sd ' ')" = "$(seq -s ' ' 6 25)" ]
done
# the late rank, and that another waited for it
cost=$(paste -d, <(column "$work/late-rank:1,delay=0.2.csv" step) <(column "$work/late-rank:1,delay=0.2.csv" slowest_rank) \
	<(column "$work/late-rank:1,delay=0.2.csv" waited_us) | awk -F, '$1 == 8 { print $2, ($3 > 1e5) }')
holds "step 8: $cost" [ "$cost" = '1 1' ]

# Slow and alive: README's command prints its line, since the steps last; a schedule with another fault is made once.
perf all_reduce -g 2 --fault=slow-rank:1,by=50% --fail-slow
expect_out '^# made [0-9]+ times, [0-9.]+ s in all'
expect_no_out '^# slow: rank 0 '
# where other programs take the processors no rank is named for sure
{ [ $rc = 15 ] && grep -q '^# slow: rank 1 (' "$work/out"; } || late "a slow rank with --fail-slow: exit $rc"

# The run ends well, and the ranks that are slowed are those that the others wait for.
slow_steps() { # CSV RANK: steps in which another rank waited at least 10 ms for it
	paste -d, <(column "$1" slowest_rank) <(column "$1" waited_us) | awk -F, -v rank="$2" '$1 == rank && $2 > 1e4 { n++ } END { print n + 0 }'
}
while IFS='|' read -r program spec rank least; do
	perf "$program" -g 2 -b 64K --no-watch "--fault=$spec" --csv "$work/slow.csv"
	expect_rc 0 "$spec:"
	expect_no_out '^# verdict'
	n=$(slow_steps "$work/slow.csv" "$rank")
	holds "$spec: rank $rank was late in $n steps" [ "$n" -ge "$least" ]
	rm -f "$work/slow.csv"
done <<'END'
all_reduce|slow-rank:1,by=20ms,how=sleep|1|14
all_reduce|slow-rank:0,by=20ms,how=sleep,every=6|0|3
all_reduce|pause-rotating,by=60ms,how=sleep|1|2
END
perf sendrecv -g 2 -b 64K --no-watch --fault=slow-link:0,by=20ms --csv "$work/slow.csv"
expect_rc 0 'slow-link:'
holds 'slow-link: steps of 20 ms' [ "$(column "$work/slow.csv" time_us | awk '$1 > 2e4 { n++ } END { print n + 0 }')" -ge 18 ]
perf all_reduce -g 2 -b 64K --no-watch --fault=host-contend:1,seconds=1
expect_rc 0 'host-contend:'
perf all_reduce -g 2 -b 64K --no-watch --fault=slow-rank:1,by=1ms,p=0
expect_rc 20 'a random fault that never fires:'
expect_err 'slow-rank:1,by=1ms,p=0 did not fire'
perf all_reduce -g 2 --fault=slow-rank:1,on=gpu
expect_rc 77 'on=gpu without a GPU:'

# A fault that cannot fire proves nothing: refused before ranks communicate.
perf all_reduce -g 2 --fault=drop-rank:1@1000
expect_rc 2 'beyond the schedule:'
expect_err 'call 1000 is never reached: rank 1 makes 25 calls in the schedule'
holds 'stdout is not empty' [ ! -s "$work/out" ]

# One that never comes to its call is told, and what was expected is not shown by such a run.
never=('--fault=drop-rank:1@8' '--fault=kill-rank:2@10')
perf all_reduce -g 4 "${never[@]}"
expect_rc 10 'the second fault does not fire:'
expect_err 'rank 2: --fault=kill-rank:2@10 did not fire'
expect_no_out 'did not fire'
perf all_reduce -g 4 "${never[@]}" --expect hang:missing-call:1
expect_rc 1 'expected, but the second fault does not fire:'
perf all_reduce -g 4 "${never[0]}" --expect hang:missing-call:1
expect_rc 0 'expected:'

# Evidence swapped between two ranks must not give the same answer.
cd "$work" || exit 1
run "$BUILD/all_reduce_perf" --backend mpi --topo none -g 4 --fault=drop-rank:2
cd "$OLDPWD" || exit 1
swapped=$(folder)
mv "$swapped/rank-2.fr" "$swapped/x"
mv "$swapped/rank-0.fr" "$swapped/rank-2.fr"
mv "$swapped/x" "$swapped/rank-0.fr"
run "$BUILD/hang_diagnose" "$swapped"
holds 'swapped evidence still names rank 2 as missing-call' \
	python3 -c 'import json, sys
v = json.load(open(sys.argv[1] + "/verdict.json"))
r = v["ranks"]
r = ",".join(map(str, r)) if isinstance(r, list) else r
sys.exit(1 if (v["class"], r) == ("missing-call", "2") else 0)' "$swapped"

# Hostile evidence: said, never a crash.
head -c 1000 /dev/urandom >"$swapped/rank-1.fr"
truncate -s 100 "$swapped/rank-3.fr"
run "$BUILD/hang_diagnose" "$swapped"
holds "hostile evidence: exit $rc" [ "$rc" -lt 20 ]
run "$BUILD/hang_diagnose" "$work/nothing-there"
expect_rc 2 "no evidence:"

# The command line.
for spec in no-such-fault drop-rank:x drop-rank:1@ drop-rank:1,key=1 drop-rank:9; do
	perf all_reduce -g 2 "--fault=$spec"
	expect_rc 2 "$spec:"
done
perf all_reduce --list-faults
expect_rc 0 '--list-faults:'
expect_out '^# drop-rank +hang +alive'
perf all_reduce --list-faults=late-rank
expect_rc 0 '--list-faults=late-rank:'
expect_out '^#   keys: delay=SECONDS '
expect_no_out drop-rank
perf all_reduce --list-faults=late
expect_rc 2 '--list-faults=late:'
expect_err 'unknown fault'

# ---- one look at a state that flickers ----

# rank_pid RANK: of the run that was started
rank_pid() {
	sed -nE "s/^#  Rank +$1 .* Pid +([0-9]+) on .*/\\1/p" "$work/out"
}

began() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20; }

# limit_cpu PID: as cpulimit does, until it is gone; a process that gets its number later is left alone
limit_cpu() {
	local first
	first=$(began "$1")
	while [ "$(began "$1")" = "$first" ] && kill -STOP "$1"; do
		sleep 0.09
		kill -CONT "$1"
		sleep 0.01
	done 2>/dev/null
}

has_rank() {
	[ -n "$(rank_pid 1)" ]
}

# Rank 1 is stopped nine tenths of the time, in the call that rank 3 lacks.
start "$BUILD/all_reduce_perf" --backend mpi --topo none -g 4 --fault=drop-rank:3
holds 'cpulimit: no ranks' within 20 has_rank
limit_cpu "$(rank_pid 1)" &
ended
expect_rc 10 'cpulimit:'
expect_out '^# verdict: outcome=hang class=missing-call ranks=3 comm=0 seq=8 confidence=proved '

# A debugger that looks at a rank of a healthy run is waited for.
start "$BUILD/all_reduce_perf" --backend mpi --topo none -g 4 -b 1K -e 1K -N 0
holds 'a debugger: no row' within 30 grep -qE '^ +1024 ' "$work/out"
python3 - "$(rank_pid 1)" <<'END'
import ctypes
import os
import sys
import time

SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
ptrace = ctypes.CDLL(None).ptrace
pid = int(sys.argv[1])
ptrace(SEIZE, pid, None, None)
ptrace(INTERRUPT, pid, None, None)
os.waitpid(pid, WALL)
time.sleep(3)
ptrace(DETACH, pid, None, None)
END
sleep 1
holds 'a debugger: the run has ended' kill -INT "$pid"
ended
expect_out '^# rank 1 \(.* pid [0-9]+\) is looked at by python3 \(pid [0-9]+\): detach that; the run waits 10 s for it$'
expect_no_out '^# verdict'
finish
