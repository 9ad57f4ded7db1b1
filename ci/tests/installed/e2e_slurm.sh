#!/bin/bash
# e2e_slurm.sh: a Slurm of one node, of Debian's packages, runs the batch example and hangar under srun.
# timeout: 600
# alone: it installs packages and starts daemons
# shellcheck source=ci/tests/installed/packages.sh
source "$(dirname "$0")/packages.sh"
install slurmd slurmctld slurm-client munge

node=$(hostname -s) example=$PWD/ci/examples/slurm.sbatch
cd "$work" || exit 1
mkdir "$work"/{state,spool,munge}
chmod 711 "$work"
chmod 700 "$work/munge"
head -c 1024 /dev/urandom >"$work/munge/key"
chmod 600 "$work/munge/key"
export SLURM_CONF=$work/slurm.conf
cat >"$SLURM_CONF" <<END
ClusterName=hangar
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$((20000 + $$ % 10000))
SlurmdPort=$((30000 + $$ % 2000))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
END
daemon munged --force --foreground --key-file="$work/munge/key" --socket="$work/munge/socket" \
	--pid-file="$work/munge/pid" --log-file="$work/munge/log" --seed-file="$work/munge/seed"
holds 'munged does not start' within 20 [ -S "$work/munge/socket" ]
daemon slurmctld -D
daemon slurmd -D
is_idle() { sinfo -h -o %T 2>/dev/null | grep -qx idle; }
holds "slurmd does not start: $(tail -n 2 "$work"/slurm*.log)" within 60 is_idle
run srun --mpi=list
holds 'srun has no pmix' grep -q pmix "$work/out" "$work/err"

# the batch example: ranks by srun, then by mpirun
few=(--backend mpi -n 20 -w 1 -b 8 -e 64K -f 4)
HANGAR=$BUILD OUT=$work/results run sbatch --wait --ntasks 2 --overcommit --output "$work/batch" \
	"$example" "${few[@]}"
expect_rc 0 "the batch job: $(tail -n 3 "$work/batch")"
for way in srun mpirun; do
	holds "$way: rows" [ "$(grep -c 'all_reduce,mpi,2,1' "$work/results/$way/rows.csv")" -eq 14 ]
done
HANGAR=$BUILD OUT=$work/hung run sbatch --wait --ntasks 2 --overcommit --output "$work/batch" \
	"$example" --backend mpi --fault=drop-rank:1
expect_rc 10 'a hang in the batch job'
holds 'the verdicts in the batch job' [ "$(grep -c '^# verdict: outcome=hang class=missing-call ranks=1 ' "$work/batch")" -eq 2 ]

# interactively
run srun --mpi=pmix -n 2 --overcommit "$BUILD/all_gather_perf" "${few[@]}"
expect_rc 0 'srun:'
expect_out '^# hangar .* 2 ranks on 1 node'
run srun --mpi=pmix -n 2 --overcommit "$BUILD/all_gather_perf" --backend mpi --fault=kill-rank:1
expect_rc 14 'srun, a rank that dies:'
expect_out '^# verdict: outcome=died class=rank-killed ranks=1 '
is_empty() { [ -z "$(squeue -h)" ]; }
holds 'a job that goes on' within 20 is_empty
finish
