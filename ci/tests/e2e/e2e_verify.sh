#!/bin/bash
# e2e_verify.sh: hang_verify and hang_reduce: texts, evidence and dumps in, verdicts, exit codes and programs out.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

text() {
	printf '%s\n' "$@" >"$work/s.txt"
}
text 'ranks 3' 'rank 0-2 all_reduce//8@train.py:7 all_gather//4' 'rank 0,1 all_reduce//9@train.py:9'
run "$BUILD/hang_verify" "$work/s.txt"
expect_rc 10 'a call that is missing:'
expect_out '^would hang: 3 ranks, 8 calls$'
expect_out '^culprit: rank 2 '
expect_out '^class +missing-call$'
run "$BUILD/hang_verify" --json "$work/s.txt"
expect_rc 10 '--json:'
holds 'verdict.json' python3 -c 'import json,sys; v=json.load(open(sys.argv[1])); assert (v["class"], v["ranks"]) == ("missing-call", "2")' "$work/out"
text 'ranks 2' 'rank 0 all_reduce//8' 'rank 1 all_reduce//8/-/float/max'
run "$BUILD/hang_verify" "$work/s.txt"
expect_rc 16 'unlike calls:'
expect_out '^completes with unlike calls: '
text 'ranks 2' 'rank 0-1 all_reduce'
run "$BUILD/hang_verify" "$work/s.txt"
expect_rc 0 'a healthy one:'
text 'ranks 2' 'rank 0 all_reduce'
run "$BUILD/hang_verify" "$work/s.txt"
expect_rc 2 'a rank without a line:'
expect_err 's.txt: cannot tell: nothing is known of rank 1: --assume'
run "$BUILD/hang_verify" --assume "$work/s.txt"
expect_rc 0 '--assume:'
expect_out "Rank 1's calls are assumed to be those of rank 0"
text 'ranks 2' 'rank 0 all_reduce/tp'
run "$BUILD/hang_verify" "$work/s.txt"
expect_rc 2 'an unknown group:'
expect_err "s.txt:2: no group 'tp'"
text 'ranks 2' 'rank 0 send//1K/1 recv//1K/1' 'rank 1 send//1K/0 recv//1K/0'
run "$BUILD/hang_verify" --eager 64K "$work/s.txt"
expect_rc 0 'sends that are buffered:'
expect_out 'sends up to 65536 bytes are buffered, and hangs without'
run "$BUILD/hang_verify" "$work/none.txt"
expect_rc 2 'a file that is not there:'

# What a run left: the schedule hangs as the run did
"$BUILD/all_gather_perf" --backend mpi -g 3 --fault=kill-rank:2 --topo none --out "$work/kill" -b 16K >"$work/killed" 2>&1 &
run "$BUILD/all_gather_perf" --backend mpi -g 3 --fault=drop-rank:2 --topo none --out "$work/skip" -b 16K
wait
run "$BUILD/hang_verify" "$work"/skip/*/
expect_rc 10 'evidence of a call that rank 2 does not make:'
expect_out '^culprit +rank 2 '
run "$BUILD/hang_reduce" "$work"/skip/*/ --run --seconds 1
expect_rc 0 'its smallest schedule:'
expect_err 'calls become [23] and [1-4]$'
expect_err 'over MPI, [23] ranks: hangs the same way'
run "$BUILD/hang_verify" "$work"/kill/*/
expect_rc 77 'a rank that was killed:'
expect_err 'cannot tell: rank 2 killed by SIGKILL after its call'
run "$BUILD/hang_reduce" "$work"/kill/*/
expect_rc 77 'a killed rank reduced:'

# Flight Recorder dumps, made up and recorded: a rank that left none is known by its peers at best
python3 ci/tests/schedules/generate.py "$work/dumps" --seed 5 --count 1 --edits skip >/dev/null
run "$BUILD/hang_verify" "$work/dumps/0000"
expect_rc 10 'dumps:'
tar xf ci/tests/evidence/torch_recorded.tar.xz -C "$work"
run "$BUILD/hang_verify" "$work/mixed/skip"
expect_rc 10 'recorded dumps, a call left out:'
expect_out '^class +skipped-call$'
expect_out '^culprit +rank 2 '
run "$BUILD/hang_verify" "$work/mixed/none"
expect_rc 0 'recorded dumps of a healthy run:'
run "$BUILD/hang_verify" "$work/plain/drop"
expect_rc 77 'a dump that may be older than the others:'
expect_err "cannot tell: rank 3's calls may go on"
run "$BUILD/hang_verify" "$work/plain/kill"
expect_rc 77 'a rank without a dump:'
run "$BUILD/hang_verify" "$work/plain/kill" --assume
expect_rc 0 'it is assumed:'
run "$BUILD/hang_reduce" "$work/plain/kill"
expect_rc 77 'a rank without a dump, reduced:'
expect_err 'the run.s verdict is rank-unseen, and its calls are not the cause'
finish
