"""state_dict_one.py: the full state of a sharded model is asked for by rank 0 alone, which then gathers it alone.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/17600
"""
import common
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

LABEL = {"kind": 5, "ranks": 3, "rank": "0", "call": "AllGather|Broadcast", "class": "mismatch|extra-call|skipped-call",
         "reason": "rank 0 alone gathers the full parameters; the others train", "two": True}
AT = 20
device = common.start()
mesh = init_device_mesh(device.type, (common.size,))
model = torch.nn.Sequential(*[torch.nn.Linear(384, 384) for _ in range(2)]).to(device)
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)


def full_state():
    return {name: value.full_tensor().cpu() for name, value in model.state_dict().items()}  # BUG


for step in common.steps(40):
    optimizer.zero_grad()
    model(torch.randn(8, 384, device=device)).square().mean().backward()
    optimizer.step()
    common.sync()
    if step == AT and (common.rank == 0 or common.healthy):
        if not common.healthy:
            common.strike()
        full_state()
common.finish()
