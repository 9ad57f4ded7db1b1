"""nan_skip.py: a rank whose loss is not finite leaves the step out; the others do not know.

Source: https://github.com/NVIDIA-NeMo/Speech/pull/637
"""
import common
import torch
from torch.nn.parallel import DistributedDataParallel

LABEL = {"kind": 5, "ranks": 3, "rank": "last", "call": "AllReduce", "class": "missing-call|skipped-call|skipped-or-early-exit|early-exit|rank-exited",
         "reason": "the last rank left backward of step 30 out; it is one step ahead and ends first", "two": True}
AT = 30
device = common.start()
model = DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(4)]).to(device), bucket_cap_mb=1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def batch(step):
    x = torch.randn(16, 256, device=device)
    if step == AT and common.rank == common.last and not common.healthy:
        x[0, 0] = float("nan")
    return x


for step in common.steps(60):
    optimizer.zero_grad()
    loss = model(batch(step)).square().mean()
    if not torch.isfinite(loss):
        common.strike()
        continue
    loss.backward()  # BUG
    optimizer.step()
    common.sync()
common.finish()
