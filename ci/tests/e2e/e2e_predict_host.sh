#!/bin/bash
# e2e_predict_host.sh: predictions on the mpi backend: columns, what they are made of, when there
# are none. How near they come is not asserted: the machine may be busy. results/ has it.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

# filled COLUMN: every cell of it is a positive number
filled() {
	column "$work/rows.csv" "$1" | awk '!($1 > 0) { bad++ } END { exit !(NR >= 6 && !bad) }'
}

algorithms_named() {
	! column "$work/rows.csv" predicted_algo | grep -vqE '^(doubling|ring|halving)$'
}

for name in all_reduce alltoall gather; do
	mkdir "$work/$name"
	perf "$name" -g 2 -b 1K -e 4M -f 64 -c 0 -n 20 --out "$work/$name"
	expect_rc 0 "$name"
	expect_out '^# Prediction for 1 host: .*2 ranks on [0-9]+ of them'
	expect_out '^# Prediction: the median of [0-9]+ rows from 1 MiB reaches'
done
cp "$work/all_reduce/rows.csv" "$work/rows.csv"
for name in predicted_us predicted_busbw_gbs ceiling_busbw_gbs of_predicted_percent of_ceiling_percent; do
	holds "$name: empty cells" filled "$name"
done
# Shares are what they are said to be: predicted over measured time, measured bandwidth over
# the ceiling.
holds 'shares are others than of their columns' awk -F, '
	function off(a, b) { return a > b * 1.001 || a < b * 0.999 }
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	{ rows++ }
	off($at["of_predicted_percent"] + 0, 100 * $at["predicted_us"] / $at["time_us"]) ||
	off($at["of_ceiling_percent"] + 0, 100 * $at["busbw_gbs"] / $at["ceiling_busbw_gbs"]) { bad++ }
	END { exit bad > 0 || rows == 0 }' "$work/rows.csv"
holds 'algorithms have no names' algorithms_named

perf all_reduce -g 2 -b 4M -e 4M -c 0 -n 5 --topo none
expect_rc 0
expect_no_out 'Prediction'
perf all_reduce -g 2 -b 1K -e 1K -c 0 -n 5 --min-percent 50
expect_rc 77
expect_out '^# Prediction: no size from 1 MiB was measured'
expect_out '^# --min-percent 50: cannot be told here, for the reason above: exit 77'
perf all_reduce -g 2 -b 1M -e 1M -c 0 -n 5 --min-busbw 1e9
expect_rc 13
expect_out '^# --min-busbw 1e\+09: the average bus bandwidth was [0-9.]+ GB/s: exit 13'
perf all_reduce -g $(($(nproc) + 1)) -b 1M -e 1M -c 0 -n 5 --min-percent 1
expect_rc 77
expect_out '%: not judged: oversubscribed: [0-9.]+ ranks for each CPU'
perf all_reduce -g 1 -b 4M -e 4M -c 0 -n 5 --min-percent 50
expect_rc 77
expect_err 'no predictions'
perf all_reduce -g 2 -b 1K -e 1K --topo hgx-h200
expect_rc 77
expect_err 'describes GPUs'
echo '<system' >"$work/broken.xml"
for topo in nope "$work/broken.xml"; do
	perf all_reduce -g 2 -b 1K -e 1K --topo "$topo"
	expect_rc 2 "--topo $topo:"
	expect_err "${topo##*/}"
done
perf all_reduce -g 2 -b 1K -e 1K -n 2 --vendor
expect_rc 0
expect_out "^# Vendors' figures: they are about GPUs and their links, and this run used none"

run env OMPI_MCA_btl_vader_single_copy_mechanism=none "$BUILD/all_reduce_perf" --backend mpi -g 2 -b 1M -e 1M -c 0 -n 5
expect_rc 0
expect_out 'messages are copied in and out'
run env OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=lo "$BUILD/all_reduce_perf" --backend mpi -g 2 -b 1M -e 1M -c 0 -n 5
expect_rc 0
expect_out '^# No prediction: MPI was told not to use shared memory'

perf all_gather -g 2 --fault=none
expect_rc 0
expect_out '^# Calls checked +: 25$'
expect_no_out 'Avg bus bandwidth'
expect_no_out 'Prediction'
finish
