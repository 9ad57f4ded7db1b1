"""stage_overflow.py: the stages of a pipeline sum the norm of their gradients before they clip. A stage whose gradients overflowed
leaves that out and takes the next micro batch.

Source: https://github.com/hpcaitech/ColossalAI/pull/1175
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "AllReduce",
         "class": "skipped-call|skipped-or-early-exit|missing-call|mismatch|early-exit|p2p-peer",
         "reason": "rank 1 overflowed, left the sum of the norm out, and is in the next step's receive", "two": True, "last": True}
AT = 25
device = common.start()
hidden, norm = torch.ones(1 << 19, device=device), torch.ones(1, device=device)


def overflowed(step):
    """By this stage's own gradients alone."""
    gradient = torch.full((16,), 1.0 if step != AT or common.rank != 1 or common.healthy else float("inf"))
    return not bool(torch.isfinite(gradient).all())


def take():
    for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, hidden, common.rank - 1)]):  # BUG
        work.wait()


def send():
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, hidden, common.rank + 1)]):
        work.wait()


def clip():
    dist.all_reduce(norm)  # BUG
    norm.fill_(1)


def optimizer_step(step):
    if overflowed(step):
        common.strike()
        return
    clip()


clip()
for step in common.steps(45):
    if common.rank > 0:
        take()
    if common.rank < common.last:
        send()
    optimizer_step(step)
    common.sync()
common.finish()
