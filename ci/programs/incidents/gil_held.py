"""gil_held.py: a thread calls into C without giving the interpreter back, so the trainer never comes to its next call.

Source: https://github.com/NVIDIA/Fuser/issues/3055
"""
import ctypes
import threading

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 12, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "a thread of rank 1 holds the interpreter's lock inside a C call", "two": True}
AT = 30
device = common.start()
gradients = torch.ones(common.MB, device=device)


def decode_video():
    common.strike()
    ctypes.PyDLL(None).sleep(45)  # BUG


for step in common.steps(50):
    if step == AT and common.rank == 1 and not common.healthy:
        threading.Thread(target=decode_video, daemon=True).start()
    total = sum(range(20000))
    dist.all_reduce(gradients)  # BUG
    gradients /= common.size
    common.sync()
common.finish()
