"""long_save.py: a checkpoint takes rank 0 longer than the time-out of the watch, rightly: it writes all the while. Five steps later
another rank leaves a sum out.

Source: https://github.com/instructlab/training/pull/566
"""
import os
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 2, "ranks": 3, "rank": "2", "call": "AllReduce", "class": "skipped-call|skipped-or-early-exit|mismatch|missing-call",
         "reason": "rank 0 wrote for 9 s and came; rank 2 then skipped the sum of the norm", "two": False, "seconds": 80}
SAVE, AT = 25, 40
device = common.start()
gradients, norm = torch.ones(common.MB, device=device), torch.ones(1, device=device)


def save(seconds):
    until = time.monotonic() + seconds
    with open(os.path.join(common.folder, "state"), "wb") as file:
        while time.monotonic() < until:
            file.seek(0)
            file.write(os.urandom(1 << 18))
            file.flush()
            time.sleep(0.02)


def clip(step):
    if step == AT and common.rank == 2 and not common.healthy:
        common.strike()
        return
    dist.all_reduce(norm)  # BUG
    norm.fill_(1)


for step in common.steps(70):
    dist.all_reduce(gradients)
    gradients /= common.size
    clip(step)
    common.sync()
    if step == SAVE and common.rank == 0:
        save(9)
common.finish()
