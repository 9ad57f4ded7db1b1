"""init_count.py: three ranks make a communicator for their evaluation. One counts the rank that was taken out of the job last.

Source: https://github.com/NVIDIA/nccl/issues/73
"""
import ctypes

import common

LABEL = {"kind": 3, "ranks": 3, "rank": "1", "call": "init", "class": "init-mismatch",
         "reason": "rank 1 announces four ranks, the others three", "two": True, "launch": "ranks"}
nccl = common.Nccl()
x = nccl.buffer(1 << 16)
name = nccl.unique("evaluation")


def total(group):
    nccl.check(nccl.lib.ncclAllReduce(x, x, 1 << 16, common.FLOAT, common.SUM, group, nccl.stream))
    nccl.wait()


def make(count):
    group = ctypes.c_void_p()
    nccl.check(nccl.lib.ncclCommInitRank(ctypes.byref(group), count, name, common.rank))  # BUG
    return group


for step in common.steps(30):
    total(nccl.comm)
wrong = common.rank == 1 and not common.healthy
if wrong:
    common.strike()
evaluation = make(common.size + wrong)
for step in common.steps(10):
    total(evaluation)
