"""video_reset.py: a model with SyncBatchNorm in two parts. In the first frame of a video the second part is not called, and videos
start in different steps on different ranks.

Source: https://github.com/pytorch/pytorch/issues/44957
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "0", "call": "AllGather|AllReduce",
         "class": "mismatch|skipped-call|skipped-or-early-exit|missing-call|early-exit",
         "reason": "rank 0 has a first frame and leaves the second part's statistics out; it is in backward", "two": True, "last": True}
AT = 25
device = common.start()


class PlainNorm(torch.nn.BatchNorm1d):
    """SyncBatchNorm needs a GPU; this one stands in without."""

    def forward(self, x):
        mean = x.detach().mean(0)
        dist.all_gather([torch.empty_like(mean) for _ in range(common.size)], mean)
        return super().forward(x)


def part():
    norm = torch.nn.SyncBatchNorm if device.type == "cuda" else PlainNorm
    return torch.nn.Sequential(torch.nn.Linear(256, 256), norm(256)).to(device)


class Video(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.features, self.memory = part(), part()

    def forward(self, x, first):
        x = self.features(x)
        if first:
            common.strike()
            return x
        return self.memory(x)  # BUG


model, gradients = Video(), torch.ones(1 << 19, device=device)
for step in common.steps(45):
    loss = model(torch.randn(32, 256, device=device), first=step == AT and common.rank == 0 and not common.healthy).square().mean()
    loss.backward()  # BUG
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
