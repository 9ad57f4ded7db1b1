"""log_mean.py: every tenth step rank 0 logs the loss, and logging averages it over all ranks.

Source: https://github.com/dvl-tum/center-group/pull/2
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "0", "call": "AllReduce (count )?1 ", "class": "extra-call|mismatch",
         "reason": "rank 0 alone averages the loss for its log; its next gradients meet nothing of their size", "two": True}
device = common.start()
parts = [torch.ones(common.MB >> k, device=device) for k in range(4)]
AT = 30


def log(name, loss):
    dist.all_reduce(loss)  # BUG
    common.sync()
    if common.rank == 0:
        print(f"{name} {loss.item() / common.size:.3f}", flush=True)


def backward():
    for gradient in parts:
        dist.all_reduce(gradient)
        gradient /= common.size


for step in common.steps(60):
    backward()
    common.sync()
    if step == AT and not common.healthy:
        if common.rank == 0:
            common.strike()
            log("loss", torch.ones(1, device=device))
    elif step % 10 == 9:
        log("loss", torch.ones(1, device=device))
common.finish()
