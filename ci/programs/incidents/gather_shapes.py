"""gather_shapes.py: predictions of unlike length are gathered; the GPUs spin.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/7773
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 10, "ranks": 3, "rank": "1", "call": "AllGather", "class": "mismatch|diverged",
         "reason": "rank 1 gathers 2 Mi numbers, the others 64 Ki", "two": False}
AT = 30
device = common.start()


def gather(predictions):
    everything = torch.empty(common.size * len(predictions), device=device)
    dist.all_gather_into_tensor(everything, predictions)  # BUG
    return everything


for step in common.steps(60):
    length = 1 << 16
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        length = 1 << 21
    gather(torch.ones(length, device=device))
    common.sync()
common.finish()
