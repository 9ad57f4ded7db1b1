#!/bin/bash
# e2e_faults_steps.sh: faults where a step of the schedule is several calls, but for those of faults.txt: what nothing came of,
# counts that differ, and which call is the last. On the mpi backend.
# timeout: 600
# quiet: eight ranks, which have to be let run
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"
end_at_once
cd "$work" || exit 1 # evidence goes below the working directory

# Communicators of two ranks each: so is the cube.
NCCL_TESTS_SPLIT='MOD 2' perf hypercube -g 4 --fault=none
expect_rc 0 'hypercubes of two:'
expect_out '^# Calls checked +: 50$'

# Nothing failed, and all came to their end: that they made two communicators is said all the same.
# Small messages: ranks that fill large buffers on fewer cores may be called hung (watch/README.md).
perf hypercube -g 8 --fault=init-nranks:4 -b 64K -e 64K
expect_rc 16 'init-nranks that nothing came of:'
expect_out '^# verdict: outcome=diverged class=init-mismatch ranks=4 comm=0 seq=0 '

# A rank that made a call otherwise is named while the run goes on; the run ends well but for that.
perf all_gather -g 4 --fault=dtype-mismatch:1,how=same
expect_rc 16 'dtype-mismatch that nothing came of:'
expect_out '^# ranks made different calls at call 8 of communicator 0: rank 1: AllGather 58368 int32, the others: AllGather 58368 float$'
expect_out '^# verdict: outcome=diverged class=mismatch ranks=1 comm=0 seq=8 confidence=majority '

# A count that differs, then a call of another kind: the others give up with an error, or wait. Who reports that is not
# who made it, and line and verdict.json say one thing.
for case in all_gather:mixed:16 gather:mixed:16 alltoall:p2p:22 reduce_scatter:p2p:22; do
	IFS=: read -r collective schedule seq <<<"$case"
	perf "$collective" -g 4 --schedule="$schedule" --fault=size-mismatch:1,by=1
	expect_rc 11 "$case:"
	expect_out "^# verdict: outcome=error class=mismatch ranks=1 comm=0 seq=$seq confidence=majority .* field=count "
	line=$(sed -nE 's/^# verdict: outcome=(\S+) class=(\S+) ranks=(\S+) .* confidence=(\S+) .* evidence=(\S+)$/\1 \2 \3 \4 \5/p' "$work/out")
	json=$(sed -nE 's/^ "(outcome|class|ranks|confidence)": "(.*)",$/\2/p' "${line##* }/verdict.json" | paste -sd ' ')
	holds "$case: '${line% *}' on the line, '$json' in verdict.json" [ "${line% *}" = "$json" ]
done

# The last call fires, the one after it is refused: sendrecv 25 * 2, hypercube of four 25 * 4.
for last in sendrecv:50 hypercube:100 broadcast:25; do
	IFS=: read -r collective calls <<<"$last"
	perf "$collective" -g 4 "--fault=late-rank:1@$calls,delay=0.01"
	expect_rc 0 "$collective, call $calls:"
	expect_out "^# Calls checked +: $calls\$"
	perf "$collective" -g 4 "--fault=late-rank:1@$((calls + 1)),delay=0.01"
	expect_rc 2 "$collective, call $((calls + 1)):"
	expect_err "call $((calls + 1)) is never reached: rank 1 makes $calls calls in the schedule"
done
finish
