"""stat_differs.py: each rank looks for the state of the trainer on a shared disk by itself. One sees an old folder, and leaves the
broadcast of the state out; it is in the barrier. Both are gloo's.

Source: https://github.com/KempnerInstitute/KempnerForge/issues/49
"""
import os

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 11, "ranks": 3, "rank": "1", "call": "gloo|broadcast|barrier|other-wait|stat_differs.py",
         "class": "other-wait|missing-call|host-blocked|mismatch",
         "reason": "rank 1 left the broadcast of objects out and is in gloo's barrier; the others broadcast; no NCCL call hangs",
         "two": True, "last": True}
AT = 25
device = common.start()
objects = dist.new_group(backend="gloo")
gradients = torch.ones(1 << 19, device=device)
path = os.path.join(common.folder, "train_state")


def exists(step):
    """As the disk tells this rank."""
    old = step == AT and common.rank == 1 and not common.healthy
    return os.path.exists(path) and not old


def load(step):
    state = [None]
    if exists(step):
        if common.rank == 0:
            state = [{"step": step}]
        dist.broadcast_object_list(state, 0, group=objects)  # BUG
    else:
        common.strike()
    dist.barrier(group=objects)  # BUG
    return state[0]


def save():
    if common.rank == 0:
        open(path, "w").close()
    dist.barrier(group=objects)


for step in common.steps(45):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
    if step % 5 == 0:
        save()
        load(step)
common.finish()
