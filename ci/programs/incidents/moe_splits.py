"""moe_splits.py: tokens go to their experts by sends of uneven size. A rank computes the sizes from its own, older counts.

Source: https://github.com/deepspeedai/DeepSpeed/issues/5794
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 3, "rank": "1", "call": "[Ss]end|[Rr]ecv|AlltoAll|AllToAll", "class": "mismatch|p2p-unmatched|p2p-size|p2p-count|p2p-mismatch",
         "reason": "rank 1 sends rank 2 fewer rows than rank 2 expects", "two": False}
AT, ROWS, WIDTH = 25, 96, 1 << 14
device = common.start()


def sizes(step):
    """Rows to each rank, and from each."""
    send, receive = [ROWS // common.size] * common.size, [ROWS // common.size] * common.size
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        send[2] = 1
    return send, receive


def dispatch(step):
    send, receive = sizes(step)
    ops = []
    for peer in range(common.size):
        if peer != common.rank:
            ops.append(dist.P2POp(dist.isend, torch.ones(send[peer] * WIDTH, device=device), peer))
            ops.append(dist.P2POp(dist.irecv, torch.empty(receive[peer] * WIDTH, device=device), peer))
    for work in dist.batch_isend_irecv(ops):  # BUG
        work.wait()


for step in common.steps(40, 0.1):
    dispatch(step)
    common.sync()
common.finish()
