#!/bin/bash
# e2e_min_percent.sh: --min-percent judges a run on the mpi backend by its median row.
# alone: on a busy machine calibration is disturbed, and then nothing is judged
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

# rc_unless_unjudged RC: a busy machine may spoil the calibration, and then says so
rc_unless_unjudged() {
	if grep -q 'not judged: ' "$work/out"; then
		expect_rc 77
		expect_out '^# --min-percent [0-9.]+: cannot be told here, for the reason above: exit 77'
	else
		expect_rc "$1"
	fi
}

perf all_reduce -g 2 -b 4M -e 4M -c 0 -n 5 --min-percent 0.001
rc_unless_unjudged 0
perf all_reduce -g 2 -b 4M -e 4M -c 0 -n 5 --min-percent 1000
rc_unless_unjudged 13
expect_out '^# --min-percent 1000: (the median row reached [0-9.]+ %: exit 13|cannot be told here)'
finish
