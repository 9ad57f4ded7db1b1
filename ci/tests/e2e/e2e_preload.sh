#!/bin/bash
# e2e_preload.sh: hangar_run over a program that knows nothing of hangar, and test doubles of libnccl and libcuda:
# it stays out of the way, and names what one rank does wrong.
# quiet: waits for deadlines
source "$(dirname "$0")/lib.sh"

subject=$BUILD/tests/double/subject
export DOUBLE_DIR=$work
cd "$work" || exit 1

# hangs SECONDS CODE VERDICT WORD...: the subject with these words ends with CODE, and a verdict that matches, within
# SECONDS; an empty VERDICT: without a word
hangs() {
	local seconds=$1 code=$2 verdict=$3 n=$BASHPID out rc
	shift 3
	out=$work/out.$n
	HANGAR_E2E=$token timeout "$seconds" "$BUILD/hangar_run" --on-hang=kill --timeout 3 --out "$work/dir.$n" "$subject" 4 40 halves "$@" >"$out" 2>&1
	rc=$?
	if [ $rc -ne "$code" ] || ! { if [ -n "$verdict" ]; then grep -q "^# verdict: .*$verdict" "$out"; else [ ! -s "$out" ]; fi; }; then
		echo "$* ended with $rc, not $code, or not '$verdict': $(head -c 400 "$out")" >>"$work/failed"
	fi
}

rows=(
	"40|0|"
	"40|5||fails"
	"40|0||away=2@9"
	"40|0||nonblocking"
	"40|0||many"
	"40|0||graph"
	"40|137|ranks=2 comm=0 |graph skip-graph=2@9"
	"40|0||pairs sync"
	"40|137|class=skipped-call ranks=1 comm=0 seq=19|skip=1@7"
	"40|137|ranks=1 comm=1 |swap=1@9 one-stream"
	"40|137|class=skipped-call ranks=1 comm=0 seq=19|skip=1@7 dlsym"
	"40|137|class=mismatch ranks=2 comm=0 seq=25 .*field=count|count=2@9"
	"40|137|ranks=3 comm=0 seq=25|exit0=3@9"
	"40|3|class=rank-exited ranks=3|exit3=3@9"
	"40|137|class=rank-killed ranks=1|kill=1@9"
	"40|137|class=rank-stopped ranks=2|stop=2@9"
	"40|137|class=missing-call ranks=2 comm=0 seq=25|asleep=2@9"
	"40|137|ranks=1|skip-recv=1@9 pairs sync"
)
for row in "${rows[@]}"; do
	IFS='|' read -r seconds code verdict words <<<"$row"
	# shellcheck disable=SC2086 # a list of words
	hangs "$seconds" "$code" "$verdict" $words &
	checks=$((checks + 1))
done
wait
while read -r line; do fail "$line"; done < <(cat "$work/failed" 2>/dev/null)

# the wrappers' parameters are as many as those of the nccl.h that is here
header=$(ls /usr/include/nccl.h /usr/local/include/nccl.h 2>/dev/null | head -n 1)
params() { tr '\n' ' ' <"$header" | grep -o "[ *]nccl$1([^)]*)" | head -n 1 | tr -dc , | wc -c; }
while [ -n "$header" ] && IFS='|' read -r name _ list; do
	read -r _ name <<<"$name"
	check "parameters of $name" [ "$(params "$name")" = "$(tr -dc , <<<"$list" | wc -c)" ]
done < <(grep -E '^(call|init|child) ' "$OLDPWD/faults/preload/library/nccl.txt")

# the library forwards what it cannot record, and says so once
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
check "usage" [ "$("$BUILD/hangar_run" --on-hang=never true 2>/dev/null; echo $?)" = 2 ]
check "a command that is not there" [ "$("$BUILD/hangar_run" /nowhere 2>/dev/null; echo $?)" = 127 ]
for _ in $(seq 40); do no_process && break; sleep 0.1; done
check "no process is left: $(pids_of_run | xargs -r -n1 ps -o args= -p)" no_process
finish
