#!/bin/bash
# e2e_hosts.sh: two and three hosts made of namespaces: ranks, nodes and data are right, and what
# happens to a rank or supervisor on another host is known on all.
# timeout: 600
# quiet: a death on another host has to be told within a second
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"

KILL=9 STOP=19
tool=$BUILD/tests/tool_phase
make_hosts 3

# left_on_hosts: files of ours on any of them
left_on_hosts() {
	local i
	ls -d "$work/tmp"/* 2>/dev/null
	for ((i = 1; i <= hosts; i++)); do
		inside $i bash -c 'ls -d /dev/shm/* "$1"/* 2>/dev/null' - "$work/tmp"
	done
}

nothing_left() {
	no_process && [ -z "$(left_on_hosts)" ]
}

# gone_soon WHAT
gone_soon() {
	checks=$((checks + 1))
	within 10 nothing_left && return
	explain "$1: after 10 s there is still something left"
	for pid in $(pids_of_run); do tr '\0' ' ' <"/proc/$pid/cmdline" && echo; done
	left_on_hosts
	end_leftovers
}

# healthy SLOTS RANKS NODES: data right, everyone in place
healthy() {
	on_hosts "$1" -b 4 -e 4000012 -i 4000008 -n 3 -w 1 -c 1 --align 1 \
		--csv "$work/rows.csv" --json "$work/rows.jsonl"
	rm -f "$work/rows.csv" "$work/rows.jsonl"
	run "${command[@]}"
	expect_rc 0 "hosts with $1 slots:"
	expect_out "$2 ranks on $3 nodes"
	holds "wrong data, or not 4 rows" [ "$(column "$work/rows.csv" wrong | paste -sd,)" = 0,0,0,0 ]
	holds "nnodes" [ "$(column "$work/rows.csv" nnodes | sort -u)" = "$3" ]
	holds "nodes and local ranks are not those of $1" python3 -c '
import json, sys
slots = [int(s) for s in sys.argv[2].split(",")]
want = [(node, local, f"node{node + 1}") for node, n in enumerate(slots) for local in range(n)]
header = json.loads(open(sys.argv[1]).readline())
got = [(r["node"], r["local_rank"], r["host"]) for r in header["ranks"]]
sys.exit(f"{got} instead of {want}" if got != want else 0)' "$work/rows.jsonl" "$1"
	gone_soon "hosts with $1 slots"
}

healthy 1,1 2 2
healthy 2,2 4 2
healthy 2,1,1 4 3

# struck WHO SIGNAL [OPTION...]: a run on three hosts, hit while it measures; waits for its end, sets
# $took to what the verdict says it took, ms. False when there was nothing to hit.
struck() {
	on_hosts 2,1,1 -b 8 -e 8 -n 100000000 "${@:3}"
	start "${command[@]}"
	if ! "$tool" "$token" timed 40 "$1" "$2" >/dev/null; then
		explain "$1: timed phase not met"
		return 1
	fi
	# The verdict is what must be quick; mpirun takes its time with the rest. It kills all ranks a second after it has seen that
	# one of its own is gone: where others have the cores, before a monitor could say why.
	checks=$((checks + 1))
	if ! within 5 grep -q '^# verdict' "$work/out"; then
		late "$1: no verdict within 5 s"
		limit=20 ended
		return 1
	fi
	took=$(sed -nE 's/^# verdict: .* detect_ms=([0-9]+) .*/\1/p' "$work/out")
	limit=20 ended
}

if struck rank:3 $KILL; then
	expect_rc 14 'rank killed on another host:'
	expect_out '^# verdict: outcome=died class=rank-killed ranks=3 '
	expect_out '^# culprit: rank 3 \(node3 .*killed by SIGKILL'
	in_time 'rank killed on another host' "$took" 1000
	gone_soon 'rank killed on another host'
fi
for who in supervisor leader; do
	if struck $who:2 $KILL; then
		holds "$who killed on another host: exit 0" [ $rc -ne 0 ]
		expect_out '^# verdict: outcome=died class=monitor-gone ranks=- .* hosts=node2 '
		in_time "$who killed on another host" "$took" 1000
		gone_soon "$who killed on another host"
	fi
done
# -T: else the deadline is ten times the slowest warm-up call, 0.1 to 0.5 s where four ranks spin on
# two cores
if struck rank:2 $STOP -T 1; then
	expect_rc 10 'rank stopped on another host:'
	expect_out '^# verdict: outcome=hang '
	expect_out '^# culprit: rank 2 \(node2 .*stopped'
	expect_out "^# ranks? [013,]+ waits? in (call|'the start of a batch')"
	gone_soon 'rank stopped on another host'
fi
finish
