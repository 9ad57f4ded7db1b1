"""weight_sync.py: the trainer broadcasts each parameter to the engines; an engine with tied embeddings has one parameter fewer.

Source: https://github.com/OpenRLHF/OpenRLHF/issues/313
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "2", "call": "Broadcast", "class": "skipped-call|skipped-or-early-exit|mismatch|missing-call",
         "reason": "rank 2 takes one parameter fewer than the trainer sends", "two": False}
AT, PARAMETERS = 4, 12
device = common.start()
weights = [torch.ones(1 << 14, device=device) for _ in range(PARAMETERS)]
rewards = torch.ones(64, device=device)


def parameters(round):
    tied = round == AT and common.rank == 2 and not common.healthy
    if tied:
        common.strike()
    return weights[:-1] if tied else weights


def update_weights(round):
    for weight in parameters(round):
        dist.broadcast(weight, 0)  # BUG


def rollout():
    for _ in common.steps(6):
        dist.all_reduce(rewards)
        rewards.fill_(1)
        common.sync()


for round in range(8):
    update_weights(round)
    rollout()
common.finish()
