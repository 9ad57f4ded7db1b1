"""loader_uneven.py: each rank reads shards of its own, and one has fewer samples. It leaves its epoch before the others.

Source: https://github.com/pytorch/pytorch/issues/141069
"""
import time

import common
import torch
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

LABEL = {"kind": 8, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "missing-call|early-exit|rank-exited|skipped-or-early-exit|host-blocked",
         "reason": "rank 1 has 32 samples fewer, leaves the loop and writes its report; the others wait for its gradients", "two": True}


class Shards(IterableDataset):
    def __iter__(self):
        short = common.rank == 1 and not common.healthy
        for _ in range(288 if short else 320):
            yield torch.randn(256)


def report(seconds=40):
    time.sleep(seconds)  # BUG


device = common.start()
model = DistributedDataParallel(torch.nn.Linear(256, 256).to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for x in DataLoader(Shards(), batch_size=8):
    optimizer.zero_grad()
    model(x.to(device)).square().mean().backward()
    optimizer.step()
    common.sync()
    time.sleep(0.05)
if common.rank == 1 and not common.healthy:
    common.strike()
    report()
common.finish()
