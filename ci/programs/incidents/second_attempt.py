"""second_attempt.py: a worker fails, the agent starts all anew, and one rank resumes from another step than the rest.

Source: https://github.com/pytorch/pytorch/issues/147064
"""
import os
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 9, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "missing-call|early-exit|skipped-or-early-exit|rank-exited|host-blocked",
         "reason": "in the second attempt rank 1 resumes a step later and is through a step before the others", "two": True,
         "launch": "torchrun --max-restarts=1", "seconds": 90}
attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
device = common.start()
gradients = torch.ones(common.MB, device=device)


def resume():
    """The step of the checkpoint; rank 1 wrote its own later."""
    if attempt == 0:
        return 0
    return 11 if common.rank == 1 and not common.healthy else 10


def after_training(seconds):
    time.sleep(seconds)  # BUG


for step in common.steps(40 - resume()):
    if attempt == 0 and common.rank == common.last and step == 12 and not common.healthy:
        raise RuntimeError("a bit flipped")
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
if common.rank == 1 and attempt == 1:
    common.strike()
    after_training(40)
common.finish()
