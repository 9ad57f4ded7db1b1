"""ddp_branch.py: a network of two parts, of which the input of one rank uses one alone. DDP raises there in the next step.

Source: https://github.com/pytorch/pytorch/issues/49321
"""
import common
import torch
from torch.nn.parallel import DistributedDataParallel

LABEL = {"kind": 8, "ranks": 3, "rank": "1", "call": "AllReduce",
         "class": "rank-exited|aborted|early-exit|missing-call|skipped-call|rank-died|skipped-or-early-exit",
         "reason": "rank 1 made no gradient for part b, then raised RuntimeError in its next forward", "two": True}
AT = 30


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(512, 512), torch.nn.Linear(512, 512)

    def forward(self, x, both):
        return self.a(x) + self.b(x) if both else self.a(x)


device = common.start()
model = DistributedDataParallel(Net().to(device), bucket_cap_mb=1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in common.steps(50):
    both = not (step == AT and common.rank == 1) or common.healthy
    if not both:
        common.strike()
    optimizer.zero_grad()
    loss = model(torch.randn(8, 512, device=device), both).square().mean()  # BUG
    loss.backward()  # BUG
    optimizer.step()
    common.sync()
common.finish()
