"""subgroup_late.py: the first call of a new group sets its communicator up. One member still reads its part of the data set.

Source: https://github.com/NVIDIA/nccl/issues/708
"""
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 3, "ranks": 4, "rank": "2", "call": "init|AllReduce|set-up|communicator", "class": "init-missing-rank|missing-call|host-blocked",
         "reason": "rank 2 does not come to the set-up of the new group's communicator", "two": False}
device = common.start()
gradients = torch.ones(common.MB, device=device)


def index_dataset():
    time.sleep(45)  # BUG


def train(group, count):
    for _ in common.steps(count):
        dist.all_reduce(gradients, group=group)
        gradients.div_(common.size)
        common.sync()


train(None, 30)
every = dist.new_group(list(range(common.size)))
if common.rank == 2 and not common.healthy:
    common.strike()
    index_dataset()
train(every, 20)
common.finish()
