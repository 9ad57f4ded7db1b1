"""collect_last.py: after an evaluation the last stage of a pipeline collects outputs by one forward more. The other stages, which have
nothing to collect, go on to train, so their next forward meets the collection.

Source: https://github.com/NVIDIA-NeMo/Megatron-Bridge/pull/6025
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 3, "rank": "last", "call": "[Ss]end|[Rr]ecv",
         "class": "p2p-unmatched|p2p-peer|p2p-order|mismatch|extra-call|missing-call|deadlock|wait-cycle|order-cycle",
         "reason": "the last stage made one receive more and waits for an input; the stage before waits for its gradient", "two": True, "last": True}
AT = 20
device = common.start()
activation, gradient = torch.ones(1 << 16, device=device), torch.ones(1 << 16, device=device)


def transfer(kind, tensor, peer):
    return [work.wait() for work in dist.batch_isend_irecv([dist.P2POp(kind, tensor, peer)])]


def forward():
    if common.rank > 0:
        transfer(dist.irecv, activation, common.rank - 1)
    if common.rank < common.last:
        transfer(dist.isend, activation, common.rank + 1)


def backward():
    if common.rank < common.last:
        transfer(dist.irecv, gradient, common.rank + 1)
    if common.rank > 0:
        transfer(dist.isend, gradient, common.rank - 1)


def collect():
    if common.rank > 0:
        for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, activation, common.rank - 1)]):  # BUG
            work.wait()
    if common.rank < common.last:
        transfer(dist.isend, activation, common.rank + 1)


for step in common.steps(40):
    forward()
    backward()
    common.sync()
    if step == AT:
        forward()  # the evaluation
        if common.healthy:
            collect()
        elif common.rank == common.last:
            common.strike()
            collect()
common.finish()
