#!/bin/bash
# e2e_check.sh: the data check finds every kind of wrong data in running collectives, and names
# rank, element and kind; the same runs uncorrupted pass.
# timeout: 600
#
# Environment: CHECK_OPTIONS ("--backend mpi"): ci/gpu_check runs this with "--backend nccl";
# CHECK_ONLY (an extended regular expression): only what it matches of "COLLECTIVE KIND".
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
end_at_once

read -ra options <<<"${CHECK_OPTIONS:---backend mpi}"
element=77

# judge: prints what is not as it must be in the rows of the runs in $work/runs: a line for each run, of
# FILE COLLECTIVE KIND RANK ROWS
judge() {
	python3 - "$work/runs" "$element" <<'END'
import csv
import sys

element = int(sys.argv[2])
floats = {"half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2"}
for run in open(sys.argv[1]):
    path, collective, kind, rank, rows = run.split()
    table = list(csv.DictReader(open(path)))
    named = {"unsent": "missing", "twice": "doubled"}.get(kind, kind)
    if len(table) != int(rows):
        print(f"{collective} {kind}: {len(table)} rows instead of {rows}")
    for row in table:
        in_place, extreme = row["placement"] == "in-place", row["redop"] in ("max", "min")
        size, ranks = int(row["size_bytes"]), int(row["nranks"])
        low, high = element, element
        if kind in ("shifted", "missing", "doubled") and row["dtype"] not in ("float", "double"):
            high += 31  # neighbours may be equal, and another rank's maximum hides a missing one
        elif extreme or row["redop"] == "avg":
            high += 31
        if kind == "guard":
            low = high = element + (size // ranks if collective == "reduce_scatter" else size)
        elif kind in ("unsent", "twice"):
            low, high = 0, 1
        corrupted = kind != "none"
        if kind == "doubled" and extreme or kind == "nan" and row["dtype"] not in floats:
            corrupted = False
        elif kind == "send" and in_place or kind == "guard" and in_place and collective == "reduce_scatter":
            corrupted = False  # nothing to keep: buffers are one, or lie among this rank's own data
        where = f"{collective} {kind}: " + "{dtype} {redop} {placement}: ".format(**row)
        got = "{wrong_kind} of rank {wrong_rank} at {wrong_element}, {wrong} wrong".format(**row)
        if not corrupted:
            if row["wrong"] != "0" or row["wrong_kind"]:
                print(where + got + " instead of nothing")
        elif (int(row["wrong"]) < 1 or row["wrong_kind"] != named or row["wrong_rank"] != rank or
              not low <= int(row["wrong_element"]) <= high):
            print(where + got + f" instead of {named} of rank {rank} at {low} to {high}")
END
}

# corrupt COLLECTIVE KIND RANK CULPRIT ROWS OPTION...: one run; CULPRIT - where there is none
corrupt() {
	local collective=$1 kind=$2 rank=$3 culprit=$4 rows=$5 csv=$work/rows.$runs.csv wrong place='element'
	shift 5
	[[ "$collective $kind" =~ ${CHECK_ONLY:-.} ]] || return 0
	HANGAR_CORRUPT=$collective:$kind:$rank:$element:${culprit/#-/-1} run \
		"$BUILD/tests/tool_corrupt" "${options[@]}" -g 3 -n 4 -w 1 --topo none --csv "$csv" "$@"
	expect_rc "$([ "$kind" = none ] && echo 0 || echo 12)" "$collective $kind:"
	[ "$kind" = guard ] && place=byte
	[ "$kind" = send ] && place='send element'
	echo "$csv $collective $kind $rank $rows" >>"$work/runs"
	wrong=$(awk -F, 'NR > 1 && $17 > 0' "$csv" | wc -l)
	holds "$collective $kind: not one '# wrong' line for each of $wrong rows" \
		[ "$(grep -c "^# wrong: rank $rank $place " "$work/out")" -eq "$wrong" ]
	case $kind in
	none) ;;
	guard) expect_out "^# verdict: outcome=wrong-data class=wrong-data ranks=$rank " ;;
	unsent | twice) expect_out "^# verdict: outcome=wrong-data class=corrupt-data ranks=$culprit .*=majority" ;;
	send) expect_out "^# verdict: outcome=wrong-data class=corrupt-data ranks=$rank .*=proved" ;;
	*) # where nobody else receives the element the sender may be the one
		[[ $collective =~ ^(alltoall|reduce_scatter)$ ]] && said=inconclusive || said=majority
		expect_out "^# verdict: outcome=wrong-data class=corrupt-data ranks=$rank .*=$said" ;;
	esac
	case $kind in
	missing | unsent) expect_out "missing contribution of rank $culprit" ;;
	doubled | twice) expect_out "doubled contribution of rank $culprit" ;;
	esac
}

# 12 types, 5 operators, 2 placements; operators of NCCL beyond these are not corrupted here
for operator in sum prod max min avg; do
	corrupt all_reduce none 0 - 24 -d all -o $operator -b 12K -e 12K
done
for kind in zero stale shifted nan guard send; do
	corrupt all_reduce $kind 1 - 24 -d all -o sum -b 12K -e 12K
done
for operator in sum prod min; do
	corrupt all_reduce missing 1 2 24 -d all -o $operator -b 12K -e 12K
done
corrupt all_reduce doubled 2 0 24 -d all -o prod -b 12K -e 12K
# What a rank really failed to send, or sent too much of, is wrong on all; the first is named.
corrupt all_reduce unsent 0 1 4 -d float -b 12K -e 24K
corrupt all_reduce twice 0 2 4 -d float -b 12K -e 24K
corrupt reduce_scatter missing 2 1 4 -d float -b 12K -e 24K
for collective in all_gather reduce_scatter broadcast alltoall; do
	rows=4
	[ $collective = alltoall ] && rows=2
	corrupt $collective none 0 - $rows -d float -b 12K -e 24K
	for kind in zero stale shifted nan guard send; do
		rank=2
		[ $collective$kind = broadcastsend ] && rank=0
		corrupt $collective $kind $rank - $rows -d float -b 12K -e 24K
	done
done
wrong=$(judge 2>&1)
check "${wrong:0:2000}" [ -z "$wrong" ]
finish
