#!/bin/bash
# e2e_sites.sh: a Python program over test doubles: the verdict and the report name its lines of code.
# quiet: waits for deadlines
source "$(dirname "$0")/lib.sh"

export DOUBLE_DIR=$work
subject=$PWD/ci/tests/preload/double/subject.py
cd "$work" || exit 1

# ends CODE OUT WORD...: three ranks with these words end with CODE
ends() {
	local code=$1 out=$2 rc
	shift 2
	HANGAR_E2E=$token DOUBLE_ID=id.$out LD_LIBRARY_PATH=$BUILD/tests/double timeout 60 "$BUILD/hangar_run" --on-hang=kill --timeout 3 --out "$work/$out.dir" \
		bash -c "for r in 0 1 2; do RANK=\$r python3 $subject 3 $* & done; for job in \$(jobs -p); do wait \$job || rc=\$?; done; exit \$rc" >"$out" 2>&1
	rc=$?
	[ $rc = "$code" ] || echo "$* ended with $rc, not $code: $(head -c 600 "$out")" >>failed
}
says() { # OUT PATTERN...
	local out=$1 pattern
	shift
	for pattern in "$@"; do
		check "$out says '$pattern': $(head -c 900 "$out")" grep -q -- "$pattern" "$out"
	done
}

ends 0 healthy &
ends 137 asleep asleep=1@9 &
wait
while read -r line; do fail "$line"; done < <(cat failed 2>/dev/null)
check "a healthy run says nothing: $(cat healthy)" [ ! -s healthy ]
says asleep "class=missing-call ranks=1 comm=0 seq=28 .*confidence=proved" "^# culprit: rank 1 .* since call 27, subject.py:43" \
	"^# ranks 0,2 wait in call 28, AllReduce 64 float sum, subject.py:35, "
"$BUILD/hang_diagnose" asleep.dir >report 2>&1
says report "^ranks 0,2 wait in call 28, .* subject.py:35" "Rank 1 .* the last one at double/subject.py:43 (Engine.backward) returned"
check "postmortem.md names it" grep -q "double/subject.py:43 (Engine.backward)" asleep.dir/postmortem.md
finish
