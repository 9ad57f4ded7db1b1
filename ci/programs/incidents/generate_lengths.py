"""generate_lengths.py: generation goes through a sharded model; one rank reads its end token first and leaves the loop.

Source: https://github.com/huggingface/transformers/pull/33483
"""
import common
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

LABEL = {"kind": 5, "ranks": 3, "rank": "2", "call": "AllGather|AllReduce", "class": "mismatch|skipped-call|skipped-or-early-exit|extra-call|missing-call",
         "reason": "rank 2 generated four tokens, the others eight; it sums the rewards already", "two": False}
AT = 8
device = common.start()
mesh = init_device_mesh(device.type, (common.size,))
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(2)]).to(device)
for layer in model:
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
rewards = torch.ones(64, device=device)


def generate(prompt, tokens):
    with torch.no_grad():
        for _ in range(tokens):
            prompt = model(prompt)  # BUG
    return prompt


def score():
    torch.distributed.all_reduce(rewards)  # BUG
    rewards.fill_(1)


for step in common.steps(20, 0.1):
    tokens = 8
    if step == AT and common.rank == 2 and not common.healthy:
        common.strike()
        tokens = 4
    generate(torch.randn(4, 256, device=device), tokens)
    score()
    common.sync()
common.finish()
