#!/bin/bash
# e2e_without_mpi.sh: ranks that start where no MPI is: bare, by torchrun's variables, and on two hosts; and what they say
# where one does not come, is of another run, or dies.
# timeout: 120
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"

sweep=("$BUILD/all_reduce_perf" --backend null --topo none -b 1M -e 4M)
forever=("${sweep[@]}" -N 0)

# "${without[@]}" COMMAND...: with neither libmpi nor mpirun
libmpi=$(ldd "$BUILD/libhangar_mpi.so" 2>/dev/null | sed -n 's/.*libmpi\.so[^ ]* => \([^ ]*\).*/\1/p')
# shellcheck disable=SC2016 # for the other shell
without=(unshare -m sh -c 'mount --bind /dev/null "$0" && exec "$@"' "$(realpath "${libmpi:-/dev/null}")"
	env PATH=/usr/sbin:/usr/bin:/sbin:/bin LD_LIBRARY_PATH=)
mkdir "$work/bin"
for name in mpirun mpicc; do
	printf '#!/bin/sh\necho called >"%s/asked"\nexit 9\n' "$work" >"$work/bin/$name"
	chmod +x "$work/bin/$name"
done

# rank N COMMAND...: one of $ranks, in the background; `all_ended` waits, and leaves exit codes in $codes, texts in out.N
declare -A of_rank
rank() {
	local n=$1
	shift
	rm -f "$work/out.$n"
	HANGAR_E2E=$token HANGAR_RUNS=$work/runs RANK=$n WORLD_SIZE=$ranks "${local[@]:-env}" "$@" \
		</dev/null >"$work/out.$n" 2>&1 &
	of_rank[$n]=$!
}

all_ended() {
	local n
	codes=
	for n in $(printf '%s\n' "${!of_rank[@]}" | sort -n); do
		within 30 is_over "${of_rank[$n]}" || kill -KILL "${of_rank[$n]}"
		wait "${of_rank[$n]}"
		codes+="${codes:+ }$?"
	done
	of_rank=()
	cat "$work"/out.* >"$work/out"
}

gone() { within 5 no_process; }

# ---- bare ----

run env PATH="$work/bin:$PATH" "${sweep[@]}" -g 4
expect_rc 0 'bare:'
expect_out '4 ranks on 1 node'
expect_out 'no MPI: ranks meet over TCP'
expect_out '^ +4194304 '
holds 'rows are not in order' awk '$1 ~ /^[0-9]+$/ { if ($1 + 0 < last) exit 1; last = $1 + 0 }' "$work/out"
holds 'mpirun was asked' [ ! -e "$work/asked" ]
run env PATH="$work/bin:$PATH" make --no-print-directory -n BUILD="$work/build" hangar_run
holds 'make hangar_run asked for mpicc' [ ! -e "$work/asked" ]

if [ -n "$libmpi" ] && unshare -m true 2>/dev/null; then
	run "${without[@]}" "${sweep[@]}" -g 3
	expect_rc 0 'without libmpi:'
	expect_out '3 ranks on 1 node'
	run "${without[@]}" "$BUILD/all_reduce_perf" --backend mpi -g 2
	expect_rc 77 'mpi backend without libmpi:'
	expect_err '^all_reduce_perf: --backend mpi: Open MPI .* is not here: .*libmpi.*--backend null'
fi

# process_of RANK: its process, a child of its supervisor; so is the watcher of a host, which leads a session
process_of() {
	local p found=()
	for p in $(pids_of_run); do
		grep -qsz "^RANK=$1\$" "/proc/$p/environ" && [ "$(<"/proc/$p/comm")" = all_reduce_perf ] && found+=("$p")
	done
	for p in "${found[@]}"; do
		read -r _ _ _ parent _ session _ <"/proc/$p/stat"
		[[ " ${found[*]} " = *" $parent "* && $session != "$p" ]] && echo "$p"
	done
}

# start_forever: in the background, until a cycle is over
start_forever() {
	rm -f "$work/out" # of the last run
	start "${forever[@]}" -g 4
	within 20 begun
}

begun() { grep -qs '^ *1048576' "$work/out"; }

start_forever
kill -KILL "$(process_of 2)"
ended
expect_rc 14 'a rank is killed:'
expect_out '^# verdict: outcome=died '
holds 'processes are left' gone

start_forever
kill -TERM "$pid"
ended
expect_rc 143 'the parent is ended:'
expect_out '^# Avg bus bandwidth'
holds 'processes are left' gone

start_forever
kill -KILL "$pid"
ended
holds 'processes are left after SIGKILL of the parent' gone
holds 'files are left' [ -z "$(left_in_shm)" ]

# ---- numbered ----

# the job's own tests, over TCP
ranks=4 local=(env LOCAL_WORLD_SIZE=4)
for n in 0 1 2 3; do rank $n "$BUILD/tests/mpi_test_job"; done
all_ended
holds "mpi_test_job over TCP: exit codes $codes" [ "$codes" = '0 0 0 0' ]

torchrun=(env TORCHELASTIC_RUN_ID=none MASTER_ADDR=localhost MASTER_PORT=$((20000 + $$ % 8000)))
ranks=2 local=("${torchrun[@]}")
for n in 1 0; do rank $n "${sweep[@]}"; done
all_ended
holds "torchrun's variables: exit codes $codes" [ "$codes" = '0 0' ]
expect_out '2 ranks on 1 node'

rank 0 "${sweep[@]}" -g 2
all_ended
holds "-g where RANK is set: exit codes $codes" [ "$codes" = 2 ]
expect_out 'RANK and WORLD_SIZE are set'

export CUDA_VISIBLE_DEVICES=
rank 0 "$BUILD/all_reduce_perf" --backend mpi
rank 1 "$BUILD/all_reduce_perf" --backend mpi
all_ended
holds "the mpi backend where MPI knows no rank: exit codes $codes" [ "$codes" = '2 2' ]
expect_out '^all_reduce_perf: --backend mpi: MPI does not find these 2 ranks'
rank 0 "$BUILD/all_reduce_perf"
rank 1 "$BUILD/all_reduce_perf"
all_ended
unset CUDA_VISIBLE_DEVICES
holds "the mpi backend where MPI knows no rank: exit codes $codes" [ "$codes" = '2 2' ]
expect_out 'MPI does not find these 2 ranks.*srun --mpi=pmix'

ranks=4 local=("${torchrun[@]}" HANGAR_RENDEZVOUS_SECONDS=1)
for n in 0 1 3; do rank $n "${sweep[@]}"; done
all_ended
holds "an absent rank: exit codes $codes" [ "$codes" = '10 10 10' ]
expect_out 'rank 2 of 4 did not come to localhost port [0-9]+ within 1 s'
expect_out '^# verdict: outcome=hang class=init-missing-rank ranks=2 '

ranks=2
rank 0 "${sweep[@]}"
local=("${torchrun[@]}" HANGAR_TOKEN=other HANGAR_RENDEZVOUS_SECONDS=20)
rank 1 "${sweep[@]}"
all_ended
holds "another token: exit codes $codes" [ "$codes" = '10 2' ]
expect_out 'are of another run: MASTER_PORT, WORLD_SIZE, .* HANGAR_TOKEN differ'

local=("${torchrun[@]}" HANGAR_RENDEZVOUS_SECONDS=1)
rank 1 "${sweep[@]}"
all_ended
holds "rank 0 is absent: exit codes $codes" [ "$codes" = 10 ]
expect_out 'rank 0 does not answer at localhost port [0-9]+ within 1 s: Connection refused'

local=(env)
rank 1 "${sweep[@]}"
all_ended
holds "no place to meet: exit codes $codes" [ "$codes" = 2 ]
expect_out 'HANGAR_RENDEZVOUS=HOST:PORT names'

# ---- hosts ----

if "$netns" up 1 true </dev/null >/dev/null 2>&1; then
	make_hosts 2
	ranks=4 local=(env MASTER_ADDR=$net.2 MASTER_PORT=4000)
	for n in 0 1 2 3; do rank $n "$netns" at node$((n / 2 + 1)) "${without[@]}" "${sweep[@]}"; done
	all_ended
	holds "two hosts: exit codes $codes" [ "$codes" = '0 0 0 0' ]
	expect_out '4 ranks on 2 nodes'

	# Slurm's variables without PMIx; rank 0's host is found in the list
	ranks=2 local=(env -u RANK -u WORLD_SIZE SLURM_JOB_ID=$$ SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_STEP_NUM_NODES=2
		"SLURM_STEP_NODELIST=$net.[2-3]")
	for n in 0 1; do rank $n "$netns" at node$((2 - n)) env SLURM_PROCID=$n "${sweep[@]}"; done
	all_ended
	holds "srun without PMIx: exit codes $codes" [ "$codes" = '0 0' ]
	expect_out '2 ranks on 2 nodes'

	local=(env HANGAR_RENDEZVOUS=$net.2:4100)
	for n in 0 1; do rank $n "$netns" at node$((n + 1)) "${forever[@]}"; done
	within 20 grep -qs '^ *1048576' "$work/out.0"
	kill -KILL "$(process_of 1)"
	all_ended
	holds "a rank of the other host is killed: exit codes $codes" [ "$codes" = '14 14' ]
	expect_out '^# verdict: outcome=died class=[a-z-]+ ranks=1 '
else
	echo 'skipped: no hosts of namespaces here'
fi
holds 'processes are left' gone
finish
