"""kill_switch.py: a kill switch makes the trainer save and leave with 0. One rank saw the file a step before the others, which
then wait for it.

Source: https://github.com/pytorch/pytorch/issues/76287
"""
import os
import sys

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 8, "ranks": 3, "rank": "0", "call": "AllReduce", "class": "rank-exited|early-exit|missing-call|skipped-or-early-exit|aborted",
         "reason": "rank 0 left by sys.exit(0) at the kill switch", "two": True, "launch": "ranks"}
AT = 30
device = common.start()
gradients = torch.ones(common.MB, device=device)
switch = os.path.join(common.folder, "kill-switch")


def check_switch():
    if os.path.exists(switch):
        common.strike()
        sys.exit(0)  # BUG


for step in common.steps(60):
    if step == AT and common.rank == 0 and not common.healthy:
        open(switch, "w").close()
    if common.rank == 0:
        check_switch()
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
