"""swallowed.py: a broad except around the epoch logs what one rank raised, and that rank goes on to the barrier at the end.

Source: https://github.com/pytorch/pytorch/issues/141069
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 8, "ranks": 3, "rank": "2", "call": "AllReduce|Broadcast", "class": "mismatch|skipped-call|early-exit|skipped-or-early-exit|extra-call",
         "reason": "rank 2 left the epoch by an exception and broadcasts the results; the others train", "two": False}
AT = 30
device = common.start()
gradients, results = torch.ones(common.MB, device=device), torch.zeros(256, device=device)


def load(step):
    if step == AT and common.rank == 2 and not common.healthy:
        common.strike()
        raise OSError("truncated image")
    return step


def epoch():
    for step in common.steps(60):
        load(step)
        dist.all_reduce(gradients)
        gradients.div_(common.size)
        common.sync()


def collect():
    dist.broadcast(results, 0)  # BUG
    common.sync()


try:
    epoch()
except Exception as error:
    print(f"rank {common.rank}: {error}", flush=True)
collect()
common.finish()
