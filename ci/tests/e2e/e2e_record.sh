#!/bin/bash
# e2e_record.sh: the record of a host: its plan, its parts, what it leaves out, how it goes on, and
# its arithmetic, on the mpi backend and on a host whose GPUs and nccl-tests are played.
# timeout: 600
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
limit=200
export BUILD

# record OUTDIR SETTING...
record() {
	run ci/research/record "$work/$1" "${@:2}"
}
# cell OUTDIR KEYS COLUMN: of points.csv, the row whose first five columns are KEYS
cell() {
	awk -F, -v keys="$2," -v name="$3" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
		NR > 1 && index($0, keys) == 1 { print $c }' "$work/$1/points.csv"
}
# near A B: within a thousandth
near() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a - b < 0.001 * b && b - a < 0.001 * b) }'
}
part() { # OUTDIR PART: how it went
	awk -F, -v part="$2" '$1 == part { print $2 }' "$work/$1/steps.csv"
}

# ---- usage ----

record usage NCCL_TESTS="$work"
expect_rc 2 'nccl-tests that are not there:'
expect_err "no all_reduce_perf in $work"
record usage PREDICTIONS=/nowhere.csv
expect_rc 2 'predictions that are not there:'
record usage SPEED=fast
expect_rc 2 'a setting that is none:'
record usage BACKEND=tcp
expect_rc 2 'a backend that is none:'
record usage FIGURES=1
expect_rc 1 'figures of nothing:'
holds 'a folder all the same' [ ! -e "$work/usage" ]
command -v nvidia-smi >/dev/null || {
	record usage BACKEND=nccl
	expect_rc 77 'no GPU:'
}

# ---- the mpi backend ----

few=(BACKEND=mpi RANKS=2 MAIN=all_reduce COLLECTIVES='all_reduce gather' ONLY='early-exit|crash-rank')
# Killed in the middle of a part: nothing is left running, and that part is run again. DRY from the environment, below as an
# argument.
export DRY=1
start ci/research/record "$work/mpi" "${few[@]}"
export -n DRY
holds 'the faults never began' within 30 test -d "$work/mpi/faults-p2p-2/raw"
kill -TERM "$pid"
ended
expect_rc 143 'killed:'
expect_out '^# sweep-2 +2 ranks  about   24 s,    24 s in all$'
holds "left running: $(pids_of_run)" within 15 no_process
holds "a part that was killed: $(part mpi faults-p2p-2)" [ -z "$(part mpi faults-p2p-2)" ]
few+=(DRY=1)
record mpi "${few[@]}"
holds 'no second command' grep -q '^continued: ' "$work/mpi/command.txt"
expect_rc 0 'mpi:'
expect_out '^# not here: pair-matrix: '
expect_out '^# not here: predictions made before: '
expect_out '^# now a tiny version'
expect_out '^faults-p2p-2: 3 right, 0 wrong or not fired, 0 leftovers: passed$'
expect_out '^  1 hangs named after: median [0-9]+ ms'
for name in sweep-2 faults-p2p-2 modes-2 again-2; do
	holds "part $name: $(part mpi $name)" [ "$(part mpi $name)" = 'done' ]
done
holds "launches: $(cell mpi 2,stream,all_reduce,1024,in-place launches)" \
	[ "$(cell mpi 2,stream,all_reduce,1024,in-place launches)" -eq 2 ]
# made of measured pairs, where each rank has a core
[ "$(nproc)" -lt 2 ] || grep -rqs "ranks were not let run" "$work/mpi" ||
	holds "no prediction on the mpi backend" [ -n "$(cell mpi 2,stream,gather,1024,in-place predicted_us)" ]
holds 'no isolated calls' [ -n "$(cell mpi 2,isolated,all_reduce,8,in-place time_us)" ]
if command -v gnuplot >/dev/null; then
	for name in all_reduce-2 gather-2; do
		holds "no plot of $name" [ -s "$work/mpi/plots/$name/busbw.png" ]
	done
	holds 'the plot lacks a mode' grep -qF '>float sum isolated<' \
		"$work/mpi/plots/all_reduce-2/busbw.svg"
fi
# Once more: nothing is left to measure
: >"$work/mpi/sweep-2/untouched"
record mpi "${few[@]}"
expect_rc 0 'once more:'
expect_no_out '^# modes-2: about'
holds 'a part was run again' [ -e "$work/mpi/sweep-2/untouched" ]
record mpi "${few[@]}" BUDGET=1 MAX=2K COLLECTIVES=gather
expect_rc 1 'another plan in the same folder:'
expect_err 'is of another plan'
record mpi FIGURES=1
expect_rc 0 'figures:'
expect_out '^2 +stream +gather '

# ---- GPUs and nccl-tests, played ----

# Binaries that run on the mpi backend what they are asked to run on nccl
mkdir -p "$work/bin" "$work/theirs" "$work/build/tests/fired"
printf '#!/bin/sh\n[ "$1" = -L ] && for i in 0 1 2 3; do echo "GPU $i: Played"; done\n:\n' \
	>"$work/bin/nvidia-smi"
cat >"$work/played_perf" <<END
#!/bin/bash
options=() mode='' csv=''
while [ \$# -gt 0 ]; do
	case \$1 in
	--backend) options+=(--backend mpi); shift ;;
	--alloc | --nvlink-centric) shift ;;
	--share-gpu) ;;
	--mode) mode=\$2; options+=(--mode isolated); shift ;;
	--csv) csv=\$2; options+=(--csv "\$2"); shift ;;
	*) options+=("\$1") ;;
	esac
	shift
done
echo "\$CUDA_VISIBLE_DEVICES \${options[*]}" >>"$work/asked"
"$BUILD/\${0##*/}" "\${options[@]}"
rc=\$?
[ "\$mode" != graph ] || [ "\${OMPI_COMM_WORLD_RANK:-0}" != 0 ] || sed -i s/,isolated,/,graph,/ "\$csv"
exit \$rc
END
# 10 us for every size
cat >"$work/theirs/all_reduce_perf" <<'END'
#!/bin/bash
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
echo '# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809'
echo '# Using devices'
for ((i = 0; i < OMPI_COMM_WORLD_SIZE; i++)); do echo "#  Rank  $i Group  0 Pid 1 on host"; done
for size in 8 1024; do
	echo "$size 2 float sum -1 10.00 0.1 0.1 0 10.00 0.1 0.1 0"
done
END
for name in all_reduce alltoallv all_gather; do
	cp "$work/played_perf" "$work/build/${name}_perf"
	ln -s "$work/build/${name}_perf" "$work/build/tests/fired/"
done
ln -s "$BUILD/hang_diagnose" "$work/build/"
ln -s "$BUILD/tests/tool_evidence" "$work/build/tests/"
chmod +x "$work/bin/nvidia-smi" "$work/theirs/all_reduce_perf" "$work"/build/*_perf
# 20 us are predicted for 1 KiB on 2 and on 4 ranks; two outputs after each other
for n in 2 4; do
	echo topo,nnodes,nranks,collective,size_bytes,algo,time_us,busbw_gbs,ceiling_busbw_gbs
	echo "x,1,$n,all_reduce,1024,Ring,20,1,1"
done >"$work/before.csv"
git -C "$work" init -q && git -C "$work" add before.csv
git -C "$work" -c user.name=t -c user.email=t@t commit -qm before
played=(NCCL_TESTS="$work/theirs" PREDICTIONS="$work/before.csv" MAIN=all_reduce DRY=1 RANKS='2 4 8'
	COLLECTIVES='all_reduce alltoallv' ONLY='early-exit|crash-rank' BUILD="$work/build")
PATH=$work/bin:$PATH
export NCCL_NVLS_ENABLE=0
# No time: all is left out, and said
record gpus "${played[@]}" WITHIN=0
expect_rc 1 'no time:'
expect_out '^  sweep-4: left out, WITHIN=0 seconds$'
expect_no_out '^# not here: (nccl-tests|predictions)'
order=$(awk -F, 'NR > 1 { printf "%s ", $1 }' "$work/gpus/steps.csv")
holds "order: $order" [ "$order" = \
	'sweep-4 faults-p2p-4 sweep-2 modes-4 faults-net-8 modes-2 again-4 again-2 ' ]
record gpus "${played[@]}"
expect_rc 0 'played GPUs:'
holds 'no list of what is missing' grep -qF 'pair-matrix' "$work/gpus/not-here.txt"
holds 'NVLS is not as it was' grep -qx 'NCCL_NVLS_ENABLE=0' "$work/gpus/machine.txt"
holds 'no word of the predictions' grep -qE \
	"^predictions: .*before.csv, [0-9a-f]{16}, $(git -C "$work" log -1 --format=%h) " \
	"$work/gpus/command.txt"
us=$(cell gpus 4,stream,all_reduce,1024,in-place time_us)
holds "ratio of $us us to 10" near "$(cell gpus 4,stream,all_reduce,1024,in-place ratio_percent)" \
	"$(awk "BEGIN { print $us * 10 }")"
holds "error of 20 us against $us" near \
	"$(cell gpus 4,stream,all_reduce,1024,in-place error_percent | awk '{ print $1 + 100 }')" \
	"$(awk "BEGIN { print 2000 / $us }")"
holds 'a prediction for 8 B' [ -z "$(cell gpus 4,stream,all_reduce,8,in-place predicted_us)" ]
holds 'nccl-tests beside alltoallv' [ -z "$(cell gpus 2,stream,alltoallv,512,out-of-place ratio_percent)" ]
bad=$(grep -hv ',0,' "$work"/gpus/{sweep,again}-4/launches.csv | cut -c1-200)
holds "launches: $(cell gpus 4,stream,all_reduce,8,in-place launches); $bad" \
	[ "$(cell gpus 4,stream,all_reduce,8,in-place launches)" -eq 2 ]
for mode in isolated graph; do
	holds "no mode $mode" [ -n "$(cell gpus 2,$mode,all_reduce,8,in-place time_us)" ]
done
net=$(awk -F, 'NR > 1 { print $11 }' "$work/gpus/faults-net-8/matrix.csv" | sort -u)
holds "transport of ranks that share: $net" [ "$net" = net ]
holds 'not two ranks on each GPU' grep -qE '^0,1,2,3 .*-g 8 -b 1M -d float --schedule=plain --fault=crash-rank:7' "$work/asked"
holds 'not 2 points a placement and number of ranks' \
	[ "$(grep -c 'ranks,1024,in-place' "$work/gpus/accuracy.csv")" -eq 2 ]
finish
