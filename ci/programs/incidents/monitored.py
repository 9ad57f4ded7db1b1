"""monitored.py: a monitored barrier over gloo before each epoch; a rank still unpacks its data.

Source: https://github.com/NVIDIA/nccl/issues/849
"""
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 11, "ranks": 4, "rank": "3", "call": "barrier|gloo|other-wait|monitored.py", "class": "other-wait|missing-call|host-blocked",
         "reason": "rank 3 does not come to the barrier; no NCCL call hangs", "two": False}
device = common.start()
control = dist.new_group(backend="gloo")
gradients = torch.ones(common.MB, device=device)


def unpack(epoch):
    if epoch == 3 and common.rank == 3 and not common.healthy:
        common.strike()
        time.sleep(40)  # BUG


def train_epoch():
    for _ in common.steps(10):
        dist.all_reduce(gradients)
        gradients.div_(common.size)
        common.sync()


for epoch in range(5):
    unpack(epoch)
    dist.monitored_barrier(control)
    train_epoch()
common.finish()
