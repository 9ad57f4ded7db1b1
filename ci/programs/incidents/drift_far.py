"""drift_far.py: an engine leaves one collective out, and thousands of equal ones pair a step off before a call of another kind
meets nothing.

Source: https://github.com/vllm-project/vllm/issues/48720
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 4, "rank": "2", "call": "AllReduce", "class": "skipped-call|skipped-or-early-exit|mismatch",
         "reason": "rank 2 left the draft model's sum out, 6000 calls before the hang", "two": False, "seconds": 80}
AT = 60
device = common.start()
hidden, draft, weights = (torch.ones(256, device=device) for _ in range(3))


def target(layers=4):
    for _ in range(layers):
        dist.all_reduce(hidden)
    hidden.fill_(1)


def propose():
    dist.all_reduce(draft)  # BUG
    draft.fill_(1)


def decode(step):
    target()
    if step == AT and common.rank == 2 and not common.healthy:  # at the length's bound
        common.strike()
        return
    propose()


for step in common.steps(1200, 0.002):
    decode(step)
    if step % 20 == 0:
        common.sync()
common.sync()
dist.broadcast(weights, 0)
common.finish()
