"""subject.py: a Python program that knows nothing of hangar: one rank of RANKS that trains for 20 steps, or so many,
over the test doubles.

usage: subject.py RANKS [steps=N] [WORD=RANK@STEP...]     what one rank does otherwise, in the step
RANK is its number, DOUBLE_ID the same for all."""
import atexit
import ctypes
import os
import sys
import threading
import time

nccl = ctypes.CDLL("libnccl.so.2")
cuda = ctypes.CDLL("libcuda.so.1")
rank, ranks = int(os.environ["RANK"]), int(sys.argv[1])
comm = ctypes.c_void_p()


class Id(ctypes.Structure):
    _fields_ = [("text", ctypes.c_char * 128)]


# a framework: its frames, and one of generated code, are between the program's and NCCL's
framework = {"call": eval("lambda: nccl.ncclAllReduce(None, None, ctypes.c_size_t(64), 7, 0, comm, None)")}
exec(compile("def all_reduce(depth=5):\n    return all_reduce(depth - 1) if depth else call()\n",
             "/usr/lib/python3/dist-packages/torch/distributed.py", "exec"), framework)
all_reduce = framework["all_reduce"]


def hits(word, step):
    return f"{word}={rank}@{step}" in sys.argv


class Engine:
    def step(self, at):
        if not hits("skip", at):
            all_reduce()
        thread = threading.Thread(target=self.backward)
        thread.start()
        thread.join()
        cuda.cuStreamSynchronize(None)

    def backward(self):
        all_reduce()
        all_reduce()


def save():
    all_reduce()


pairs = "pairs" in sys.argv  # and no communicator of all

def load_batch():
    """Reads what no process ever writes."""
    path = f"{os.environ['DOUBLE_DIR']}/batch"
    if not os.path.exists(path):
        os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)
    os.read(descriptor, 1)


def gather_over_gloo():
    """Waits for a rank in what is not NCCL's."""
    os.read(os.pipe()[0], 1)


def check_loss(step):
    raise RuntimeError(f"loss is NaN in step {step}")


def leave():
    """As PyTorch's process group does when Python ends."""
    nccl.ncclCommAbort(comm)
    open(f"{os.environ['DOUBLE_DIR']}/left", "w").close()
    time.sleep(8 if "slowly" in sys.argv else 0)


def follow():
    """As PyTorch's watchdog does when a peer is gone."""
    while not os.path.exists(f"{os.environ['DOUBLE_DIR']}/left"):
        time.sleep(0.02)
    time.sleep(0.06 * (1 + rank))
    if threading.main_thread().is_alive():
        os.write(2, b"terminate called after throwing an instance of 'c10::DistBackendError'\n")
        os.abort()


if "aborts" in sys.argv:
    atexit.register(leave)
if "follow" in sys.argv:
    threading.Thread(target=follow, daemon=True).start()
if "unnamed" in sys.argv:
    del os.environ["RANK"]
if pairs:  # all are there before the first pair is done
    open(f"{os.environ['DOUBLE_DIR']}/here.{rank}", "w").close()
    while not all(os.path.exists(f"{os.environ['DOUBLE_DIR']}/here.{r}") for r in range(ranks)):
        time.sleep(0.01)
name = (os.environ["DOUBLE_ID"] + (str(rank // 2) if pairs else "")).encode()
nccl.ncclCommInitRank(ctypes.byref(comm), 2 if pairs else ranks, Id(name), rank % 2 if pairs else rank)
for k in range(next((int(word[6:]) for word in sys.argv if word.startswith("steps=")), 20)):
    if hits("extra", k):
        save()
    if hits("asleep", k):
        time.sleep(60)
    if hits("load", k):
        load_batch()
    if f"elsewhere={k}" in sys.argv:
        gather_over_gloo() if rank else load_batch()
    if hits("starts", k):  # a job of its own, in which rank 1 stands
        os.environ["DOUBLE_ID"] += "own"
        os.system("".join(f"RANK={r} python3 {__file__} 2 asleep=1@5 & " for r in range(2)) + "wait")
    if hits("raises", k):
        check_loss(k)
    if hits("exits", k):
        sys.exit(0)
    if hits("oom", k):
        os.kill(os.getpid(), 9)
    Engine().step(k)
