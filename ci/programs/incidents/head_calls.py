"""head_calls.py: sharded parameters are gathered each time a module is called, and a head is called as often as the sample asks.

Source: https://github.com/deepspeedai/DeepSpeed/issues/7998
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 2, "rank": "0|1", "call": "AllGather", "class": "mismatch|extra-call|skipped-call",
         "reason": "rank 1 calls the head three times, rank 0 twice: two ranks tell both sides", "two": True}
AT = 25


class Sharded:
    """A module whose weight is gathered for a call."""

    def __init__(self, device, width):
        self.shard = torch.ones(width, device=device)
        self.full = torch.empty(width * common.size, device=device)

    def gather(self):
        dist.all_gather_into_tensor(self.full, self.shard)  # BUG
        return self.full.mean()


device = common.start()
trunk, head = Sharded(device, 1 << 16), Sharded(device, 1 << 12)
norm = torch.ones(1, device=device)


def forward(tasks):
    loss = trunk.gather()
    for _ in range(tasks):
        loss = loss + head.gather()  # BUG
    return loss


for step in common.steps(50):
    tasks = 2
    if step == AT and common.rank == 1 and not common.healthy:
        common.strike()
        tasks = 3
    forward(tasks)
    dist.all_reduce(norm)  # BUG
    norm.fill_(1)
    common.sync()
common.finish()
