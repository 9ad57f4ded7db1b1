#!/bin/bash
# e2e_predict.sh: topo_predict's tables, explanation, errors, vendor figures, speed, and its plots.
# shellcheck source=ci/tests/lib.sh
source "$(dirname "$0")/lib.sh"

predict=$BUILD/topo_predict
topo() { "$predict" "$@" >"$work/out" 2>"$work/err"; }

# ends RC PATTERN ARGUMENTS...: exit code and a pattern in what it said
ends() {
	local want=$1 pattern=$2 got
	shift 2
	topo "$@"
	got=$?
	check "topo_predict $*: exit $got instead of $want" [ "$got" -eq "$want" ]
	check "topo_predict $*: no '$pattern'" grep -q -e "$pattern" "$work/out" "$work/err"
}

ends 0 'gb200-nvl72' --list
ends 0 'NVLSTree' --topo dgx-h100 --nodes 16
ends 0 'limiting link: NICs of a node, 196.07 GB/s' --topo dgx-a100 --nodes 16 -c all_gather -e 1G --explain
ends 0 'physical-only' --topo dgx-a100 --physical
ends 0 '100 nodes\|100 node(s), 2 failures' --topo dgx-h100 --nodes 100 --failures 2
ends 0 'NOT verified' --vendor
ends 2 "no machine spec 'pdp-11'; there are: a100-pcie-bridged" --topo pdp-11
ends 2 'nowhere.xml' --topo /nowhere.xml
ends 2 'unknown collective' -c all_reduced
ends 2 'not .4X' -e 4X
ends 2 '8 GPUs a node, not 9' --topo dgx-h100 --gpus 9
ends 2 'nothing to predict' --topo tcp-10g
ends 2 'belongs to no option' stray

# No prediction above its ceiling, in any spec, on 1 to 2048 nodes.
for spec in "$BUILD"/specs/*.json; do
	name=$(basename "$spec" .json)
	topo --topo "$name" -N 1-2048 -c all -b 8 -e 16G --csv
	check "$name: a row above its ceiling, or none" awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["busbw_gbs"] + 0 > $at["ceiling_busbw_gbs"] + 0 { bad++ }
		END { exit !(NR > 1000 && !bad) }' "$work/out"
done

# 11 collectives x 30 sizes x 2048 nodes. The limit is 1 s; a machine of 2 loaded cores is given 3.
start=$EPOCHREALTIME
ends 0 '675840 points' --topo dgx-h100 -N 1-2048 -c all -b 8 -e 4G --count
check "675840 points took too long" awk "BEGIN { exit !($EPOCHREALTIME - $start < 3) }"

topo --topo dgx-h100 -N 1-2048 -b 1K -e 8G --csv
cp "$work/out" "$work/predict.csv"
if command -v gnuplot >/dev/null; then
	for over in size_bytes nnodes; do
		check "plot over $over" gnuplot -e "csv='$work/predict.csv'; out='$work/$over'; over='$over'" plots/predict.gp
		check "$over.svg is empty" [ -s "$work/$over.svg" ]
	done
fi
finish
