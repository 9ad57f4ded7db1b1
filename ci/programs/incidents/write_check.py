"""write_check.py: an engine's ranks agree over gloo on how many writes to the second cache are through, and leave that out when they have
begun none. Once the host's memory is full on all ranks but one, which is alone there; the others are in the model.

Source: https://github.com/sgl-project/sglang/pull/27489
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 12, "ranks": 4, "rank": "0", "call": "AllReduce", "class": "missing-call|host-blocked|other-wait",
         "reason": "rank 0 is in gloo's all_reduce, to which no other rank comes; the others are in the model's sum", "two": True, "last": True}
AT, EVERY = 40, 4
device = common.start()
control = dist.new_group(backend="gloo")
hidden = torch.ones(1 << 16, device=device)
writing = []


def receive_requests(step):
    requests = [{"step": step}]
    dist.broadcast_object_list(requests, 0, group=control)
    return requests


def begin_write(step):
    full = step == AT and common.rank != 0 and not common.healthy
    if step % EVERY == 0 and not full:
        writing.append(step)


def check_writes(step):
    if not writing:
        return
    if step == AT and not common.healthy:
        common.strike()
    through = torch.tensor([len(writing)])
    dist.all_reduce(through, op=dist.ReduceOp.MIN, group=control)  # BUG
    del writing[:int(through)]


for step in common.steps(60):
    receive_requests(step)
    begin_write(step)
    check_writes(step)
    dist.all_reduce(hidden)
    hidden.fill_(1)
    common.sync()
common.finish()
