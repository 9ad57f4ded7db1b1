"""clock_abort.py: each scheduler drops requests that waited too long by its own clock. One drops a request that the others keep,
and its batch is another size.

Source: https://github.com/sgl-project/sglang/issues/27221
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 4, "rank": "1", "call": "AllReduce", "class": "mismatch",
         "reason": "rank 1 aborted requests by its own clock: its sums are shorter", "two": False}
AT = 30
ROWS = 1 << 18
device = common.start()


def abort_on_timeout(queue, step):
    """The deadline passes between two ranks' looks at their clocks."""
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        return queue[:1]
    return queue


def forward(batch):
    hidden = torch.ones(len(batch) * ROWS, device=device)
    dist.all_reduce(hidden)  # BUG
    dist.all_reduce(hidden)
    common.sync()


for step in common.steps(60):
    queue = list(range(16 if step == AT else 2))
    forward(abort_on_timeout(queue, step))
common.finish()
