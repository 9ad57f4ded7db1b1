"""late_collect.py: the end of a solver's plan is collective, and a plan is in a cycle of references, so Python's collector ends it. One rank
makes many objects for a report, and its collector runs a step before the others'.

Source: https://github.com/firedrakeproject/firedrake/issues/1617
"""
import gc

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "AllReduce|[Bb]arrier", "class": "extra-call|mismatch|skipped-call|missing-call",
         "reason": "rank 1's collector ends the old plan early and makes its barrier in the middle of a step", "two": True, "last": True}
AT, EVERY = 41, 4
device = common.start()
gradients = torch.ones(common.MB, device=device)


class Plan:
    def __init__(self):
        self.solver = {"plan": self}

    def __del__(self):
        dist.barrier()  # BUG


def report(step):
    """Objects enough for the collector to run, on one rank."""
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        gc.collect()


gc.disable()  # it runs at known steps
plan = Plan()
for step in common.steps(60):
    report(step)
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
    if step % EVERY == 0:
        plan = Plan()
    if step % EVERY == 2:
        gc.collect()
plan = None
gc.collect()
common.finish()
