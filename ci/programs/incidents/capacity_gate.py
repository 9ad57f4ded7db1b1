"""capacity_gate.py: a rank whose cache has no room for the next request looks after its transfers, which ends in an all-gather
of all ranks. The others had room for one, and go on to the model.

Source: https://github.com/NVIDIA/TensorRT-LLM/pull/14020
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 6, "ranks": 4, "rank": "3", "call": "AllGather", "class": "mismatch|extra-call",
         "reason": "rank 3's free blocks differ by one, so it alone gathers the state of transfers", "two": False}
AT = 30
device = common.start()
state, states = torch.zeros(1024, device=device), torch.zeros(1024 * common.size, device=device)
hidden = torch.ones(common.MB, device=device)


def fitting(step):
    if step == AT and common.rank == 3 and not common.healthy:
        common.strike()
        return 0
    return 0 if step % 10 == 5 else 1


def check_transfers():
    dist.all_gather_into_tensor(states, state)  # BUG


def forward():
    for _ in range(2):
        dist.all_reduce(hidden)
    hidden.div_(common.size ** 2)


for step in common.steps(80):
    if fitting(step) == 0:
        check_transfers()
    forward()
    common.sync()
common.finish()
