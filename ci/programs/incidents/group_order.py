"""group_order.py: two communicators share a stream, and one rank uses them in the other order.

Source: https://github.com/NVIDIA/nccl/issues/195
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "order-cycle|deadlock|wait-cycle|mismatch|extra-call|skipped-call",
         "reason": "rank 1 sums over the second group first", "two": False}
AT = 25
device = common.start()
data, tensor = dist.new_group([0, 1, 2]), dist.new_group([0, 1, 2])
gradients, hidden = torch.ones(common.MB, device=device), torch.ones(1 << 12, device=device)


def reduce_gradients():
    dist.all_reduce(gradients, group=data)  # BUG
    gradients.div_(common.size)


def forward():
    dist.all_reduce(hidden, group=tensor)  # BUG
    hidden.fill_(1)


for step in common.steps(50):
    if step == AT and common.rank == 1 and not common.healthy:  # its overlap is on
        common.strike()
        reduce_gradients()
        forward()
    else:
        forward()
        reduce_gradients()
    common.sync()
common.finish()
