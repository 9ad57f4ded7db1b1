"""drift_far.py: an engine leaves one collective out, and thousands of equal ones pair a step off before a call of another kind
meets nothing.

Source: https://github.com/vllm-project/vllm/issues/48720
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 4, "rank": "2", "call": "AllReduce", "class": "skipped-call|skipped-or-early-exit|mismatch",
         "reason": "rank 2 left the draft model's sum out, 4000 calls before the hang", "two": False, "seconds": 80}
AT, LAYERS = 60, 16
device = common.start()
hidden = [torch.ones(256, device=device) for _ in range(LAYERS)]
draft, weights = torch.ones(256, device=device), torch.ones(256, device=device)


def target():
    if device.type == "cpu":  # gloo has no groups of calls
        return [dist.all_reduce(x) for x in hidden]
    with dist._coalescing_manager(device=device):
        for x in hidden:
            dist.all_reduce(x)
    return None


def propose():
    dist.all_reduce(draft)  # BUG
    draft.fill_(1)


def decode(step):
    target()
    if step == AT and common.rank == 2 and not common.healthy:  # at the length's bound
        common.strike()
        return
    propose()


for step in common.steps(300, 0.01):
    decode(step)
    if step % 20 == 0:
        common.sync()
common.sync()
dist.broadcast(weights, 0)
common.finish()
