"""lines.py: three all-reduces a step that are all alike, and at one step a rank that makes one more (`--extra RANK`), or leaves one
out (`--skip RANK`): they pair silently, and only the lines of code tell."""
import argparse
import os

import job  # first: without torch it says so
import torch
import torch.distributed as dist

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=3000)
parser.add_argument("--at", type=int, default=12)
parser.add_argument("--extra", type=int, default=-1)
parser.add_argument("--skip", type=int, default=-1)
options = parser.parse_args()
rank, local = int(os.environ["RANK"]), job.launched("LOCAL_RANK", 0)
if job.launched("LOCAL_WORLD_SIZE", 1) > torch.cuda.device_count():
    os.environ.update(NCCL_HOSTID=f"rank{rank}", NCCL_NET="Socket", NCCL_SOCKET_IFNAME="lo")
torch.cuda.set_device(local % torch.cuda.device_count())
dist.init_process_group("nccl")
data = torch.zeros(4096, device="cuda")


def save():
    dist.all_reduce(data)


def backward():
    dist.all_reduce(data)
    dist.all_reduce(data)


def step(number):
    if number != options.at or rank != options.skip:
        dist.all_reduce(data)
    if number == options.at and rank == options.extra:
        save()
    backward()
    torch.cuda.synchronize()


for number in range(options.steps):
    step(number)
dist.destroy_process_group()
