#!/bin/bash
# e2e_slurm_end.sh: in a Slurm of two hosts a job of hangar_run ends by scancel, a time limit, preemption: no rank is to blame, whether the
# ranks end at SIGTERM or stay until SIGKILL. A rank that dies meanwhile is named, and one of a job that a task prolog has watched.
# timeout: 600
# alone: it installs packages and starts daemons
# shellcheck source=ci/tests/installed/slurm.sh
source "$(dirname "$0")/slurm.sh"
freezer=$(awk '$3 == "cgroup" && $4 ~ /(^|,)freezer(,|$)/ { print $2; exit }' /proc/mounts)
[ -n "$freezer" ] || skip 'no freezer of cgroup v1'
groups=$freezer/hangar-$$
make_cluster 2 KillWait=5 PreemptType=preempt/partition_prio PreemptMode=CANCEL \
	'PartitionName=low Nodes=ALL PriorityTier=1 GraceTime=3 State=UP' 'PartitionName=high Nodes=ALL PriorityTier=9 State=UP'
subject=$BUILD/tests/double/subject
export HANGAR_E2E=$token

# submit NAME STAYS OPTION...: two ranks, one a node, that train for minutes; STAYS: a signal that they ignore, or - ; waits until both are watched
submit() {
	local name=$1 stays=$2
	shift 2
	cat >"$work/$name.sh" <<-END
		#!/bin/bash
		exec srun -N 2 -n 2 "$BUILD/hangar_run" --timeout 60 --out "$work/own/$name" bash -c '[ $stays = - ] || trap "" $stays
			RANK=\$SLURM_PROCID WORLD_SIZE=2 DOUBLE_DIR=$work DOUBLE_ID=$name.$stays MASTER_ADDR=$net.2 MASTER_PORT=\$((29500 + SLURM_JOB_ID)) exec $subject 2 1000000 sync $also'
	END
	job=$("${at_switch[@]}" sbatch --parsable -N 2 -n 2 -p main -o "$work/$name.log" "$@" "$work/$name.sh")
	within 60 squeue_says R || fail "$name does not run"
	pause 4
}
squeue_says() { [[ " $* " == *" $(squeue -h -j "$job" -o %t 2>/dev/null | head -n 1) "* ]]; }
# ended NAME WORD: its end came, and no rank is to blame
ended() {
	within 60 squeue_says '' || fail "$1 goes on"
	pause 3
	holds "$1: the log: $(cat "$work/$1.log")" grep -q "$2" "$work/$1.log"
	holds "$1: a verdict: $(cat "$work/$1.log")" not_blamed "$1"
}
not_blamed() { ! grep -q '^# verdict' "$work/$1.log"; }

also=''
for stays in - TERM; do
	submit "cancel$stays" $stays && scancel "$job"
	ended "cancel$stays" CANCELLED
	submit "preempt$stays" $stays -p low
	"${at_switch[@]}" srun -p high -N 2 true 2>"$work/high.err"
	ended "preempt$stays" 'CANCELLED\|Terminated'
done
submit signal - && scancel --signal=INT "$job"
ended signal 'Interrupt\|signal 2\|srun: error'
submit limit TERM -t 1 # minute: the shortest
within 120 squeue_says '' CG
ended limit 'TIME LIMIT'
also=kill=1@300
submit killed -
within 60 grep -q 'verdict' "$work/killed.log"
holds "a rank that dies: $(cat "$work/killed.log")" grep -q '^# verdict: outcome=died class=rank-killed ranks=1 ' "$work/killed.log"
scancel "$job"
within 30 is_empty || fail "a job that goes on"

# a job that knows nothing of hangar: a task prolog brings NCCL's plug-in to it
export HANGAR_PLUGIN=$BUILD/libhangar.so METRICS=$work/own HANGAR_OPTIONS="--on-hang=kill --timeout 5 --out $work/own/prolog"
cat >"$work/prolog.sh" <<END
#!/bin/bash
exec srun --task-prolog=$top_folder/ci/examples/task-prolog -N 2 -n 2 bash -c 'RANK=\$SLURM_PROCID WORLD_SIZE=2 DOUBLE_DIR=$work DOUBLE_ID=prolog MASTER_ADDR=$net.2 \
	MASTER_PORT=\$((29500 + SLURM_JOB_ID)) exec $subject 2 1000000 sync skip=1@300'
END
job=$("${at_switch[@]}" sbatch --parsable -N 2 -n 2 -p main -o "$work/prolog.log" "$work/prolog.sh")
within 90 grep -qs 'verdict' "$work/prolog.log"
gauges() { inside 1 sh -c "cat $work/own/hangar-job-*.prom"; }
holds "a task prolog: $(cat "$work/prolog.log")" grep -q '^# verdict: outcome=hang class=skipped-call ranks=- ' "$work/prolog.log" # a tie of two
holds "its evidence" inside 1 test -s "$work/own/prolog/verdict.json"
holds "its gauge: $(gauges)" grep -q '^hangar_hang_seconds{job="'"$net.2:$((29500 + job))"'",class="skipped-call",' <(gauges)
within 30 is_empty || fail "a job that goes on"
pause 2
finish
