#!/bin/bash
# e2e_schedule.sh: hangar schedule of PyTorch programs, verified; what cannot be faked. Needs torch in $HANGAR_PYTHON (python3).
# timeout: 600
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
python=${HANGAR_PYTHON:-python3}
"$python" -c 'import torch.distributed' 2>/dev/null || skip "needs PyTorch in $python (HANGAR_PYTHON)"

s=$work/s.txt small='--steps 10 --width 64 --layers 2 --batch 2'
# schedule RC WORLD PROGRAM ARGUMENT...: of a small program; options before it in $options
options=''
schedule() {
	local rc=$1 world=$2
	shift 2
	rm -f "$s"
	# shellcheck disable=SC2086 # words
	run ci/packaging/hangar schedule --world "$world" --out "$s" $options "$@"
	expect_rc "$rc" "schedule of $1:"
	[ "$rc" = 0 ] || holds 'a schedule of what is none' [ ! -e "$s" ]
}
# verified RC LINE: hang_verify says so of the last one
verified() {
	run "$BUILD/hang_verify" "$s"
	expect_rc "$1" 'hang_verify:'
	expect_out "$2"
}
for program in ddp pipeline tensor_data 'fsdp2 --sequence 8 --words 64'; do
	read -r name more <<<"$program"
	# shellcheck disable=SC2086 # words
	schedule 0 4 "ci/programs/$name.py" $small $more
	verified 0 '^completes: 4 ranks, [1-9]'
	holds "no line of $name.py" grep -q "@$name.py:[1-9]" "$s"
done
holds 'FSDP2 tells no module' grep -q '@fsdp2.py:[1-9][0-9]*(layers.1)' "$s"
# a sample is the whole
# shellcheck disable=SC2086 # words
schedule 0 8 ci/programs/tensor_data.py $small
cp "$s" "$work/all.txt"
# shellcheck disable=SC2086 # words
options='--mesh dp=4,tp=2 --sample dp' schedule 0 8 ci/programs/tensor_data.py $small
expect_err ': 8 ranks, [0-9]+ calls; 4 ranks recorded'
holds 'a sample is another schedule' cmp <(sort "$s") <(sort "$work/all.txt")
# what hangs is named: rank and line
# shellcheck disable=SC2086 # words
schedule 0 4 ci/programs/ddp.py $small --bug shape --guilty 2 --at 5
verified 10 '^culprit: rank 2 '
expect_out 'class +mismatch'
expect_out 'job.py:[0-9]+'
# shellcheck disable=SC2086 # words
options='--mesh dp=4 --sample dp' schedule 77 4 ci/programs/ddp.py $small --bug shape --at 5
expect_err 'ranks 0 and 3 are not alike'
# in CI
top=$PWD
export HANGAR=$top/ci/packaging/hangar
cd "$work" || exit 1
# shellcheck disable=SC2086 # words
WORLDS='2 3' run "$top/ci/examples/schedule-check" "$top/ci/programs/ddp.py" $small
expect_rc 0 'schedule-check:'
expect_out '^completes: 3 ranks'
# shellcheck disable=SC2086 # words
WORLDS=3 run "$top/ci/examples/schedule-check" "$top/ci/programs/ddp.py" $small --bug shape --at 5
expect_rc 10 'schedule-check of a bug:'
cd "$top" || exit 1
# what cannot be faked
# shellcheck disable=SC2086 # words
schedule 77 4 ci/programs/experts.py $small
expect_err 'rank 0: cannot be faked: experts.py:[0-9]+: tolist of a value that other ranks sent$'
# refused WHY CODE: a program that decides by what others sent
refused() {
	printf 'import math, torch, torch.distributed as dist\ndist.init_process_group("nccl")\nx = torch.ones(4)\ndist.all_reduce(x)\ny = (x * 2).sum()\n%s\n' "$2" >"$work/p.py"
	schedule "${3:-77}" 2 "$work/p.py"
	expect_err "$1"
}
cannot='cannot be faked: p.py:6: '
refused "$cannot.* decides" 'if y.item() > 3: dist.barrier()'
refused "${cannot}bool " 'if y > 3: dist.barrier()'
refused "$cannot.* decides" 'if math.isnan(y.item()): dist.barrier()'
refused "${cannot}int " 'x.new_zeros(int(y))'
refused "$cannot.*shape" 'x[x > 0]'
refused "${cannot}broadcast_object_list" 'dist.broadcast_object_list([1], 0)'
refused "$cannot.*any rank" 'dist.recv(x)'
# swallowed by the program, it is said all the same
refused "${cannot/:6:/:7:}bool " '
try: bool(y)
except BaseException: pass'
refused 'rank 0 failed: exit 1' 'raise ValueError("mine")' 1
expect_err 'ValueError: mine'
refused '2 ranks, 4 calls' 'print(f"{y.item() / 4:.3f}", torch.ones(3).sum().item() > 2); dist.barrier()' 0
options='--limit 8' refused 'did not end within 8 s' 'import time; time.sleep(60)'
# ended from outside, nothing of it stays
TMPDIR=$work HANGAR_E2E=$token ci/packaging/hangar schedule --world 2 --out "$s" "$work/p.py" 2>/dev/null &
within 30 compgen -G "$work/hangar-schedule-*/0.said" >/dev/null
kill $!
wait $!
check 'exit 143' [ $? -eq 143 ]
check 'a folder stays' [ -z "$(compgen -G "$work/hangar-schedule-*")" ]
check 'a rank stays' within 5 no_process
finish
