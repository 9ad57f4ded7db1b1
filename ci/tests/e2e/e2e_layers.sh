#!/bin/bash
# e2e_layers.sh: ci/check_layers finds nothing in this tree, and each thing that it looks for in a
# copy in which it was planted; so does ci/tests/decide/mutate --check.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

run ci/check_layers
expect_rc 0 'this tree:'
holds "this tree: $(head -n 3 "$work/out")" [ ! -s "$work/out" ]

git init -q "$work/tree"
git ls-files -z -- Makefile bench common faults | tar --null -T - -cf - | tar -xf - -C "$work/tree"

# planted FILE LINE PATTERN: with LINE at the end of FILE a line like PATTERN is said, exit 1
planted() {
	cp "$work/tree/$1" "$work/before"
	printf '%s\n' "$2" >>"$work/tree/$1"
	run ci/check_layers "$work/tree"
	expect_rc 1 "$2 in $1:"
	expect_out "$3"
	cp "$work/before" "$work/tree/$1"
}
planted common/lib/base/error.c '#include "measure/run.h"' '^common/lib/base/error.c: lib reaches harness: common/harness/measure/run.h, which common/lib/base/error.c includes; lib may use no other house: '
planted faults/detect/record/recorder.c '#include "find/find.h"' '^faults/detect/record/recorder.c: includes faults/detect/find/find.h from below; .*move what both need to faults/detect/record'
planted common/lib/base/stats.h '#include "base/stats.h"' '^circle: .*common/lib/base/stats.h; '
planted common/lib/base/error.c '#include "error.h"' 'names no room, or two; write'
planted common/host/machine/reading.h '#include "backend/job.h"' '^faults/detect/.*: detect reaches harness: common/harness/backend/job.h, which common/host/machine/reading.h includes; detect may use lib predict host: '
planted faults/inject/order.c '#include "watch/monitor.h"' '^faults/inject/order.c: inject reaches detect: '
planted common/harness/measure/run.c '#include "schedule/schedule_parts.h"' 'schedule_parts.h, which is internal to its room; '
planted common/lib/base/file.h 'int signals_open(int flags, void *old);' 'declares signals_open.*; include that room.s header$'

# A room may be long: that is shown, and is not wrong.
seq -f '/* %g */' 6000 >"$work/tree/bench/long.c"
run ci/check_layers "$work/tree"
expect_rc 0 'a long room:'
run ci/check_layers --sizes "$work/tree"
expect_rc 0 'sizes:'
expect_out '^bench +[0-9]+ files +1?[0-9]{4} lines$'
expect_out '^  common/lib/base +[0-9]+ files +[0-9]+ lines$'
expect_out '^all +[0-9]+ files +[0-9]+ lines$'

# each rule of ci/tests/decide/mutate stands exactly once where that looks for it; one that is gone is said
run ci/tests/decide/mutate --check
expect_rc 0 'mutate --check:'
mkdir -p "$work/rules/ci/tests" "$work/rules/faults/detect" "$work/rules/faults/watch"
cp -r ci/tests/decide "$work/rules/ci/tests"
cp -r faults/detect/run faults/detect/compare "$work/rules/faults/detect"
cp -r faults/watch/decide "$work/rules/faults/watch"
sed -i 's/come_again_ns/comes_again_ns/' "$work/rules/faults/watch/decide/decide_times.h"
run "$work/rules/ci/tests/decide/mutate" --check
expect_rc 1 'mutate --check without a pattern:'
expect_out 'stands 0 times in decide_times.h$'
finish
