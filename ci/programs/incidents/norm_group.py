"""norm_group.py: before it clips, each rank sums the norm of its experts' gradients over their group, then all sum the whole. A rank whose
expert saw no token has no such gradient, and chooses its collectives by that.

Source: https://github.com/deepspeedai/DeepSpeed/pull/8478
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 4, "rank": "1", "call": "AllReduce",
         "class": "skipped-call|missing-call|mismatch|order-cycle|deadlock|wait-cycle|skipped-or-early-exit",
         "reason": "rank 1 left the sum over its experts' group out; rank 0 waits for it there, the others wait for rank 0 in the sum of all",
         "two": False, "last": True}
AT = 25
device = common.start()
groups = [dist.new_group([0, 1]), dist.new_group([2, 3])]
experts = groups[common.rank // 2]
gradients = torch.ones(common.MB, device=device)


def expert_gradients(step):
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        return []
    return [torch.ones(1 << 10, device=device)]


def clip(step):
    found = expert_gradients(step)
    norm = gradients.square().sum() / common.size
    if found:
        part = sum(g.square().sum() for g in found)
        dist.all_reduce(part, group=experts)  # BUG
        norm += part
    dist.all_reduce(norm)  # BUG


for step in common.steps(50):
    dist.all_reduce(gradients)
    gradients.fill_(1)
    clip(step)
    common.sync()
common.finish()
