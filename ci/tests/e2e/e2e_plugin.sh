#!/bin/bash
# e2e_plugin.sh: libhangar.so as NCCL's profiler plugin, by NCCL_PROFILER_PLUGIN alone, over test doubles of libnccl and libcuda: it
# names what one rank does wrong, and a job does not notice it.
# timeout: 120
source "$(dirname "$0")/lib.sh"

subject=$BUILD/tests/double/subject
export DOUBLE_DIR=$work LD_LIBRARY_PATH=$BUILD/tests/double NCCL_PROFILER_PLUGIN=$BUILD/libhangar.so
cd "$work" || exit 1

watchers() { pgrep -f -- "hangar_run --watch" | while read -r pid; do ! grep -qz "^HANGAR_E2E=$token$" "/proc/$pid/environ" || echo "$pid"; done; }
unwatched() { [ -z "$(watchers)" ]; }

# alert CLASS RANK FOLDER: a gauge says it in the metrics of the job whose evidence is there
mkdir metrics
alert() { grep -qsE "^hangar_(hang|died)_seconds\{job=\"[0-9a-f]{16}\",class=\"$1\",.*,rank=\"$2\",host=\"[^\"]+\"\} [0-9.]+$" $(grep -ls "^hangar_job_info{.*evidence=\"$3\"" metrics/*); }

# tells CODE VERDICT WORD...: the subject with these words ends with CODE and a verdict that matches; an empty VERDICT: without a word
tells() {
	local code=$1 verdict=$2 n=$BASHPID rc
	shift 2
	HANGAR_METRICS_DIR=$work/metrics HANGAR_OPTIONS="--on-hang=kill --timeout 3 --out $work/dir.$n" HANGAR_E2E=$token DOUBLE_ID=p$n timeout 60 ${before:-} "$subject" 4 40 halves "$@" >"$work/out.$n" 2>&1
	rc=$?
	if [ $rc != "$code" ] || ! if [ -z "$verdict" ]; then [ ! -s "$work/out.$n" ]; else grep -q "^# verdict: .*$verdict" "$work/out.$n"; fi; then
		echo "$* ended with $rc, not $code, or not '$verdict': $(head -c 400 "$work/out.$n")" >>"$work/failed"
	elif [[ $verdict =~ class=([a-z0-9-]+)\ ranks=([0-9]) ]] && ! within 10 alert "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" "$work/dir.$n"; then
		echo "$*: no gauge of it" >>"$work/failed"
	fi
}
# pidfds are refused (a seccomp filter, kernels before 5.3): ranks end all the same
cat >refuse.py <<'P'
import ctypes, os, struct, sys
code = struct.pack("HBBI", 0x20, 0, 0, 0)
for number in 424, 434, 438:
    code += struct.pack("HBBIHBBI", 0x15, 0, 1, number, 0x06, 0, 0, 0x50001)
buffer = ctypes.create_string_buffer(code + struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000))
prctl = ctypes.CDLL(None).prctl
assert prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, struct.pack("HxxxxxxQ", len(buffer) // 8, ctypes.addressof(buffer))) == 0
os.execv(sys.argv[1], sys.argv[1:])
P
before="python3 refuse.py" tells 137 "" skip=1@7 >/dev/null &
# NCCL tells of no reduction operator and of no replay of a graph; that a call was not told is no proof that it was not made
for row in "0|" "0||nonblocking" "0||graph" "0||pairs sync" "0||many" "5||fails" \
	"137|class=skipped-call ranks=1 comm=0 seq=19|skip=1@7" "137|class=mismatch ranks=2 comm=0 seq=25 .*field=count|count=2@9" \
	"137|class=mismatch ranks=2 comm=0 seq=25 .*field=count|nonblocking count=2@9" \
	"137|class=order-cycle ranks=1 comm=0 seq=25|swap=1@9 one-stream" "137|class=rank-killed ranks=1 .*proved|kill=1@9" \
	"137|class=rank-stopped ranks=2 .*proved|stop=2@9" "137|class=missing-call ranks=2 comm=0 seq=25 .*confidence=majority|asleep=2@9" \
	"137|class=p2p-unmatched ranks=1 .*pair=0>1|skip-recv=1@9 pairs sync" "3|class=rank-exited ranks=3|exit3=3@9"; do
	IFS='|' read -r code verdict words <<<"$row"
	# shellcheck disable=SC2086 # a list of words
	tells "$code" "$verdict" $words &
	checks=$((checks + 1))
done
wait
while read -r line; do fail "$line"; done < <(cat "$work/failed" 2>/dev/null)
within 30 unwatched || fail "watchers are left: $(watchers)"

# version 6, which NCCL has from 2.29 on
DOUBLE_VERSION=22907 tells 137 "class=skipped-call ranks=1 comm=0 seq=19" skip=1@7
check "version 6 is told, too: $(cat "$work/failed" 2>/dev/null)" [ ! -s "$work/failed" ]

# the watcher holds no descriptor of the job's: a pipe that stays open makes subprocess.run, ssh and docker wait
cat >held.py <<'P'
import os, subprocess, sys, time
def watchers():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            ours = b"HANGAR_E2E=" + sys.argv[1].encode() in open(f"/proc/{pid}/environ", "rb").read().split(b"\0")
            if ours and b"--watch" in open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0"):
                found.append(pid)
        except OSError:
            pass
    return found
job = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
pipes = {os.readlink(f"/proc/self/fd/{f.fileno()}") for f in (job.stdout, job.stderr)}
for _ in range(200):
    if watchers():
        break
    time.sleep(.05)
time.sleep(.3)
seen = held = 0
for pid in watchers():
    try:
        links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        continue
    seen += 1
    held += any(link in pipes for link in links)
out, err = job.communicate()
print("watched" if seen else "unwatched", "held" if held else "free", job.returncode, len(out), len(err))
P
check "a watcher holds none of the job's pipes" \
	[ "$(HANGAR_E2E=$token DOUBLE_ID=held timeout 60 python3 held.py "$token" "$subject" 2 2500)" = "watched free 0 0 0" ]

# a watcher that is killed, none beside the library, options that are none: the job goes on
killed() {
	HANGAR_E2E=$token DOUBLE_ID=killed timeout 60 "$subject" 2 3000 >"$work/killed" 2>&1 &
	within 20 eval '[ -n "$(watchers)" ]'
	kill -9 $(watchers)
	wait $!
}
check "a watcher that is killed is not noticed" killed
check "and nothing was said: $(cat "$work/killed")" [ ! -s "$work/killed" ]
mkdir alone && cp "$BUILD/libhangar.so" alone/
without() { NCCL_PROFILER_PLUGIN=$work/alone/libhangar.so HANGAR_E2E=$token DOUBLE_ID=without timeout 60 "$subject" 2 40 >"$work/without" 2>&1; }
check "without hangar_run beside it the job goes on" without
check "a line a rank says why: $(cat "$work/without")" [ "$(grep -c '^hangar: pid .*: no monitor' "$work/without")" = "$(wc -l <"$work/without")" ]
nonsense() { HANGAR_OPTIONS="--no-such" HANGAR_E2E=$token DOUBLE_ID=nonsense timeout 60 "$subject" 2 40 >"$work/nonsense" 2>&1; }
check "options that are none leave the job alone" nonsense
check "and are said: $(cat "$work/nonsense")" grep -q -- "--no-such" "$work/nonsense"

# a folder for metrics that is absent or full is one line, and the job goes on
unwritten() { DOUBLE_ID=metrics$1 HANGAR_METRICS_DIR=$2 HANGAR_OPTIONS="--out $work/unwritten" HANGAR_E2E=$token timeout 60 ${before:-} "$subject" 2 400 >"$work/unwritten.$1" 2>&1; }
unwritten 1 /no/where &
echo 'mount -t tmpfs -o size=4k tmpfs "$HANGAR_METRICS_DIR" && head -c 4096 /dev/zero >"$HANGAR_METRICS_DIR/all" && exec "$@"' >full.sh
mkdir full
[ "$(id -u)" != 0 ] || before="unshare -m bash $work/full.sh" unwritten 2 "$work/full"
check "with a full folder for metrics a job goes on" [ $? = 0 ]
wait $!
check "with none it does, too" [ $? = 0 ]
for i in 1 2; do
	[ ! -e "$work/unwritten.$i" ] || check "and one line says why: $(cat "$work/unwritten.$i")" [ "$(grep -c '^hangar_run: writing .*/hangar-job-.*\.prom: No s' "$work/unwritten.$i")" = 1 ] &&
		check "and no other" [ "$(wc -l <"$work/unwritten.$i")" = 1 ]
done

# variables that are nonsense: the job goes on, and a line a rank says so at most
for set in HANGAR_RUNS=/dev/null/x HANGAR_RUN=x/y "HANGAR_RUN=$(printf 'x%.0s' {1..300})" HANGAR_FAULT=none HANGAR_SITES=zz "HANGAR_METRICS_DIR=$(printf '/x%.0s' {1..3000})" HANGAR_METRICS_DIR=/dev/null \
	'HANGAR_OPTIONS=--timeout x' "HANGAR_OPTIONS=--out /dev/null/x" "HANGAR_OPTIONS=-- --" HANGAR_RENDEZVOUS=nonsense; do
	nonsenses+=("$set")
	env "$set" HANGAR_E2E=$token DOUBLE_ID=bad${#nonsenses[@]} timeout 60 "$subject" 2 100 >"bad.${#nonsenses[@]}" 2>&1 || echo "$?" >"bad.${#nonsenses[@]}.rc" &
done
wait
for i in $(seq ${#nonsenses[@]}); do
	check "${nonsenses[i - 1]:0:60}: exit $(cat "bad.$i.rc" 2>/dev/null): $(head -c 300 "bad.$i")" eval '[ ! -e "bad.$i.rc" ] && [ "$(wc -l <"bad.$i")" -le 2 ]'
done

# other libraries' thread-local storage leaves no room for more: the library needs none of it
check "no static thread-local storage" eval '! readelf -d "$BUILD/libhangar.so" | grep -q STATIC_TLS'
check "it stays mapped" grep -q NODELETE <(readelf -d "$BUILD/libhangar.so")

# another plugin behind it hears what it hears alone: by version of it, version of NCCL, masks at first and later
next=$BUILD/tests/double/libnext
heard() {
	local way=$1 words=$6
	shift
	NEXT_LOG=$work/$way DOUBLE_VERSION=$2 NEXT_MASK=$3 NEXT_LATER=$4 HANGAR_OPTIONS="--out $work/next" HANGAR_E2E=$token \
		timeout 60 "$subject" 2 12 $words >"$work/$way.txt" 2>&1 && [ ! -s "$work/$way.txt" ]
}
for row in "5 22907 0x7fff 0x46 halves" "6 22907 0x10 0x7fff pairs sync" "5 22809 0x42 0xff halves graph" "6 22907 0x7000 0x7000 halves"; do
	read -r version words <<<"$row"
	read -r nccl mask later words <<<"$words"
	n=$((${n:-0} + 1))
	NCCL_PROFILER_PLUGIN=$next$version.so heard "alone$n" "$version" "$nccl" "$mask" "$later" "$words" &
	HANGAR_NEXT_PROFILER=$next$version.so heard "behind$n" "$version" "$nccl" "$mask" "$later" "$words" &
done
wait
for i in $(seq "$n"); do
	for r in 0 1; do
		check "plugin $i hears on rank $r what it hears alone" eval '[ -s "$work/alone$i.$r" ] && cmp "$work/alone$i.$r" "$work/behind$i.$r"'
	done
done
# what is no plugin is one line a rank, and the job goes on
long=$(printf 'x%.0s' $(seq 300))
for row in "/no/such.so|cannot open" "/$long.so|File name too long" "${next}4.so|version 4" "$BUILD/libhangar.so|this library" \
	"$BUILD/tests/double/libyield.so|no NCCL profiler" "/etc/passwd|" "${next}6.so|init returned 3"; do
	refusals+=("$row")
	HANGAR_NEXT_PROFILER=${row%|*} NEXT_INIT=3 heard refused${#refusals[@]} - 22907 0x7fff 0x7fff "" &
done
wait
for i in $(seq ${#refusals[@]}); do
	row=${refusals[i - 1]}
	check "refused: ${row%|*}: $(cat "$work/refused$i.txt")" \
		eval '[ "$(grep -c "^hangar: pid [0-9]*: HANGAR_NEXT_PROFILER=.*${row#*|}.*: no events go there$" "$work/refused$i.txt")" = 2 ] && [ "$(wc -l <"$work/refused$i.txt")" = 2 ]'
done
# and the verdict is the same
HANGAR_NEXT_PROFILER=${next}5.so NEXT_LOG=$work/struck tells 137 "class=p2p-unmatched ranks=1 .*pair=0>1" skip-recv=1@9 pairs sync
check "a peer is known beside another plugin's handles: $(cat "$work/failed" 2>/dev/null)" [ ! -s "$work/failed" ]

# ways in: NCCL's own file of settings, which the double reads as NCCL 2.28 does; a launcher with torchrun's variables; mpirun -x.
# A task prolog of Slurm: e2e_slurm_end
plugin=$("$BUILD/hangar_run" --plugin)
check "hangar plugin prints a path: $plugin" [ "$plugin" = "$BUILD/libhangar.so" ]
mkdir lone && cp "$BUILD/hangar_run" lone/
check "and says why there is none" eval '! lone/hangar_run --plugin >lone/out 2>&1 && grep -q "^hangar_run: --plugin: .*libhangar.so: .*cannot open" lone/out'
unset NCCL_PROFILER_PLUGIN
export HANGAR_E2E=$token
options() { echo "--on-hang=kill --timeout 3 --out $work/way.$1"; }
printf '%s\n' '# a comment' "NCCL_PROFILER_PLUGIN=$plugin" "HANGAR_OPTIONS=$(options file)" "HANGAR_METRICS_DIR=$work/metrics" nonsense >nccl.conf
NCCL_CONF_FILE=$work/nccl.conf DOUBLE_ID=file timeout 60 "$subject" 3 40 skip=1@7 >way.file.txt 2>&1 &
launch() { # NAME PORT WORD...
	TORCHELASTIC_RUN_ID=7 MASTER_ADDR=127.0.0.1 MASTER_PORT=$2 NCCL_PROFILER_PLUGIN=$plugin HANGAR_METRICS_DIR=$work/metrics HANGAR_OPTIONS=$(options "$1") DOUBLE_ID=$1 \
		timeout 60 python3 "$top_folder/ci/tests/preload/double/launcher.py" none - "$subject" 3 40 "${@:3}" >"way.$1.txt" 2>&1
}
# two jobs at once, and after one of them another at its port
{ launch launcher 29511 skip=1@7; launch after 29511 skip=2@5; } &
launch beside 29512 skip=2@3 &
timeout 60 mpirun -n 3 -x NCCL_PROFILER_PLUGIN="$plugin" -x HANGAR_OPTIONS="$(options mpirun)" -x DOUBLE_ID=mpirun -x HANGAR_METRICS_DIR="$work/metrics" \
	-x LD_LIBRARY_PATH -x DOUBLE_DIR "$subject" 3 40 skip=1@7 >way.mpirun.txt 2>&1 &
wait
for way in file launcher mpirun after beside; do
	case $way in after) wanted='hang class=skipped-call ranks=2 comm=0 seq=13' ;; beside) wanted='hang class=skipped-call ranks=2 comm=0 seq=7' ;; *) wanted='hang class=skipped-call ranks=1 comm=0 seq=19' ;; esac
	check "$way: $(head -c 400 way.$way.txt)" [ "$(grep -c "^# verdict: outcome=$wanted " way.$way.txt) $(grep -c '^# verdict: ' way.$way.txt)" = "1 1" ]
	[ $way = launcher ] || # the next job has its name, and its file
		check "$way: evidence, and a gauge of it" eval '[ -s "way.$way/verdict.json" ] && grep -qs "^hangar_job_info.*evidence=\"$work/way.$way\"" metrics/*'
done
check "the job's name is a label" grep -qs '^hangar_hang_seconds{job="127.0.0.1:29511",' metrics/hangar-job-127.0.0.1:29511-*.prom

# hangar_run --plugin: the same way; a fault needs the preloaded library
check "--plugin and --fault is refused" [ "$("$BUILD/hangar_run" --plugin --fault=kill:1@3 true 2>/dev/null || echo $?)" = 2 ]
ran() { ! HANGAR_E2E=$token DOUBLE_ID=ran NCCL_PROFILER_PLUGIN= timeout 60 "$BUILD/hangar_run" --plugin --wait --on-hang=kill --timeout 3 --out "$work/ran" "$subject" 3 40 kill=1@9 >"$work/ran.txt" 2>&1; }
check "hangar_run --plugin" ran
check "names the rank: $(head -c 400 "$work/ran.txt")" grep -q "class=rank-killed ranks=1" "$work/ran.txt"
within 30 unwatched || fail "watchers are left: $(watchers)"
finish
