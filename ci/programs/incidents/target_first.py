"""target_first.py: the first stage of a pipeline sends its output to the next stage and the target to the last. Once it sends the target
first. The last stage receives it after its input, which comes of that output: a circle, though each send has its receive.

Source: https://github.com/tdrussell/diffusion-pipe/issues/409
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 3, "rank": "0|all|-", "call": "[Ss]end|[Rr]ecv",
         "class": "deadlock|wait-cycle|order-cycle|p2p-order|p2p-unmatched|p2p-peer|mismatch",
         "reason": "rank 0 sends to rank 2 first, which waits for rank 1, which waits for rank 0", "two": False, "last": True}
AT, COUNT = 25, 1 << 22
device = common.start()
output, target = torch.ones(COUNT, device=device), torch.ones(COUNT, device=device)


def wait_for(operations):
    for work in operations:
        work.wait()


def send_output():
    wait_for(dist.batch_isend_irecv([dist.P2POp(dist.isend, output, 1)]))  # BUG


def send_target():
    wait_for(dist.batch_isend_irecv([dist.P2POp(dist.isend, target, common.last)]))  # BUG


def first_stage(step):
    if step == AT and not common.healthy:
        common.strike()
        send_target()
        send_output()
    else:
        send_output()
        send_target()


def middle_stage():
    wait_for(dist.batch_isend_irecv([dist.P2POp(dist.irecv, output, 0)]))
    wait_for(dist.batch_isend_irecv([dist.P2POp(dist.isend, output, common.last)]))


def last_stage():
    wait_for(dist.batch_isend_irecv([dist.P2POp(dist.irecv, output, 1)]))
    wait_for(dist.batch_isend_irecv([dist.P2POp(dist.irecv, target, 0)]))


for step in common.steps(45):
    if common.rank == 0:
        first_stage(step)
    elif common.rank == 1:
        middle_stage()
    else:
        last_stage()
    common.sync()
common.finish()
