"""vision_tower.py: both towers are sharded (fully_shard); a rank whose batch is text alone does not call the vision tower.

Source: https://github.com/pytorch/pytorch/issues/152964
"""
import common
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "AllGather|ReduceScatter", "class": "skipped-call|mismatch|skipped-or-early-exit|missing-call",
         "reason": "rank 1 leaves the all-gather of the vision tower out", "two": True}
AT = 20


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.vision, self.language = torch.nn.Linear(512, 128), torch.nn.Linear(128, 128)

    def forward(self, text, pixels):
        if pixels is not None:
            text = text + self.vision(pixels)  # BUG
        return self.language(text)


device = common.start()
mesh = init_device_mesh(device.type, (common.size,))
model = Model().to(device)
for part in (model.vision, model.language, model):
    fully_shard(part, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in common.steps(40):
    text, pixels = torch.randn(8, 128, device=device), torch.randn(8, 512, device=device)
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        pixels = None
    optimizer.zero_grad()
    model(text, pixels).square().mean().backward()
    optimizer.step()
    common.sync()
common.finish()
