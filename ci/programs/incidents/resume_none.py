"""resume_none.py: each rank makes the name of its output folder from its own clock. One finds no checkpoint there, and trains from
the start while the others restore.

Source: https://github.com/huggingface/transformers/issues/28270
"""
import os

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "2", "call": "Broadcast|AllReduce",
         "class": "mismatch|skipped-call|skipped-or-early-exit|missing-call|early-exit",
         "reason": "rank 2 finds no checkpoint and is in the sum of its first step; the others broadcast the restored weights",
         "two": False, "last": True}
device = common.start()
weights = [torch.ones(1 << 19, device=device) for _ in range(6)]
gradients = torch.ones(1 << 19, device=device)


def output():
    second = 7 if common.rank == 2 and not common.healthy else 6
    return os.path.join(common.folder, f"run-12-00-0{second}")


def last_checkpoint():
    return output() if os.path.exists(output()) else None


def restore(checkpoint):
    for weight in weights:
        dist.broadcast(weight, 0)  # BUG
    common.sync()


def train():
    for _ in common.steps(30):
        dist.all_reduce(gradients)  # BUG
        gradients.div_(common.size)
        common.sync()


if common.rank == 0:
    os.makedirs(output(), exist_ok=True)
dist.barrier()
checkpoint = last_checkpoint()
if checkpoint:
    restore(checkpoint)
else:
    common.strike()
train()
common.finish()
