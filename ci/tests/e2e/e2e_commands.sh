#!/bin/bash
# e2e_commands.sh: what `make run` is made of: set-up on machines that lack things, where the
# Makefile finds CUDA and NCCL, the sweep's files, the plots.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

# ---- ci/setup ----

# fake NAME TEXT: a program of that name in $work/bin
mkdir "$work/bin"
fake() {
	printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}
set_up() {
	run env PATH="$work/bin" /bin/sh ci/setup "$@"
}
all='gcc libc6-dev make libopenmpi-dev openmpi-bin libjansson-dev [-a-z0-9 ]*gnuplot-nox [-a-z0-9 ]+'

run ci/setup
expect_rc 0 'set-up, nothing missing:'
holds 'set-up says something' [ ! -s "$work/out" ]
# Another distribution: the list, and no more
set_up
expect_rc 1 'set-up without apt-get:'
expect_err "^setup: missing \(names of the Debian packages\): $all\$"
holds 'more than the list' [ "$(cat "$work/out" "$work/err" | wc -l)" -eq 1 ]
set_up --dev
expect_err "$all clang clang-format shellcheck nftables\$"
# Neither root nor sudo
fake apt-get 'echo "apt-get $*" >>'"$work/apt"
fake id 'echo 1000'
set_up
expect_rc 1 'set-up without sudo:'
expect_err "run as root: apt-get install $all\$"
holds 'installed without root' [ ! -e "$work/apt" ]
# With sudo, and as root; what is there is not asked for
fake sudo 'echo sudo >>'"$work/apt"'; exec "$@"'
set_up
expect_rc 0 'set-up with sudo:'
holds 'sudo was not asked' [ "$(grep -c '^sudo' "$work/apt")" -eq 2 ]
rm "$work/apt"
fake id 'echo 0'
fake gnuplot :
fake make :
set_up
expect_rc 0 'set-up as root:'
holds 'root asked sudo' bash -c '! grep -q sudo "$1"' - "$work/apt"
holds "apt-get: $(cat "$work/apt")" grep -qE ' install gcc libc6-dev libopenmpi-dev ' "$work/apt"
holds 'installs what is there' bash -c '! grep -qE " make | gnuplot" "$1"' - "$work/apt"
fake apt-get 'exit 100'
set_up
expect_rc 1 'set-up, apt-get fails:'
expect_err '^setup: could not install: gcc '

# ---- help and usage of the scripts ----

# Nothing is installed, measured or written; `apt` would tell.
rm -f "$work/apt"
fake apt-get 'echo "apt-get $*" >>'"$work/apt"
for script in ci/gpu_check ci/research/record ci/hang ci/sweep ci/setup ci/faults/matrix ci/faults/healthy \
	plots/plot plots/predict; do
	run "$script" --help
	expect_rc 0 "$script --help:"
	expect_out "^${script##*/}: "
	holds "$script --help: shell code" bash -c '! grep -qE "^(set -|source|shellcheck|. \"|\#)" "$1"' - "$work/out"
	holds "$script --help: on stderr" [ ! -s "$work/err" ]
done
set_up --help
holds 'set-up --help installs' [ ! -e "$work/apt" ]
set_up --what
expect_rc 2 'set-up --what:'
for script in ci/gpu_check ci/fuzz/seeds; do
	run "$script"
	expect_rc 2 "$script without arguments:"
	expect_err "^usage: $script "
	holds "$script: more than the usage line" [ "$(wc -l <"$work/err")" -eq 1 ]
done
run ci/tests/runner test_nope
expect_rc 2 'a test that is none:'
expect_err '^run: no such test: test_nope$'
# What the programs of `make all` do not suffice for
mkdir -p "$work/untested"
cp "$BUILD"/*_perf "$BUILD/hang_diagnose" "$work/untested/"
for script in ci/research/record ci/faults/matrix; do
	run env BUILD="$work/untested" BACKEND=mpi RANKS=2 "$script" "$work/never"
	expect_rc 1 "$script before make tests:"
	expect_err "no program $work/untested/tests/(fired/all_gather_perf|tool_evidence): run .make tests."
done
for program in topo_predict hang_diagnose nccl_log reconcile; do
	run "$BUILD/$program" -h
	expect_rc 0 "$program -h:"
	expect_out '^Usage: '
done

# ---- make clean keeps what runs left ----

mkdir -p "$work/tree/build/results/runs/a" "$work/tree/build/obj" "$work/tree/build-asan/tests"
run make -s -C "$work/tree" -f "$PWD/Makefile" clean
expect_rc 0 'make clean:'
holds 'make clean leaves too much, or too little' [ "$(cd "$work/tree" && find . | sort | tr '\n' ' ')" = \
	'. ./build ./build/results ./build/results/runs ./build/results/runs/a ' ]

# ---- CUDA and NCCL ----

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CUDA_HOME NCCL_HOME NVCC NCCL CC V
mkdir -p "$work"/cuda/{bin,include,lib64} "$work"/{home,system,py/nvidia/nccl}/{include,lib}
printf '#!/bin/sh\n' >"$work/cuda/bin/nvcc" && chmod +x "$work/cuda/bin/nvcc"
touch "$work/cuda/include/cuda_runtime.h" "$work/cuda/lib64/libcudart_static.a"
touch "$work/home/include/nccl.h" "$work/home/lib/libnccl.so.2"
touch "$work/system/include/nccl.h" "$work/system/lib/libnccl.so.2"
# pip installs this file alone
touch "$work"/py/nvidia{,/nccl}/__init__.py "$work"/py/nvidia/nccl/{include/nccl.h,lib/libnccl.so.2}
export PYTHONPATH=$work/py

# found VARIABLE VALUE ARGUMENT...: what the Makefile makes of these arguments
found() {
	local name=$1 want=$2 is
	shift 2
	run make -np parts-found BUILD="$work/build" "$@"
	is=$(sed -nE "s,^$name := (.*),\1,p" "$work/out")
	holds "make $*: $name is '$is' instead of '$want'" [ "$is" = "$want" ]
}
cuda=CUDA_HOME=$work/cuda
found CUDA_RT "$work/cuda/lib64/libcudart_static.a" "$cuda" SYSTEM_ROOTS="$work/system"
found NCCL_BUILT "$work/system/lib" "$cuda" SYSTEM_ROOTS="$work/system"
found NCCL_BUILT "$work/home/lib" "$cuda" SYSTEM_ROOTS="$work/system" \
	NCCL_HOME="$work/home"
found NCCL_BUILT "$work/py/nvidia/nccl/lib" "$cuda" SYSTEM_ROOTS="$work/none"
found CU_OBJ "$work/build/obj/common/harness/check/check_cuda.cu.o $work/build/obj/common/harness/backend/nccl/kernels_cuda.cu.o" \
	"$cuda" SYSTEM_ROOTS="$work/none"
# Named, and not there
run make parts-found BUILD="$work/build" "$cuda" SYSTEM_ROOTS="$work/system" NCCL_HOME="$work/none"
expect_out "^NCCL_HOME=$work/none holds none: using $work/system\$"
# Neither: said once, and the nccl backend's sources are left out
run make -n all BUILD="$work/build" NVCC="$work/none"
expect_rc 0 'make without CUDA:'
holds 'not said once' [ "$(grep -c 'building the mpi backend only' "$work/out")" -eq 1 ]
expect_no_out 'backend/nccl/|HAVE_NCCL'
expect_out "backend/mpi/"
run make -n run BUILD="$BUILD"
expect_out '^BUILD=.* ci/sweep'
unset PYTHONPATH

# ---- without MPI, or without the libraries of all programs ----

run make -n hangar_run BUILD="$work/build" NCCL=0 MPI_CFLAGS= MPI_LIBS=
expect_rc 0 'make hangar_run without MPI:'
for program in hangar_run hang_diagnose libhangar.so; do
	expect_out " -o $work/build/$program "
done
expect_no_out ' -o [^ ]*/harness/backend/| -isystem [^ ]*mpi| -lmpi'
run make -n all BUILD="$work/build" NCCL=0 MPI=0
expect_rc 0 'make all without MPI:'
expect_out '^Open MPI not found \(mpicc\): building without the mpi backend$'
expect_no_out 'harness/backend/mpi/| -isystem [^ ]*mpi| -lmpi'
run make libraries-found BUILD="$work/build" CC=false
expect_rc 2 'make without jansson:'
expect_err '^jansson.h not found: install libjansson-dev libexpat1-dev libpcre2-dev libdw-dev '

# ---- sweep and plots ----

# A folder name that shells and gnuplot would stumble over
place="$work/it's a folder"
drawn() {
	local file
	for file in "$1"/{busbw,latency}; do
		holds "no $file.svg" grep -q '</svg>' "$file.svg"
		holds "no $file.png" bash -c '[ "$(head -c 4 "$1" | tail -c 3)" = PNG ]' - "$file.png"
	done
}
export BUILD
RUN_DIR=$place/run run ci/sweep -e 1K --budget 0.02
expect_rc 0 'sweep:'
expect_out 'all_reduce_perf -b 8 -e '
expect_out "^# $place/run/rows.csv $place/run/rows.jsonl\$"
for plot in busbw latency; do
	expect_out "^# $place/run/$plot.svg $place/run/$plot.png\$"
done
drawn "$place/run"
holds 'rows of 8 sizes' [ "$(wc -l <"$place/run/rows.csv")" -eq 17 ]
holds 'JSON has no end' bash -c 'tail -n 1 "$1" | grep -q "\"type\":\"end\""' - \
	"$place/run/rows.jsonl"
# It never writes over a run
RUN_DIR=$place/run run ci/sweep -e 1K --budget 0.02
expect_rc 2 'sweep into a folder that exists:'
# From elsewhere, with several types and modes in one file; and nothing to draw
mkdir "$place/some" && cp -r plots "$place"
awk -F, -v OFS=, 'NR > 1 { $8 = "half" } NR == 1 { next } 1' "$place/run/rows.csv" |
	cat "$place/run/rows.csv" - >"$place/some/rows.csv"
cd "$place" || exit 1
run plots/plot some
expect_rc 0 'plot of two types:'
drawn some
holds 'the key does not name both types' bash -c \
	'grep -q "half sum stream" some/busbw.svg && grep -q "float sum stream" some/busbw.svg'
mkdir none && head -n 1 some/rows.csv >none/rows.csv
run "$PWD/plots/plot" none
expect_rc 1 'plot of no rows:'
holds 'a file without rows' [ ! -e none/busbw.svg ]
finish
