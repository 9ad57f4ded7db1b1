"""join_keys.py: loaders of unequal length under DDP's join, which makes the gradients' sums for a rank that has ended. It does not know
of the all-gather of keys in the model's forward.

Source: https://github.com/pytorch/pytorch/issues/38174
"""
import common
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

LABEL = {"kind": 8, "ranks": 3, "rank": "1", "call": "AllReduce|AllGather",
         "class": "mismatch|early-exit|skipped-or-early-exit|skipped-call|missing-call|extra-call",
         "reason": "rank 1 is out of data and makes join's sums; the others are in the all-gather of forward", "two": True, "last": True}


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(256, 256)

    def forward(self, x):
        keys = self.layer(x)
        dist.all_gather([torch.empty_like(keys) for _ in range(common.size)], keys.detach())  # BUG
        return keys


device = common.start()
model = DistributedDataParallel(Encoder().to(device))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
short = common.rank == 1 and not common.healthy
with model.join():  # BUG
    for _ in common.steps(24 if short else 40):
        optimizer.zero_grad()
        model(torch.randn(64, 256, device=device)).square().mean().backward()
        optimizer.step()
        common.sync()
    if short:
        common.strike()
common.finish()
