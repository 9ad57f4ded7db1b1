"""early_stop.py: each rank watches its own validation loss, and one of them runs out of patience an epoch earlier.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/379
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "2", "call": "AllReduce|Broadcast", "class": "mismatch|skipped-call|early-exit|skipped-or-early-exit|extra-call",
         "reason": "rank 2 leaves the loop by its own loss and broadcasts the best weights; the others train on", "two": False}
device = common.start()
weights = torch.ones(common.MB, device=device)


def train_epoch():
    for _ in common.steps(6):
        dist.all_reduce(weights)
        weights.div_(common.size)
        common.sync()


def validate(epoch):
    """Falls up to the sixth epoch on all ranks, on rank 2 to the fifth."""
    best = 5 if common.rank == 2 and not common.healthy else 6
    return abs(epoch - best) / 10


def fit():
    best, waited = 1e9, 0
    for epoch in range(20):
        train_epoch()
        loss = validate(epoch)
        waited = 0 if loss < best else waited + 1
        best = min(best, loss)
        if waited > 1:
            return


fit()
if common.rank == 2 and not common.healthy:
    common.strike()
dist.broadcast(weights, 0)  # BUG
common.sync()
common.finish()
