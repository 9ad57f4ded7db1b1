"""max_not_sum.py: one rank's build takes the maximum where the others sum. All complete with numbers of their own.

Source: https://github.com/pytorch/pytorch/issues/128949
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 10, "ranks": 4, "rank": "3", "call": "AllReduce", "class": "mismatch|diverged",
         "reason": "rank 3 reduces by max, the others by sum; nothing hangs", "two": False}
AT = 30
device = common.start()
counts = torch.ones(2048, device=device)


def reduce_counts(op):
    dist.all_reduce(counts, op=op)  # BUG
    counts.fill_(1)


for step in common.steps(160):
    changed = step >= AT and common.rank == 3 and not common.healthy
    if changed:
        common.strike()
    reduce_counts(dist.ReduceOp.MAX if changed else dist.ReduceOp.SUM)
    common.sync()
common.finish()
