#!/bin/bash
# e2e_usage.sh: wrong input ends with exit 2 (or 77) and one line before anything runs; help,
# version, environment variables, launchers.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
end_at_once

small=(--backend mpi -b 8 -e 8 -n 1 -w 0 -c 1)

# one_line RC PATTERN...: exit code, nothing on stdout, one line on stderr that matches all patterns
one_line() {
	local pattern
	holds "exit $rc instead of $1" [ "$rc" -eq "$1" ]
	shift
	holds "stdout is not empty" [ ! -s "$work/out" ]
	holds "$(wc -l <"$work/err") lines on stderr instead of 1" [ "$(wc -l <"$work/err")" -eq 1 ]
	for pattern; do
		expect_err "$pattern"
	done
}

# refused "ARGUMENTS" PATTERN...: a bare start of $collective with them exits 2
collective=all_reduce
refused() {
	local arguments=$1
	shift
	# shellcheck disable=SC2086 # words
	run "$BUILD/${collective}_perf" $arguments
	one_line 2 "$@"
}

# What is wrong with an option's value, and with two together: test_options_wrong.c; here one of each.
refused '--nonsense' nonsense
refused '-Q' 'Q'
refused '-b 8 stray' stray
refused '-b 0' '-b 0'
refused '-b 64 -e 32' '-e 32' '-b'
refused '--backend mpi --mode graph' 'graph' 'mpi'
refused "--backend mpi --fault=drop-rank:$((4 * $(nproc) + 12))" '-g'
refused '--expect hang:nosuchclass' 'hang:nosuchclass' 'missing-call' 'rank-died'
refused '--backend mpi -g 4 --fault=drop-rank:4' 'out of range: 4, the job has 0 to 3'
refused '--backend mpi -g 4 --fault=drop-rank@26' 'call 26 is never reached'
refused '--backend mpi -g 4 --fault=drop-rank:1 -b 4K' '-b 4096: too small for a schedule'
refused '--backend mpi -g 4 --fault=drop-rank:1 -b 4' '-b 4: too small for a schedule'
refused '-n' '-n: '
refused '-g 2 --csv /nonexistent/x' '^all_reduce_perf: --csv /nonexistent/x: .*No such file'
refused '-g 2 --json /dev/null/x' '--json /dev/null/x: .*Not a directory'
refused "-g 2 --csv $work/rows -J $0.json -T 1 --json $0" "--json $0: exists already"
refused '-g 2 -J /nonexistent/x.json' '-J /nonexistent/x.json: can.t be created'
refused '-g 2 --out /dev/null/x/' '--out /dev/null/x/: Not a directory'
refused '-g 2 --topo pdp-11' "no machine spec 'pdp-11'; there are"
collective=broadcast refused '--backend mpi -g 4 -r 4' '-r 4: must be a rank below 4, or all'
collective=broadcast refused '--backend mpi -g 2 -r 9 --fault none' '-r 9: must be a rank below 2'
for matrix in 'nothing:No such file' "$work:no regular file" "$0:row 1, column 1: '#!/bin/bash' is not"; do
	NCCL_TESTS_ALLTOALLV_MATRIX_FILE=${matrix%%:*} collective=alltoallv refused '--backend mpi -g 2' \
		'NCCL_TESTS_ALLTOALLV_MATRIX_FILE=' "${matrix#*:}"
done
NCCL_TESTS_SPLIT='MOD 0' refused '' 'NCCL_TESTS_SPLIT'
run "$BUILD/all_reduce_perf" -D 1
one_line 77 '-D 1'

# Too large for any host: memory is named, with the option.
run "$BUILD/all_reduce_perf" --backend mpi -g 2 -b 64T -e 64T
expect_rc 2 '-e 64T:'
holds 'stdout is not empty' [ ! -s "$work/out" ]
expect_err '64T|70368744177664'
expect_err '[Mm]emory|available'

# Nobody notices a hang: said once, by whoever was typed.
for start in '' "mpirun --quiet -np 2"; do
	# shellcheck disable=SC2086 # words
	run $start "$BUILD/all_reduce_perf" --backend mpi -b 64K --no-watch --fault=late-rank:1,delay=0.1
	expect_rc 0 '--no-watch:'
	holds '--no-watch: said once' [ "$(grep -c 'a hang is not detected' "$work/err")" -eq 1 ]
done

# Under a launcher every rank sees the mistake, and one tells of it. mpirun adds its own report.
launched() {
	run mpirun --quiet -np 2 "$BUILD/all_reduce_perf" "$@"
	grep -E '^all_reduce_perf: ' "$work/err" >"$work/ours"
	holds "$(wc -l <"$work/ours") lines of ours on stderr instead of 1" \
		[ "$(wc -l <"$work/ours")" -eq 1 ]
	holds 'stdout has results' bash -c '! grep -qE "^ *[0-9]+ +[0-9]" "$1"' - "$work/out"
}
launched --nonsense
expect_rc 2 'mpirun, --nonsense:'
launched "${small[@]}" -e 4
expect_rc 2 'mpirun, -e 4:'
launched "${small[@]}" -g 2
expect_rc 2 'mpirun, -g 2:'
expect_err 'mpirun -np 4 '
launched --backend mpi -b 64T -e 64T
expect_rc 2 'mpirun, -e 64T:'
launched --backend mpi --fault=drop-rank:1 -b 4K
expect_rc 2 'mpirun, --fault, -b 4K:'
holds 'one line of ours, but others about the fault' bash -c '! grep -q "did not fire" "$1"' - "$work/err"
run mpirun --quiet -np 2 "$BUILD/all_reduce_perf" "${small[@]}" -g 1
expect_rc 0 'mpirun, -g 1:'

# Slurm: a batch script without a step is a bare start.
export SLURM_JOB_ID=4711 SLURM_NTASKS=8 SLURM_PROCID=0 SLURM_NPROCS=8 SLURM_JOB_NUM_NODES=1
run "$BUILD/all_reduce_perf" "${small[@]}" -g 2
expect_rc 0 'Slurm batch script:'
expect_out ' 2 ranks'
expect_err 'mpirun .*-np 2 '
# A step that announces more processes than MPI sees is an error, not eight runs of one.
SLURM_STEP_ID=0 run "$BUILD/all_reduce_perf" "${small[@]}"
expect_rc 2 'Slurm step without MPI:'
expect_err '8'
expect_err 'pmix'
unset SLURM_JOB_ID SLURM_NTASKS SLURM_PROCID SLURM_NPROCS SLURM_JOB_NUM_NODES

# Bare: says what it runs, a rank a core from 2 to 8 unless told, as -t x -g says.
ranks=$(($(nproc) < 2 ? 2 : $(nproc) > 8 ? 8 : $(nproc)))
run "$BUILD/all_reduce_perf" "${small[@]}"
expect_rc 0 'bare:'
expect_out " $ranks ranks"
expect_err "mpirun .*-np $ranks .*all_reduce_perf"
run "$BUILD/all_reduce_perf" "${small[@]}" -t 3
expect_out ' 3 ranks'
# Nothing to start it with
run env PATH=/nonexistent "$BUILD/all_reduce_perf" "${small[@]}"
expect_rc 77 'no mpirun:'
expect_err 'mpirun'

# Help, version
run "$BUILD/all_reduce_perf" --help
expect_rc 0 '--help:'
holds '--help writes to stderr' [ ! -s "$work/err" ]
for option in -b -e --minbytes --mode --backend --table --out --csv --json --record --share-gpu \
	--expect NCCL_TESTS_DEVICE NCCL_TESTS_SPLIT_MASK NCCL_TESTS_MIN_BW; do
	expect_out "(^|[ ,])$option([ =,[]|\$)"
done
run "$BUILD/all_reduce_perf" --version
expect_rc 0 '--version:'
expect_out '^all_reduce_perf .*[0-9]+\.[0-9]+'
for program in hangar_run hang_diagnose hang_verify hang_reduce nccl_log topo_predict reconcile health p2p_matrix_perf; do
	run "$BUILD/$program" --version
	expect_rc 0 "$program --version:"
	expect_out "^$program \\(hangar\\) [0-9]+\\.[0-9]+"
done
# the order of the table: what is used most comes first
run "$BUILD/topo_predict" --help
expect_rc 0 'topo_predict --help:'
holds 'the order of options' [ "$(grep -oE -- '--(topo|nodes|algo)=' "$work/out" | tr -d '\n')" = '--topo=--nodes=--algo=' ]

# What nobody can read, since its disk is full, is no success.
full() {
	# shellcheck disable=SC2016 # for the inner shell
	run bash -c '"$@" >/dev/full' - "$@"
	one_line 1 'standard output: No space left on device'
}
for option in --help --version --list-faults "${small[*]} -g 2"; do
	# shellcheck disable=SC2086 # words
	full "$BUILD/all_reduce_perf" $option
done
for program in topo_predict nccl_log reconcile hang_diagnose; do
	full "$BUILD/$program" --help
done
full "$BUILD/topo_predict" --topo dgx-h100

# Environment variables
NCCL_TESTS_MIN_BW=100000 run "$BUILD/all_reduce_perf" "${small[@]}" -g 2
expect_rc 13 'NCCL_TESTS_MIN_BW:'
expect_out '^# verdict: outcome=slow '
NCCL_TESTS_SPLIT='MOD 2' run "$BUILD/all_reduce_perf" "${small[@]}" -g 4
expect_rc 0 'NCCL_TESTS_SPLIT:'
expect_out 'Rank +3 Group +1'

# What a fault should come to is what comes. Where that depends on the rank's place nothing is promised, and outcome= is refused.
while read -r program fault outcome options; do
	# shellcheck disable=SC2086 # words
	run "$BUILD/${program}_perf" --backend mpi --topo none -g 4 -b 16K "--fault=$fault,outcome=$outcome" $options
	expect_rc 77 "$fault,outcome=$outcome"
	expect_err "is not known to come to outcome=$outcome in .* and [24] ranks on this transport"
done <<'END'
reduce redop-mismatch:0 silent
all_reduce redop-mismatch:0 corrupt
gather dtype-mismatch:3 corrupt
broadcast size-mismatch:2 hang
broadcast root-mismatch:3@16 hang --schedule pairs
reduce root-mismatch:2 hang
END
perf reduce -g 2 -b 16K --fault=redop-mismatch:0
expect_out '^# fault redop-mismatch: rank 0, call 8$'
perf broadcast -g 3 -b 16K --fault=root-mismatch:1
expect_out '^# fault root-mismatch: rank 1, call 8: should come to outcome=hang$'
expect_out '^# verdict: outcome=hang class=mismatch ranks=1 '

# One type and operator of many are run, which is said.
perf all_reduce -g 2 -b 16K --fault=none -d all -o all
expect_rc 0 '-d all with a fault'
expect_out '^# a run with --fault has one schedule: of -d all and -o all the first alone, int8 and sum$'
perf all_reduce -g 2 -b 16K --fault=none
expect_no_out 'has one schedule'

# The limit that is in the way is named.
run bash -c 'ulimit -v 2000000 && "$@"' - "$BUILD/all_reduce_perf" --backend mpi --topo none -g 2 -b 1G -e 1G -n 1
expect_rc 2 'ulimit -v'
expect_err 'bytes of buffers do not fit: this process may have 2048000000 bytes of address space \(ulimit -v\)$'

# A rank whose clock is ten days ahead waits as long as the others.
if unshare --time --monotonic 864000 true 2>/dev/null; then
	args=("$BUILD/all_reduce_perf" --backend mpi --topo none -b 16K --fault=drop-rank:0)
	run mpirun --oversubscribe --allow-run-as-root -np 2 "${args[@]}" : -np 1 unshare --time --fork --monotonic 864000 "${args[@]}"
	expect_rc 10 'a time namespace'
	expect_out '^# verdict: outcome=hang class=missing-call ranks=0 '
	expect_out '^# ranks 1,2 wait in call 8, .* [0-9]\.[0-9]+ s$'
fi
finish
