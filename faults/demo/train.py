"""train.py: a training job of four ranks with a bug, over stand-ins for NCCL and CUDA: no GPU is needed.

usage: train.py skip|shape|loader|raise     the bug; DOUBLE_DIR is a folder in which ranks meet, DOUBLE_ID the job's name

It knows nothing of hangar: faults/demo/demo starts it as `hangar run` starts any program.
"""
import ctypes
import math
import os
import sys

RANKS = 4
BUG = sys.argv[1]
FLOAT, SUM = 7, 0  # ncclFloat32, ncclSum


class Job:
    """A rank of the job: what a framework does."""

    def __init__(self, rank):
        self.rank, self.nccl, self.cuda = rank, ctypes.CDLL("libnccl.so.2"), ctypes.CDLL("libcuda.so.1")
        self.comm = ctypes.c_void_p()
        self.nccl.ncclCommInitRank(ctypes.byref(self.comm), RANKS, Id(os.environ["DOUBLE_ID"].encode()), rank)

    def amount(self, count):
        return None, None, ctypes.c_size_t(count), FLOAT, SUM, self.comm, None


class Id(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 128)]


def compute_loss(job, step):
    """Rank 2 meets a batch of which the loss is no number."""
    return math.nan if BUG == "skip" and (job.rank, step) == (2, 12) else 1 / (step + 1)


def next_batch(job, step):
    """The last batch of rank 1 is shorter; rank 3's shard is on a file system that does not answer."""
    if BUG == "loader" and (job.rank, step) == (3, 12):
        return read_shard(os.path.join(os.environ["DOUBLE_DIR"], "shard-3"))
    return 100 if BUG == "shape" and (job.rank, step) == (1, 12) else 128


def read_shard(path):
    os.mkfifo(path)
    return len(os.read(os.open(path, os.O_RDWR), 128))


def check_labels(job, step):
    if BUG == "raise" and (job.rank, step) == (1, 12):
        raise ValueError("label 1001 of a dataset with 1000 classes")


def train(job):
    for step in range(20):
        batch = next_batch(job, step)
        check_labels(job, step)
        job.nccl.ncclAllReduce(*job.amount(batch))  # tokens
        if not math.isnan(compute_loss(job, step)):
            job.nccl.ncclAllReduce(*job.amount(4096))  # gradients
        job.nccl.ncclAllReduce(*job.amount(1))  # their norm
        job.cuda.cuStreamSynchronize(None)


def main():
    children = []
    for rank in range(RANKS):
        if os.fork() == 0:
            os.environ["RANK"] = str(rank)
            train(Job(rank))
            return
        children.append(rank)
    for _ in children:
        os.wait()


if __name__ == "__main__":
    main()
