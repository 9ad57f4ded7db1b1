"""log_dir.py: a property that looks like a string broadcasts it from rank 0, and a hook of rank 0 alone reads it.

Source: https://github.com/Lightning-AI/pytorch-lightning/issues/18148
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 2, "rank": "0", "call": "Broadcast|AllReduce", "class": "mismatch|extra-call",
         "reason": "rank 0 alone reads log_dir, which broadcasts; rank 1 is in the next step's sum", "two": True}
AT = 20


class Trainer:
    def __init__(self):
        self.device = common.start()
        self.gradients = torch.ones(common.MB, device=self.device)
        self.path = torch.zeros(256, device=self.device)

    @property
    def log_dir(self):
        dist.broadcast(self.path, 0)  # BUG
        return "runs/" + str(int(self.path.sum().item()))

    def step(self):
        dist.all_reduce(self.gradients)
        self.gradients /= common.size
        common.sync()

    def on_step_end(self, number):
        if common.healthy:
            return self.log_dir
        if common.rank == 0 and number == AT:
            common.strike()
            return self.log_dir
        return None


trainer = Trainer()
for number in common.steps(50):
    trainer.step()
    trainer.on_step_end(number)
common.finish()
