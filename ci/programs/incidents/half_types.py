"""half_types.py: one rank falls back to another 16 bit type. The sum completes on all ranks, and means nothing.

Source: https://github.com/NVIDIA/nccl/issues/1394
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 10, "ranks": 3, "rank": "0", "call": "AllReduce", "class": "mismatch|diverged",
         "reason": "rank 0 sums bfloat16, the others float16; nothing hangs", "two": True}
AT = 30
device = common.start()


def compute_type(step):
    if step >= AT and common.rank == 0 and not common.healthy:
        common.strike()
        return torch.bfloat16
    return torch.float16


def backward(step):
    gradients = torch.ones(1 << 14, device=device, dtype=compute_type(step))
    if device.type == "cuda":
        dist.all_reduce(gradients)  # BUG
    else:
        dist.all_reduce(gradients.float())


for step in common.steps(160):
    backward(step)
    common.sync()
common.finish()
