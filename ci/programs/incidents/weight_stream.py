"""weight_stream.py: three trainers gather each parameter, and rank 0 sends it to the sampler, which is rank 3. In one update the sampler
waits for the files of a checkpoint, because it was told that one comes.

Source: https://github.com/huggingface/trl/issues/7103
"""
import os
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 12, "ranks": 4, "rank": "3", "call": "Broadcast|AllGather", "class": "missing-call|host-blocked",
         "reason": "rank 3 waits for a file; rank 0 waits for it in the broadcast, ranks 1 and 2 wait for rank 0 in the next all-gather",
         "two": False, "last": True}
AT, PARAMETERS = 4, 6
device = common.start()
trainers, transfer = dist.new_group([0, 1, 2]), dist.new_group([0, 3])
shard, gradients = torch.ones(1 << 17, device=device), torch.ones(1 << 19, device=device)
weight = torch.ones(3 << 17, device=device)


def gather():
    dist.all_gather_into_tensor(weight, shard, group=trainers)


def send_weights():
    """Each parameter is gathered by all trainers, and sent by one."""
    for _ in range(PARAMETERS):
        gather()
        if common.rank == 0:
            dist.broadcast(weight, 0, group=transfer)
            common.sync()


def wait_for_files():
    while not os.path.exists(os.path.join(common.folder, "model.safetensors")):
        time.sleep(0.2)  # BUG


def take_weights(update):
    for number in range(PARAMETERS):
        if update == AT and number == 2 and not common.healthy:
            common.strike()
            wait_for_files()
        dist.broadcast(weight, 0, group=transfer)
        common.sync()


def train():
    for _ in common.steps(6):
        dist.all_reduce(gradients, group=trainers)
        gradients.div_(3)
        common.sync()


for update in range(8):
    if common.rank == 3:
        take_weights(update)
    else:
        send_weights()
        train()
common.finish()
