#!/bin/bash
# e2e_faults_init.sh: what of faults at init (those of faults.txt apart) this machine or backend lacks; faults of memory, and that
# no cgroup is left, whichever process was killed.
# timeout: 1000
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=ci/tests/faults/faults.sh
source "$(dirname "$0")/faults.sh"

# cgroups: the ones of these runs that exist; others' processes make some of the same form
cgroups() {
	local dir pid
	while read -r dir; do
		pid=${dir%-*}
		pid=${pid##*-}
		grep -qsz "^HANGAR_E2E=$token\$" "/proc/$pid/environ" && echo "$dir"
	done < <(find /sys/fs/cgroup -type d -name "hangar-$(id -u)-*-rank" 2>/dev/null)
}

two_cgroups() {
	[ "$(cgroups | wc -l)" -ge 2 ]
}

no_cgroup() {
	local dir
	for dir in "$@"; do
		[ -d "$dir" ] && return 1
	done
	return 0
}

# No call, no picture.
cd "$work" || exit 1
run "$BUILD/all_reduce_perf" --backend mpi --topo none -g 2 --fault=init-missing:1
cd "$OLDPWD" || exit 1
holds 'look further' grep -q '^[^ ]*/hang_diagnose [^ ]*$' <(command_said 'look further')
expect_no_out 'plots/plot'
holds 'a picture of no calls in postmortem.md' \
	bash -c '! grep -qF plots/plot "$1"' - "$work/$(verdict evidence)/postmortem.md"

# Late by less than the deadline, and the healthy schedule: no fault.
for spec in late-rank:1@init,delay=0.5 late-rank:2@first,delay=0.3 none; do
	perf all_reduce -g 4 "--fault=$spec"
	expect_rc 0 "$spec:"
	expect_no_out '^# verdict'
done

# Faults that cannot occur here, and specs that are wrong anywhere.
for spec in gpu-oom abort-one init-iface settings-mismatch:1,NCCL_ALGO=Tree drop-rank,when=inflight; do
	perf all_reduce -g 2 "--fault=$spec"
	expect_rc 77 "$spec:"
	expect_err 'cannot occur on the mpi backend: '
done
for spec in drop-rank@nowhere skip-call@init init-id@3 init-missing:9 init-nranks,by=1 \
	init-id,when=after drop-rank@init,when=inflight; do
	perf all_reduce -g 2 "--fault=$spec"
	expect_rc 2 "$spec:"
done
perf all_reduce --list-faults=all
expect_rc 0 '--list-faults=all:'
expect_out '^#   needs: 2 ranks, cgroup$'
expect_out '^#   here: cannot occur on the mpi backend: '

# Memory: the kernel kills for it where a cgroup can be made; elsewhere the need is named.
perf all_reduce --list-faults=oom-rank
if ! grep -A4 '^# oom-rank ' "$work/out" | grep -q 'here: can run'; then
	perf all_reduce -g 2 --fault=oom-rank
	expect_rc 77 'oom-rank without a cgroup:'
	expect_err 'needs a memory cgroup'
	finish
fi
flights=3
oom() { # FAULT RANKS CULPRITS CALL
	flight broken all_reduce "$2" "$1" 14 rank-oom "$3" "$4" '*' '*' again
}
for guilty in 0 1 3; do
	oom "oom-rank:$guilty" 4 $guilty 8
done
oom oom-rank:0,2 4 0,2 8
oom oom-rank:1@init 4 1 0
oom oom-rank:1@first,when=after 2 1 1
# a rank killed by another process in such a run is not out of memory
flight broken all_reduce 4 kill-rank:2 14 rank-killed 2 8 '*' '*' again --fault=oom-rank:0@25
landed
holds 'a cgroup is left' [ -z "$(cgroups)" ]

# The cgroups go, whichever process is killed: all hang, for ever, with a cgroup each.
for victim in mpirun supervisor; do
	start "$BUILD/all_reduce_perf" --backend mpi --topo none -g 2 --no-watch --fault=oom-rank:0@25 --fault=drop-rank:1
	holds 'no cgroups to be seen' within 20 two_cgroups
	sleep 1
	mapfile -t made < <(cgroups)
	holds "${#made[@]} cgroups of two ranks" [ "${#made[@]}" -eq 2 ]
	if [ $victim = mpirun ]; then
		kill -KILL "$pid"
	else
		one=${made[0]%-*}
		kill -KILL "${one##*-}"
	fi
	ended 2>/dev/null
	holds "cgroups are left after SIGKILL of $victim: ${made[*]}" within 10 no_cgroup "${made[@]}"
	holds "processes are left after SIGKILL of $victim" within 10 no_process
done
# A container for each rank: launcher and neighbours have no number there, and a rank's number is that of another process.
if unshare -pf --mount-proc true 2>/dev/null; then
	apart() {
		run mpirun --mca btl tcp,self -np 4 unshare -pf --mount-proc "$BUILD/all_reduce_perf" --backend mpi --topo none "$@"
	}
	apart -b 1K -e 4K
	expect_rc 0 'a namespace of processes for each rank:'
	expect_no_out '^# (verdict|the launcher)'
	apart --fault=drop-rank:3
	expect_out '^# verdict: outcome=hang class=missing-call ranks=3 .* confidence=proved '
fi
finish
