#!/bin/bash
# e2e_slurm_hosts.sh: a Slurm of two hosts out of namespaces, of Debian's packages: srun starts ranks on both, and
# says what hangar says when a rank, a supervisor, or the link between the hosts is lost.
# timeout: 600
# alone: it installs packages and starts daemons
# shellcheck source=ci/tests/installed/packages.sh
source "$(dirname "$0")/packages.sh"
eval "packages_$(declare -f at_exit)"
# shellcheck source=ci/tests/rig/hosts.sh
source "$(dirname "$0")/../rig/hosts.sh"
eval "hosts_$(declare -f at_exit)"
at_exit() {
	hosts_at_exit
	packages_at_exit
}
install slurmd slurmctld slurm-client munge
make_hosts 2

mkdir "$work"/{state,munge}
chmod 711 "$work"
chmod 700 "$work/munge"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 600 "$work/munge/key"
export SLURM_CONF=$work/slurm.conf
cat >"$SLURM_CONF" <<END
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
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
NodeName=node1 NodeAddr=$net.2 CPUs=$(nproc) State=UNKNOWN
NodeName=node2 NodeAddr=$net.3 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
END
echo CgroupPlugin=cgroup/v1 >"$work/cgroup.conf"
echo "PMIxCliTmpDirBase=$work/own" >"$work/mpi.conf"
daemon munged --force --foreground --key-file="$work/munge/key" --socket="$work/munge/socket" \
	--pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed"
holds 'munged does not start' within 20 [ -S "$work/munge/socket" ]
# slurmctld and its clients are beside the switch, where the hosts can be reached
at_switch=(nsenter -t "$(cat "$work/host0.pid")" -n --)
for tool in sinfo squeue scancel; do eval "$tool() { \"\${at_switch[@]}\" $tool \"\$@\"; }"; done
daemon "${at_switch[@]}" slurmctld -D
for i in 1 2; do daemon enter $i slurmd -D -N node$i; done
are_idle() { [ "$(sinfo -h -N -o %T 2>/dev/null | grep -cx idle)" -eq 2 ]; }
holds "slurmd does not start: $(tail -n 2 "$work"/*.log)" within 60 are_idle

# each host has a /tmp of its own
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=$net.0/24 OMPI_MCA_orte_tmpdir_base=$work/own
is_empty() { [ -z "$(squeue -h)" ]; }
srun=("${at_switch[@]}" srun --mpi=pmix --kill-on-bad-exit=0 -N 2 -n 4 --ntasks-per-node 2 --overcommit "$BUILD/all_gather_perf" --backend mpi
	--topo none --silent-after 1.5 --partition-timeout 4)
run "${srun[@]}" -n 20 -w 1 -b 8 -e 64K -f 4
expect_rc 0 'two hosts:'
expect_out '^# hangar .* 4 ranks on 2 nodes'
while read -r fault code verdict; do
	run "${srun[@]}" --fault="$fault"
	expect_rc "$code" "$fault:"
	expect_out "^# verdict: outcome=$verdict "
	holds "$fault: a job that goes on" within 20 is_empty
done <<END
drop-rank:3 10 hang class=missing-call ranks=3
stop-rank:0 10 hang class=rank-stopped ranks=0
kill-rank:3 14 died class=rank-killed ranks=3
kill-rank:0@init 14 died class=rank-killed ranks=0
END

# Each side says it and its ranks end. slurmstepd gives up after five tries to tell srun, which waits for ever.
is_said() { grep -qE '^# verdict: outcome=hang class=(host-silent|partition) ranks=- .* hosts=node[12]( |$)' "$work/out"; }
no_rank() { ! pids_of_run | sed 's,.*,/proc/&/exe,' | xargs -r readlink | grep -q all_gather_perf; }
start "${srun[@]}" '--fault=command:3,run=netns cut node2,undo=sleep 4; netns mend node2'
holds 'no verdict of a cut' within 30 is_said
holds 'ranks that go on behind a cut' within 15 no_rank
scancel -u root
ended
expect_no_out '^# verdict: .* ranks=[0-9]'
finish
