"""twins.py: incidents of ci/programs/incidents that need PyTorch, in the calls of NCCL that they make, over the test doubles.

usage: ci/programs/incidents/common.py RANKS twins.py NAME
"""
import ctypes
import functools
import os
import pickle
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../programs/incidents"))
import common  # noqa: E402

rank, size = common.rank, common.size


def wait_for_lock():
    while not os.path.exists(os.path.join(common.folder, "unlocked")):
        time.sleep(0.1)


if sys.argv[1] == "stale_lock" and rank == 1:  # before it has used NCCL
    wait_for_lock()
n = common.Nccl(name="world")


def all_reduce(count=1 << 18, nccl=n):
    nccl.check(nccl.lib.ncclAllReduce(None, None, count, common.FLOAT, common.SUM, nccl.comm, nccl.stream))
    nccl.wait()


def all_gather(count):
    n.check(n.lib.ncclAllGather(None, None, count, common.FLOAT, n.comm, n.stream))


def broadcast(count):
    n.check(n.lib.ncclBroadcast(None, None, count, common.FLOAT, 0, n.comm, n.stream))
    n.wait()


def send(count):
    n.check(n.lib.ncclSend(None, count, common.FLOAT, 1 - rank, n.comm, n.stream))
    n.wait()


def recv(count, nccl=n, peer=1 - rank):
    nccl.check(nccl.lib.ncclRecv(None, count, common.FLOAT, peer, nccl.comm, nccl.stream))
    nccl.wait()


def send_first():
    for step in range(40):
        for part in (send, recv) if rank == 0 or step == 25 else (recv, send):
            part(1 << 23)


def head_calls():
    for step in range(50):
        all_gather(1 << 16)
        for _ in range(3 if step == 25 and rank == 1 else 2):
            all_gather(1 << 12)
        all_reduce(1)


def log_dir():
    for step in range(50):
        all_reduce()
        if rank == 0 and step == 20:
            broadcast(256)


def save_barrier(end=n.lib.ncclCommDestroy):
    """Rank 0 alone saves, with a barrier; the others give their communicator up, and end."""
    for _ in range(40):
        all_reduce()
    if rank == 0:
        all_reduce(1)
    all_reduce(1)
    end(n.comm)
    time.sleep(3)


def save_abort():
    save_barrier(n.lib.ncclCommAbort)


def elastic_resize():
    """Rank 2 makes one sum more in the old group; rank 3 has left, the others are in the new one's init."""
    for _ in range(25):
        all_reduce()
    if rank == 2:
        all_reduce()
    n.lib.ncclCommDestroy(n.comm)
    if rank < 3:
        common.Nccl(rank, 3, "resized")
    else:
        time.sleep(2)


def spawn_raise():
    """As torch.multiprocessing's worker: what was raised goes to the parent in a file."""
    try:
        for step in range(30):
            all_reduce()
            if step == 20 and rank == 1:
                raise ValueError("loss is 0.5")
    except ValueError:
        with open(os.path.join(common.folder, "error"), "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        n.lib.ncclCommAbort(n.comm)
        time.sleep(3)
        sys.exit(1)


engine = {"n": n}
exec(compile("def _engine_run_backward():\n    n.lib.double_backward(n.comm)\n\n\ndef backward():\n    _engine_run_backward()\n",
             "/usr/lib/python3/dist-packages/torch/autograd/graph.py", "exec"), engine)


def nan_skip():
    """Gradients are summed by the autograd engine's thread; rank 2 leaves a backward out, and ends first."""
    all_reduce()
    for step in range(40):
        if step != 25 or rank != 2:
            engine["backward"]()
            n.wait()


def serve_cache(nccl):
    for number in range(4):
        if number == 2:
            threading.Semaphore(0).acquire()
        nccl.check(nccl.lib.ncclSend(None, 1 << 22, common.FLOAT, 2, nccl.comm, nccl.stream))
        nccl.wait()


def fetch_cache(nccl):
    for _ in range(4 if rank == 2 else 0):
        recv(1 << 22, nccl, 0)


def recv_thread():
    """Rank 0 waits for a request, and sends rank 2 nothing; rank 1 waits for both in a sum on another communicator."""
    transfer = common.Nccl(name="transfer")
    for _ in range(12):
        all_reduce()
        all_reduce(1, transfer)
    thread = threading.Thread(target=serve_cache if rank == 0 else fetch_cache, args=(transfer,))
    thread.start()
    thread.join()
    all_reduce()


def drift_far():
    """A step makes 16 sums in a group and one alone, which rank 2 leaves out once."""
    for step in range(200):
        n.lib.ncclGroupStart()
        for _ in range(16):
            n.check(n.lib.ncclAllReduce(None, None, 256, common.FLOAT, common.SUM, n.comm, n.stream))
        n.lib.ncclGroupEnd()
        if step != 60 or rank != 2:
            n.check(n.lib.ncclAllReduce(None, None, 256, common.FLOAT, common.SUM, n.comm, n.stream))
        if step % 20 == 0:
            n.wait()
    n.wait()
    broadcast(256)


def pipe_bubble():
    """Rank 2 sends no gradient back for one micro batch."""
    def run(send, peer):
        call = n.lib.ncclSend if send else n.lib.ncclRecv
        n.lib.ncclGroupStart()
        n.check(call(None, 1 << 15, common.FLOAT, peer, n.comm, n.stream))
        n.lib.ncclGroupEnd()

    for step in range(40):
        for _ in range(3):
            if rank > 0:
                run(False, rank - 1)
            if rank < size - 1:
                run(True, rank + 1)
        for micro in range(3):
            if rank < size - 1:
                run(False, rank + 1)
            if rank > 0 and not (rank == 2 and step == 20 and micro == 1):
                run(True, rank - 1)
        all_reduce(1)


def fetch():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def thread_lock():
    """A thread makes all calls; in rank 2 it waits for a lock."""
    def loop():
        for step in range(40):
            if step == 15 and rank == 2:
                fetch()
            all_reduce()

    thread = threading.Thread(target=loop)
    thread.start()
    thread.join()


framework = {}
exec(compile("def all_reduce(call):\n    return call()\n", "/usr/lib/python3/dist-packages/torch/distributed.py", "exec"), framework)


def group_subset(members=3):
    """Ranks 0 and 1 are in the init of a group of all; rank 2 waits in the same line for another group's."""
    for _ in range(20):
        all_reduce()
    comm, made = ctypes.c_void_p(), n.unique("second" if members == 3 else f"pair{rank}" if rank else "id")
    call = functools.partial(n.lib.ncclCommInitRank, ctypes.byref(comm), members, made, rank if members == 3 else 0)
    framework["all_reduce"](call if rank < 2 else functools.partial(os.read, os.pipe()[0], 1))


def pair_order():
    """Each rank of a ring is, or waits to be, in the init of the pair that it makes with the next one."""
    with open(os.path.join(common.folder, f"pair{rank}"), "wb") as file:
        file.write(bytes([rank + 1]) * 128)
    group_subset(members=2)


class DistStoreError(RuntimeError):
    pass


def wait_for_writer():
    time.sleep(2)
    stack = "".join(f"\nframe #{i}: c10d::TCPStore::doWait({'x' * 120}) + 0x{i:x} (in libtorch_cpu.so)" for i in range(60))  # as PyTorch's
    raise DistStoreError("wait timeout after 2000ms, keys: /default_pg/0//checkpoint_30" + stack)


def store_key(late=-1):
    """All ranks give up the wait for a key that none sets; or one is late with it."""
    for _ in range(30):
        all_reduce()
    if rank == late:
        sys.stderr.write("a warning that says nothing of it\n")
        time.sleep(8)
    wait_for_writer()


def exit_alike():
    for _ in range(16):
        all_reduce()
    time.sleep(0.06 * rank)
    raise ValueError(f"rank {rank}: no schedule for step 16")


def store_late():
    store_key(late=1)


class DistBackendError(RuntimeError):
    pass


def print_exception(kind, value, trace):
    """As PyTorch does: its rank before each line; another thread writes between two of them."""
    lines = [f"[rank{rank}]: {line}" for line in "".join(traceback.format_exception(kind, value, trace)).split("\n")]
    lines.insert(2, f"[rank{rank}]:[W1128 23:04:05.678901234 ProcessGroupNCCL.cpp:1538] Warning: destroy_process_group() was not called")
    os.write(2, "\n".join(lines).encode())
    with open(f"{os.environ['DOUBLE_DIR']}/pid.{rank}", "w") as file:
        file.write(str(os.getpid()))
    os.rename(file.name, f"{os.environ['DOUBLE_DIR']}/said.{rank}")


def has_ended(pid):
    """Whether the process is no more, or waits for its parent alone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def lost_peer():
    """Two of four ranks find no listener, in two lines, while the others wait; a launcher ends these."""
    for _ in range(16):
        all_reduce()
    sys.excepthook = print_exception
    stack = "".join(f"\nframe #{i}: c10d::ProcessGroupNCCL::get({'x' * 120}) + 0x{i:x} (in libtorch_cuda.so)" for i in range(60))
    words = "NCCL error in: NCCLUtils.cpp:77, remote process exited or there was a network error, NCCL version 2.28.9\nncclRemoteError: A call failed " \
        "possibly due to a network error or a remote process exiting prematurely.\nLast error:\nsocketPollConnect: connect to 127.0.0.1<60751> " \
        "returned Connection refused, exceeded error retry count after 35 attempts" + stack
    if rank == 3:
        raise DistBackendError(words)
    if rank == 1:
        while not os.path.exists(f"{os.environ['DOUBLE_DIR']}/said.3"):
            time.sleep(0.01)
        with open(f"{os.environ['DOUBLE_DIR']}/said.3") as file:
            pid = int(file.read())
        while not has_ended(pid):
            time.sleep(0.01)
        raise DistBackendError(words)
    all_reduce()


globals()[sys.argv[1]]()
