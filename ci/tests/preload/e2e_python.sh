#!/bin/bash
# e2e_python.sh: hangar_run over Python programs and test doubles of libnccl and libcuda: lines of code, where a rank stands that
# is in no call, how ranks end, jobs in jobs.
# timeout: 400
# quiet: waits for deadlines
source "$(dirname "$0")/../e2e/lib.sh"

double=$PWD/ci/tests/preload/double
cd "$work" || exit 1

# a Python program: the verdict and the report name its lines of code. Calls that are alike met: the lines alone tell which rank left the
# others, and where, long before it hung
train() { # CODE OUT WORD...: $ranks ranks with these words end with CODE
	mkdir "$2.left"
	HANGAR_E2E=$token DOUBLE_DIR=$work/$2.left DOUBLE_ID=id.$2 LD_LIBRARY_PATH=$BUILD/tests/double timeout 60 "$BUILD/hangar_run" --on-hang=kill --timeout 3 --out "$work/$2.dir" \
		bash -c "for ((r = 0; r < $ranks; r++)); do RANK=\$r ${python:-python3} $double/subject.py $ranks ${*:3} & done; for job in \$(jobs -p); do wait \$job || rc=\$?; done; exit \$rc" >"$2" 2>&1
	local rc=$?
	[ $rc = "$1" ] || echo "# ${*:3} ended with $rc, not $1" >>"$2"
}
ranks=3
versions=0
train 0 healthy &
train 137 slept asleep=1@9 &
train 137 extra extra=0@12 &
train 137 skip skip=2@12 &
train 137 far skip=2@12 steps=1700 &
train 137 load load=1@12 &
for python in "$(dirname "$(python3 -c 'import sys; print(sys.base_prefix)')")"/3.1[0-3].*/bin/python3 /usr/bin/python3; do # pyenv's
	: $((versions += 1))
	[ ! -x "$python" ] || train 137 "version$versions" load=1@12 &
done
unset python
train 137 elsewhere elsewhere=12 &
train 137 raised raises=1@12 aborts slowly &
train 134 followed raises=1@12 aborts follow &
mkdir restarted.left
HANGAR_E2E=$token DOUBLE_DIR=$work/restarted.left DOUBLE_ID=id.restarted LD_LIBRARY_PATH=$BUILD/tests/double timeout 60 "$BUILD/hangar_run" --timeout 3 --out "$work/restarted.dir" \
	timeout 25 "$double/restart.sh" "$double/subject.py" >restarted 2>&1 &
ranks=4
train 137 pairs unnamed pairs asleep=3@12 &
train 137 starts starts=0@12 &
ranks=2
train 137 two extra=0@12 &
wait
# incidents of PyTorch, in the calls of NCCL that they make
twin() { # RANKS NAME
	mkdir "$2.left"
	HANGAR_E2E=$token DOUBLE_DIR=$work/$2.left INCIDENT_DIR=$work/$2.left DOUBLE_ID=id.$2 LD_LIBRARY_PATH=$BUILD/tests/double timeout 60 "$BUILD/hangar_run" \
		--on-hang=kill --timeout 3 --out "$work/$2.dir" python3 "$double/../../../programs/incidents/common.py" "$1" "$double/twins.py" "$2" >"$2" 2>&1
}
twin 2 send_first &
twin 2 head_calls &
twin 2 log_dir &
twin 3 save_barrier &
twin 3 save_abort &
twin 4 elastic_resize &
wait # two cores start no more in --timeout
twin 3 store_key &
twin 3 store_late &
twin 4 exit_alike &
twin 4 lost_peer &
twin 3 group_subset &
wait
twin 3 pair_order &
twin 3 stale_lock &
twin 3 thread_lock &
wait
twin 3 spawn_raise &
twin 3 nan_skip &
twin 3 recv_thread &
twin 3 pipe_bubble &
twin 4 drift_far &
wait
"$BUILD/hang_diagnose" slept.dir >report 2>&1
check "a healthy run says what its calls cost alone: $(cat healthy)" [ "$(grep "^#" healthy | grep -cvE "^# (meter: 3 ranks|communicator |ranks 0-2 |rank [0-2] waited most|call%, wait%|median, p95)")" = 0 ]
while IFS='|' read -r file pattern; do
	check "$file says '$pattern': $(head -c 900 "$file")" grep -q -- "$pattern" "$file"
done <<'EOF'
slept|class=missing-call ranks=1 comm=0 seq=28 .*confidence=proved
slept|^# culprit: rank 1 .* since call 27, [0-9.]* s, in subject.py:105 (<module>)
slept|^# ranks 0,2 wait in call 28, AllReduce 64 float sum, subject.py:37, 
report|^ranks 0,2 wait in call 28, .* subject.py:37
report|Rank 1 .* the last one at double/subject.py:45 (Engine.backward) returned
slept.dir/postmortem.md|double/subject.py:45 (Engine.backward)
extra|class=extra-call ranks=0 comm=0 seq=37 .*confidence=majority
extra|^#   made call 37: AllReduce 64 float sum, subject.py:49 (save), the others did not
two|class=mismatch ranks=- comm=0 seq=37 .*confidence=inconclusive .*field=line
two|^# no culprit is named: Lines part at call 37: rank 1 at subject.py:37, rank 0 at subject.py:49
send_first|class=p2p-deadlock ranks=- .*confidence=inconclusive
send_first|^# no culprit is named: Rank 0 waits in Send call 51 of communicator 0 for rank 1
send_first|^# ranks 0,1 wait in call 51, Send 8388608 float, twins.py:
head_calls|class=extra-call ranks=- .*confidence=inconclusive
head_calls|^#   calls 102 to 104: rank 1 made AllGather 4096 float, twins.py:
head_calls|^#                     rank 0 made AllReduce 1 float sum, twins.py:
log_dir|class=mismatch ranks=- .*confidence=inconclusive
log_dir|^#   call 22: rank 0 made Broadcast 256 float root 0, twins.py:
log_dir|^#            rank 1 made AllReduce 262144 float sum, twins.py:
save_barrier|class=extra-call ranks=0 comm=0 seq=41 confidence=majority detect_ms=[12]...
save_abort|class=extra-call ranks=0 comm=0 seq=41 confidence=majority detect_ms=[12]...
elastic_resize|^# late: perhaps rank [23]\|^# verdict
elastic_resize|class=extra-call ranks=2 comm=0 seq=26 confidence=majority
elastic_resize|^#   made call 26 of comm 0: AllReduce 262144 float sum, twins.py:[0-9]*, the others did not
store_key|class=error ranks=- .*confidence=inconclusive
store_key|^# no culprit is named: Ranks 0-2 gave up a wait
store_key|^#   said: twins.py:[0-9]*: DistStoreError: wait timeout
thread_lock|class=host-blocked ranks=2 comm=0 seq=16 confidence=proved
thread_lock|^# culprit: rank 2 .* in twins.py:[0-9]* (fetch)
stale_lock|class=init-missing-rank ranks=1 .*confidence=majority
stale_lock|^#   in twins.py:[0-9]* (wait_for_lock), system call clock_nanosleep
group_subset|^# late: rank 2 
group_subset|class=[a-z-]* ranks=2 comm=1 seq=0 confidence=majority
pair_order|^# no culprit is named: All stand in twins.py:
pair_order|class=[a-z-]* ranks=- comm=1 seq=0 confidence=inconclusive
exit_alike|class=error ranks=- .*confidence=inconclusive
lost_peer|class=error ranks=- .*confidence=inconclusive
lost_peer|^# no culprit is named: Ranks 1,3 end alike
lost_peer|^#   said: twins.py:[0-9]*: ncclRemoteError: socketPollConnect: connect to 127.0.0.1<60751> returned
lost_peer|^#         Connection refused, exceeded error retry count after 35 attempts
exit_alike|^# no culprit is named: Ranks 0[-,].* end alike
exit_alike|^#   said: twins.py:[0-9]*: ValueError: rank 0: no schedule
store_late|class=error ranks=- .*confidence=inconclusive
store_late|^# no culprit is named: Ranks 0,2 gave up a wait
store_late|^#   said: twins.py:[0-9]*: DistStoreError: wait timeout
spawn_raise|class=aborted ranks=1 .*confidence=proved
spawn_raise|^#   said: twins.py:[0-9]*: ValueError: loss is 0.5
nan_skip|class=skipped-or-early-exit ranks=2 .*confidence=majority
nan_skip|^#   lacks one of calls 1 to 41: AllReduce 262144 float sum, twins.py:[0-9]*
nan_skip|^# ranks 0,1 wait in call 41, AllReduce 262144 float sum, twins.py:
recv_thread|class=host-blocked ranks=0 comm=1 seq=15 confidence=proved .*pair=0>2
recv_thread|^#   in twins.py:[0-9]* (serve_cache) in Semaphore.acquire
recv_thread|^#   lacks call 15 of comm 1: Send 4194304 float to 2
pipe_bubble|class=p2p-unmatched ranks=2 comm=0 seq=146 confidence=majority
pipe_bubble|^#   lacks call 146: Send 32768 float to 1, twins.py:
drift_far|class=skipped-call ranks=2 comm=0 seq=1037 confidence=majority
skip|class=skipped-call ranks=2 comm=0 seq=37 .*confidence=majority
skip|^#   lacks call 37: AllReduce 64 float sum, subject.py:37 (Engine.step)
load|^# late: rank 1 .* since call 36, [0-9.]* s, in subject.py:60 (load_batch)
load|^# culprit: rank 1 .* since call 36, [0-9.]* s, in subject.py:60 (load_batch)
load|^#   in system call read of .*/batch
load.dir/rank-1.stack.txt|^  preload/double/subject.py:107 (<module>)
restarted|^# verdict: outcome=died class=rank-exited ranks=1 .*confidence=proved .*evidence=.*/restarted.dir$
restarted|^# verdict: outcome=hang class=missing-call ranks=2 .*confidence=proved .*evidence=.*/restarted.dir/2$
pairs|^# pid [0-9]* has the number of another rank, [01]: it is rank 3 here
pairs|class=missing-call ranks=[1-3] .*confidence=proved
starts|class=missing-call ranks=[45] .*seq=16 confidence=proved
starts|^#   in subject.py:105 (<module>), system call clock_nanosleep
elsewhere|class=other-wait ranks=0 .*confidence=majority
elsewhere|^#   Rank 0 in subject.py:60 (load_batch); ranks 1,2 in subject.py:65 (gather_over_gloo)
raised|class=aborted ranks=1
raised|^#   said: subject.py:[0-9]*: RuntimeError: loss is NaN in step 12
followed|class=[a-z-]* ranks=1 .*confidence=proved
restarted|^# culprit: rank 1 .* left: exited with 1 after call 27, subject.py:45
followed|^#   said: subject.py:[0-9]*: RuntimeError: loss is NaN in step 12
restarted.dir/rank-1.stack.txt|^RuntimeError: loss is NaN in step 9
far|^# lines: rank 2 left out call 37 of comm 0: AllReduce count 64 float sum, subject.py:37 (Engine.step)
far|class=skipped-call ranks=2 comm=0 seq=1 .*confidence=majority
far|^#   lacks one of calls 1 to [0-9]*: subject.py:37 (Engine.step)
EOF
for out in version?; do
	check "another version's line is read: $(head -c 900 "$out")" grep -q '^# culprit: rank 1 .* in subject.py:60 (load_batch)' "$out"
done
check "no run ended otherwise: $(grep -h "ended with" healthy slept extra skip far two load raised followed elsewhere pairs starts)" [ "$(cat healthy slept extra skip far two load raised followed elsewhere pairs starts | grep -c "ended with")" = 0 ]

finish
