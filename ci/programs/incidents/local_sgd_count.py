"""local_sgd_count.py: ranks average their weights every eighth optimizer step, and each counts its own steps. The scaler of one rank
skipped a step, so its count is behind.

Source: https://github.com/dylanyunlon/Neuron_SP/issues/2
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 4, "rank": "2", "call": "AllReduce", "class": "mismatch|skipped-call|skipped-or-early-exit|early-exit|missing-call",
         "reason": "rank 2 counts 31 optimizer steps where the others count 32, and does not average its weights", "two": False, "last": True}
OVERFLOW, EVERY, STEPS = 27, 8, 60
device = common.start()
weights, loss = torch.ones(1 << 19, device=device), torch.ones(1, device=device)


class Optimizer:
    def __init__(self):
        self.count = 0

    def step(self, finite):
        if finite:
            self.count += 1

    def average(self):
        dist.all_reduce(weights)  # BUG
        weights.div_(common.size)


def report():
    dist.all_reduce(loss)  # BUG
    loss.fill_(1)


optimizer = Optimizer()
for step in common.steps(STEPS):
    report()
    optimizer.step(finite=step != OVERFLOW or common.rank != 2 or common.healthy)
    if optimizer.count % EVERY == 0:
        optimizer.average()
    elif (step + 1) % EVERY == 0:
        common.strike()
    common.sync()
common.finish()
