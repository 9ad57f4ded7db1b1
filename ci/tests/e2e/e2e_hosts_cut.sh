#!/bin/bash
# e2e_hosts_cut.sh: two hosts made of namespaces, the link between them cut: for good, for a while; a monitor or a
# launcher killed there. It is said as that, no rank is blamed, and the job ends everywhere by itself.
# timeout: 1000
# quiet: waits for time-outs
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"

KILL=9 STOP=19 CONT=18
tool=$BUILD/tests/tool_phase
make_hosts 2
times=(--silent-after 1.5 --partition-timeout 4)
cd "$work/own" || exit 1

# link up|down [HOST]: the second host's
link() {
	netns "$([ "$1" = up ] && echo mend || echo cut)" "node${2:-2}"
	[ "$1" = down ] || within 5 reachable
}

reachable() {
	timeout 1 nsenter -t "$(cat "$work/host1.pid")" -n bash -c "exec 3<>/dev/tcp/$net.3/9" 2>&1 | grep -q refused
}

verdict() {
	sed -n "s/^# verdict: .* $1=\([^ ]*\).*/\1/p" "$work/out"
}

gone() {
	no_process && ! ls "$work"/tmp/* >/dev/null 2>&1
}

# ended_alone WHAT: both sides, within ten seconds of the verdict
ended_alone() {
	holds "$1: the job has not ended" within 12 is_over "$pid"
	limit=1 ended
	holds "$1: processes are left" within 10 gone
	gone || { for pid in $(pids_of_run); do tr '\0' ' ' <"/proc/$pid/cmdline" && echo; done; end_leftovers; }
}

# blamed WHAT OUTCOME CLASS HOSTS SIDE
blamed() {
	holds "$1: no verdict" within 12 grep -q '^# verdict' "$work/out"
	ended_alone "$1"
	expect_out "^# verdict: outcome=$2 class=$3 ranks=- .* side=$5 hosts=$4 "
}

# begun PHASE WHO SIGNAL OPTION...: a run that is in that phase; leaves $struck, the process
begun() {
	local few
	few=(-w 100000000)
	[ "$1" = timed ] && few=(-w 2)
	from_host "${slots:-2,2}" --topo none -b 8 -e 8 -n 100000000 "${few[@]}" "${times[@]}" "${@:4}"
	start "${command[@]}"
	struck=$("$tool" "$token" "$1" 20 "$2" "$3") || explain "phase $1 not met"
}

for phase in warmup timed; do
	begun $phase rank:2 $CONT
	link down
	blamed "cut while $phase" hang host-silent node2 unknown
	expect_rc 10 "cut while $phase"
	expect_out '^# host node2: nothing heard of its monitor for 1.[5-9] s'
	link up
done
# what each side kept, on its own disk: one run, two sides that lived
for i in 1 2; do
	inside $i bash -c 'cp -r "$(ls -dt "$1"/results/runs/2* | head -n 1)" "$2"' - "$work/own" "$work/side$i" 2>/dev/null
	inside $i rm -rf "$work/own/results"
	holds "host $i kept no evidence" test -s "$work/side$i/verdict.json"
done
run "$BUILD/hang_diagnose" "$work/side1" "$work/side2"
expect_rc 10 'hang_diagnose of both sides'
expect_out '^class +partition$'
expect_out '^culprit +none is named \(of'
expect_out '^side +fabric$'

# the other host's link and the own one look alike
begun timed rank:2 $CONT
link down 1
blamed 'own link' hang host-silent node2 unknown
link up 1

slots=1,1 begun timed rank:1 $CONT -n 1000
link down
holds 'a cut that heals: no line' within 6 grep -q '^# host node2: nothing heard' "$work/out"
link up
limit=40 ended
expect_rc 0 'a cut that heals'
expect_out '^# host node2: heard of again'
expect_no_out '^# verdict'

# mpirun on a host without ranks, a disk that both hosts share: each side has a folder, and the user is told what ends
# mpirun, whose connection to the lost host no process of the run can shut
mkdir "$work/shared"
cd "$work/shared" || exit 1
on_hosts 2,2 -b 8 -e 8 -n 100000000 -w 2 "${times[@]}"
start "${command[@]}"
struck=$("$tool" "$token" timed 20 rank:2 $CONT) || explain 'mpirun elsewhere: phase timed not met'
link down
holds 'mpirun elsewhere: no verdict' within 12 grep -q '^# if mpirun does not end' "$work/out"
expect_out '^# node2, if alive, saves its own view: results/runs/\*-[0-9a-f]{8}\*$'
sleep 4
kill -INT $(grep -lsx mpirun $(pids_of_run | sed 's|.*|/proc/&/comm|') | tr -dc '0-9\n')
ended_alone 'mpirun elsewhere'
expect_out '^# verdict: outcome=hang class=host-silent ranks=- .* hosts=node2 '
sides=(results/runs/2*)
holds "mpirun elsewhere: folders ${sides[*]}" [ ${#sides[@]} = 2 ]
run "$BUILD/hang_diagnose" "${sides[@]}"
expect_out '^class +partition$'
link up
cd "$work/own" || exit 1

# what it has not read makes its kernel reset the connection: no proof to the root, another supervisor there tells
for who in supervisor leader; do
	begun timed $who:2 $STOP
	sleep 0.3
	kill -KILL "$struck"
	blamed "$who killed" died monitor-gone node2 host
	holds "$who killed: exit 0" [ "$rc" -ne 0 ] # mpirun's may be that of the killed one, 137
done
finish
