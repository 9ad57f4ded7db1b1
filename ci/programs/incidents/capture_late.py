"""capture_late.py: decode steps are CUDA graphs, one for each batch size, captured when first needed. One rank has none for a size that
the others have, and takes the capture, which runs nothing, for the step.

Source: https://github.com/pegainfer-project/pegainfer/issues/498
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "skipped-call|missing-call|mismatch|early-exit|skipped-or-early-exit",
         "reason": "rank 1 captured the graph of the larger batch and did not replay it; the others replay theirs", "two": True, "last": True}
AT, LAYERS = 40, 3


class Decoder:
    def __init__(self):
        self.hidden = {batch: torch.ones(batch, 1024, device=device) for batch in (8, 16)}
        self.next, self.graphs = torch.ones(64, device=device), {}
        for batch in self.hidden:
            self.layers(batch)
        common.sync()

    def layers(self, batch):
        for _ in range(LAYERS):
            dist.all_reduce(self.hidden[batch])
            self.hidden[batch].fill_(1)

    def capture(self, batch):
        if device.type == "cuda":
            self.graphs[batch] = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graphs[batch], capture_error_mode="thread_local"):
                self.layers(batch)
        else:
            self.graphs[batch] = None

    def run(self, batch):
        if batch not in self.graphs:
            if not common.healthy:
                common.strike()
            self.capture(batch)  # BUG
            if not common.healthy:
                return
        if self.graphs[batch]:
            self.graphs[batch].replay()  # BUG
        else:
            self.layers(batch)  # BUG

    def sample(self):
        dist.all_reduce(self.next)
        self.next.fill_(1)


device = common.start()
decoder = Decoder()
for batch in (8,) if common.rank == 1 else (8, 16):
    decoder.capture(batch)
common.sync()
for step in common.steps(70):
    decoder.run(16 if step >= AT else 8)
    decoder.sample()
    common.sync()
decoder.graphs.clear()  # they hold the communicator
common.finish()
