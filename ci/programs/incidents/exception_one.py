"""exception_one.py: augmentation goes one past the end of a list, now and then, on one rank.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/11841
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 8, "ranks": 3, "rank": "last", "call": "AllReduce", "class": "rank-exited|aborted|early-exit|missing-call|rank-died",
         "reason": "the last rank raised IndexError and left with exit code 1", "two": True}
AT = 30
COLOURS = ("red", "green", "blue")
device = common.start()
gradients = torch.ones(common.MB, device=device)


def augment(step):
    number = 3 if step == AT and common.rank == common.last and not common.healthy else step % 3
    if number == 3:
        common.strike()
    return COLOURS[number]  # BUG


for step in common.steps(50):
    augment(step)
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
