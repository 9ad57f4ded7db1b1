"""split_missing.py: a rank that will be in no part leaves the split out, though splitting is for all ranks of the parent.

Source: https://github.com/pytorch/pytorch/issues/134314
"""
import ctypes
import time

import common

LABEL = {"kind": 3, "ranks": 3, "rank": "2", "call": "[Ss]plit|init|set-up|communicator|AllReduce",
         "class": "init-missing-rank|missing-call|host-blocked|mismatch",
         "reason": "ranks 0 and 1 split the communicator of all; rank 2 does not come", "two": False, "launch": "ranks"}
nccl = common.Nccl()
x, part = nccl.buffer(1 << 16), ctypes.c_void_p()


def total():
    nccl.check(nccl.lib.ncclAllReduce(x, x, 1 << 16, common.FLOAT, common.SUM, nccl.comm, nccl.stream))
    nccl.wait()


def split(colour):
    nccl.check(nccl.lib.ncclCommSplit(nccl.comm, colour, common.rank, ctypes.byref(part), None))


def idle():
    time.sleep(45)  # BUG


for step in common.steps(30):
    total()
if common.rank < 2:
    split(0)
elif common.healthy:
    split(-1)
else:
    common.strike()
    idle()
total()
