"""elastic_resize.py: a node is to go, so four ranks leave their group and three make a new one. One looks at a list of members that
is a step old, and makes one more sum in the old group.

Source: https://github.com/pytorch/pytorch/issues/111646
"""
import os
import sys

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 9, "ranks": 4, "rank": "2", "call": "AllReduce|init",
         "class": "extra-call|missing-call|mismatch|early-exit|other-wait|host-blocked|rank-exited|aborted",
         "reason": "rank 2 is still in a sum of the old group; rank 3 is done, the others wait for rank 2 in the new group",
         "two": False, "last": True}
AT, STEPS = 25, 45
device = common.start()
gradients = torch.ones(1 << 19, device=device)
members = common.size


def wanted(step):
    """How many ranks the list of members has, as this rank sees it."""
    old = step == AT and common.rank == 2 and not common.healthy
    if old:
        common.strike()
    return common.size if step < AT or old else common.size - 1


def resize(count):
    dist.destroy_process_group()
    if common.rank >= count:
        sys.exit()
    where = "file://" + os.path.abspath(os.path.join(common.folder, f"group{count}"))
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, init_method=where, rank=common.rank, world_size=count, timeout=common.timeout())


def train_step():
    dist.all_reduce(gradients)  # BUG
    gradients.div_(members)
    common.sync()


for step in common.steps(STEPS):
    count = wanted(step)
    if count != members:
        resize(count)
        members = count
    train_step()
common.finish()
