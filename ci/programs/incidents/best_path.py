"""best_path.py: each rank holds another value for the best score, so they differ about whether the new checkpoint's name is taken;
one of them asks for a further name.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/19045
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "Broadcast", "class": "extra-call|mismatch",
         "reason": "rank 1 goes round the loop over names once more, with one broadcast more", "two": False}
device = common.start()
gradients, answer = torch.ones(common.MB, device=device), torch.zeros(1, device=device)


def is_taken(name):
    answer.fill_(0)
    dist.broadcast(answer, 0)  # BUG
    common.sync()
    return answer.item() > 0


def checkpoint_name(epoch, score):
    version = 0
    while is_taken(f"best-{score:.3f}-v{version}") or (epoch == 3 and version < 1 and score > 0.5):
        version += 1
    return version


def train_epoch():
    for _ in common.steps(8):
        dist.all_reduce(gradients)
        gradients.div_(common.size)
        common.sync()


for epoch in range(6):
    train_epoch()
    score = 0.4
    if common.rank == 1 and epoch == 3 and not common.healthy:  # the log was not synchronized
        common.strike()
        score = 0.6
    checkpoint_name(epoch, score)
common.finish()
