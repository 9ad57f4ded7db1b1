"""by_hand.py: NCCL loaded by ctypes and called by hand, as vLLM's pynccl does; its communicator has a name, and what a
recorded call costs is measured by pausing the recorder (libhangar.so's hangar_pause) for every other block of calls."""
import argparse
import ctypes
import os
import statistics
import time

import job  # first: without torch it says so
import torch
import torch.distributed as dist


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_byte * 128)]


class Config(ctypes.Structure):
    """ncclConfig_t to its name; what is not set is INT_MIN or NULL."""
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint),
                ("numbers", ctypes.c_int * 4), ("net", ctypes.c_char_p), ("more", ctypes.c_int * 2), ("name", ctypes.c_char_p)]


class Nccl:
    def __init__(self, rank, size, name):
        self.library = ctypes.CDLL("libnccl.so.2")
        version, unique = ctypes.c_int(), UniqueId()
        self.call("ncclGetVersion", ctypes.byref(version))
        if rank == 0:
            self.call("ncclGetUniqueId", ctypes.byref(unique))
        told = torch.tensor(list(unique.bytes), dtype=torch.int8)
        dist.broadcast(told, 0)
        unique.bytes[:] = told.tolist()
        unset = -2 ** 31
        config = Config(ctypes.sizeof(Config), 0xcafebeef, version.value, (ctypes.c_int * 4)(*[unset] * 4), None,
                        (ctypes.c_int * 2)(unset, unset), name.encode())
        self.comm = ctypes.c_void_p()
        self.call("ncclCommInitRankConfig", ctypes.byref(self.comm), size, unique, rank, ctypes.byref(config))
        self.stream = torch.cuda.Stream()
        self.handle = ctypes.c_void_p(self.stream.cuda_stream)

    def call(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        if code:
            raise RuntimeError(f"{name}: {code}")

    def all_reduce(self, x):
        pointer = ctypes.c_void_p(x.data_ptr())
        self.call("ncclAllReduce", pointer, pointer, ctypes.c_size_t(x.numel()), 7, 0, self.comm, self.handle)

    def block(self, x, calls):
        """Microseconds a call: of the host until all are enqueued, and of all until they are over."""
        begin = time.perf_counter()
        for _ in range(calls):
            self.all_reduce(x)
        enqueued = time.perf_counter()
        self.stream.synchronize()
        return 1e6 * (enqueued - begin) / calls, 1e6 * (time.perf_counter() - begin) / calls


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--calls", type=int, default=200, help="a block: few enough that the queue is never full (200)")
    o = parser.parse_args()
    rank, size = job.launched("RANK", 0), job.launched("WORLD_SIZE", 1)
    torch.cuda.set_device(job.launched("LOCAL_RANK", rank) % torch.cuda.device_count())
    dist.init_process_group("gloo", rank=rank, world_size=size)
    nccl, x = Nccl(rank, size, "dp"), torch.zeros(2, device="cuda")
    torch.cuda.synchronize()
    nccl.block(x, 2000)
    took = {0: [], 1: []}
    turns = torch.tensor([4 * max(int(o.seconds * 1e6 / nccl.block(x, 2000)[1] / o.calls / 4), 1)])
    dist.broadcast(turns, 0)
    for turn in range(int(turns)):
        paused = (turn + turn // 2) % 2  # on off off on
        job.pause(paused)
        took[paused].append(nccl.block(x, o.calls))
    if rank == 0:
        for i, what in enumerate(("host", "all")):
            on, off = (statistics.median(t[i] for t in took[p]) for p in (0, 1))
            print(f"# by_hand {what}: us a call, recorded {on:.3f}, not recorded {off:.3f}, difference {on - off:.3f}, "
                  f"{len(took[0])} blocks of {o.calls} each, {'under' if os.environ.get('HANGAR_RUN') else 'without'} hangar_run",
                  flush=True)
    job.pause(0)
    nccl.call("ncclCommDestroy", nccl.comm)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
