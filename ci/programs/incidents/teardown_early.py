"""teardown_early.py: a rank takes its process group down a step before the others, which it leaves alone in their last sums.

Source: https://github.com/pytorch/pytorch/issues/75097
"""
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 8, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "missing-call|early-exit|rank-exited|skipped-or-early-exit|aborted|host-blocked",
         "reason": "rank 1 counts its last step otherwise and has destroyed its process group", "two": True, "launch": "ranks"}
device = common.start()
gradients = torch.ones(common.MB, device=device)


def train(count):
    for _ in common.steps(count):
        dist.all_reduce(gradients)
        gradients.div_(common.size)
        common.sync()


def write_report(seconds):
    time.sleep(seconds)  # BUG


train(39 if common.rank == 1 and not common.healthy else 40)
if common.rank == 1 and not common.healthy:
    common.strike()
common.finish()  # BUG
write_report(40 if common.rank == 1 and not common.healthy else 0)
