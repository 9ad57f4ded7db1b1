"""group_made.py: three ranks make two communicators, of their data and of their tensors, in the order of a set of names. One rank's
set has another order.

Source: https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.new_group
"""
import ctypes

import common

LABEL = {"kind": 3, "ranks": 3, "rank": "2", "call": "init", "class": "init-mismatch",
         "reason": "rank 2 is in the init of the second communicator, the others in that of the first", "two": True, "launch": "ranks"}
nccl = common.Nccl()
x = nccl.buffer(1 << 16)
ids = {name: nccl.unique(name) for name in ("data", "tensor")}


def total(group):
    nccl.check(nccl.lib.ncclAllReduce(x, x, 1 << 16, common.FLOAT, common.SUM, group, nccl.stream))
    nccl.wait()


def make(name):
    group = ctypes.c_void_p()
    nccl.check(nccl.lib.ncclCommInitRank(ctypes.byref(group), common.size, ids[name], common.rank))  # BUG
    return group


for step in common.steps(30):
    total(nccl.comm)
order = ["data", "tensor"]
if common.rank == common.size - 1 and not common.healthy:
    common.strike()
    order.reverse()
groups = {name: make(name) for name in order}
for step in common.steps(10):
    total(groups["data"])
    total(groups["tensor"])
