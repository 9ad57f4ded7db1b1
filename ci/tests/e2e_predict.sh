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
ends 0 'limited by: NICs of a node' --topo dgx-a100 --nodes 16 -c all_gather -e 1G --explain
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

# A reader with a calculator: each printed product, the least of them, the correction, the transfer.
recomputed() {
	topo --explain "$@"
	check "--explain $*: the terms do not give the bandwidth" awk -f - "$work/out" <<-'AWK'
		function off(a, b) { return a > b * 1.005 + .005 || a < b * .995 - .005 }
		/^algorithm bandwidth/ { in_terms = 1; turn = /one after the other/; next }
		in_terms && /^  [^=]* = [0-9.]+ GB\/s/ {
			split($0, side, " = ")
			sub(/^[^(]*  +|^[^(0-9]* /, "", side[1])
			gsub(/\([^()]*(\([^()]*(\([^()]*\))?[^()]*\))*[^()]*\)/, "", side[1])
			n = split(side[1], part, "*")
			product = 1
			for (i = 1; i <= n; i++) product *= part[i]
			bad += off(product, side[2] + 0)
			sum += 1 / product
			if (!least || product < least) { least = product; marked = /<- limits/ }
			terms++
			next
		}
		in_terms && /^  \* / { correction = $2 }
		in_terms && /^  = / { total = $2; in_terms = 0 }
		/^transfer/ { bytes = $3; us = $(NF - 1) }
		END {
			want = turn ? 1 / sum : least
			want *= correction ? correction : 1
			exit !(terms && !bad && (marked || turn) && !off(want, total) &&
			       !off(bytes / want / 1000, us))
		}
	AWK
}
recomputed --topo dgx-h100 -b 8G --algo Ring --proto LL
recomputed --topo dgx-h100 -b 1K -e 1K -N 16
recomputed --topo dgx-h100 -c broadcast -e 1M
recomputed --topo dgx-h100 -N 16 -e 1G
recomputed --topo dgx-h100 -N 2 -e 64M -c hypercube
recomputed --topo dgx-h100 -N 64 -e 1G -c alltoall --fabric fat-tree --oversubscription 4
recomputed --topo dgx-a100 -e 4M --proto LL128
ends 0 '(as asked)' -e 8G --algo Ring --proto LL --explain
ends 0 "(least time in NCCL's tuning model)" -e 8G --explain
ends 0 'uplinks of a leaf$' -N 2048 -b 8G --fabric fat-tree --oversubscription 4
ends 0 ' 99\.99  97.8  uplinks' -N 2048 -b 8G --fabric fat-tree --oversubscription 4
ends 0 ' latency$' -b 1K -e 1K -N 16

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
