"""oom_skip.py: a batch that does not fit is caught and left out, on the rank that ran out of memory.

Source: https://github.com/pytorch/pytorch/issues/18853
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "skipped-call|skipped-or-early-exit|missing-call|mismatch",
         "reason": "rank 1 ran out of memory in one step and left its gradients out", "two": True}
AT = 30
device = common.start()
weights = [torch.ones(common.MB >> 1, device=device) for _ in range(3)]
norm = torch.ones(1, device=device)


def forward_backward(step):
    rows = 1 << 20 if step == AT and common.rank == 1 and not common.healthy else 16
    activations = torch.ones(rows, 1 << 20 if rows > 16 else 64, device=device)
    for w in weights:
        dist.all_reduce(w)  # BUG
        w.div_(common.size)
    return activations.mean()


for step in common.steps(60):
    try:
        forward_backward(step)
    except RuntimeError as error:
        if "memory" not in str(error):
            raise
        common.strike()
        print(f"rank {common.rank}: ran out of memory, batch {step} is left out", flush=True)
    dist.all_reduce(norm)
    norm.fill_(1)
    common.sync()
common.finish()
