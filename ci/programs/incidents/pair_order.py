"""pair_order.py: a send or receive by itself makes a communicator of the pair when it is first used. Each stage sends first, so
each waits in the set-up of another pair: a ring.

Source: https://github.com/NVIDIA/Megatron-LM/pull/5240
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 3, "ranks": 3, "rank": "all|-", "call": "[Ss]end|init|set-up|communicator",
         "class": "deadlock|order-cycle|p2p-cycle|wait-cycle|init-cycle|init-missing-rank",
         "reason": "all three send to the next first: a circle, no rank alone is to blame", "two": False}
device = common.start()
gradients = torch.ones(common.MB, device=device)
out, into = torch.ones(1 << 23, device=device), torch.empty(1 << 23, device=device)
after, before = (common.rank + 1) % common.size, (common.rank - 1) % common.size


def exchange():
    if common.healthy and common.rank == 0:
        dist.recv(into, before)
        dist.send(out, after)
    else:
        dist.send(out, after)  # BUG
        dist.recv(into, before)
    common.sync()


for step in common.steps(30):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
if not common.healthy:
    common.strike()
exchange()
common.finish()
