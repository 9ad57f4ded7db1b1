#!/bin/bash
# e2e_run.sh: the runner itself on tests made up for it: several at once, some quiet, alone or late, one line each
# in the order of the list, a failure's whole output, an end when it is told to.
# shellcheck source=ci/tests/e2e/lib.sh disable=SC2016
source "$(dirname "$0")/lib.sh"

mkdir -p "$work/tree/ci/tests/e2e" "$work/seen"
cp ci/tests/runner "$work/tree/ci/tests"
cp -r ci/tests/rig "$work/tree/ci/tests"
export SEEN=$work/seen

# made NAME LINE...: a test of that name
made() {
	printf '%s\n' '#!/bin/bash' "${@:2}" >"$work/tree/ci/tests/e2e/e2e_$1.sh"
}
made a '# alone: it looks for all the others' '[ "$(ls "$SEEN" | xargs)" = "b c d e f l m q r" ] && touch "$SEEN/a"'
made b 'until [ -e "$SEEN/c" ]; do sleep 0.1; done; touch "$SEEN/b"'
made c 'touch "$SEEN/c" "$TMPDIR/mine"; echo "$TMPDIR" >"$SEEN/c"; echo one; echo two >&2; exit 3'
made d 'touch "$SEEN/d"; [ -z "${JOBS:-}" ] || exit 1; [ "$TMPDIR" != "$(cat "$SEEN/c")" ] || exit 1; echo not here; exit 77'
made e '# timeout: 1' 'touch "$SEEN/e"; sleep 60'
made f '# timeout: 1' 'touch "$SEEN/f"; echo "FAIL a wrong answer"; sleep 60'
made g '[ -e "$SEEN/a" ] || { echo "LATE and wrong"; exit 1; }'
made l 'touch "$SEEN/l"; exit 75'
made m '[ -n "${HANGAR_ALONE:-}" ] || { touch "$SEEN/m"; exit 75; }'
for one in q r; do # each waits for the other, and ends if all but the two have ended
	made $one '# quiet: it only waits' 'ls "$SEEN" >"$TMPDIR/before"; touch "$SEEN/'$one'"' \
		'until [ -e "$SEEN/q" ] && [ -e "$SEEN/r" ]; do sleep 0.1; done' \
		'[ "$(grep -v "[qr]" "$TMPDIR/before" | xargs)" = "b c d e f l m" ]'
done

JOBS=2 run "$work/tree/ci/tests/runner"
expect_rc 1 'two at once:'
sed -nE '/^ /!s/^([a-zA-Z]+ +e2e_.) +[0-9]+\.[0-9] s +[0-9.]* computed/\1/p' "$work/out" | sed 's/after [0-9]* s/after 1 s/' >"$work/lines"
holds "two at once: $(paste -sd, "$work/lines")" cmp -s "$work/lines" <<'END_LINES'
ok   e2e_b
FAIL e2e_c: exit 3
skip e2e_d: not here
FAIL e2e_g: exit 1
late e2e_l: exit 75: once more, alone
late e2e_m: exit 75: once more, alone
late e2e_e: not finished after 1 s: once more, alone
FAIL e2e_f: not finished after 1 s
ok   e2e_q
ok   e2e_r
ok   e2e_a
FAIL e2e_l: exit 75: late, alone as well
ok   e2e_m
FAIL e2e_e: not finished after 1 s: late, alone as well
END_LINES
holds "not a failure's whole output, before its line" [ "$(grep -B2 '^FAIL e2e_c' "$work/out" | head -n 2)" = \
	$'    | one\n    | two' ]
expect_out '^skipped e2e_d: not here$'
expect_out '^late, and run once more: e2e_l e2e_m e2e_e$'
expect_out '^[0-9]+ s computed$'
expect_out '^5 passed, 5 failed, 1 skipped$'
holds 'a temporary folder is left' [ ! -e "$(cat "$SEEN/c")" ]
for jobs in 0 x -1; do
	JOBS=$jobs run "$work/tree/ci/tests/runner"
	expect_rc 2 "JOBS=$jobs:"
done

# One after the other: the first waits for the second until its time is over
rm -r "$SEEN" && mkdir "$SEEN"
made b '# timeout: 1' 'until [ -e "$SEEN/c" ]; do sleep 0.1; done'
made c '# timeout: 1' 'touch "$SEEN/c"; exit 3'
JOBS=1 run "$work/tree/ci/tests/runner" e2e_b e2e_c
expect_rc 1 'one after the other:'
expect_out '^late e2e_b .*: not finished after [0-9]+ s: once more, alone$'
expect_out '^1 passed, 1 failed, 0 skipped$'

# Evidence stays out of results/; a skip without a reason is a failure, and the parts that Python skips are said
mkdir -p "$work/tree/results/runs" "$work/tree/ci/tests/night"
made b 'mkdir "$HANGAR_RUNS" && touch "$HANGAR_RUNS/here" && [ ! -e results/runs/here ]'
made c 'exit 77'
printf '%s\n' 'import unittest' 'class Test(unittest.TestCase):' '    @unittest.skip("no gnuplot")' '    def test(self):' '        pass' \
	'unittest.main()' >"$work/tree/ci/tests/night/test_part.py"
run "$work/tree/ci/tests/runner" e2e_b e2e_c test_part
expect_out '^ok   e2e_b '
expect_out '^FAIL e2e_c .*: skipped, and does not say why$'
expect_out '^skipped in test_part: no gnuplot$'
expect_out '^2 passed, 1 failed, 0 skipped$'
made b 'touch results/runs/here'
run "$work/tree/ci/tests/runner" e2e_b
expect_rc 1 'a test that leaves something:'
expect_out '^    \| results/runs/here$'
expect_out '^FAIL results/ is not as it was before the tests'

# Told to end, it ends what it started
for name in b c; do
	made $name "touch \$SEEN/$name; sleep 60"
done
rm -r "$SEEN" && mkdir "$SEEN"
JOBS=2 start "$work/tree/ci/tests/runner" e2e_b e2e_c
holds 'two tests that sleep do not begin' within 20 test -e "$SEEN/b" -a -e "$SEEN/c"
kill -TERM "$pid"
limit=10 ended
expect_rc 143 'told to end:'
holds "left running: $(pids_of_run)" within 5 no_process
finish
