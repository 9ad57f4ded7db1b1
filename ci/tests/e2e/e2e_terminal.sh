#!/bin/bash
# e2e_terminal.sh: a person at a terminal: progress among the rows, Ctrl-Z, Ctrl-C, and the terminal
# going away; and a script whose standard input is its own.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

# at_terminal KEYS: python drives a pseudo-terminal; KEYS are sent once rows come; prints what was
# shown, then the exit code
at_terminal() {
	HANGAR_E2E=$token timeout 40 python3 - "$BUILD/all_reduce_perf" "$1" >"$work/out" 2>"$work/err" <<'END'
import os
import pty
import select
import signal
import sys
import time

binary, keys = sys.argv[1:]
command = [binary, "--backend", "mpi", "-g", "2", "-b", "8", "-e", "64", "--budget", "0.05"]
if keys != "none":
    command += ["-N", "0"]
pid, fd = pty.fork()
if pid == 0:
    os.execv(binary, command)
seen, sent, since, ended = b"", False, time.time(), None
while time.time() - since < 30:
    if select.select([fd], [], [], 0.2)[0]:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    if ended is None and sent and os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        ended = time.time()
    if not sent and seen.count(b" float ") > 4 and keys != "none":
        sent = True
        if keys == "hangup":
            os.close(fd)
            break
        for key in keys.split(","):
            os.write(fd, {"^Z": b"\x1a", "^C": b"\x03"}[key])
            sent = time.time()
            if key == "^Z":
                time.sleep(1)
deadline = time.time() + 10
code = None
while code is None and time.time() < deadline:
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        code = os.waitstatus_to_exitcode(status)
    time.sleep(0.05)
if code is None:
    os.kill(pid, signal.SIGKILL)
print(seen.decode(errors="replace").replace("\r", "<CR>").replace("\x1b[K", "<EL>"))
if sent:
    print("after %.0f ms" % (((ended or time.time()) - sent) * 1000))
print("code", code)
END
}

at_terminal none
expect_out '^code 0$'
expect_out 'points, now float sum'
expect_out 's left'
holds 'a row does not begin a line of its own' bash -c '
	! tr -d "\n" <"$1" | sed "s/<CR><EL>/\n/g; s/<CR>/\n/g" |
		grep -E "[^ ].* +[0-9]+ +[0-9]+ +float +sum +-1 " | grep -vE "^ *[0-9]+ +[0-9]+ +float"' - "$work/out"
at_terminal '^C'
holds "Ctrl-C: $(tail -n 1 "$work/out")" grep -qE '^code (130|-2)$' "$work/out"
# what was measured stands with its closing lines, and no rank is blamed
expect_out ', cycle [0-9]+ until Ctrl-C'
after=$(sed -n 's/^after \([0-9]*\) ms$/\1/p' "$work/out")
# rank 0 has 0.8 s for these lines: mpirun kills it after a second
if grep -q '# Interrupted' "$work/out" || [ "${after:-0}" -lt 800 ]; then
	expect_out '# Interrupted: this is what was measured until now'
	expect_out '^# Avg bus bandwidth    : [0-9.]+'
	expect_out '^# Peak bus bandwidth   : [0-9.]+, (8|16|32|64) B (out-of|in)-place'
else
	late "closing lines: none within $after ms"
fi
expect_no_out 'verdict'
at_terminal '^Z,^C'
holds "Ctrl-Z, Ctrl-C: $(tail -n 1 "$work/out")" grep -qE '^code (130|-2)$' "$work/out"
at_terminal hangup
holds "terminal gone: $(tail -n 1 "$work/out")" grep -qE '^code (129|-1)$' "$work/out"

lines=$(printf 'a\nb\nc\n' | while read -r _; do
	HANGAR_E2E=$token "$BUILD/all_reduce_perf" --backend mpi --topo none -b 8 -e 8 -g 2 -n 1 >/dev/null 2>&1
	echo line
done | wc -l)
check "a loop over lines made $lines turns instead of 3" [ "$lines" -eq 3 ]
finish
