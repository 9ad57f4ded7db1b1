#!/bin/bash
# e2e_collectives.sh: every collective's sweep on 2, 3 and 4 ranks: data right, all rows there.
# timeout: 600
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

few=(-n 2 -w 1 -c 1 --topo none)
dtypes=12
# Operators of the mpi backend: sum prod max min avg. mulsum is NCCL's.
operators=5

all_zero() {
	! grep -qvx 0 "$1"
}

# good_run WHAT ROWS: the last run passed, with so many rows, all of them right
good_run() {
	expect_rc 0 "$1"
	column "$work/rows.csv" wrong >"$work/wrong"
	holds "$1: $(wc -l <"$work/wrong") rows instead of $2" [ "$(wc -l <"$work/wrong")" -eq "$2" ]
	holds "$1: wrong data" all_zero "$work/wrong"
	rm -f "$work/rows.csv"
}

# As bench/ states them.
states() { grep -qE "^	\.$2" "bench/$1_perf.c"; }
rooted() { states "$1" 'rooted = true'; }
reduces() { states "$1" 'reduces = true'; }
placements() {
	states "$1" 'in_place = true' && echo 2 || echo 1
}

# share COLLECTIVE RANKS: the size that gives each rank a byte
share() {
	states "$1" 'shape = shape_whole' && echo 1 || echo "$2"
}

# odd_sizes COLLECTIVE RANKS MODE OPTION...: 1 and 1000003 floats of each rank, not aligned
odd_sizes() {
	local c=$1 n=$2 mode=$3 k roots=1
	k=$(share "$c" "$n")
	shift 3
	rooted "$c" && roots=$n
	# alltoallv cuts what goes from rank to rank to 16 bytes, as nccl-tests does
	if [ "$c" = alltoallv ]; then
		perf "$c" "${few[@]}" -g "$n" --mode "$mode" -u 1 -b $((64 * n)) \
			-e $((4000048 * n)) -i $((3999984 * n)) --csv "$work/rows.csv"
		good_run "$c on $n ranks, $mode" 2
		return
	fi
	perf "$c" "${few[@]}" -g "$n" --mode "$mode" --align 1 -u 1 \
		-b $((4 * k)) -e $((4000012 * k)) -i $((4000008 * k)) --csv "$work/rows.csv" "$@"
	good_run "$c on $n ranks, $mode" $((2 * roots * $(placements "$c")))
}

# all_types COLLECTIVE RANKS OPTION...: 3 and 63 floats, which are odd numbers of every type
all_types() {
	local c=$1 n=$2 k rows=$dtypes
	k=$(share "$c" "$n")
	[ "$c" = alltoallv ] && k=$((16 * n))
	shift 2
	reduces "$c" && rows=$((rows * operators))
	perf "$c" "${few[@]}" -g "$n" -d all --align 1 \
		-b $((12 * k)) -e $((252 * k)) -f 21 --csv "$work/rows.csv" "$@"
	good_run "$c on $n ranks, all types" $((2 * rows * $(placements "$c")))
}

for c in $(sed -n '/COLLECTIVES/,/BESIDE/s/^	row(\(.*\)).*/\1/p' bench/collectives.h); do
	for n in 2 3 4; do
		if [ "$c$n" = hypercube3 ]; then
			perf "$c" "${few[@]}" -g 3 -b 1K -e 1K
			expect_rc 77 "hypercube on 3 ranks"
			expect_err 'hypercube.*(power of two|2, 4, 8)'
			continue
		fi
		root=() op=()
		rooted "$c" && root=(-r all)
		reduces "$c" && op=(-o all)
		odd_sizes "$c" "$n" stream "${root[@]}"
		all_types "$c" "$n" "${op[@]}"
		[ "$n" -eq 2 ] && odd_sizes "$c" "$n" isolated "${root[@]}"
	done
done

# A traffic matrix, larger than the job; bytes, cut to multiples of 16: rank 0 sends 0 32 64, rank 1
# 128 0 0, rank 2 0 256 16; rank 1 receives most, 288. Scaled by 1000: 46992 and 256000.
printf '0 47 64 7\n128 0 0 7\n\n0 256 16.5 7\n7 7 7 7\n' >"$work/matrix"
export NCCL_TESTS_ALLTOALLV_MATRIX_FILE=$work/matrix NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY=1
perf alltoallv "${few[@]}" -g 3 -b 1K -e 1K --csv "$work/rows.csv"
holds 'matrix: size' [ "$(column "$work/rows.csv" size_bytes)" = 288 ]
good_run 'alltoallv by a matrix' 1
expect_out '^# rank 0: sends 96 B, receives 128 B, time [0-9.]+ us, algbw [0-9.]+ GB/s, busbw '
expect_out '^# rank 1: sends 128 B, receives 288 B, '
expect_out '^# rank 2: sends 272 B, receives 80 B, '
NCCL_TESTS_ALLTOALLV_MATRIX_SCALE=1000 perf alltoallv "${few[@]}" -g 3 -b 1M -e 1M -d all \
	--csv "$work/rows.csv"
holds 'scaled matrix: size' [ "$(column "$work/rows.csv" size_bytes | sort -u)" = 302992 ]
good_run 'alltoallv by a scaled matrix' $dtypes
perf alltoallv "${few[@]}" -g 3 -b 1K -e 2K
expect_rc 2 'matrix and two sizes:'
expect_err '-b 1024 -e 2048: must be equal'
perf alltoallv "${few[@]}" -g 3 -b 256 -e 256
expect_rc 2 'matrix larger than -e:'
expect_err '-e 256: must be at least 288'
perf alltoallv "${few[@]}" -g 5 -b 1K -e 1K
expect_rc 2 'matrix smaller than the job:'
expect_err 'MATRIX_FILE=.* has 4 rows and columns, but there are 5 ranks'
unset NCCL_TESTS_ALLTOALLV_MATRIX_FILE NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY

# -m: calls in groups, -N: sweeps; a call counts, and the time is that of one
perf all_gather -n 20 -w 1 -g 2 -m 4 -N 2 -b 1K -e 2K --csv "$work/rows.csv"
holds "-m 4: calls $(column "$work/rows.csv" calls | sort -u)" \
	[ "$(column "$work/rows.csv" calls | sort -u)" = 80 ]
holds '-N 2: cycles' [ "$(column "$work/rows.csv" cycle | sort -u | tr -d '\n')" = 01 ]
good_run '-m 4 -N 2' 8
finish
