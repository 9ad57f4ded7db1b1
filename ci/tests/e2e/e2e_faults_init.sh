#!/bin/bash
# e2e_faults_init.sh: faults at communicator init and on a cold communicator, and of memory, on the
# mpi backend: outcome, class, guilty rank, place; what this machine or backend lacks; and that no
# cgroup is left, whichever process was killed.
# timeout: 1000
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
end_at_once

# verdict FIELD: of the last run's line
verdict() {
	sed -n "s/^# verdict: .* $1=\([^ ]*\).*/\1/p" "$work/out"
}

# broken SPEC RANKS CODE CLASS GUILTY SEQ [OPTION...]: one run with a fault, and its evidence
# once more
broken() {
	local spec=$1 ranks=$2 code=$3 class=$4 guilty=$5 seq=$6 found
	detect=
	shift 6
	cd "$work" || exit 1 # evidence goes below the working directory
	run "$BUILD/all_reduce_perf" --backend mpi --topo none -g "$ranks" "--fault=$spec" "$@"
	cd "$OLDPWD" || exit 1
	expect_rc "$code" "$spec on $ranks:"
	# Of two that break at once one may do so seconds later where others have the cores: the verdict is about the first.
	if [[ $guilty != "$(verdict ranks)" && ,$guilty, == *",$(verdict ranks),"* ]]; then
		late=$((late + 1))
		echo "LATE $spec on $ranks: only rank $(verdict ranks) had broken at the verdict"
		return
	fi
	detect=$(verdict detect_ms)
	found="$(verdict class) $(verdict ranks) $(verdict seq)"
	holds "$spec on $ranks: $found instead of $class $guilty $seq" [ "$found" = "$class $guilty $seq" ]
	run "$BUILD/hang_diagnose" --dry-run "$work/$(verdict evidence)"
	expect_rc "$code" "hang_diagnose after $spec:"
	expect_out "^class +$class\$"
	expect_out "^culprits +$guilty\$"
}

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

# A rank that does not come to init, or not alike, is named long before init's own deadline of 10 s; -T is
# taken at its word.
broken init-missing:2 4 10 init-missing-rank 2 0
holds "init-missing named after $detect ms" [ "${detect:-0}" -gt 750 -a "${detect:-0}" -lt 7000 ]
broken init-missing:2 4 10 init-missing-rank 2 0 -T 3
holds "init-missing, -T 3: named after $detect ms" [ "${detect:-0}" -gt 2900 -a "${detect:-0}" -lt 8000 ]
for guilty in 0 3; do
	broken "init-missing:$guilty" 4 10 init-missing-rank $guilty 0
	broken "init-id:$guilty" 4 10 init-mismatch $guilty 0
done
broken init-missing:1,2 4 10 init-missing-rank 1,2 0
broken init-missing:0 2 10 init-missing-rank 0 0
broken init-id:1 2 10 init-mismatch - 0 # either may be the one that is wrong
broken init-id:5 8 10 init-mismatch 5 0
broken init-nranks:1 4 10 init-mismatch 1 0
broken init-nranks:3 4 11 init-mismatch 3 0

# Faults of processes, before they come to init, and in the first call of a cold communicator.
broken drop-rank:2@init 4 10 init-missing-rank 2 0
broken block-rank:1@init,how=read 4 10 host-blocked 1 0
broken busy-rank:1@init 2 10 host-busy 1 0
broken stop-rank:0@init 4 10 rank-stopped 0 0
broken kill-rank:3@init 4 14 rank-killed 3 0
broken exit-rank:1@init 4 14 rank-exited 1 0
broken drop-rank:1@first 4 10 missing-call 1 1 -T 3
broken drop-rank:1@first 2 10 missing-call 1 1 # long before the call's own deadline of 10 s
holds "drop-rank@first named after $detect ms" [ "${detect:-0}" -gt 450 -a "${detect:-0}" -lt 7000 ]
broken kill-rank:0@first 4 14 rank-killed 0 1
broken crash-rank:2@init,when=after 4 14 rank-crashed 2 -1

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
for guilty in 0 1 3; do
	broken "oom-rank:$guilty" 4 14 rank-oom $guilty 8
done
broken oom-rank:0,2 4 14 rank-oom 0,2 8
broken oom-rank:1@init 4 14 rank-oom 1 0
broken oom-rank:1@first,when=after 2 14 rank-oom 1 1
# a rank killed by another process in such a run is not out of memory
broken kill-rank:2 4 14 rank-killed 2 8 --fault=oom-rank:0@25
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
