"""long_kernel.py: a kernel of one rank runs on and on. Its sum has been called, and stands behind the kernel in the stream.

Source: https://github.com/NVIDIA/nccl/issues/2213
"""
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 7, "ranks": 2, "rank": "1", "call": "AllReduce", "class": "gpu-blocked|gpu-late|gpu-stuck",
         "reason": "rank 1's stream is busy with its own kernel for 7 s and more; its sum has not started", "two": True}
AT = 30
device = common.start()
gradients = torch.ones(common.MB, device=device)


def attention(step):
    """The kernel is bounded: 7 s by the processor's clock, more where others share the GPU."""
    if step != AT or common.rank != 1 or common.healthy:
        return
    common.strike()
    if device.type == "cuda":
        for _ in range(36):
            torch.cuda._sleep(400_000_000)
    else:
        time.sleep(8)


for step in common.steps(40):
    attention(step)
    dist.all_reduce(gradients)  # BUG
    gradients /= common.size
    common.sync()
common.finish()
