"""expert_hook.py: gradients of an expert are scattered when its hook fires. On one rank no token went to the last expert.

Source: https://github.com/deepspeedai/DeepSpeed/pull/5008
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "ReduceScatter", "class": "skipped-call|mismatch|skipped-or-early-exit",
         "reason": "rank 1 made no reduce-scatter for expert 3, which saw none of its tokens", "two": True}
AT, EXPERTS = 30, 4
device = common.start()
gradients = [torch.ones(common.size << 14, device=device) for _ in range(EXPERTS)]
shard, norm = torch.empty(1 << 14, device=device), torch.ones(1, device=device)


def route(step):
    """The experts that got tokens."""
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        return range(EXPERTS - 1)
    return range(EXPERTS)


def on_gradient(expert):
    dist.reduce_scatter_tensor(shard, gradients[expert])  # BUG


def backward(step):
    for expert in reversed(route(step)):
        on_gradient(expert)


def gradient_norm():
    dist.all_reduce(norm)
    norm.fill_(1)


for step in common.steps(60):
    backward(step)
    gradient_norm()
    common.sync()
common.finish()
