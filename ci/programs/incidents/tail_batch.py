"""tail_batch.py: the last batch of one rank is two samples shorter. The sum completes, with wrong numbers, and all go on.

Source: https://github.com/NVIDIA/nccl/issues/1417
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 10, "ranks": 4, "rank": "2", "call": "AllReduce", "class": "mismatch|diverged",
         "reason": "rank 2 summed 4094 numbers where the others summed 4096; nothing hangs", "two": False}
AT = 30
device = common.start()
scores = torch.ones(4096, device=device)


def gather_scores(step):
    batch = scores
    if step == AT and common.rank == 2 and not common.healthy:
        common.strike()
        batch = scores[:4094]
    if device.type == "cuda" or batch is scores:
        dist.all_reduce(batch)  # BUG
    else:
        dist.all_reduce(scores)
    scores.fill_(1)


for step in common.steps(160):
    gather_scores(step)
    common.sync()
common.finish()
