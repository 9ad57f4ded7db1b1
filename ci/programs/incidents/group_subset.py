"""group_subset.py: the members alone make a group for their evaluation; making one is for all ranks of the run.

Source: https://github.com/vllm-project/llm-compressor/pull/2869
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 11, "ranks": 3, "rank": "0,1", "call": "AllReduce", "class": "missing-call|host-blocked|other-wait",
         "reason": "ranks 0 and 1 stand in new_group, which rank 2 never calls; rank 2 waits for them in the next step", "two": False}
AT = 30
device = common.start()
gradients = torch.ones(common.MB, device=device)


def evaluation_group():
    if common.rank < 2 and not common.healthy:
        common.strike()
    return dist.new_group([0, 1])  # BUG


for step in common.steps(50):
    if step == AT and (common.rank < 2 or common.healthy):
        evaluation_group()
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
