#!/bin/bash
# e2e_recover.sh: a communicator that is broken and brought back, over test doubles of libnccl and libcuda.
# timeout: 350
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"
[ -x "$BUILD/recover_perf" ] || skip 'a build without NCCL'
export DOUBLE_DIR=$work LD_LIBRARY_PATH=$BUILD/tests/double
recover() {
	limit=60 run "$BUILD/recover_perf" "$@"
}

# right where the survivors' sum is; hangs where the old call still holds the stream, or the lost rank is waited for
recover -g 3 --notice 0.1 --limit 1 --break none,killed,stopped,host,gpu,mid-call --cure abort,shrink,shrink-abort,split,revoke --csv "$work/r.csv"
expect_rc 0 'the cells:'
expect_out '^# recover_perf: 3 ranks on 3 GPUs, NCCL 2\.28\.9'
for how in none killed stopped host gpu; do
	expect_out "^ $how +abort +right +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ +0\.0 +[0-9]+ +0 "
	expect_out "^ $how +shrink-abort +right "
	expect_out "^ $how +split +hangs .* ranks 0,1: ncclCommSplit for 1 s$"
	expect_out "^ $how +revoke +n/a .* ncclCommRevoke is in NCCL 2\.28\.7"
done
expect_out '^ none +shrink +right '
expect_out '^ stopped +shrink +hangs .* ranks 0,1: waiting for the stream for 1 s$'
expect_out '^ mid-call +abort +right '
holds 'rows of the CSV' [ "$(wc -l <"$work/r.csv")" -eq 31 ]
holds "times in the CSV: $(grep killed,abort "$work/r.csv")" grep -qE '^killed,abort,3,3,2\.28\.9,0,right,[0-9.]+,[0-9.]+,[0-9.]+,[0-9.]+,0,' "$work/r.csv"
mkdir "$work/drawn"
cp "$work/r.csv" "$work/drawn/recover.csv"
if command -v gnuplot >/dev/null; then
	run plots/plot "$work/drawn"
	expect_rc 0 'the heat map:'
	awk -F, -v OFS=, 'NR > 1 { $6 = 1; $11 = $11 == "" ? "" : 77777; print }' "$work/r.csv" >>"$work/drawn/recover.csv"
	run plots/plot "$work/drawn"
	holds 'the last run of a cell alone' [ "$(grep -c '77777 ms' "$work/drawn/recover.svg"),$(grep -cE '>[0-9]{1,4} ms' "$work/drawn/recover.svg")" = "$(awk -F, '$7 == "right" && $11' "$work/r.csv" | wc -l),0" ]
	holds 'its words' grep -q 'from the break to the first right sum, NCCL 2.28.9' "$work/drawn/recover.svg"
fi
holds 'processes stay' [ -z "$(pgrep -x recover_perf)" ]

# an error that the communicator had before a call is not the call's
export DOUBLE_REMOTE_ERROR=1
recover -g 3 --notice 0.5 --limit 1 --break killed --cure abort,shrink-abort,split
expect_out '^ killed +abort +right '
expect_out '^ killed +shrink-abort +right '
expect_out '^ killed +split +hangs .* ranks 0,1: ncclCommSplit for 1 s$'
unset DOUBLE_REMOTE_ERROR

# the grown communicator is asked when it is ready, not its parent
recover -g 3 --notice 0.1 --limit 2 --break none,stopped --cure grow
expect_out '^ none +grow +right '
expect_out '^ stopped +grow +right '

recover -g 4 --notice 0.1 --limit 1 --break two-killed,init --cure shrink-abort,abort
expect_out '^ two-killed +shrink-abort +right '
expect_out '^ init +shrink-abort +n/a '
expect_out '^ init +abort +hangs .* ranks 0-2: ncclCommInitRank for 1 s$' # the double blocks there

recover -g 2 --notice 0.1 --limit 1 --cure shrink-abort
expect_rc 0 'all breaks of two ranks:'
expect_out '^ two-killed +shrink-abort +n/a .* of two ranks two leave none; -g 3$'

# a rank that leaves out a split of a communicator that is not the process's first
limit=40 run "$BUILD/hangar_run" --wait --timeout 2 --out "$work/split" "$BUILD/recover_perf" -g 3 --break none --cure split --limit 20
expect_err '^# verdict: outcome=hang class=init-missing-rank ranks=2 .*confidence=(majority|proved)'

# one that is ended leaves no rank behind, a stopped one neither
"$BUILD/recover_perf" -g 3 --break stopped --cure split --limit 30 >"$work/ended" 2>&1 &
ended=$!
holds 'no rank stopped' within 20 bash -c 'ps -o stat= --ppid "$0" | grep -q T' $ended
kill $ended
wait $ended 2>/dev/null
holds 'ranks of one that was ended' within 10 bash -c '! pgrep -x recover_perf >/dev/null'

# requests that can't be
recover -g 5
expect_rc 77 'more ranks than GPUs:'
expect_err '^recover_perf: 5 ranks and 4 GPUs: --share-gpu puts all on one$'
for bad in '--break bad' '--cure=' '-g 1' '-g 2 --break two-killed' '--limit 0' '--csv /no/where/x.csv' 'word'; do
	# shellcheck disable=SC2086 # words
	recover $bad
	expect_rc 2 "$bad:"
	holds "$bad: $(cat "$work/err")" [ "$(wc -l <"$work/err")" -le 2 ]
done
OMPI_COMM_WORLD_SIZE=2 recover
expect_rc 2 'below mpirun:'
LD_LIBRARY_PATH='' recover
expect_rc 77 'no GPU:'
expect_err '^recover_perf: no CUDA driver$'
recover --list
expect_out '^shrink-abort +ncclCommShrink that aborts what runs$'
finish
