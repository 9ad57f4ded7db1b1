#!/bin/bash
# e2e_readme.sh: each command of README, as it is written, and what its comment promises. What needs more than this machine has is
# named at the end; a command that stands in no row here fails.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

top=$PWD
# the folder that README goes to, with what its commands read and write
mkdir -p "$work/top" && ln -s "$top"/{ci,plots,faults} "$work/top/" && ln -s "$BUILD" "$work/top/build"
mkdir "$work/top/here" && cd "$work/top/here" || exit 1 # beside build, since that is a link
for file in "$BUILD"/*; do [[ $file == */results ]] || ln -s "$file" .; done
cat >table.txt <<'END'
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
# nccl-tests version 2.13 all_reduce
#  Rank  0 Group  0 Pid   1 on  a device  0 [0x00] H100
#  Rank  1 Group  0 Pid   2 on  a device  1 [0x00] H100
#  Rank  2 Group  0 Pid   3 on  a device  2 [0x00] H100
#  Rank  3 Group  0 Pid   4 on  a device  3 [0x00] H100
#  Rank  4 Group  0 Pid   5 on  a device  4 [0x00] H100
#  Rank  5 Group  0 Pid   6 on  a device  5 [0x00] H100
#  Rank  6 Group  0 Pid   7 on  a device  6 [0x00] H100
#  Rank  7 Group  0 Pid   8 on  a device  7 [0x00] H100
   268435456      67108864     float     sum      -1   1150.0  233.42  408.49      0   1150.0  233.42  408.49      0
END
left=()
python3 "$top/ci/tests/schedules/generate.py" dumps --seed 1 --count 1 --calls collectives --edits skip >/dev/null
# as COMMAND...: the command with MPI and small sizes, which later options say; $rc, $work/out, $work/err. quick: without calls
as() { run "$@" --backend mpi --topo none; }
quick() { run "$@" --backend null --topo none -g 2 -b 8 -e 8; }

commands() { sed -n '/^    [$#]/d; s/^    \([a-z.].*\)/\1/p' "$top/README.md" | sed 's/  *# .*//'; }
while IFS= read -r command; do
	said=$command
	case $command in
	make | 'make '*)
		# shellcheck disable=SC2086 # nothing, or a target
		run make -C "$top" -n ${command#make}
		expect_rc 0 "$command:"
		;;
	'cd build') ;;
	*torchrun*all_reduce_perf) left+=("$command: PyTorch (its variables: ci/tests/bench/e2e_without_mpi.sh)") ;;
	*torchrun*) left+=("$command: PyTorch") ;;
	'pip install ./ci/packaging') left+=("$command: minutes (ci/tests/installed/e2e_packages.sh)") ;;
	srun*) left+=("$command: Slurm (ci/tests/installed/e2e_slurm.sh)") ;;
	'mpirun ./preflight'*) left+=("$command: ci/tests/bench/e2e_preflight.sh") ;;
	*'--status')
		run ./hangar_run --status
		holds "$command: $rc" [ "$rc" -le 1 ]
		;;
	'./hang_diagnose results/runs/last')
		as ./all_gather_perf -g 4 --fault=drop-rank:3 --out results/runs/one
		expect_rc 10 'a hang:'
		# a disk that does not answer in time sends it to TMPDIR, with a line
		ln -sfn "$(realpath "$(sed -n 's/^# verdict: .* evidence=//p' "$work/out")")" results/runs/last
		run $command
		expect_rc 10 "$command:"
		expect_out '^culprit: rank 3 '
		;;
	*'--torch DIR')
		run ./hang_diagnose -n --torch dumps/0000
		expect_out '^culprits? +rank'
		;;
	'./hang_verify FILE')
		printf 'ranks 3\nrank 0-1 all_reduce//8 all_gather//1\nrank 2 all_reduce//8\n' >schedule.txt
		run ./hang_verify schedule.txt
		expect_rc 10 "$command:"
		expect_out '^culprit: rank 2 '
		;;
	'./hang_reduce DIR --as nccl')
		run ./hang_reduce dumps/0000 --as nccl
		expect_rc 0 "$command:"
		expect_out '^#include <nccl.h>'
		;;
	./nccl_log*)
		cp "$top/ci/tests/data/logs/nccl230-function.log" nccl-a-1.log
		# shellcheck disable=SC2086 # a pattern
		run $command
		expect_rc 11 "$command:"
		expect_out '^failure: rank 35 '
		;;
	'ncclras | ./nccl_log -')
		run bash -c './nccl_log - <"$1"' - "$top/ci/tests/data/logs/ras-one-behind.log"
		expect_rc 11 "$command:"
		;;
	'mpirun ./all_reduce_perf '*)
		as mpirun -np 2 ./all_reduce_perf -b 1M -e 1M
		expect_rc 0 "$command:"
		;;
	*' -g 8')
		as $command -e 8
		expect_rc 0 "$command:"
		expect_out 'Out of bounds values : 0 OK'
		;;
	*'--out DIR')
		quick $command
		expect_rc 0 "$command:"
		holds 'no table, CSV and JSON' [ -s DIR/table.txt -a -s DIR/rows.csv -a -s DIR/rows.jsonl ]
		holds 'no page' "$top/ci/page" DIR
		;;
	*'--reconcile')
		quick $command
		expect_rc 0 "$command:"
		;;
	'./topo_predict --topo'*)
		run $command
		expect_rc 0 "$command:"
		expect_out '^# dgx-h100: 16 nodes'
		;;
	'./topo_predict -t dgx-h100 --against'*)
		run $command
		expect_rc 0 "$command:"
		expect_out 'good'
		;;
	*'--min-percent 80')
		run $command --backend mpi -g 2 -b 8 -e 8
		holds "$command: $rc" grep -qE "^(0|13|77)$" <<<"$rc"
		;;
	*'--fault=drop-rank:3')
		as $command -g 4
		expect_rc 10 "$command:"
		expect_out 'class=missing-call ranks=3 .* seq=8 '
		;;
	*'--fault=slow-rank:1,by=50%') left+=("$command: a quiet machine (ci/tests/pace/e2e_slow.sh)") ;;
	*'--list-faults')
		run $command
		expect_rc 0 "$command:"
		expect_out '^# drop-rank '
		;;
	*nightly)
		mkdir few && ln -s "$BUILD/all_reduce_perf" few/ # health takes a second each time
		printf '%s\n' 'schema = 1' '[night]' "reports = \"$PWD/nights\"" "baselines = \"$PWD/baselines\"" "build = \"$PWD/few\"" 'chaos = 0' '[thresholds]' 'undecided = "ok"' '[[run]]' \
			'name = "one"' 'program = "all_reduce_perf"' 'args = "--backend null --topo none -g 2 -b 8 -e 8"' >night.toml
		run $command night.toml
		run $command --accept night.toml
		run $command --report nights/20* night.toml # against itself
		expect_rc 0 "$command:"
		expect_err 'compared: ([12] (cannot-tell|same)(, )?)+:'
		holds 'no page of the night' [ -s nights/20*/page.html ]
		;;
	*tune*)
		quick ${command/tune/tune --keep tuned}
		expect_rc 0 "$command:"
		expect_out '^all_reduce +8 B out-of-place +[0-9.]+ +(1|2|no difference)'
		;;
	*hang_bisect*)
		# hangs with A in each launch
		printf '#!/bin/sh\ncase $LD_PRELOAD in */a/*) echo "# verdict: outcome=hang class=missing-call ranks=0 evidence=-" && exit 10 ;; esac\n' >rare_perf
		mkdir a b && cp "$BUILD/tests/double/libnccl.so.2" a/ && cp "$BUILD/tests/double/libnccl.so.2" b/ && chmod +x rare_perf
		command=${command/A,B/a\/libnccl.so.2,b\/libnccl.so.2}
		LD_LIBRARY_PATH=$BUILD/tests/double run ${command/COMMAND/--rate .9 --keep bisected .\/rare_perf}
		expect_rc 0 "$command:"
		expect_out '^/.*/b/libnccl.so.2 mends it: '
		;;
	*perf_compare*)
		run ../ci/perf_compare table.txt table.txt
		expect_rc 17 "$command: one table a side cannot tell:"
		;;
	*) fail "README has a command that no row here runs: $said" ;;
	esac
done < <(commands)
commands | grep -E '_perf|torchrun|preflight' | grep -v -e --list -e perf_compare | sort >on_gpus # each is a row of ci/gpu_check
"$top/ci/gpu_check" --readme | sort >rows
holds "README's commands (<) are not ci/gpu_check's (>): $(diff on_gpus rows)" cmp -s on_gpus rows
for line in "${left[@]}"; do echo "not run here: $line"; done
holds "commands of README that cannot run here: ${#left[@]}" [ ${#left[@]} -le 6 ]
cd "$top" || exit 1
finish
