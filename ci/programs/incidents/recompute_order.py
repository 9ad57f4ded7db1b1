"""recompute_order.py: experts' all-to-alls lie in checkpointed functions, so backward makes them anew, in the order of the backward calls.
One rank goes backward through the second problem first.

Source: https://github.com/ByteDance-Seed/VeOmni/issues/979
"""
import common
import torch
import torch.distributed as dist
from torch.utils.checkpoint import checkpoint

LABEL = {"kind": 6, "ranks": 4, "rank": "3", "call": "All[Tt]o[Aa]ll|[Ss]end|[Rr]ecv",
         "class": "mismatch|order-cycle|deadlock|wait-cycle|p2p-unmatched|p2p-size|p2p-count|p2p-mismatch|p2p-peer",
         "reason": "rank 3 makes the second problem's all-to-all anew while the others make the first one's", "two": False, "last": True}
AT, WIDTH = 20, 512
device = common.start()
weight = torch.nn.Parameter(torch.randn(WIDTH, WIDTH, device=device) / WIDTH)


def exchange(x):
    out = torch.empty_like(x)
    dist.all_to_all_single(out, x.contiguous())  # BUG
    return out


class Dispatch(torch.autograd.Function):
    @staticmethod
    def forward(_, x):
        return exchange(x)

    @staticmethod
    def backward(_, gradient):
        return exchange(gradient)


def expert(x):
    return Dispatch.apply(torch.tanh(Dispatch.apply(x) @ weight))


def loss_of(rows):
    return checkpoint(expert, torch.randn(rows, WIDTH, device=device, requires_grad=True), use_reentrant=False).sum()


for step in common.steps(35):
    losses = [loss_of(32 * common.size), loss_of(256 * common.size)]
    if step == AT and common.rank == 3 and not common.healthy:
        common.strike()
        losses.reverse()
    for loss in losses:
        loss.backward()  # BUG
    weight.grad = None
    common.sync()
common.finish()
