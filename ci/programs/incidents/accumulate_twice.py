"""accumulate_twice.py: gradients are accumulated over four micro batches, with no_sync in all but the last. A rank that ran out of memory
halves its micro batches and makes eight; each fourth one sums, so it sums twice.

Source: https://github.com/mosaicml/composer/pull/1690
"""
import contextlib

import common
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "extra-call|mismatch|skipped-call",
         "reason": "rank 1 sums its gradients twice in one step; the others are in the sum of the loss", "two": True, "last": True}
AT, ACCUMULATE = 25, 4
device = common.start()
model = DistributedDataParallel(torch.nn.Linear(512, 512).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
total = torch.zeros(1, device=device)


def micro_batches(step):
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        return torch.randn(64, 512, device=device).split(8)
    return torch.randn(64, 512, device=device).split(16)


def train(step):
    optimizer.zero_grad()
    for number, x in enumerate(micro_batches(step), 1):
        with contextlib.nullcontext() if number % ACCUMULATE == 0 else model.no_sync():
            loss = model(x).square().mean()
            loss.backward()  # BUG
    optimizer.step()
    return loss.detach()


for step in common.steps(45):
    total.copy_(train(step))
    dist.all_reduce(total)
    common.sync()
common.finish()
