"""ring_lengths.py: context parallel attention passes blocks of keys around a ring. One rank's part of the sequence is shorter, and
its neighbour expects a whole block.

Source: https://github.com/huggingface/diffusers/pull/13545
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 3, "rank": "2", "call": "[Ss]end|[Rr]ecv",
         "class": "p2p-unmatched|p2p-peer|p2p-size|p2p-count|p2p-mismatch|mismatch|missing-call",
         "reason": "rank 2 sends half a block of keys; rank 0 expects a whole one", "two": False, "last": True}
AT, TOKENS, WIDTH = 20, 2048, 256
device = common.start()
after, before = (common.rank + 1) % common.size, (common.rank - 1) % common.size
gradients = torch.ones(1 << 19, device=device)


def part(step):
    """This rank's keys in the step."""
    short = step == AT and common.rank == 2 and not common.healthy
    return torch.ones(TOKENS // 2 if short else TOKENS, WIDTH, device=device)


def rotate(block):
    """Passes a block on and takes that of the rank before."""
    taken = torch.empty(TOKENS, WIDTH, device=device)
    if len(block) < TOKENS:
        common.strike()
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, block, after), dist.P2POp(dist.irecv, taken, before)]):  # BUG
        work.wait()
    return taken


def attention(block):
    total = block.sum()
    for _ in range(common.size - 1):
        block = rotate(block)
        total += block.sum()
    return total


for step in common.steps(35):
    attention(part(step))
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
