"""gloo_objects.py: between steps the ranks gather objects over gloo. Rank 0 still reads its list of samples; no NCCL call hangs.

Source: https://github.com/sgl-project/sglang/issues/34582
"""
import os

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 11, "ranks": 3, "rank": "0", "call": "gloo|gather|other-wait|gloo_objects.py", "class": "other-wait|missing-call|host-blocked",
         "reason": "ranks 1 and 2 wait in gloo; rank 0 reads a file that gives nothing", "two": True}
AT = 30
device = common.start()
objects = dist.new_group(backend="gloo")
gradients = torch.ones(common.MB, device=device)
listing = os.path.join(common.folder, "listing")


def read_listing():
    os.mkfifo(listing)
    keep = os.open(listing, os.O_RDWR)
    common.strike()
    os.read(keep, 4096)  # BUG


def gather_metrics(step):
    found = [None] * common.size
    dist.all_gather_object(found, {"step": step}, group=objects)
    return found


for step in common.steps(50):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
    if step == AT and common.rank == 0 and not common.healthy:
        read_listing()
    if step % 5 == 0:
        gather_metrics(step)
common.finish()
