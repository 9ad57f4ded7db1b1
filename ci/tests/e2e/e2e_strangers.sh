#!/bin/bash
# e2e_strangers.sh: another user's process listens at the names of this user's runs: nothing is handed to it, nothing of it is
# printed as it is, and a run takes the next name. In a network namespace of its own, where abstract names are.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null || skip "no namespaces, or not root: another user is needed"
command -v setpriv >/dev/null || skip "no setpriv"
python=$(python3 -c 'import sys; print(sys.executable)')
cat >"$work/listen.py" <<'END'
import socket
import struct
import sys
import threading

evil = b"\x1b[31mevil\n"
answer = struct.pack("<III", 0x68616E67, int(sys.argv[1]), len(evil)) + evil


def serve(listener, says):
    while True:
        peer = listener.accept()[0]
        try:
            peer.sendall(says)
            if peer.recv(4096):
                print("got", flush=True)
        except OSError:
            pass
        kept.append(peer)


kept = []
for name in sys.argv[2:]:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0hangar-0-" + name)
    listener.listen(50)
    threading.Thread(target=serve, args=(listener, answer if name == "evil" else b""), daemon=True).start()
print("ready", flush=True)
threading.Event().wait(60)
END
cat >"$work/inside" <<'END'
ip link set lo up 2>/dev/null
setpriv --reuid=65534 --clear-groups "$PYTHON" - "$STATUS" evil mute1 mute2 mute3 squat squat.1 <"$WORK/listen.py" >"$WORK/heard" 2>&1 &
while ! grep -q ready "$WORK/heard"; do sleep 0.05; done
timeout 20 "$BUILD/hangar_run" --status >"$WORK/status" 2>&1
echo "status $?"
HANGAR_RUN_KEY=squat timeout 60 mpirun --quiet -np 2 "$BUILD/all_reduce_perf" --backend mpi --topo none -b 8 -e 8 -n 1 2>&1 | tail -n 3
kill $!
END
status=$(awk '/^enum message/ { n = 0 } /MESSAGE_[A-Z]+/ { n++ } /MESSAGE_STATUS/ { print n; exit }' faults/watch/watch/message.h)
began=${EPOCHREALTIME/[.,]/}
PYTHON=$python STATUS=$status WORK=$work BUILD=$BUILD HANGAR_E2E=$token timeout 90 unshare -n bash "$work/inside" >"$work/out" 2>"$work/err"
rc=$?
expect_rc 0 inside
expect_out '^status 1$'
holds "--status asks nobody: $(cat -v "$work/status")" [ "$(grep -c ': not asked$' "$work/status")" = 6 ]
holds "what a stranger says is printed: $(cat -v "$work/status")" bash -c '! grep -q "evil$" "$1"' - "$work/status"
# two ranks of a run whose first two names are taken
expect_out '^# Out of bounds values : 0 OK'
holds "a stranger got something: $(cat "$work/heard")" [ "$(cat "$work/heard")" = ready ]
finish
