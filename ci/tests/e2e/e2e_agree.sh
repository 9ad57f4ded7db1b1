#!/bin/bash
# e2e_agree.sh: ranks that were started with different options end before the first call, with exit 2
# and one line that names them and both values. One option of each kind; test_options_agree has all.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
end_at_once

limit=30
perf=$BUILD/all_reduce_perf

# refused "OPTIONS" "OPTIONS OF THE LAST RANK" LINE: of four ranks
refused() {
	# shellcheck disable=SC2086 # words
	run mpirun --quiet -np 3 "$perf" --backend mpi $1 : -np 1 "$perf" --backend mpi $2
	holds "exit $rc instead of 2: $said" [ "$rc" -eq 2 ]
	holds "something was measured: $said" [ ! -s "$work/out" ]
	holds "$(grep -c perf "$work/err") lines: $said" [ "$(grep -c '^[a-z_]*_perf: ' "$work/err")" -eq 1 ]
	expect_err "^all_reduce_perf: $3; must be the same on all ranks$"
}

refused '' '-b 1K' 'rank 3: -b 1K; ranks 0-2: -b 32M'
refused '' '-n 5' 'rank 3: -n 5; ranks 0-2: -n adaptive'
refused '' '--seed 2' 'rank 3: --seed 2; ranks 0-2: --seed 1'
refused '-c 1' '-c 1 --check-every' 'rank 3: --check-every; ranks 0-2: no --check-every'
refused '' '--budget 2' 'rank 3: --budget 2; ranks 0-2: --budget 0.5'
refused '' '--mode isolated' 'rank 3: --mode isolated; ranks 0-2: --mode stream'
refused '' '--backend nccl' 'rank 3: backend (nccl|none); ranks 0-2: backend mpi'
refused '' '--topo none' 'rank 3: --topo none; ranks 0-2: --topo live'
refused '' '-d half' 'rank 3: -d half; ranks 0-2: -d float'
refused '-d half' '' 'rank 3: -d float; ranks 0-2: -d half'
refused '' '-o all' 'rank 3: -o all; ranks 0-2: -o sum'
refused '' '--expect hang' 'rank 3: --expect hang; ranks 0-2: no --expect'
refused '--fault drop-rank:1' '--fault drop-rank:2' \
	'rank 3: --fault drop-rank:2; ranks 0-2: --fault drop-rank:1'

# a variable that only some ranks have
run mpirun --quiet -np 2 "$perf" --backend mpi : -np 1 -x NCCL_TESTS_SPLIT='MOD 2' "$perf" --backend mpi
expect_rc 2 'NCCL_TESTS_SPLIT of one rank:'
expect_err 'rank 2: NCCL_TESTS_SPLIT=MOD 2; ranks 0,1: no NCCL_TESTS_SPLIT'

# of two ranks, and of two and two, nobody is the odd one
run mpirun --quiet -np 1 "$perf" --backend mpi -d half : -np 1 "$perf" --backend mpi
expect_rc 2 'one and one:'
expect_err 'all_reduce_perf: rank 0: -d half; rank 1: -d float; must'
run mpirun --quiet -np 2 "$perf" --backend mpi : -np 2 "$perf" --backend mpi -d half
expect_rc 2 'two and two:'
expect_err 'all_reduce_perf: ranks 0,1: -d float; ranks 2,3: -d half; must'

# programs, also one that takes other numbers of ranks and roots
run mpirun --quiet -np 2 "$perf" --backend mpi : -np 1 "$BUILD/broadcast_perf" --backend mpi -r 1
expect_rc 2 'another program:'
expect_err 'all_reduce_perf: rank 2: broadcast_perf; ranks 0,1: all_reduce_perf; must'
run mpirun --quiet -np 1 "$BUILD/hypercube_perf" --backend mpi : -np 2 "$perf" --backend mpi
expect_rc 2 'another program, rank 0:'
expect_err 'hypercube_perf: rank 0: hypercube_perf; ranks 1,2: all_reduce_perf; must'

# what one rank alone can find it tells itself
run mpirun --quiet -np 1 "$perf" --backend mpi : -np 1 "$perf" --backend mpi -d nonsense
expect_rc 2 'nonsense of rank 1:'
expect_err '^all_reduce_perf: rank 1: -d nonsense: must be one of '

# files, verbosity and deadlines may differ, and so may spellings
run mpirun --quiet -np 1 "$perf" --backend mpi -b 1K -e 1024 -n 2 -w 0 --csv "$work/a.csv" --table nccl-tests \
	: -np 1 "$perf" --backend mpi -b 1024 -e 1K -n 2 -w 0 -T 50 -S 1
expect_rc 0 'files, table, deadline:'
holds 'no CSV' [ -s "$work/a.csv" ]

# settings of NCCL may differ, and say nothing to MPI
small="--backend mpi -b 1K -e 1K -n 2"
# shellcheck disable=SC2086 # words
run mpirun --quiet -np 3 "$perf" $small : -np 1 -x NCCL_ALGO=Tree "$perf" $small
expect_rc 0 'settings:'
holds "$(grep 'settings differ' "$work/err")" bash -c '! grep -q "settings differ" "$1"' - "$work/err"

finish
