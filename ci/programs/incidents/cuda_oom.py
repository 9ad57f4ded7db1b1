"""cuda_oom.py: one rank gets the longest samples, runs out of memory and raises.

Source: https://github.com/rwth-i6/returnn/issues/1482
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 8, "ranks": 3, "rank": "last", "call": "AllReduce", "class": "rank-exited|aborted|early-exit|missing-call|rank-died|rank-oom",
         "reason": "the last rank raised out of memory and left with exit code 1", "two": True, "launch": "ranks"}
AT = 30
device = common.start()
gradients = torch.ones(common.MB, device=device)


def attention(length):
    if length > 1 << 16:
        common.strike()
    return torch.ones(length, length, device=device)  # BUG


for step in common.steps(50):
    attention(1 << 21 if step == AT and common.rank == common.last and not common.healthy else 64)
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
