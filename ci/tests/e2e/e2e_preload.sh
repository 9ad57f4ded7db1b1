#!/bin/bash
# e2e_preload.sh: hangar_run over a program that knows nothing of hangar, and test doubles of libnccl and libcuda:
# it stays out of the way, and names what one rank does wrong.
# timeout: 600
# alone: its jobs wait for deadlines, and a job of two hosts says goodbye between two processes
source "$(dirname "$0")/lib.sh"

subject=$BUILD/tests/double/subject
double=$top_folder/ci/tests/preload/double
export DOUBLE_DIR=$work
cd "$work" || exit 1

# hangs SECONDS CODE VERDICT WORD...: the subject with these words (the first may be a fault) ends with CODE, and a verdict that
# matches, within SECONDS; an empty VERDICT: without a word, its monitor's last included; !: with no verdict; one with ^: that line. static: NCCL is a part of the program
hangs() {
	local seconds=$1 code=$2 verdict=$3 n=$BASHPID out rc fault=() subject=$subject
	shift 3
	out=$work/out.$n
	[[ " $* " != *" static "* ]] || subject+=-static
	[[ ${1-} == --fault=* ]] && fault=("$1") && shift
	[[ " $* " != *" alone "* ]] || export DOUBLE_REMOTE_ERROR=calls
	[[ $verdict == ^* || $verdict == '!' || -z $verdict ]] || verdict="^# verdict: .*$verdict"
	HANGAR_E2E=$token timeout "$seconds" "$BUILD/hangar_run" --on-hang=kill --timeout 3 --out "$work/dir.$n" "${fault[@]}" "$subject" 4 40 halves "$@" >"$out" 2>&1
	rc=$?
	within 20 unwatched "$work/dir.$n" || rc=watched
	sed -i '/NCCL is part of the program/d; /^# meter: /,/^# median, p95/d' "$out"
	! grep -q "nothing was watched" "$out" || rc=unwatched
	if [ $rc != "$code" ] || ! case $verdict in
		'') [ ! -s "$out" ] ;;
		!) ! grep -q '^# verdict' "$out" ;;
		*) grep -q "$verdict" "$out" ;;
		esac; then
		echo "${fault[*]} $* ended with $rc, not $code, or not '$verdict': $(head -c 400 "$out")" >>"$work/failed"
	fi
}

unwatched() { ! pgrep -f -- "hangar_run .*--out $1 " >/dev/null; }

rows=(
	"40|0|"
	"40|5||fails"
	"40|0|!|away=2@9"
	"40|0||nonblocking"
	"40|0||many"
	"40|0||graph"
	"40|137|ranks=2 comm=0 |graph skip-graph=2@9"
	"40|0||pairs sync"
	"40|0||static"
	"40|0|!|static graph pairs away=2@9"
	"40|0|!|saves=2@9"
	"40|137|class=skipped-call ranks=1 comm=0 seq=19|static skip=1@7"
	"40|137|class=mismatch ranks=2 comm=0 seq=25 .*field=count|static count=2@9"
	"40|0|outcome=diverged class=mismatch ranks=2 comm=0 seq=25 .*field=count|count=2@9 lax"
	"40|137|class=missing-call ranks=2 comm=0 seq=25|static asleep=2@9"
	"40|137|class=rank-killed ranks=1|static kill=1@9"
	"40|137|class=skipped-call ranks=1 comm=0 seq=19|skip=1@7"
	"40|137|class=order-cycle ranks=1 comm=0 seq=25|swap=1@9 one-stream"
	"40|137|class=skipped-call ranks=1 comm=0 seq=19|skip=1@7 dlsym"
	"40|137|class=mismatch ranks=2 comm=0 seq=25 .*field=count|count=2@9"
	"40|137|ranks=3 comm=0 seq=25|exit0=3@9"
	"40|137|class=[a-z-]*early-exit ranks=1 comm=0 seq=25|alone exit0=1@9 away=0@9 away=2@9 away=3@9"
	"40|137|class=[a-z-]*early-exit ranks=1 comm=0 seq=25|alone aborts exit0=1@9 away=0@9 away=2@9 away=3@9"
	"40|3|class=rank-exited ranks=3|exit3=3@9"
	"40|137|class=rank-killed ranks=1|kill=1@9"
	"40|143|class=rank-[ck][a-z]*ed ranks=1|term=1@9" # killed: its parent had asked before anybody saw the signal
	"40|143||term"
	"40|137|class=rank-stopped ranks=2|stop=2@9"
	"40|137|class=missing-call ranks=2 comm=0 seq=25|asleep=2@9"
	"40|137|ranks=1|skip-recv=1@9 pairs sync"
	"40|0||together"
	"40|0||threads"
	"40|137|class=skipped-call ranks=1 comm=0 seq=7|together skip=1@7"
	"40|137|class=skipped-call ranks=2 comm=0 seq=19|threads skip=2@7"
	"40|137|class=mismatch ranks=3 comm=0 seq=9 .*field=count|--fault=count:3@9 together"
	"40|137|class=skipped-call ranks=1 comm=0 seq=19|--fault=skip-call:1@7,comm=dp,kind=all_reduce named"
	"40|137|class=mismatch ranks=2 comm=0 seq=25 .*field=count|--fault=count:2@9,size=4,kind=AllReduce"
	"40|137|ranks=1 comm=1 seq=1 .*hang_seq=40|--fault=skip-call:1@9,size=2"
	"40|0|^hangar: .* did not strike|--fault=skip-call:1@9,comm=tp named"
	"40|0|^hangar: .* strikes call 7 (AllReduce)|--fault=gpu-late:1@7,value=1"
	"40|137|class=gpu-stuck ranks=2 comm=0 seq=25 .*confidence=[pm]|--fault=gpu-late:2@25,value=60 paced"
	"40|6|^hangar: .* strikes call 120|--fault=corrupt:1@120 corrupted"
	"40|137|ranks=3|--fault=init-late:3@1,value=60"
	"40|137|class=missing-call ranks=1 |--fault=late:1@9,kind=recv,value=60 pairs sync"
	"40|137|ranks=3|--fault=init-size:3@1"
	"40|137|class=init-missing-rank ranks=3 comm=1 seq=0|--fault=init-late:3@2,value=60"
	"40|137|^hangar: .* strikes set-up 1 (init) of communicator 0 (4 ranks)|--fault=init-rank:3@1"
)
# few WORDS...: in the background, 16 at once: they mostly wait, and have 40 s
few() {
	while [ "$(jobs -rp | wc -l)" -ge 16 ]; do wait -n; done
	"$@" &
}
for row in "${rows[@]}"; do
	IFS='|' read -r seconds code verdict words <<<"$row"
	# shellcheck disable=SC2086 # a list of words
	few hangs "$seconds" "$code" "$verdict" $words
	checks=$((checks + 1))
done
# launched NAME VERDICT SIGNAL IGNORES WORD...: below a launcher; an empty VERDICT: none, as what follows a signal to the job is its end
launched() {
	local name=$1 verdict=$2 before=() how=$3
	[ "$how" != got ] || before=(python3 -c 'import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[1:], start_new_session=True)
time.sleep(2)
os.killpg(p.pid, signal.SIGINT)
p.wait()')
	HANGAR_E2E=$token DOUBLE_ID=$name-$$ timeout 40 "${before[@]}" "$BUILD/hangar_run" --timeout 20 --out "$work/dir.$name" \
		python3 "$double/launcher.py" "${@:3:2}" "$subject" 3 100000 "${@:5}" >"$work/launched.$name" 2>&1
	within 20 unwatched "$work/dir.$name" || echo "$name is watched still" >>"$work/failed"
	if [ -n "$verdict" ]; then grep -q "^# verdict: .*$verdict" "$work/launched.$name"; else ! grep -q "^# verdict" "$work/launched.$name"; fi ||
		echo "launched $* said: $(grep -v '^# meter' "$work/launched.$name" | head -c 400)" >>"$work/failed"
}
for how in "int||SIGINT 0" "term||SIGTERM 0,1,2" "hup||SIGHUP 1" "group||got 0,2" "exits|class=rank-exited ranks=1|none - exit3=1@300" \
	"crashes|class=rank-[ck][a-z]* ranks=1|none - crash=1@300" "reaped|class=rank-killed ranks=1|reaped - kill=1@300" "alone|class=rank-killed ranks=1|rank1 -"; do
	IFS='|' read -r name verdict words <<<"$how"
	# shellcheck disable=SC2086 # a list of words
	few launched "$name" "$verdict" $words
	checks=$((checks + 1))
done
wait
while read -r line; do fail "$line"; done < <(cat "$work/failed" 2>/dev/null)

# calls that differ and complete: a line while the job runs, and an outcome at its end
lax() {
	DOUBLE_ID=lax-$$ HANGAR_E2E=$token timeout 60 "$BUILD/hangar_run" --timeout 3 --out "$work/dir.lax" "$subject" 4 1500 count=2@9 lax >"$work/lax" 2>&1
	for pattern in '^# rank 2 made call 25 of comm 0 as AllReduce count 17 float sum at subject[^,]*, the others as AllReduce count 102 float sum' \
		'outcome=diverged class=mismatch ranks=2 comm=0 seq=25 .*field=count'; do
		check "lax says '$pattern': $(head -c 900 "$work/lax")" grep -q -- "$pattern" "$work/lax"
	done
}
flight lax

# ranks by themselves: settings that differ are said while they run; under mpirun each starts its own hangar_run
by_themselves() {
	(HANGAR_E2E=$token DOUBLE_ID=by-themselves timeout 40 "$BUILD/hangar_run" bash -c "NCCL_ALGO=Tree RANK=0 WORLD_SIZE=3 $subject 3 40 away=1@9 & \
		for r in 1 2; do RANK=\$r WORLD_SIZE=3 $subject 3 40 away=1@9 & done; wait" >"$work/settings" 2>&1)
	check "settings that differ are said once" [ "$(grep -c '^# settings differ between ranks: NCCL_ALGO: rank 0: Tree; ranks 1,2: unset' "$work/settings")" = 1 ]
	check "and nothing else but that rank 1 was late" [ "$(grep -cvE '^# (late: rank 1 |  lacks|ranks 0,2 wait in|99 of 100 waits|rank 1 came)' <(sed '/^# meter: /,/^# median, p95/d' "$work/settings"))" = 1 ]
	mpirun=(mpirun --allow-run-as-root --oversubscribe --quiet -np 4 "$BUILD/hangar_run")
	DOUBLE_ID=mpirun-$$ HANGAR_E2E=$token timeout 40 "${mpirun[@]}" --on-hang=kill --timeout 3 --out "$work/dir.mpi" "$subject" 4 40 skip=1@7 >"$work/mpi" 2>&1
	check "under mpirun a rank is named, once" [ "$(grep -c '^# verdict: .*class=skipped-call ranks=1 ' "$work/mpi")" = 1 ]
}
flight by_themselves

joined() { sed -z 's/\n#   / /g'; } # lines that go on
status() (
	set -o pipefail
	timeout 5 "$BUILD/hangar_run" --status "$@" | joined
)

# --status and SIGUSR1: while a rank is away, from another shell; and after the verdict, which leaves the job alone
asked() {
	local token=$token.asked job began took
	HANGAR_E2E=$token timeout 40 "$BUILD/hangar_run" --timeout 5 --out "$work/dir.status" "$subject" 4 400 halves asleep=2@200 >"$work/told" 2>&1 &
	job=$!
	asleep() { status "$work/dir.status" 2>&1 | tee "$work/status" | grep -q "rank 2 .*: in no call; made its last, .*; in misbehave .*subject.c"; }
	check "--status DIR says in which line rank 2 is" within 5 asleep
	began=$EPOCHREALTIME
	status "$(pgrep -n -P $job)" >"$work/status" 2>&1
	took=$(bc <<<"($EPOCHREALTIME - $began) * 1000 / 1")
	in_time "--status PID" "$took" 1000
	check "--status --json says the same" python3 -c 'import json, sys
r = json.loads(sys.stdin.read())
sys.exit(r["communicators"][0]["missing"] != [2] or r["ranks"][0]["waits_for"] != [2] or r["ranks"][2]["call"] is not None)' < <(status --json "$work/dir.status")
	check "it says who has not come: $(head -c 900 "$work/status")" grep -q "^# communicator 0 of ranks 0-3: all completed call [0-9]* at least, came to call 598.*: ranks 0,1,3, not yet: rank 2" "$work/status"
	check "and who waits for whom" grep -q "^# ranks\? 0[,0-9]* .* s on its GPU behind .* of communicator 0, for rank 2; waited for others [1-9]" "$work/status"
	kill -USR1 "$(sed -n 's/.*hangar_run pid \([0-9]*\),.*/\1/p' "$work/status")"
	check "SIGUSR1 says the same on standard error" within 5 grep -q "^# communicator 0 .* not yet: rank 2" "$work/told"
	check "the verdict comes as without" within 20 grep -q "^# verdict: .*class=missing-call ranks=2 " "$work/told"
	check "--status after it" within 5 asleep
	pids_of_run | xargs -r kill -KILL # those with this token
	wait $job 2>/dev/null
	check "nobody to ask" [ "$(status "$work/dir.status" 2>&1; echo $?)" = "hangar_run: no hangar_run of this user watches $work/dir.status on this host
1" ]
}
flight asked

# a rank that is late, and came; the first lines of it come within seconds
late_rank() {
	HANGAR_E2E=$token timeout 40 "$BUILD/hangar_run" --timeout 30 --out "$work/dir.late" "$subject" 4 400 halves long=2@100 >"$work/late" 2>&1
	check "a late rank: $(cat "$work/late")" grep -qE '^# late: rank 2 .* (made its last call|is in no call)' "$work/late"
	check "the call that it lacks" grep -q '^#   lacks call 298 of comm 0: AllReduce' "$work/late"
	check "and that it came: $(cat "$work/late")" grep -qE '^# rank 2 came after all, after [0-9]+\.. s' "$work/late"
	grep -qE ' after all, after [6-9]\.. s' "$work/late" || late "a rank that sleeps for 8 s: $(grep 'after all' "$work/late")"
}
flight late_rank

# in a batch script of Slurm all processes have its number, which is no rank
in_batch() {
	SLURM_JOB_ID=80 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=4 HANGAR_E2E=$token timeout 40 "$BUILD/hangar_run" --on-hang=kill --timeout 3 \
		--out "$work/dir.batch" "$subject" 4 40 unnamed kill=2@9 >"$work/batch" 2>&1
	check "a rank in a batch script: $(cat "$work/batch")" grep -q '^# verdict: outcome=died class=rank-killed ranks=2 ' "$work/batch"
}
flight in_batch

# a program that ends itself because one rank is late
own_time_out() {
	HANGAR_E2E=$token timeout 60 "$BUILD/hangar_run" --on-hang=kill --timeout 60 --out "$work/dir.own" "$subject" 4 400 halves watchdog asleep=2@100 >"$work/own-time-out" 2>&1
	check "a program's own time-out: $(cat "$work/own-time-out")" grep -q '^# verdict: outcome=hang class=missing-call ranks=2 comm=0 seq=298' "$work/own-time-out"
	check "verdict.json says the same" grep -q '"ranks": "2"' "$work/dir.own/verdict.json"
	check "and is as its schema says" python3 "$top_folder/ci/tests/rig/schema.py" "$top_folder/faults/detect/answer/verdict.schema.json" "$work/dir.own/verdict.json"
}
flight own_time_out

# what calls cost is kept however a job ends: killed at its verdict, by an exception, by a signal to all, its monitor among them
costs() {
	local token=$token.costs job end
	cost() { HANGAR_E2E=$token DOUBLE_ID=cost-$1 timeout 40 "$BUILD/hangar_run" --timeout 2 --on-hang=kill --out "$work/deep/$1" --csv "$work/$1.csv" "$subject" 4 "${@:2}" >"$work/cost.$1" 2>&1; }
	kept() { grep -q ',AllReduce,' "$work/$1.csv" && grep -q '^# meter: 4 ranks' "$work/cost.$1"; } 2>/dev/null
	cost hang 4000 skip=1@400 &
	cost exception 4000 exit3=1@400
	wait $!
	for end in hang exception; do
		check "the cost of a job that ends by $end: $(cat "$work/cost.$end")" within 10 kept $end
	done
	check "folders above --out are made" [ -s "$work/deep/hang/verdict.json" ]
	cost signal 1000000 sync &
	job=$!
	pause 2
	pids_of_run | xargs -r kill -TERM
	wait $job
	check "the cost of a job that a signal ends: $(cat "$work/cost.signal")" within 10 kept signal
	check "a name that would break the verdict line" [ "$("$BUILD/hangar_run" --out $'a\nb' true >/dev/null 2>&1; echo $?)" = 2 ]
}
flight costs

# --on-verdict, and attempts of a launcher that restarts its ranks: each verdict runs the command once, and keeps its evidence
hooks() {
	local hook attempts
	cd "$work" || return
	hook='env | grep ^HANGAR_ | grep -vE "(E2E|RUNS)=" | sort | paste -sd " " >>'$work'/hooked; [ $HANGAR_RANKS != 2 ] || exit 4'
	attempts='timeout 5 $0 4 40 halves kill=1@9; sleep 0.5; DOUBLE_ID=second timeout 12 $0 4 400 halves skip=2@300'
	HANGAR_E2E=$token timeout 60 "$BUILD/hangar_run" --timeout 5 --out "$work/dir.hook" --on-verdict "$hook" bash -c "$attempts" "$subject" >"$work/attempts" 2>&1
	check "two verdicts ran a command each: $(cat hooked)" diff hooked - <<END
HANGAR_CLASS=rank-killed HANGAR_CONFIDENCE=proved HANGAR_EVIDENCE=$work/dir.hook HANGAR_HOSTS=$(hostname) HANGAR_OUTCOME=died HANGAR_RANKS=1
HANGAR_CLASS=skipped-call HANGAR_CONFIDENCE=majority HANGAR_EVIDENCE=$work/dir.hook/2 HANGAR_HOSTS=$(hostname) HANGAR_OUTCOME=hang HANGAR_RANKS=2
END
	check "the first attempt's evidence is kept" grep -q '"class": "rank-killed"' "$work/dir.hook/verdict.json"
	check "a command that fails is a line: $(cat attempts)" [ "$(grep -c '^# on-verdict: .*: exit code 4' attempts)" = 1 ]
	check "one that ends well is none" [ "$(grep -c '^# on-verdict' attempts)" = 1 ]
	# drained VERDICT...: what the example tells Slurm, which has names of its own for nodes
	cat >scontrol <<'END'
#!/bin/bash
[[ $* == *show* ]] || exec echo "$@"
printf 'NodeName=%s Arch=x86_64 NodeAddr=10.0.0.%s NodeHostName=%s Version=22\n' node1 1 node1 n2 2 node2.cluster node3 3 node3
printf 'NodeName=%s Arch=x86_64 Reason=hangar: slow-rank of rank 1, /e [root@%s]\n' old 2020-01-01T00:00:00 new "$(date +%Y-%m-%dT%H:%M:%S)"
END
	printf '#!/bin/bash\n[ "$4" != -w ] || seq "${JOBS:-1}"\n' >squeue
	chmod +x scontrol squeue
	drained() { env HANGAR_EVIDENCE=/e HANGAR_RANKS=3 HANGAR_HOSTS=node2.cluster,node1 SCONTROL=./scontrol "$@" "$top_folder/ci/examples/drain-slurm"; }
	check "a GPU's fault drains its node" [ "$(drained HANGAR_CLASS=gpu-fault HANGAR_CONFIDENCE=proved)" = \
		"update nodename=n2,node1 state=drain reason=hangar: gpu-fault of rank 3, /e" ]
	check "a host is known by its address" [ "$(drained HANGAR_CLASS=monitor-gone HANGAR_CONFIDENCE=proved HANGAR_HOSTS=10.0.0.3 HANGAR_RANKS=-)" = \
		"update nodename=node3 state=drain reason=hangar: monitor-gone, /e" ]
	check "a host that Slurm does not have" [ "$(drained HANGAR_CLASS=monitor-gone HANGAR_CONFIDENCE=proved HANGAR_HOSTS=10 2>&1)" = "drain-slurm: Slurm has no node 10" ]
	slow() { drained SQUEUE=./squeue HANGAR_CLASS=slow-rank HANGAR_CONFIDENCE=proved HANGAR_HOSTS=node1 "$@" 2>&1; }
	check "a slow rank's host on request" [ "$(slow SLOW_A_DAY=2)" = "update nodename=node1 state=drain reason=hangar: slow-rank of rank 3, /e" ]
	check "not by itself" [ -z "$(slow)$(slow SLOW_A_DAY=0)" ]
	check "no more a day than that" grep -q "^drain-slurm: 1 hosts are drained for slow ranks since .*, 1 may be: node1 is not$" <(slow SLOW_A_DAY=1)
	check "not where another job runs" grep -q "^drain-slurm: node1 carries another job" <(slow SLOW_A_DAY=5 JOBS=2)
	check "not by a majority" [ -z "$(slow SLOW_A_DAY=5 HANGAR_CONFIDENCE=majority)" ]
	check "a program's does not" [ -z "$(drained HANGAR_CLASS=skipped-call HANGAR_CONFIDENCE=proved)" ]
	check "what is not proved does not" [ -z "$(drained HANGAR_CLASS=gpu-fault HANGAR_CONFIDENCE=majority)" ]
}
flight hooks

# two jobs under one hangar_run: each has its name, its ranks' own numbers, its evidence and its table; --status shows all
two_jobs() {
	local token=$token.jobs job name
	cat >"$work/job.sh" <<'END'
for r in 0 1; do TORCHELASTIC_RUN_ID=none MASTER_ADDR=localhost MASTER_PORT=$1 DOUBLE_ID=two.$1 RANK=$r WORLD_SIZE=2 "${@:2}" & done
wait
END
	HANGAR_E2E=$token timeout 40 "$BUILD/hangar_run" --on-hang=kill --timeout 3 --out "$work/jobs" --csv "$work/jobs.csv" bash -c 'bash "$0" 1 "$1" 2 4000 asleep=1@2000 &
		bash "$0" 2 "$1" 2 4000 sync exit3=1@3000 & MASTER_PORT=3 DOUBLE_ID=two.3 python3 "$2" SIGTERM 0,1 "$1" 3 100000 & wait; exit 7' \
		"$work/job.sh" "$subject" "$double/launcher.py" >"$work/two" 2>&1 &
	job=$!
	all() { status "$work/jobs" 2>&1 | tee "$work/status" | grep -c '^# bash, job \(localhost:[12]\|:3\) .*, --out .*/jobs)' | grep -qx 3; }
	check "--status DIR shows all jobs: $(cat "$work/status" 2>&1)" within 10 all
	wait $job
	check "the exit code is the command's" [ $? -eq 7 ]
	check "the ranks have their numbers: $(cat "$work/two")" [ "$(grep -oE '^# verdict: .*evidence=' "$work/two" | sed -E 's/.*(class=[a-z-]* ranks=[0-9]*).* (job=.*) .*/\1 \2/' | sort | paste -sd,)" = \
		"class=missing-call ranks=1 job=localhost:1,class=rank-exited ranks=1 job=localhost:2" ]
	check "a launcher's end of its job is no verdict: $(cat "$work/two")" [ "$(grep -c 'job :3' "$work/two")" -ge 1 ]
	check "each has its evidence" [ "$(cat "$work/jobs/verdict.json" "$work"/jobs/job-*/verdict.json 2>/dev/null | sed -n 's/.*"job": "\(.*\)".*/\1/p' | sort | paste -sd,)" = localhost:1,localhost:2 ]
	check "and its table: $(ls "$work")" [ "$(grep -lF ,AllReduce, "$work"/jobs*.csv | wc -l)" = 3 ]
	# under mpirun, whose ranks say their job by themselves
	export OMPI_MCA_rmaps_base_oversubscribe=1
	HANGAR_E2E=$token timeout 40 "$BUILD/hangar_run" -q --timeout 3 --out "$work/mpis" bash -c 'job() { mkdir "$DOUBLE_DIR/$1.mpi"; DOUBLE_ID=mpi.$1 TMPDIR=$DOUBLE_DIR/$1.mpi mpirun --quiet -np 2 "$0" 2 4000 "${@:2}"; }
		job 1 kill=1@2000 & job 2 exit3=1@3000 & wait' "$subject" >"$work/mpis.out" 2>&1
	for name in rank-killed rank-exited; do
		check "two mpiruns: $(cat "$work/mpis.out")" grep -qE "^# verdict: .*class=$name ranks=1 .* job=mpirun-[0-9]+ " "$work/mpis.out"
	done
	check "no monitor is left" within 10 no_process
}
flight two_jobs

# as Kubernetes ends a container: SIGTERM to its first process, and SIGKILL to all after a grace period; no rank is to blame, whether the
# first process passes the signal on to ranks that end (pass), to some that stay (stay), or does not (deaf)
pods() {
	local how pods=()
	unshare --pid --fork true 2>/dev/null || return
	for how in pass stay deaf; do
		HANGAR_E2E=$token DOUBLE_ID=pod-$how timeout -k 1 30 unshare --pid --fork --mount-proc "$BUILD/hangar_run" -q --timeout 20 --out "$work/$how" bash -c '
			[ $1 = deaf ] || trap "kill \$(jobs -p); wait; exit 0" TERM
			for r in 0 1 2; do ([ $1$r = stay1 ] || [ $1 != stay ] || trap "" TERM; RANK=$r WORLD_SIZE=3 exec "$0" 3 1000000 sync) & done
			wait; wait' "$subject" $how >"$work/$how.out" 2>&1 &
		pods+=($!)
	done
	all_trained() { for how in pass stay deaf; do status "$work/$how" 2>&1 | grep -q '^# communicator 0 of ranks 0-2: all completed call [1-9]' || return; done; }
	check "containers are watched" within 10 all_trained
	for how in "${pods[@]}"; do pkill -TERM -P "$(pgrep -P "$how")"; done
	pause 1
	for how in "${pods[@]}"; do pkill -KILL -P "$(pgrep -P "$how")"; done 2>/dev/null
	wait "${pods[@]}" 2>/dev/null
	for how in pass stay deaf; do
		check "a container's end, $how: $(cat "$work/$how.out")" [ "$(grep -c '^#' "$work/$how.out")" = 0 ]
	done
}
flight pods

# a rank that comes after its verdict: that is withdrawn, and the next one has a folder of its own
comes_again() {
	local token=$token.again job
	HANGAR_E2E=$token timeout 60 "$BUILD/hangar_run" --timeout 2 --out "$work/dir.again" "$subject" 4 3000 halves long=2@100 skip=1@2900 >"$work/again" 2>&1 &
	job=$!
	check "the next verdict" within 40 grep -q "^# verdict: .*class=skipped-call ranks=1 .* evidence=$work/dir.again/2" "$work/again"
	pids_of_run | xargs -r kill -KILL
	wait $job 2>/dev/null
	check "the first one is withdrawn: $(cat "$work/again")" [ "$(grep -oE '^# (verdict: .*ranks=2|the run goes on: .* after [6-9]\.. s|verdict: .*ranks=1)' "$work/again" | cut -c 1-9 | paste -sd,)" = "# verdict,# the run,# verdict" ]
	check "and its folder says so" grep -q "^The run goes on: .* withdrawn" "$work/dir.again/postmortem.md"
	check "and its verdict.json" grep -q '"withdrawn": "the run goes on: ' "$work/dir.again/verdict.json"
	check "which is as its schema says" python3 "$top_folder/ci/tests/rig/schema.py" "$top_folder/faults/detect/answer/verdict.schema.json" "$work/dir.again/verdict.json"
}
flight comes_again

# before any rank has come
early() {
	HANGAR_E2E=$token "$BUILD/hangar_run" --out "$work/dir.early" sleep 40 &
	none_yet() { status "$work/dir.early" 2>&1 | tail -n +2 | diff - <(echo "# no rank has come yet: none has used NCCL"); }
	check "--status says that no rank has come" within 5 none_yet
	check "and again" none_yet
	kill $!
	wait $! 2>/dev/null
}
flight early

# the wrappers' parameters are as many as those of the nccl.h that is here, as far as it has them
header=$(ls /usr/include/nccl.h /usr/local/include/nccl.h 2>/dev/null | head -n 1)
params() { tr '\n' ' ' <"$header" | grep -o "[ *]nccl$1([^)]*)" | head -n 1 | tr -dc , | wc -c; }
while [ -n "$header" ] && IFS='|' read -r name _ list; do
	read -r _ name <<<"$name"
	grep -q "nccl$name(" "$header" || continue # newer ones
	check "parameters of $name" [ "$(params "$name")" = "$(tr -dc , <<<"$list" | wc -c)" ]
done < <(grep -E '^(call|init|child) ' "$top_folder/faults/watch/library/nccl.txt")

# the library forwards what it cannot record, and says so once
forwards() {
	export LD_PRELOAD=$BUILD/libhangar.so
	said() { grep -c "hangar: pid" "$work/forward"; }
	timeout 20 "$subject" 2 5 >"$work/forward" 2>&1
	check "unasked it runs" [ $? -eq 0 ]
	check "unasked it says nothing" [ ! -s "$work/forward" ]
	HANGAR_RUN=nobody timeout 20 "$subject" 2 5 >"$work/forward" 2>&1
	check "without a monitor it runs" [ $? -eq 0 ]
	check "without a monitor each rank says so once" [ "$(said)" = 2 ]
	unset LD_PRELOAD
	DOUBLE_VERSION=29901 timeout 20 "$BUILD/hangar_run" "$subject" 2 5 >"$work/forward" 2>&1
	check "with an unknown version it runs" [ $? -eq 0 ]
	check "an unknown version is said once by each rank" [ "$(said)" = 2 ]
	DOUBLE_NO_REGISTER=1 timeout 20 "$BUILD/hangar_run" "$subject" 2 5 >"$work/forward" 2>&1
	check "without device writes it runs" [ $? -eq 0 ]
	check "missing device writes are said" [ "$(said)" = 2 ]
	echo 'print(1)' >"$work/plain.py"
	script() { (cd "$work" && "$BUILD/hangar_run" --quiet "$1" 2>&1; echo $?); }
	check "a script without its interpreter" [ "$(script plain.py)" = $'hangar_run: plain.py: not found in PATH; python3 plain.py?\n127' ]
	check "nor executable" [ "$(script ./plain.py)" = $'hangar_run: ./plain.py: Permission denied; python3 ./plain.py?\n127' ]
	check "usage" [ "$("$BUILD/hangar_run" --on-hang=never true 2>/dev/null; echo $?)" = 2 ]
}
flight forwards

# faults that do not strike, programs without NCCL
unstruck() {
	"$BUILD/hangar_run" --fault=skip-call:1@60 true >"$work/unused" 2>&1
	not_struck() { [ "$(grep -c "^hangar_run: the fault .* did not strike: nothing was watched" "$work/unused")" = 1 ]; }
	check "a fault in a program without NCCL did not strike: $(cat "$work/unused")" within 10 not_struck
	"$BUILD/hangar_run" sleep 11 >"$work/unseen" 2>&1
	unseen() { [ "$(grep -c "^hangar_run: no NCCL was seen" "$work/unseen")" = 2 ]; }
	check "a program without NCCL is said to be unwatched, after 10 s and at its end: $(cat "$work/unseen")" within 10 unseen
	"$BUILD/hangar_run" --quiet true >"$work/unseen" 2>&1
	timeout 20 "$BUILD/hangar_run" --fault=skip-call:7@2 "$subject" 2 5 >"$work/unused" 2>&1
	never_came() { [ "$(grep -c "^hangar_run: the fault .* did not strike: no rank 7 came" "$work/unused")" = 1 ]; }
	check "a fault of a rank that never came did not strike: $(cat "$work/unused")" within 10 never_came
	check "--quiet says nothing of it: $(cat "$work/unseen")" [ ! -s "$work/unseen" ]
}
flight unstruck

# slow and alive, from the table of our own programs
slow_ones() {
	local plain slow spec
	seconds_of() { /usr/bin/env bash -c 'TIMEFORMAT=%R; time "$@" >"$0" 2>&1' "$work/slow" timeout 60 "$BUILD/hangar_run" "$@" "$subject" 2 5 2>&1; }
	plain=$(seconds_of --quiet)
	for spec in slow-rank:1@2,by=300ms,how=sleep slow-rank:1@2,by=300ms,on=gpu; do
		slow=$(seconds_of --fault=$spec)
		check "$spec: $slow s beside $plain s" awk -v slow="$slow" -v plain="$plain" 'BEGIN { exit !(slow > plain + 2) }'
		check "$spec strikes: $(cat "$work/slow")" grep -q 'rank 1: the fault .* strikes call 2 ' "$work/slow"
	done
	seconds_of --fault=pause-rotating@2,by=1ms,every=3 >/dev/null
	check "pauses rotate: $(cat "$work/slow")" [ "$(grep -oE 'rank [01]: .* strikes call [0-9]+' "$work/slow" | sed 's/: .* call/ in call/' | sort | paste -sd ,)" = \
		'rank 0 in call 2,rank 1 in call 4' ]
	for spec in slow-rank:1@2,by=5x slow-rank:1@2,threads=2 slow-link:1@2 gpu-contend:1@2 pause-rotating@0; do
		check "$spec is refused" [ "$("$BUILD/hangar_run" --fault=$spec echo ran 2>/dev/null; echo $?)" = 2 ]
	done
}
flight slow_ones

# folders for evidence
mkdir "$work/there"
: >"$work/file"
for out in /proc/x /proc/self "$work/file/out" "$work/file"; do
	check "evidence cannot go to $out: refused at once" [ "$("$BUILD/hangar_run" --out="$out" echo ran 2>/dev/null; echo $?)" = 2 ]
done
for out in there not-yet; do
	check "evidence can go to $out" [ "$("$BUILD/hangar_run" --out="$out" echo ran; ls -A "$out" 2>/dev/null)" = ran ]
done
check "NCCL's log goes into --out by itself" [ "$("$BUILD/hangar_run" -q --out=not-yet printenv NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_DEBUG_FILE | tr '\n' ' ')" = "INFO INIT,GRAPH $PWD/not-yet/nccl-%h-%p.log " ]
check "what is set stays" [ "$(NCCL_DEBUG=WARN "$BUILD/hangar_run" -q --out=not-yet printenv NCCL_DEBUG NCCL_DEBUG_FILE)" = WARN ]
check "a command that is not there" [ "$("$BUILD/hangar_run" /nowhere 2>/dev/null; echo $?)" = 127 ]
landed
for _ in $(seq 40); do no_process && break; sleep 0.1; done
check "no process is left: $(pids_of_run | xargs -r -n1 ps -o args= -p)" no_process

# two hosts, each with its own hangar_run as torchrun would start it there: one run; where none can be made here it ends
skip() {
	echo "not looked at: $*"
	finish
}
# shellcheck source=ci/tests/rig/hosts.sh
source "$top_folder/ci/tests/rig/hosts.sh"
make_hosts 2
# on_both NAME WORD...: two of four ranks on each host; the port is not that of a run whose monitor may linger
port=29500
on_both() {
	local name=$1 i
	shift
	port=$((port + 2))
	for i in 1 2; do
		# shellcheck disable=SC2016
		HANGAR_E2E=$token DOUBLE_ID=$name nsenter -t "$(cat "$work/host$i.pid")" -n -m -u -p -- timeout 60 "$BUILD/hangar_run" --on-hang=kill \
			--timeout 3 --out "$work/own/$name" bash -c 'for r in 0 1; do RANK=$(($1 * 2 + r - 2)) WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 \
			MASTER_ADDR=$2 MASTER_PORT=$3 "${@:4}" & done; wait' - $i "$net.2" $port "$subject" 4 "$@" >"$work/$name.$i" 2>&1 &
		pids[i]=$!
	done
}
on_both hosts-well 40 halves
wait "${pids[@]}"
is_well() { ! grep -hvE '^# (meter|communicator|ranks? [0-9]|[24] ranks|call%|median)' "$work"/hosts-well.[12]; }
check "a healthy job of two hosts has its table alone" is_well
on_both hosts-skip 40 halves skip=3@7
wait "${pids[@]}"
on_both hosts-asleep 40 halves asleep=3@9
on_host_2() { nsenter -t "$(cat "$work/host2.pid")" -n -m -u -p -- "$BUILD/hangar_run" --status 2>&1 | joined >"$work/status" && grep -q "^# rank 3 (node2 .*; in misbehave" "$work/status" && grep -q "$@"; }
check "--status on host 2 knows the ranks of host 1" within 3 on_host_2 "^# communicator 0 of ranks 0-3: .* came to call 25.*: ranks 0-2, not yet: rank 3" "$work/status"
wait "${pids[@]}"
for i in 1 2; do
	check "a skipped call on host 2 is named on host $i: $(head -c 300 "$work/hosts-skip.$i")" grep -q "^# verdict: .*class=skipped-call ranks=3 comm=0 seq=19" "$work/hosts-skip.$i"
	check "a rank that is away on host 2 is named on host $i: $(head -c 300 "$work/hosts-asleep.$i")" grep -q "^# verdict: .*class=missing-call ranks=3 comm=0 seq=25" "$work/hosts-asleep.$i"
done
check "no process is left on any host" within 5 no_process
finish
