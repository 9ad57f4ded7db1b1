"""shard_missing.py: a rank that does not find its part of the checkpoint says so through a function that prints on rank 0 alone, and
exits with 0. The others wait in the barrier after the load.

Source: https://github.com/NVIDIA/Megatron-LM/pull/367
"""
import os
import sys

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 8, "ranks": 3, "rank": "last", "call": "AllReduce|[Bb]arrier|left|exit",
         "class": "early-exit|aborted|rank-exited|missing-call|skipped-or-early-exit|host-blocked",
         "reason": "the last rank left with exit code 0, because its part of the checkpoint is missing", "two": True, "last": True}
AT = 20
device = common.start()
gradients = torch.ones(1 << 19, device=device)
part = os.path.join(common.folder, f"rank{common.rank}.pt")


def print_rank_0(text):
    if common.rank == 0:
        print(text, flush=True)


def save():
    """The disk of the last rank is full, and the error was swallowed."""
    if common.rank < common.last or common.healthy:
        torch.save(gradients[:16].cpu(), part)
    dist.barrier()


def load():
    if not os.path.exists(part):
        print_rank_0(f"no checkpoint {part}")
        common.strike()
        sys.exit()  # BUG
    torch.load(part)
    dist.barrier()  # BUG


for step in common.steps(45):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
    if step == AT:
        save()
        load()
common.finish()
