"""empty_metrics.py: ranks gather their metrics as objects; the function returns early where there are none. The layers that one rank watches
are frozen, so it has none and takes the next step.

Source: https://github.com/bo-ke/llm-internal-medicine/pull/45
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 4, "rank": "2", "call": "AllGather|AllReduce", "class": "skipped-call|skipped-or-early-exit|mismatch|missing-call",
         "reason": "rank 2 left the gather of objects out and is in the next step's sum", "two": False, "last": True}
AT, EVERY = 40, 4
device = common.start()
gradients = torch.ones(common.MB, device=device)


def watch(step):
    """Metrics of the layers that this rank watches."""
    if step == AT and common.rank == 2 and not common.healthy:
        common.strike()
        return {}
    return {f"layer {common.rank}": {"norm": float(step), "entropy": 0.5}}


def gather_and_aggregate(metrics):
    if not metrics:
        return {}
    found = [None] * common.size
    dist.all_gather_object(found, metrics)  # BUG
    return {name: value for part in found for name, value in part.items()}


for step in common.steps(60):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
    if step % EVERY == 0:
        gather_and_aggregate(watch(step))
common.finish()
