"""engine_graph.py: an engine binds NCCL by ctypes and replays its decode step as a CUDA graph. A rank whose batch has no graph
runs another path, which leaves the step's collectives out.

Source: https://github.com/vllm-project/vllm/issues/46097
"""
import common

LABEL = {"kind": 5, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "early-exit|skipped-call|skipped-or-early-exit|missing-call|mismatch",
         "reason": "rank 1 took the path without the graph in step 40, and is a step ahead", "two": False, "launch": "ranks"}
AT, STEPS, LAYERS = 40, 120, 3


class Engine:
    def __init__(self):
        self.nccl = common.Nccl(name="tp")
        self.x = self.nccl.buffer(4096)
        self.replay = self.decode if common.doubles else self.capture()

    def decode(self):
        for _ in range(LAYERS):
            n = self.nccl
            n.check(n.lib.ncclAllReduce(self.x, self.x, 4096, common.FLOAT, common.SUM, n.comm, n.stream))

    def capture(self):
        import torch
        self.decode()
        self.nccl.wait()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.nccl.side):
            self.decode()
        return self.launch

    def launch(self):
        import torch
        with torch.cuda.stream(self.nccl.side):
            self.graph.replay()  # BUG

    def sample(self):
        n = self.nccl
        n.check(n.lib.ncclAllReduce(self.x, self.x, 64, common.FLOAT, common.SUM, n.comm, n.stream))

    def step(self, number):
        if number == AT and common.rank == 1 and not common.healthy:
            common.strike()
            return
        self.replay()  # BUG
        self.sample()


engine = Engine()
for number in common.steps(STEPS, 0.03):
    engine.step(number)
    engine.nccl.wait()
