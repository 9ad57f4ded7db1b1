"""prefetch_check.py: the scheduler asks of each waiting request whether its prefetch is over, by a sum over all ranks. Rank 0
asks once more than the others, which saw their batch full.

Source: https://github.com/sgl-project/sglang/issues/30760
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 4, "rank": "0", "call": "AllReduce", "class": "extra-call|mismatch",
         "reason": "rank 0 checks one request more; the others are in the next iteration's broadcast", "two": False}
AT = 25
device = common.start()
flag, requests, hidden = torch.zeros(1, device=device), torch.zeros(256, device=device), torch.zeros(common.MB, device=device)


def receive_requests():
    dist.broadcast(requests, 0)


def can_terminate(request):
    flag.fill_(request)
    dist.all_reduce(flag, op=dist.ReduceOp.MIN)  # BUG
    return flag.item() >= 0


def admit(waiting, room):
    batch = []
    for request in waiting:
        if len(batch) >= room:
            break
        if can_terminate(request):
            batch.append(request)
    return batch


for step in common.steps(80):
    receive_requests()
    room = 3
    if step == AT and common.rank == 0 and not common.healthy:
        common.strike()
        room = 4
    admit(range(6), room)
    dist.all_reduce(hidden)
    common.sync()
common.finish()
