#!/bin/bash
# accuracy-gpu2.sh: the calibrated predictions of /tmp/wt/accuracy, live on four H200, at most 60 s. Environment: BUILD
# (binaries of the merged tree, with fitted.json beside them), OUT (an empty folder), mpirun on PATH; LIMIT (50).
# Gives NAME/ (--out: CSV + JSON) and NAME.txt for each launch, launches.csv, machine.txt.
set -u
BUILD=${BUILD:?} OUT=${OUT:?} LIMIT=${LIMIT:-50}
BUILD=$(cd "$BUILD" && pwd)
export NCCL_NVLS_ENABLE=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$OUT"; cd "$OUT" || exit 1
start=$EPOCHREALTIME
elapsed() { awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $start }"; }
over() { awk "BEGIN { exit !($EPOCHREALTIME - $start > $LIMIT) }"; }
{ date -Is; uname -sr; grep -m1 'model name' /proc/cpuinfo; nproc; cat /proc/loadavg; nvidia-smi --query-gpu=index,name,driver_version,clocks.max.sm --format=csv; } >machine.txt 2>&1
echo 'name,exit_code,begin_s,seconds,command' >launches.csv
for d in 0 1 2 3; do [ -e /dev/nvidia$d ] && eval "exec 1$d</dev/nvidia$d"; done # stay initialised: contexts open sooner
go() {
	local name=$1 visible=$2 n=$3 bin=$4 t0 rc
	t0=$(elapsed); shift 4
	if over; then echo "$name,skipped,$t0,0," >>launches.csv; return; fi
	local cmd=(mpirun --oversubscribe --bind-to none -np "$n" "$BUILD/${bin}_perf" --backend nccl "$@" --out "$OUT/$name")
	CUDA_VISIBLE_DEVICES=$visible timeout -k 5 30 "${cmd[@]}" >"$name.txt" 2>"$name.err" </dev/null
	rc=$?
	echo "$name,$rc,$t0,$(awk "BEGIN { printf \"%.1f\", $(elapsed) - $t0 }"),\"CUDA_VISIBLE_DEVICES=$visible ${cmd[*]}\"" >>launches.csv
}
for c in all_reduce sendrecv gather alltoall alltoallv hypercube reduce broadcast scatter all_gather reduce_scatter; do
	go np4-$c 0,1,2,3 4 $c -b 8 -e 1G -f 8 --budget 0.05
done
go np2-all_reduce 0,1 2 all_reduce -b 8 -e 1G -f 8 --budget 0.05 & p=$!
go np2-sendrecv 2,3 2 sendrecv -b 8 -e 1G -f 8 --budget 0.05
wait $p
go iso-all_reduce 0,1,2,3 4 all_reduce --mode isolated -b 8 -e 1M -f 8 --budget 0.05
go graph-all_reduce 0,1,2,3 4 all_reduce --mode graph -b 8 -e 1M -f 8 --budget 0.05
echo "total $(elapsed) s" | tee total.txt
