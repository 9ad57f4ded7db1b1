"""wrong_neighbour.py: after the grid is laid out anew a rank takes its old neighbour for its halo, which expects nothing of it.

Source: https://github.com/NVIDIA/Megatron-LM/pull/1495
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 4, "rank": "1", "call": "[Ss]end|[Rr]ecv", "class": "p2p-peer|p2p-unmatched|mismatch|wrong-peer",
         "reason": "rank 1 exchanges its halo with rank 3; rank 2 waits for rank 1", "two": False}
AT = 25
device = common.start()
norm = torch.ones(1, device=device)
halo, edge = torch.empty(1 << 16, device=device), torch.ones(1 << 16, device=device)


def neighbour(step):
    """Pairs 0-1 and 2-3, and in odd steps 1-2 alone."""
    if step % 2 == 0:
        return common.rank ^ 1
    if common.rank == 1 and step == AT and not common.healthy:
        common.strike()
        return 3
    return {1: 2, 2: 1}.get(common.rank)


def exchange(peer):
    if peer is None:
        return
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, edge, peer), dist.P2POp(dist.irecv, halo, peer)]):  # BUG
        work.wait()


for step in common.steps(40):
    exchange(neighbour(step))
    dist.all_reduce(norm)
    norm.fill_(1)
    common.sync()
common.finish()
