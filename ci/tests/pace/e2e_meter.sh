#!/bin/bash
# e2e_meter.sh: what the calls of a program cost, under hangar_run and over test doubles of libnccl and libcuda: table, lines and
# files; --wait and --fail-slow.
# timeout: 350
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"

subject=$BUILD/tests/double/subject
export DOUBLE_DIR=$work LD_LIBRARY_PATH=$BUILD/tests/double HANGAR_E2E=$token
cd "$work" || exit 1
n=0

# meter OPTIONS -- WORDS: four ranks of the subject; leaves $rc and $work/err
meter() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	n=$((n + 1))
	DOUBLE_ID=$$-$n timeout 60 "$BUILD/hangar_run" --out "$work/dir.$n" "${options[@]}" "$subject" "$@" >"$work/out" 2>"$work/err"
	rc=$?
}

# the last lines are there when hangar_run --wait ends; each call is counted, sampled or not
meter --wait --every 0.5 --csv m.csv --metrics m.prom --trace m.json -- 4 800 halves named
expect_rc 0
expect_err '^# meter: 4 ranks, [0-9.]+ s, of it in calls [0-9.]+ %( \(overlaps\))?, waiting [0-9.]+ %$'
expect_err '^# call%, wait%: of the time that ranks were watched$'
expect_err '^# dp +AllReduce +800 +330 kB +[0-9.]+ [um]s +[0-9.]+ [um]s'
expect_err '^# ranks 0,2 +AllGather +800 51.2 kB '
expect_err '^# rank [0-3] waited most \([0-9.]+ %\), rank [0-3] least \([0-9.]+ %\) of the time$'
expect_err '^# meter: [0-9,]+ calls, [0-9.]+ [kM]B in 0\.[5-9][0-9]* s, in calls [0-9]{1,3}\.[0-9] %, waiting [0-9]{1,3}\.[0-9] %; so far rank [0-3] [0-9.]+ to rank [0-3] [0-9.]+$'
check "no line of the table is over 120 columns" [ "$(grep -c '.\{121\}' "$work/err")" = 0 ]
check "calls in the CSV: $(cut -c1-60 m.csv)" [ "$(python3 -c "
import csv
rows = list(csv.DictReader(open('m.csv')))
print(sorted({(r['name'], r['call'], r['rank'], r['calls']) for r in rows if r['call'] == 'AllReduce'}))")" = \
	"[('dp', 'AllReduce', '-1', '800'), ('dp', 'AllReduce', '0', '800'), ('dp', 'AllReduce', '1', '800'), ('dp', 'AllReduce', '2', '800'), ('dp', 'AllReduce', '3', '800')]" ]
check "metrics: $(head -c 300 m.prom)" grep -q '^hangar_meter_calls{number="0",job="[0-9a-f]*",communicator="dp",call="AllReduce"} 800$' m.prom
check "metrics of a rank" grep -q '^hangar_meter_waited_ratio{number="0",job="[0-9a-f]*",communicator="dp",call="AllReduce",rank="3"} [0-9]' m.prom
if command -v promtool >/dev/null; then check "promtool" promtool check metrics <m.prom; fi
check "a trace of all ranks" python3 -c "
import json
events = json.load(open('m.json'))['traceEvents']
assert {e['tid'] for e in events if e['ph'] == 'X'} == {0, 1, 2, 3}
assert any(e['name'] == 'waits in AllReduce' for e in events) and all(e.get('dur', 0) >= 0 for e in events)"

# the share of what a machine is predicted to reach
meter --wait --topo dgx-h100 --csv p.csv -- 2 200
expect_err '^# communicator .* pred%'
expect_err '^# ranks 0,1 +AllReduce .* [0-9]+\.[0-9] '
check "predicted: $(head -n 2 p.csv)" [ "$(python3 -c "
import csv
row = next(row for row in csv.DictReader(open('p.csv')) if row['call'] == 'AllReduce')
print(0 < float(row['predicted_gbs']) < 1)")" = True ]

# ranks that are ended while one is late, and further ones of the same command, which die of something else
twice() { DOUBLE_ID=$$-twice timeout 60 "$BUILD/hangar_run" --wait --on-hang=kill --out again bash -c 'timeout 2 "$1" 3 40 asleep=2@9; sleep 1.5; exec "$1" 3 40 kill=0@3' - "$subject" >/dev/null 2>again.txt; }
twice &
twice=$!

# graphs and groups count, too; a job of Slurm needs no --wait
SLURM_JOB_ID=80 meter -- 2 100 graph pairs
expect_err '^# ranks 0,1 +AllReduce +400 '
expect_err '^# ranks 0,1 +Send +100 '

meter --wait --quiet -- 2 100
check "quiet: $(head -c 200 "$work/err")" [ ! -s "$work/err" ]

wait $twice
check "what was late before is no verdict: $(grep -v '^# meter' again.txt)" \
	[ "$(grep -c '^# late: rank 2' again.txt) $(grep -o 'class=[^ ]* ranks=[^ ]*' again.txt)" = "1 class=rank-killed ranks=0" ]

# one long wait of a run of few seconds counts as itself, sampled or not
meter --wait --every 0.5 --fault=late:1@200,value=2 -- 2 400 sync
expect_err '^# meter: rank 0 waits for rank 1, [012]\.[0-9] s$'
expect_err '^# rank 0 waited most \([5-9][0-9]\.[0-9] %\), rank 1 least'

# --wait ends as its command does
meter --wait -- 2 20 fails
expect_rc 5
timeout 20 "$BUILD/hangar_run" -q --wait bash -c 'kill -KILL $$' 2>/dev/null
check "the command was killed" [ $? = 137 ]
timeout 20 "$BUILD/hangar_run" -q --wait bash -c 'trap "exit 7" TERM; touch up; while :; do sleep 0.05; done' &
pid=$!
within 10 test -e up
kill -TERM "$(pgrep -P $pid -x hangar_wait)"
wait $pid
check "a signal reaches the command" [ $? = 7 ]
timeout 20 "$BUILD/hangar_run" -q --wait /nowhere 2>/dev/null
check "a command that is not there" [ $? = 127 ]

# A slow rank ends --fail-slow with 15; where other programs have the cores it may be hidden: thrice.
for _ in 1 2 3; do
	meter --fail-slow --slow-seconds 2 --on-verdict 'echo "$HANGAR_CLASS $HANGAR_RANKS $HANGAR_HOSTS $HANGAR_EVIDENCE" >hook.txt' --fault=slow-rank:1@1,by=8ms -- 2 500 sync
	[ "$rc" -eq 0 ] || break
done
if [ "$rc" -eq 0 ]; then
	late=$((late + 1))
else
	expect_rc 15
	expect_err '^# slow: rank 1 .*, the other waited [0-9.]+ % of the time in calls, which compute may hide'
	expect_err '^# verdict: outcome=slow-rank class=slow-rank ranks=1 .* confidence=majority .* side=unknown'
	check "no line: $(grep -m1 "^# slow: rank" "$work/err")" [ -z "$(grep '^# slow: rank 0 ' "$work/err")" ]
	check "--on-verdict is told where: $(cat hook.txt)" [ "$(cat hook.txt)" = "slow-rank 1 $(hostname) $work/dir.$n" ]
	check "a page says how slow" grep -q "^- Rank 1 ($(hostname)) came last to .* of .* sampled calls" "dir.$n/postmortem.md"
	check "and verdict.json, what to do" python3 -c "
import json
v = json.load(open('dir.$n/verdict.json'))
assert v['class'] == 'slow-rank' and v['culprit_hosts'] == '$(hostname)' and 'health' in v['prevention'], v"
fi
meter --fail-slow --fault=slow-rank:1@1,by=8ms -- 2 300 sync
expect_rc 0
check "no line: $(grep -m1 "^# slow: rank" "$work/err")" [ -z "$(grep '^# slow: rank' "$work/err")" ]

# A file that cannot be written any more is said once, and stops nothing.
mkdir gone
meter --wait --metrics gone/m.prom --csv gone/m.csv -- 2 1500 &
within 10 test -e gone/m.prom
rm -r gone
wait $!
check "said once: $(cat "$work/err")" [ "$(grep -c '^hangar_run: writing gone/.*: No such file or directory' "$work/err")" = 1 ]

for bad in '--every 0' '--every x' '--slow-percent 0' '--slow-percent 1001' '--csv /no/where' '--topo none-such' '--csv /proc/x' '--metrics=' "--trace $work"; do
	# shellcheck disable=SC2086
	timeout 20 "$BUILD/hangar_run" $bad touch started 2>"$work/err"
	rc=$?
	expect_rc 2
	check "$bad: one line, and nothing starts: $(cat "$work/err")" [ "$(wc -l <"$work/err")" = 1 ] 
	check "$bad: nothing starts" [ ! -e started ]
done
finish
