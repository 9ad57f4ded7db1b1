"""worker_killed.py: one worker is killed; no agent looks after the others, which hang in their next call.

Source: https://github.com/pytorch/elastic/issues/134
"""
import os
import signal

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 8, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "rank-killed|rank-died|rank-oom",
         "reason": "rank 1 was killed by SIGKILL", "two": True, "launch": "ranks", "line": "-"}
AT = 30
device = common.start()
gradients = torch.ones(common.MB, device=device)


def preempt():
    common.strike()
    os.kill(os.getpid(), signal.SIGKILL)


for step in common.steps(50):
    if step == AT and common.rank == 1 and not common.healthy:
        preempt()
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
