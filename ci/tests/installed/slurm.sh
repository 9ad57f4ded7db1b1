# slurm.sh: a Slurm of hosts out of namespaces, of Debian's packages, for tests. Sourced by e2e_slurm_*; not a test.
# shellcheck shell=bash
# shellcheck source=ci/tests/installed/packages.sh
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
eval "packages_$(declare -f at_exit)"
# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "${BASH_SOURCE[0]}")/../rig/hosts.sh"
eval "hosts_$(declare -f at_exit)"
at_exit() {
	hosts_at_exit
	packages_at_exit
	[ -z "${groups:-}" ] || rmdir "$groups"/*/*/uid_0/* "$groups"/*/*/uid_0 "$groups"/*/* "$groups"/* "$groups"
} 2>/dev/null

# make_cluster N [LINE...]: node1 to nodeN and their slurmds, with these lines in slurm.conf. slurmctld and its clients are beside
# the switch, where the hosts can be reached: "${at_switch[@]}" COMMAND. With $groups, a folder in a freezer of cgroup v1 for the
# hosts' tasks, Slurm kills what tasks leave behind, as on most clusters.
make_cluster() {
	local i tool
	install slurmd slurmctld slurm-client munge
	make_hosts "$1"
	mkdir "$work"/{state,munge}
	chmod 711 "$work"
	chmod 700 "$work/munge"
	head -c 1024 /dev/urandom >"$work/munge/key"
	chmod 600 "$work/munge/key"
	export SLURM_CONF=$work/slurm.conf
	cat >"$SLURM_CONF" <<-END
		ClusterName=hangar
		SlurmctldHost=$(hostname -s)($net.1)
		SlurmctldPort=$((20000 + $$ % 10000))
		SlurmdPort=$((30000 + $$ % 2000))
		SrunPortRange=$((40000 + $$ % 1000))-$((41999 + $$ % 1000))
		SlurmUser=root
		AuthType=auth/munge
		AuthInfo=socket=$work/munge/socket
		StateSaveLocation=$work/state
		SlurmdSpoolDir=$work/own
		SlurmctldPidFile=$work/slurmctld.pid
		SlurmdPidFile=$work/own/slurmd.pid
		ProctrackType=proctrack/$([ -n "${groups:-}" ] && echo cgroup || echo linuxproc)
		TaskPlugin=task/none
		SelectType=select/cons_tres
		ReturnToService=2
		$(for ((i = 1; i <= $1; i++)); do echo "NodeName=node$i NodeAddr=$net.$((i + 1)) CPUs=$(nproc) State=UNKNOWN"; done)
		PartitionName=main Nodes=ALL Default=YES State=UP
		$(printf '%s\n' "${@:2}")
	END
	printf '%s\n' CgroupPlugin=cgroup/v1 CgroupAutomount=no "CgroupMountpoint=$work/own/cg" >"$work/cgroup.conf"
	echo "PMIxCliTmpDirBase=$work/own" >"$work/mpi.conf"
	daemon munged --force --foreground --key-file="$work/munge/key" --socket="$work/munge/socket" \
		--pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed"
	holds 'munged does not start' within 20 [ -S "$work/munge/socket" ]
	at_switch=(nsenter -t "$(cat "$work/host0.pid")" -n --)
	for tool in sinfo squeue scancel scontrol; do eval "$tool() { \"\${at_switch[@]}\" $tool \"\$@\"; }"; done
	daemon "${at_switch[@]}" slurmctld -D
	for ((i = 1; i <= $1; i++)); do
		inside "$i" mkdir -p "$work/own/cg/freezer"
		[ -z "${groups:-}" ] || { mkdir -p "$groups/$i" && inside "$i" mount -t cgroup -o freezer cgroup "$work/own/cg/freezer" &&
			inside "$i" mount --bind "$work/own/cg/freezer/${groups##*/}/$i" "$work/own/cg/freezer"; } || skip 'no freezer of cgroup v1'
		daemon enter "$i" slurmd -D -N "node$i"
	done
	holds "slurmd does not start: $(tail -n 2 "$work"/*.log)" within 60 are_idle "$1"
}
are_idle() { [ "$(sinfo -h -N -o "%N %T" 2>/dev/null | sort -u | grep -c " idle$")" -eq "$1" ]; } # a node has a line for each partition
is_empty() { [ -z "$(squeue -h)" ]; }

# each host has a /tmp of its own
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=$net.0/24 OMPI_MCA_orte_tmpdir_base=$work/own
