#!/bin/bash
# e2e_mutate.sh: each rule of ci/tests/watch/mutate stands exactly once where that looks for it, and its rows are there.
# timeout: 60
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

run ci/tests/watch/mutate --check
expect_rc 0 'mutate --check:'

# a pattern that is gone is said
mkdir -p "$work/ci/tests" "$work/faults/detect"
cp -r ci/tests/watch ci/tests/progress "$work/ci/tests"
cp -r faults/detect/watch faults/detect/progress "$work/faults/detect"
sed -i 's/come_again_ns/comes_again_ns/' "$work/faults/detect/watch/decide_times.c"
run "$work/ci/tests/watch/mutate" --check
expect_rc 1 'mutate --check without a pattern:'
expect_out 'stands 0 times in decide_times.c$'
finish
