#!/bin/bash
# e2e_min_percent.sh: a run without predictions says why, once, and has empty cells for them;
# --min-percent has nothing to go by there. What --min-busbw asks for is judged without them.
# alone: the spread of its rows is asked for
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
model= # predictions are what it is about

# unknown COLUMN: every cell of it says that nothing is known
unknown() {
	column "$work/rows.csv" "$1" | awk '$1 != "" && $1 != "nan" { bad++ } END { exit !(NR > 0 && !bad) }'
}

remarks() { grep -c '^# Prediction' "$work/out"; }

mkdir "$work/kept"
perf all_reduce -g 1 -b 1M -e 4M -n 5 --out "$work/kept"
expect_rc 0
expect_out '^# Prediction: N/A: a single rank has no pair to measure$'
holds 'more than one remark' [ "$(remarks)" -eq 1 ]
cp "$work/kept/rows.csv" "$work/rows.csv"
for name in predicted_us predicted_busbw_gbs ceiling_busbw_gbs of_predicted_percent of_ceiling_percent predicted_algo; do
	holds "$name: a cell is not empty" unknown "$name"
done

# Over MPI they are made of pairs measured on the spot, where each rank has a core.
perf all_reduce -g 1 -b 4M -e 4M -c 0 -n 5 --min-percent 50
expect_rc 77
expect_err '--min-percent 50: this run has no predictions \(a single rank has no pair to measure\)'
for try in 1 2 3; do
	perf all_reduce -g 2 -b 1M -e 4M -c 0 -n 5 --min-percent 0.001
	[ "$rc" -eq 77 ] || break
done
if [ "$rc" -eq 77 ]; then # other programs have the cores: once more, alone
	expect_out '^# Prediction: N/A: ranks were not let run while pairs were measured'
	late=$((late + 1))
else
	expect_rc 0
	expect_out '^# Prediction of pairs of ranks, measured here in [0-9.]+ s: a message takes [0-9.]+ us, [0-9.]+ GB/s while all exchange; error bars are wide$'
	expect_no_out ': bad|no cause found'
	for try in 1 2 3; do
		perf all_reduce -g 2 -b 1M -e 4M -c 0 -n 5 --min-percent 1000
		[ "$rc" -eq 77 ] || break
	done
	[ "$rc" -eq 77 ] && late=$((late + 1)) || expect_rc 13
fi

# The long measurement: a matrix, a line per direction, and a spec that others take.
perf p2p_matrix -g 2 -e 1M --csv "$work/pairs.csv" --spec "$work/pairs.json"
expect_rc 0
expect_out '^# GB/s disjoint pairs, from the row.s rank to the column.s$'
expect_out '^# 0 of 1 pairs below 75 % of the median of their kind$'
holds 'not two directions' [ "$(wc -l <"$work/pairs.csv")" -eq 3 ]
perf all_gather -g 2 -b 1M -e 1M -c 0 -n 5 --topo "$work/pairs.json"
expect_rc 0
expect_out '^# Prediction for 1 node of 2 x host rank, topology measured'
run "$BUILD/topo_predict" --topo "$work/pairs.json" -c all -b 1M -e 1M --csv
expect_rc 0
holds 'not eleven collectives' [ "$(grep -c ',P2P,' "$work/out")" -eq 11 ]
perf p2p_matrix -g 1 --csv "$work/none.csv"
expect_rc 0
holds 'a pair of one rank' [ "$(wc -l <"$work/none.csv")" -eq 1 ]
perf p2p_matrix -g 2 --fault=drop-rank:1
expect_rc 2
expect_err 'has no meaning for p2p_matrix_perf'
perf all_gather -g 2 -b 1M -e 1M --spec "$work/no.json"
expect_rc 2
expect_err "--spec .*: goes with p2p_matrix_perf"
sed -i 's/"ranks":2/"ranks":1/' "$work/pairs.json"
run "$BUILD/topo_predict" --topo "$work/pairs.json"
expect_rc 2
expect_err "pairs.json: measured: is not what p2p_matrix_perf --spec writes"

# A training step: a row a recipe, right data, and the rank that the others wait for.
for ranks in 2 3; do
	perf step -g $ranks -b 16K --recipe all --compute-ms 1 -n 10 --csv "$work/step$ranks.csv" --json "$work/step$ranks.json"
	expect_rc 0 "$ranks ranks:"
	expect_no_out '^# verdict'
	holds "$ranks ranks: recipes" [ "$(column "$work/step$ranks.csv" recipe | paste -sd ' ')" = 'ddp fsdp tp moe pipeline' ]
	holds "$ranks ranks: wrong data" [ "$(column "$work/step$ranks.csv" wrong | sort -u)" = 0 ]
	holds "$ranks ranks: JSON" python3 -c 'import json, sys; assert [json.loads(l)["steps"] for l in open(sys.argv[1])] == [10] * 5' \
		"$work/step$ranks.json"
done
perf step -g 2 -b 16K --compute-ms 1 -n 20 --fault=slow-rank:0,by=30ms,how=sleep --csv "$work/slow.csv"
expect_rc 0 'a slow rank:'
expect_out '^# fault slow-rank: rank 0, from call 177, by=30ms, how=sleep$'
holds 'the slow rank is not the slowest' [ "$(column "$work/slow.csv" slowest_rank)" = 0 ]
holds 'steps are not slower' awk -v us="$(column "$work/slow.csv" step_us)" 'BEGIN { exit !(us > 3e4) }'
perf step -g 2 -b 16K --compute-ms 1 -n 20 --fault=corrupt-send:1@281 --csv "$work/wrong.csv"
expect_rc 12 'wrong data in the checked step:'
expect_out '^# ddp, slot 0 wrong: '
perf step -g 3 -b 16K --compute-ms 1 --recipe pipeline --fault=drop-rank:1
expect_rc 10 'a rank that is missing:'
expect_out '^# verdict: outcome=hang .* ranks=1 '
while IFS='|' read -r words why; do
	# shellcheck disable=SC2086 # words
	perf step -g 2 $words
	expect_rc 2 "$words:"
	expect_err "$why"
done <<'END'
--recipe none|--recipe none: must be one of ddp fsdp tp moe pipeline all
--compute-ms -1|must be a number from 0 to 60000
--params 65M|gives 260 messages of 1048576 bytes \(-b\); at most 64
-e 1M|has no meaning for step_perf
-d all|must be one type
--csv -|must be a file
--fault=slow-rank:1@5000|call 5000 is never reached: rank 1 makes 528 calls
END
perf all_reduce -g 2 --recipe ddp
expect_rc 2
expect_err 'goes with step_perf'

perf all_reduce -g 2 -b 1M -e 1M -c 0 -n 5 --min-busbw 1e9
expect_rc 13
expect_out '^# --min-busbw 1e\+09: the average bus bandwidth was [0-9.]+ GB/s: exit 13'

# Who asks for none is told nothing; a spec is of no use here, and what is none is a mistake.
perf all_reduce -g 2 -b 4M -e 4M -c 0 -n 5 --topo none
expect_rc 0
expect_no_out 'Prediction'
perf all_reduce -g 2 -b 1K -e 1K --topo hgx-h200
expect_rc 77
expect_err '--topo hgx-h200: this run has no predictions'
echo '<system' >"$work/broken.xml"
for topo in nope "$work/broken.xml"; do
	perf all_reduce -g 2 -b 1K -e 1K --topo "$topo"
	expect_rc 2 "--topo $topo:"
	expect_err "${topo##*/}"
done
perf all_reduce -g 2 -b 1K -e 1K -n 2 --vendor # ci/night has the vendors' figures
expect_rc 2

perf all_gather -g 2 --fault=none
expect_rc 0
expect_out '^# Calls checked +: 25$'
expect_no_out 'Avg bus bandwidth'
expect_no_out 'Prediction'
finish
