#!/bin/bash
# e2e_matrix.sh: the fault matrix scores what is right as right, and its scoring can fail; healthy
# runs are told from others.
# timeout: 180
# alone: two runs of four spinning ranks at once leave nothing to another test
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
limit=150
table=ci/faults/expected.csv

# matrix OUTDIR SETTING...: the scripts end their own runs, and so does this test
matrix() {
	run ci/faults/matrix "$work/$1" BACKEND=mpi RANKS=4 PLAN=once "${@:2}"
}

# what_of OUTDIR COLUMN FAULT: the value in matrix.csv, which quotes no cell up to `right`
what_of() {
	awk -F, -v name="$2" -v fault="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
		NR > 1 && $1 == fault { print $c }' "$work/$1/matrix.csv"
}

# above LOW VALUE
# shellcheck disable=SC2317 # called by holds
above() {
	awk -v low="$1" -v value="$2" 'BEGIN { exit !(value != "" && value > low) }'
}

matrix good ONLY='^(early-exit|crash-rank)$' KEEP=all JOBS=2
expect_rc 0 'early-exit and crash-rank:'
for fault in none early-exit crash-rank; do
	holds "$fault is not right" [ "$(what_of good right $fault)" = yes ]
done
holds 'early-exit fired unseen' [ "$(what_of good fired early-exit)" = yes ]
holds "detect_ms of early-exit is '$(what_of good detect_ms early-exit)'" \
	above 450 "$(what_of good detect_ms early-exit)"
holds "detect_ms of crash-rank is '$(what_of good detect_ms crash-rank)'" \
	above 50 "$(what_of good detect_ms crash-rank)"
expect_out '^swapped evidence found wrong: 2 of 2$'
expect_out '^ranks renumbered, still right: 2 of 2$'
expect_out '^3 right, 0 wrong or not fired, 0 leftovers: passed$'
permuted=$(awk -F, '$1 == "early-exit:3" { print $4 }' "$work/good/permute.csv")
holds "permuted rank 3 of 4 is named '$permuted'" [ "$permuted" = 0 ]
dir=$work/good/raw/early-exit-3-of4-1/evidence
holds 'no evidence was kept' [ -s "$dir/rank-0.fr" ]
leaks=$(grep -lF -e early-exit -e --fault "$dir"/rank-* "$dir/run.json")
holds "evidence names the fault: $leaks" [ -z "$leaks" ]

# Wrong expectations, one at a time: another class, a fault without a row, a twin that should hang.
sed 's/^early-exit,,,mpi,hang,early-exit/early-exit,,,mpi,hang,host-busy/' $table >"$work/class.csv"
sed '/^early-exit,/d' $table >"$work/unknown.csv"
sed 's/^none,,,any,ok/none,,,any,hang/' $table >"$work/twin.csv"
for wrong in class unknown twin; do
	check "$wrong.csv is the table itself" [ "$(cmp "$table" "$work/$wrong.csv" | wc -l)" -eq 1 ]
	EXPECTED=$work/$wrong.csv matrix "bad-$wrong" ONLY='^early-exit$' SWAP=0 PERMUTE=0
	expect_rc 1 "$wrong.csv:"
	expect_out '^1 right, 1 wrong or not fired, 0 leftovers: FAILED$'
	kept=("$work/bad-$wrong"/raw/*)
	holds "$wrong.csv: ${#kept[@]} runs were kept" [ ${#kept[@]} -eq 1 ]
done

# Deadlines change when, not what.
matrix later ONLY='^early-exit$' RANKS=2 PLAN=full REPEATS=1 DEADLINES=3 SWAP=0
expect_rc 0 'deadlines x 3:'
soonest=$(what_of later detect_ms early-exit | sort -n | head -n 1)
holds "detect_ms x 3 is '$soonest'" above 1450 "$soonest"
HANGAR_DEADLINE_FACTOR=x perf all_reduce -g 2 -b 8 -e 8
expect_rc 2 'HANGAR_DEADLINE_FACTOR=x:'

# Once: 4 ranks, or the most where 4 are not asked for
matrix plan DRY=1 RANKS='2 4 8' ONLY='^early-exit$'
expect_err '^2 runs, about' # the fault and its healthy twin
matrix plan DRY=1 RANKS="2 8" ONLY='^early-exit$'
expect_err '^2 runs, about'
# What was right before is not repeated: cells that have it all are left out, wrong ones are not
matrix plan DRY=1 ONLY='^early-exit$' HAVE="$work/good $work/bad-unknown/matrix.csv"
expect_err '^0 runs, about'
matrix plan DRY=1 ONLY='^early-exit$' PLAN=short REPEATS=3 HAVE="$work/good"
expect_err '^10 runs, about' # 2 of "none" and of the last rank, 2 each of first, middle, two
matrix plan DRY=1 ONLY='^early-exit$' HAVE="$work/bad-unknown"
expect_err '^1 runs, about'
matrix second ONLY='^early-exit$' PLAN=full REPEATS=2 RANKS=2 HAVE="$work/good $work/later" SWAP=0
expect_rc 0 'the second repeats:'
expect_out '^ranks renumbered, still right: 2 of 2$'
matrix plan DRY=1 ONLY='^early-exit$' HAVE="$work/nowhere"
expect_rc 1 'HAVE without a matrix:'
expect_err '^HAVE: .*/nowhere has no matrix: '
# ... each matrix once, however it is named; a torn one is none; where nothing is left, that is well
matrix plan DRY=1 ONLY='^early-exit$' PLAN=short REPEATS=3 \
	HAVE="$work/good $work/good/matrix.csv $work/later/../good"
expect_err '^10 runs, about'
mkdir "$work/cut" "$work/worded" "$work/empty"
sed '$ s/,[^,]*,[^,]*$//' "$work/good/matrix.csv" >"$work/cut/matrix.csv"
sed '$ s/,mpi,shm,4,/,mpi,shm,four,/' "$work/good/matrix.csv" >"$work/worded/matrix.csv"
: >"$work/empty/matrix.csv"
for torn in cut worded empty; do
	matrix plan DRY=1 ONLY='^early-exit$' HAVE="$work/good $work/$torn"
	expect_rc 1 "HAVE with a matrix that is $torn:"
	expect_err "^HAVE: .*/$torn has no matrix: (line 4 is torn|it is empty)"
done
matrix done ONLY='^early-exit$' HAVE="$work/good"
expect_rc 0 'nothing left to do:'
expect_out '^nothing was left to do: '
expect_out '^0 right, 0 wrong or not fired, 0 leftovers: passed$'
matrix usage PER_GPU=half
expect_rc 2 'PER_GPU=half:'

matrix none ONLY=no-such-fault
expect_rc 2 'ONLY without a fault:'
matrix good
expect_rc 1 'an OUTDIR that exists:'
matrix usage PLAN=half
expect_rc 2 'PLAN=half:'

run ci/faults/healthy "$work/healthy" BACKEND=mpi N=2 KINDS='none late'
expect_rc 0 'healthy:'
expect_out '^0 false verdicts, 0 runs not healthy: passed$'

# Gone: after a verdict, and after the monitor was killed; what takes too long is late.
freed=(ci/faults/freed BACKEND=mpi RANKS=2 REPEATS=1 FAULTS=exit-rank)
run "${freed[0]}" "$work/freed" "${freed[@]:1}" KILLS=leader
expect_rc 0 'freed:'
expect_out '^2 runs: processes gone after .* 0 late or not clean: passed$'
holds 'freed.csv tells both' [ "$(grep -cE '^(exit-rank,1,14|SIGKILL of leader,1,137),[0-9]+,[0-9]+,0,0,0$' "$work/freed/freed.csv")" -eq 2 ]
run "${freed[0]}" "$work/late" "${freed[@]:1}" KILLS= WITHIN_MS=1
expect_rc 1 'freed within 1 ms:'
expect_out '1 late or not clean: FAILED$'
run "${freed[0]}" "$work/freed" "${freed[@]:1}"
expect_rc 1 'freed into a folder that exists:'
finish
