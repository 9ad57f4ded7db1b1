"""local_comm.py: a library of distributed transforms makes a communicator of the host's ranks when its row or its column of the grid has
more than one of them there. The rows are uneven, so one rank makes none and goes on.

Source: https://github.com/NVIDIA/cuDecomp/pull/158
"""
import common

LABEL = {"kind": 3, "ranks": 4, "rank": "last", "call": "init|set-up|communicator|AllReduce",
         "class": "init-missing-rank|missing-call|mismatch|skipped-call",
         "reason": "rank 3 is alone in its row and left the communicator out; it is in the next sum, the others are in the set-up", "two": False,
         "launch": "ranks", "last": True}
ROWS, COUNT = ((0, 1, 2), (3,)), 1 << 16


class Grid:
    def __init__(self):
        self.world = common.Nccl(name="world")
        self.x = self.world.buffer(COUNT)
        self.local = None

    def plan(self):
        row = next(row for row in ROWS if common.rank in row)
        if len(row) > 1 or common.healthy:
            self.local = common.Nccl(name="local")
        else:
            common.strike()

    def transform(self):
        n = self.world
        n.check(n.lib.ncclAllReduce(self.x, self.x, COUNT, common.FLOAT, common.SUM, n.comm, n.stream))  # BUG
        n.wait()

    def transpose(self):
        n = self.local
        n.check(n.lib.ncclAllReduce(self.x, self.x, COUNT, common.FLOAT, common.SUM, n.comm, n.stream))
        n.wait()


grid = Grid()
for step in common.steps(40):
    if step == 20:
        grid.plan()
    grid.transform()
    if grid.local:
        grid.transpose()
