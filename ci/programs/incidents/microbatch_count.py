"""microbatch_count.py: each stage of a pipeline works its number of micro batches out by itself. One comes to a smaller number, and
goes backward while its neighbours still go forward.

Source: https://github.com/pytorch/torchtitan/issues/775
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 3, "rank": "1", "call": "[Ss]end|[Rr]ecv",
         "class": "p2p-unmatched|p2p-peer|p2p-cycle|p2p-count|missing-call|mismatch|deadlock|wait-cycle|skipped-call",
         "reason": "rank 1 takes and sends three micro batches, the others four, and waits for a gradient already", "two": False, "last": True}
AT, BATCHES = 12, 4
device = common.start()
hidden, gradient = (torch.ones(1 << 19, device=device) for _ in range(2))
loss = torch.ones(1, device=device)


def batches(step):
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        return BATCHES - 1
    return BATCHES


def take_hidden():
    for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, hidden, common.rank - 1)]):  # BUG
        work.wait()


def send_hidden():
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, hidden, common.rank + 1)]):  # BUG
        work.wait()


def take_gradient():
    for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, gradient, common.rank + 1)]):  # BUG
        work.wait()


def send_gradient():
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, gradient, common.rank - 1)]):
        work.wait()


def run(count):
    for _ in range(count):
        if common.rank > 0:
            take_hidden()
        if common.rank < common.last:
            send_hidden()
    for _ in range(count):
        if common.rank < common.last:
            take_gradient()
        if common.rank > 0:
            send_gradient()


for step in common.steps(25):
    dist.all_reduce(loss)
    loss.fill_(1)
    run(batches(step))
    common.sync()
common.finish()
