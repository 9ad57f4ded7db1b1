"""token_count_type.py: the loss is divided by the number of tokens of all ranks. One rank's collator makes its mask of integers, so its
counts are integers too. All complete with wrong numbers.

Source: https://github.com/pytorch/pytorch/issues/150248
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 10, "ranks": 4, "rank": "2", "call": "AllReduce", "class": "mismatch|diverged",
         "reason": "rank 2 sums int32, the others float32; nothing hangs", "two": False, "last": True}
AT, LENGTHS = 30, 1024
device = common.start()
gradients = torch.ones(1 << 19, device=device)


def mask(step):
    kind = torch.int32 if step >= AT and common.rank == 2 and not common.healthy else torch.float32
    return torch.ones(4, LENGTHS, dtype=kind, device=device)


def count_tokens(batch):
    counts = batch.sum(0, dtype=batch.dtype)
    if counts.dtype == torch.int32:
        common.strike()
    dist.all_reduce(counts)  # BUG
    return counts


for step in common.steps(160):
    count_tokens(mask(step))
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
