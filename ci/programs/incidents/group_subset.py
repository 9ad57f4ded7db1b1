"""group_subset.py: one rank makes a group of its own for its logs; making one is for all ranks of the run. Names of groups are numbers,
so it looks for the next group, which is of all ranks, under another name.

Source: https://github.com/vllm-project/llm-compressor/pull/2869
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 3, "ranks": 3, "rank": "2", "call": "init|set-up|communicator|AllReduce", "class": "init-missing-rank|missing-call|host-blocked",
         "reason": "rank 2 made one group more; the others are in the set-up of the next group's communicator", "two": False}
device = common.start()
gradients = torch.ones(common.MB, device=device)


def logging_group():
    if common.rank == 2 or common.healthy:
        return dist.new_group([2])  # BUG
    return None


def train(group, count):
    for step in common.steps(count):
        if group is not None and step == 0 and not common.healthy:
            common.strike()
        dist.all_reduce(gradients, group=group)  # BUG
        gradients.div_(common.size)
        common.sync()


train(None, 30)
logging_group()
evaluation = dist.new_group(list(range(common.size)))
train(evaluation, 20)
common.finish()
