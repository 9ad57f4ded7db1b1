#!/usr/bin/env python3
"""launcher.py SIGNAL IGNORES COMMAND...: a launcher of three ranks, as torchrun and mpirun are.

After a second it sends SIGNAL to each rank, and SIGKILL 2 s later to those left; ranks IGNORES (0,2) ignore it. SIGNAL
"none": it waits for the first rank that ends, and kills the others at once; "reaped": that one, too, as mpirun does. "got": it waits for SIGINT itself. "rank1": kills that alone.
"""
import contextlib, os, signal, subprocess, sys, time

how, ignores, command = sys.argv[1], sys.argv[2].split(","), sys.argv[3:]
number = getattr(signal, how, signal.SIGINT)
came = []
if how == "got":
	signal.signal(signal.SIGINT, lambda *_: came.append(1))


def start(rank):
	return subprocess.Popen(command, env=dict(os.environ, RANK=str(rank), WORLD_SIZE="3"),
		preexec_fn=lambda: signal.signal(number, signal.SIG_IGN if str(rank) in ignores else signal.SIG_DFL))


ranks = [start(r) for r in range(3)]
if how == "none":
	os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
elif how == "reaped":
	os.wait()
	for p in ranks:
		with contextlib.suppress(ProcessLookupError):
			os.kill(p.pid, signal.SIGKILL)
elif how == "rank1":
	time.sleep(1)
	ranks[1].kill()
	time.sleep(8)
elif how == "got":
	for _ in range(400):
		time.sleep(0.05)
		if came:
			break
	time.sleep(2)
else:
	time.sleep(1)
	for p in ranks:
		p.send_signal(number)
	time.sleep(2)
for p in ranks:
	p.kill()
sys.exit(1)
