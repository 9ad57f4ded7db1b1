"""fifo_read.py: a rank's shard is on a mount that no longer answers: its read never ends (a FIFO stands for the mount).

Source: https://github.com/pytorch/pytorch/issues/20630
"""
import os

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 12, "ranks": 3, "rank": "last", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "the last rank reads a file that never gives a byte", "two": True}
AT = 30
device = common.start()
gradients = torch.ones(common.MB, device=device)
shard, stale = (os.path.join(common.folder, name + str(common.rank)) for name in ("shard", "stale"))
with open(shard, "wb") as file:
    file.write(os.urandom(1 << 16))
os.mkfifo(stale)
keep = os.open(stale, os.O_RDWR)  # so that opening it does not wait


def read_sample(step):
    path = stale if step == AT and common.rank == common.last and not common.healthy else shard
    with open(path, "rb", buffering=0) as file:
        if path == stale:
            common.strike()
        return file.read(4096)  # BUG


for step in common.steps(50):
    read_sample(step)
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
