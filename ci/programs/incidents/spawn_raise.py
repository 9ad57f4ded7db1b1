"""spawn_raise.py: workers come from mp.spawn and have no RANK in their environment; one raises.

Source: https://github.com/pytorch/pytorch/issues/49321
"""
import os

import common
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

LABEL = {"kind": 9, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "rank-exited|aborted|early-exit|missing-call|rank-died",
         "reason": "worker 1 raised ValueError and left", "two": True, "launch": "alone"}
AT = 30


def check(loss, step, rank):
    if step == AT and rank == 1 and not common.healthy:
        common.strike(rank)
        raise ValueError(f"loss is {loss}")  # BUG


def worker(rank, size):
    device = common.start(rank, size)
    gradients = torch.ones(common.MB, device=device)
    for step in common.steps(50):
        check(0.5, step, rank)
        dist.all_reduce(gradients)
        gradients /= size
        common.sync()
    common.finish()


if __name__ == "__main__":
    count = int(os.environ.get("INCIDENT_RANKS", 3))
    mp.spawn(worker, (count,), nprocs=count)
