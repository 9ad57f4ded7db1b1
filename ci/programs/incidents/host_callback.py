"""host_callback.py: events are published by host functions in the stream, under a lock. On one rank the thread that drains them holds
the lock while it waits for the next event.

Source: https://github.com/LMCache/LMCache/pull/2952
"""
import ctypes
import queue
import threading

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 7, "ranks": 3, "rank": "1", "call": "AllReduce", "class": "gpu-blocked|gpu-late|gpu-stuck",
         "reason": "rank 1's stream waits for a host function, which waits for a lock; its sum has not started", "two": True, "last": True}
AT = 30
device = common.start()
gradients = torch.ones(1 << 19, device=device)
events, lock, held = queue.Queue(), threading.Lock(), threading.Event()


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def publish(_):
    with lock:  # BUG
        events.put(1)


def drain():
    with lock:
        held.set()
        while events.get(timeout=30):
            pass


def runtime():
    """The CUDA runtime that PyTorch has loaded."""
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "libcudart" in line))


def publish_in_stream():
    if device.type != "cuda":
        return publish(None)
    code = runtime().cudaLaunchHostFunc(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), publish, None)
    if code:
        raise RuntimeError(f"cudaLaunchHostFunc: {code}")


for step in common.steps(45):
    if step == AT and common.rank == 1 and not common.healthy:
        threading.Thread(target=drain, daemon=True).start()
        held.wait()
        common.strike()
    publish_in_stream()
    dist.all_reduce(gradients)  # BUG
    gradients /= common.size
    common.sync()
common.finish()
