#!/bin/bash
# e2e_demo.sh: the demo names each of its four bugs, ends with a page, and leaves nothing.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

run faults/demo/demo --out "$work/demo"
expect_rc 0 demo
for line in 'class=skipped-call ranks=2 ' 'lacks call 38: AllReduce 4096 float sum, train.py:[0-9]* (train)' \
	'class=mismatch ranks=1 .*field=count' "the others': AllReduce 128 float" \
	'class=host-blocked ranks=3 .*confidence=proved' 'in train.py:[0-9]* \(read_shard\)' \
	'class=rank-exited ranks=1 .*confidence=proved' 'ValueError: label 1001'; do
	expect_out "$(sed 's/(train)/\\(train\\)/' <<<"$line")"
done
holds 'the last line is no page' [ -s "$(tail -n 1 "$work/out")" ]
expect_no_out '/(hang_diagnose|plot) '
holds 'it takes more than a screen' [ "$(wc -l <"$work/out")" -le 45 ]
# a bug that is not named: a watcher that says nothing
mkdir -p "$work/mute/tests" && ln -s "$BUILD/tests/double" "$work/mute/tests/" && printf '#!/bin/sh\n' >"$work/mute/hangar_run" && chmod +x "$work/mute/hangar_run"
BUILD=$work/mute run faults/demo/demo --out "$work/mute/out"
expect_rc 1 'no bug is named'
run faults/demo/demo --nothing
expect_rc 2 'an unknown option'
BUILD=$work/none run faults/demo/demo
expect_rc 77 'without a build'
expect_err 'make demo'
finish
