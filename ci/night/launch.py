"""launch.py: starts one launch of a program, waits for it, and leaves nothing of it behind.

All processes of a launch carry NIGHTLY_LAUNCH=TOKEN in their environment: that is how they are found,
also as grandchildren, and also when the night that started them was killed."""
import os
import signal
import subprocess
import time
from pathlib import Path

LIMIT_EXIT = 124  # as timeout(1) says it
NOT_STARTED = 127
MARK = "NIGHTLY_LAUNCH"  # not HANGAR_...: those are settings that rows.jsonl notes


def marked(prefix):
    """Processes whose token begins so. Zombies have no environment any more, others' cannot be read."""
    found, needle = [], f"{MARK}={prefix}".encode()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid() and any(
                    word.startswith(needle) for word in (entry / "environ").read_bytes().split(b"\0")):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def end_marked(prefix, grace=0.0):
    """Ends what is left after `grace` seconds; how many processes that were."""
    until, killed = time.monotonic() + grace, set()
    while (left := marked(prefix)) and time.monotonic() < until:
        time.sleep(0.05)
    for _ in range(100):
        for pid in left:
            killed.add(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
        if not (left := marked(prefix)):
            break
    return len(killed)


def wait(process, limit, tick):
    """The exit code; a launch over its limit is asked to end, then made to. `tick()` twice a second."""
    until = time.monotonic() + limit
    while (left := until - time.monotonic()) > 0:
        try:
            return process.wait(min(0.5, left))
        except subprocess.TimeoutExpired:
            tick()
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(5)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
    return LIMIT_EXIT


def launch(argv, folder, env, limit, token, tick=lambda: None):
    """Runs `argv` in `folder`, which gets out.txt and err.txt: (exit code, seconds, processes left
    behind). A signal is 128 + its number. Whatever ends the caller, nothing of the launch goes on."""
    start, process = time.monotonic(), None
    with open(folder / "out.txt", "wb") as out, open(folder / "err.txt", "wb") as err:
        try:
            process = subprocess.Popen(
                argv, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env={**os.environ, **env, MARK: token}, start_new_session=True)
            code = wait(process, limit, tick)
        except OSError as trouble:
            err.write(f"{argv[0]!r}: {trouble.strerror}\n".encode())
            code = NOT_STARTED
        except BaseException:
            end_marked(token)
            raise
    seconds = time.monotonic() - start
    left = end_marked(token, 0 if code == LIMIT_EXIT else 2)
    return (128 - code if code < 0 else code), round(seconds, 3), 0 if code == LIMIT_EXIT else left
