"""device_lock.py: a stream waits for a word of memory that another thread of the rank writes far too late.

Source: https://github.com/vllm-project/vllm/issues/41725
"""
import ctypes
import threading
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 7, "ranks": 3, "rank": "2", "call": "AllReduce", "class": "gpu-blocked|gpu-late|gpu-stuck",
         "reason": "rank 2's stream waits for a flag before its sum", "two": False}
AT = 30
device = common.start()
gradients = torch.ones(common.MB, device=device)
flag = torch.zeros(16, dtype=torch.int32, pin_memory=device.type == "cuda")


def release():
    time.sleep(10)
    flag[0] = 1


def wait_for_event(step):
    if step != AT or common.rank != 2 or common.healthy:
        return
    common.strike()
    threading.Thread(target=release, daemon=True).start()
    if device.type == "cuda":
        wait = ctypes.CDLL("libcuda.so.1").cuStreamWaitValue32_v2
        code = wait(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), ctypes.c_uint64(flag.data_ptr()), ctypes.c_uint32(1), ctypes.c_uint(0))
        if code:
            raise RuntimeError(f"cuStreamWaitValue32: {code}")
    else:
        time.sleep(10)


for step in common.steps(40):
    wait_for_event(step)
    dist.all_reduce(gradients)  # BUG
    gradients /= common.size
    common.sync()
common.finish()
