#!/bin/bash
# e2e_slow.sh: a slow rank is named, and no rank of a healthy run; --fail-slow, --slow-percent, --expect slow-rank.
# timeout: 350
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"

# step FAULT ARGS: a step of 10 ms or more, 160 times
step() {
	local fault=$1
	shift
	perf step -g 2 -b 64K --compute-ms 10 -n 160 --fault="$fault" "$@"
}

step none --fail-slow
expect_rc 0
expect_no_out '^# slow: rank'

# Where other programs have the cores a rank of this host waits longer for them than the fault takes: once more.
for try in 1 2 3; do
	step slow-rank:1@1,by=100% --fail-slow
	[ "$rc" -eq 0 ] || break
done
if [ "$rc" -eq 0 ] && grep -q '^# slow: no straggler' "$work/out"; then
	late=$((late + 1))
else
	expect_rc 15
	expect_out '^# slow: rank 1 \([^)]+\) came last to [0-9]+ % of [0-9,]+ sampled calls, [0-9.]+ [mu]?s late .*: its own work takes [0-9.]+ % of the time longer \([0-9.]+ to [0-9.]+\), the other waited [0-9.]+ % of the time'
	expect_out '^# verdict: outcome=slow-rank class=slow-rank ranks=1 .* confidence=proved .* side=host'
	expect_no_out '^# slow: rank 0'
	step slow-rank:1@1,by=100% --expect slow-rank:1
	expect_out '^# (as expected: slow-rank:1|expected slow-rank:1, came ok)'
	step slow-rank:1@1,by=100%
	expect_rc 0
	expect_no_out '^# verdict'
fi

# A rank that is slow by less than is asked for has no line.
step slow-rank:1@1,by=20% --fail-slow --slow-percent 60
expect_rc 0
expect_no_out '^# slow: rank'

for bad in '--slow-percent 0' '--slow-percent 1001' '--slow-percent x'; do
	# shellcheck disable=SC2086
	perf all_reduce -g 2 $bad
	expect_rc 2
	expect_err "$bad"
done
