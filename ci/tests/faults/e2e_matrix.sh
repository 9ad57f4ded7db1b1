#!/bin/bash
# e2e_matrix.sh: the fault matrix scores what is right as right, and its scoring can fail; healthy
# runs are told from others.
# timeout: 450
# quiet: two runs of four ranks at once, whose hangs have deadlines
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"
limit=150
table=ci/faults/expected.csv

# matrix OUTDIR SETTING...: the scripts end their own runs, and so does this test
matrix() {
	run ci/faults/matrix "$work/$1" TRANSPORTS=mpi RANKS=4 COLLECTIVES=all_gather PLACES=last SIZES=1M \
		DTYPES=float SCHEDULES=plain WHEN=default "${@:2}"
}

# what_of OUTDIR COLUMN FAULT: the values in matrix.csv
what_of() {
	python3 -c 'import csv, sys
print(*(row[sys.argv[2]] for row in csv.DictReader(open(sys.argv[1])) if row["fault"] == sys.argv[3]))' \
		"$work/$1/matrix.csv" "$2" "$3"
}

# above LOW VALUE
# shellcheck disable=SC2317 # called by holds
above() {
	awk -v low="$1" -v value="$2" 'BEGIN { exit !(value != "" && value > low) }'
}

# One cell of three is run by its name, the others by the next start; then nothing is left to do.
matrix good ONLY='^(early-exit|crash-rank)$' LIST=1
expect_rc 0 'a list:'
expect_out '^early-exit.01-1 mpi 4 .*/all_gather_perf --backend mpi -g 4 .* --fault=early-exit:3$'
holds 'not a line for each fault and the twin' [ "$(wc -l <"$work/out")" -eq 3 ]
export KEEP=all
matrix good ONLY='^(early-exit|crash-rank)$' CELL=early-exit.01
expect_rc 0 'one cell:'
holds 'other cells were run' [ "$(wc -l <"$work/good/matrix.csv")" -eq 2 ]
matrix good ONLY='^(early-exit|crash-rank)$' JOBS=2
expect_rc 0 'the others:'
holds "it was run twice" bash -c "! grep -q early-exit \"\$1\"" - "$work/err"
export -n KEEP
matrix good ONLY='^(early-exit|crash-rank)$'
expect_rc 0 'nothing left to do:'
for fault in none early-exit crash-rank; do
	holds "$fault is not right" [ "$(what_of good verdict $fault)" = ok ]
done
holds 'early-exit fired unseen' [ "$(what_of good fired early-exit)" = yes ]
holds "detect_ms of early-exit is '$(what_of good detect_ms early-exit)'" \
	above 450 "$(what_of good detect_ms early-exit)"
holds "detect_ms of crash-rank is '$(what_of good detect_ms crash-rank)'" \
	above 50 "$(what_of good detect_ms crash-rank)"
holds 'ranks renumbered are not right' [ "$(what_of good permuted early-exit)" = yes ]
expect_out '^scored as another fault and found wrong: 2 of 2$'
expect_out '^early-exit.skipped-or-early-exit +early-exit +hang:1 +not run'
expect_out '^3 right, 0 wrong or not fired, 0 leftovers: passed$'
dir=$work/good/raw/early-exit.01-1/evidence
holds 'no evidence was kept' [ -s "$dir/rank-0.fr" ]
leaks=$(grep -lF -e early-exit -e --fault "$dir"/rank-* "$dir/run.json")
holds "evidence names the fault: $leaks" [ -z "$leaks" ]

# Wrong expectations, one at a time: another class, a fault without a row, a twin that should hang.
sed -E 's/^(early-exit,,,,[^,]*),[^,]*/\1,host-busy/' $table >"$work/class.csv"
sed '/^early-exit,/d' $table >"$work/unknown.csv"
sed 's/^none,,,,ok/none,,,,hang/' $table >"$work/twin.csv"
for wrong in class unknown twin; do
	check "$wrong.csv is the table itself" [ "$(cmp "$table" "$work/$wrong.csv" | wc -l)" -eq 1 ]
	EXPECTED=$work/$wrong.csv matrix "bad-$wrong" ONLY='^early-exit$'
	expect_rc 1 "$wrong.csv:"
	expect_out '^1 right, 1 wrong or not fired, 0 leftovers: FAILED$'
	kept=("$work/bad-$wrong"/raw/*)
	holds "$wrong.csv: ${#kept[@]} runs were kept" [ ${#kept[@]} -eq 1 ]
done

# Deadlines change when, not what.
HANGAR_DEADLINE_FACTOR=3 matrix later ONLY='^early-exit$' RANKS=2
expect_rc 0 'deadlines x 3:'
holds "detect_ms x 3 is '$(what_of later detect_ms early-exit)'" \
	above 1450 "$(what_of later detect_ms early-exit)"
HANGAR_DEADLINE_FACTOR=x perf all_reduce -g 2 -b 8 -e 8
expect_rc 2 'HANGAR_DEADLINE_FACTOR=x:'

# What the program refuses is in no cell; what only its ranks refuse is run once and replaced.
mkdir -p "$work/refusing/tests/fired"
ln -s "$BUILD/hang_diagnose" "$work/refusing/"
ln -s "$BUILD/tests/tool_evidence" "$work/refusing/tests/"
cat >"$work/refusing/tests/fired/all_gather_perf" <<END
#!/bin/sh
[ "\${*#*int8}" = "\$*" ] || [ "\$HANGAR_START" = 0 ] || { echo 'x: no int8 here' >&2; exit 77; }
exec "$BUILD/tests/fired/all_gather_perf" "\$@"
END
chmod +x "$work/refusing/tests/fired/all_gather_perf"
matrix replaced ONLY='^kill-rank$' DTYPES='int8 half' SIZES='1K 1M' BUILD="$work/refusing" JOBS=2
expect_rc 0 'int8 that only ranks refuse:'
holds "kill-rank is $(what_of replaced verdict kill-rank)" \
	[ "$(what_of replaced verdict kill-rank | tr ' ' '\n' | sort | tr '\n' ' ')" = 'impossible ok ' ]
holds 'a size that the program refuses was run' [ "$(what_of replaced size kill-rank)" = '1M 1M' ]
holds 'no word of 1 KiB' grep -q '^kill-rank,mpi,2,-b 1024: too small' "$work/replaced/refused.csv"

matrix good ONLY='^early-exit$'
expect_rc 1 'another plan in the same folder:'
for wrong in PER_GPU=half TRANSPORTS=tcp JOBS=many ONLY=no-such-fault; do
	matrix usage "$wrong"
	expect_rc 2 "$wrong:"
done

# A plan is made for GPUs of another machine and is run there; who starves its neighbours comes last.
if grep -q "^built: .*NCCL [0-9]" "$BUILD/built.txt"; then
	export CUDA_VISIBLE_DEVICES=
	for wanted in 77 0; do
		matrix plan TRANSPORTS=p2p DEVICES=2 ONLY='^gpu-(oom|stuck)$|^settings' CELLS=7 RANKS=2 LIST=$((wanted == 0)) \
			SIZES='32K 1M 8M' DTYPES='half float double'
		expect_rc $wanted 'two GPUs:'
	done
	holds "gpu-oom's five are not last" [ "$(tail -n 5 "$work/out" | grep -c '^gpu-oom.0[1-5]-1 p2p 2 .*backend nccl')" -eq 5 ]
	holds 'not seven of others' [ "$(grep -cE '^(gpu-stuck|settings-mismatch)[.]' "$work/out")" -eq 14 ]
fi

run ci/faults/healthy "$work/healthy" BACKEND=mpi N=2 KINDS='none late'
expect_rc 0 'healthy:'
expect_out '^0 false verdicts, 0 runs not healthy: passed$'

# Gone: after a verdict, and after the monitor was killed; what takes too long is late.
freed=(ci/faults/freed BACKEND=mpi RANKS=2 REPEATS=1 FAULTS=exit-rank)
run "${freed[0]}" "$work/freed" "${freed[@]:1}" KILLS=leader
expect_rc 0 'freed:'
expect_out '^2 runs: processes gone after .* 0 late or not clean: passed$'
holds 'freed.csv tells both' [ "$(grep -cE '^(exit-rank,1,14|SIGKILL of leader,1,14),[0-9]+,[0-9]+,0,0,0$' "$work/freed/freed.csv")" -eq 2 ]
run "${freed[0]}" "$work/late" "${freed[@]:1}" KILLS= WITHIN_MS=1
expect_rc 1 'freed within 1 ms:'
expect_out '1 late or not clean: FAILED$'
run "${freed[0]}" "$work/freed" "${freed[@]:1}"
expect_rc 1 'freed into a folder that exists:'
finish
