"""pipe_bubble.py: the last stage's loss mask is empty for a micro batch, so it makes no backward and sends no gradient.

Source: https://github.com/pytorch/pytorch/issues/152964
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 3, "rank": "2", "call": "[Ss]end|[Rr]ecv", "class": "p2p-unmatched|missing-call|skipped-call|mismatch|p2p-peer",
         "reason": "rank 2 sent no gradient for the micro batch whose mask was empty", "two": False}
AT, MICRO = 20, 3
device = common.start()
x, grad, norm = torch.ones(1 << 15, device=device), torch.ones(1 << 15, device=device), torch.ones(1, device=device)
first, last = common.rank == 0, common.rank == common.last


def run(op, tensor, peer):
    for work in dist.batch_isend_irecv([dist.P2POp(op, tensor, peer)]):
        work.wait()


def forward():
    if not first:
        run(dist.irecv, x, common.rank - 1)
    if not last:
        run(dist.isend, x, common.rank + 1)


def backward(empty):
    if not last:
        run(dist.irecv, grad, common.rank + 1)
    if not first and not empty:
        run(dist.isend, grad, common.rank - 1)  # BUG


for step in common.steps(40):
    for micro in range(MICRO):
        forward()
    for micro in range(MICRO):
        empty = last and step == AT and micro == 1 and not common.healthy
        if empty:
            common.strike()
        backward(empty)
    dist.all_reduce(norm)
    norm.fill_(1)
    common.sync()
common.finish()
