"""slow_init.py: all ranks compile for a long time before their first sum, each for another time; that is no hang. Then one rank skips
its warm-up's last sum.

Source: https://github.com/karpathy/nanochat/pull/722
"""
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 1, "ranks": 3, "rank": "2", "call": "AllReduce|Broadcast", "class": "mismatch|skipped-call|skipped-or-early-exit|missing-call|early-exit",
         "reason": "the slow start ends well; later rank 2 leaves one sum of the evaluation out", "two": False, "seconds": 80}
AT = 30
device = common.start()
gradients, loss, weights = torch.ones(common.MB, device=device), torch.ones(2, device=device), torch.ones(1 << 12, device=device)


def compile_model():
    """Works all the while."""
    until = time.monotonic() + 3 + 3 * common.rank
    while time.monotonic() < until:
        torch.randn(128, 128) @ torch.randn(128, 128)


def evaluate(step):
    for batch in range(3):
        if step == AT and batch == 2 and common.rank == 2 and not common.healthy:
            common.strike()
            continue
        dist.all_reduce(loss)  # BUG
        loss.fill_(1)


compile_model()
for step in common.steps(50):
    dist.all_reduce(gradients)
    gradients /= common.size
    if step % 5 == 0:
        evaluate(step)
    dist.broadcast(weights, 0)
    common.sync()
common.finish()
