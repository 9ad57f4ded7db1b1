"""eval_buffers.py: rank 0 alone evaluates through the DDP model, which broadcasts its buffers before each forward.

Source: https://github.com/pytorch/pytorch/issues/48988
"""
import common
import torch
from torch.nn.parallel import DistributedDataParallel

LABEL = {"kind": 5, "ranks": 3, "rank": "0", "call": "Broadcast", "class": "mismatch|extra-call",
         "reason": "rank 0 alone evaluates, and DDP's forward broadcasts buffers; the others are in the next step", "two": True}
AT = 30
device = common.start()
net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.BatchNorm1d(256), torch.nn.Linear(256, 8)).to(device)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def train_step():
    optimizer.zero_grad()
    model(torch.randn(16, 256, device=device)).square().mean().backward()
    optimizer.step()


def evaluate(net):
    with torch.no_grad():
        for _ in range(3):
            net(torch.randn(16, 256, device=device))  # BUG
    common.sync()


for step in common.steps(50):
    train_step()
    if step == AT and common.rank == 0:
        if common.healthy:
            evaluate(model.module)
        else:
            common.strike()
            evaluate(model)
    common.sync()
common.finish()
