"""init_all.py: one process drives two GPUs, a thread each, by ncclCommInitAll. A thread waits for its queue, which stays empty.

Source: https://github.com/NVIDIA/nccl/issues/1772
"""
import ctypes
import queue
import threading
import time

import common

LABEL = {"kind": 9, "ranks": 2, "rank": "1", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "the thread of the second GPU waits for work", "two": True, "launch": "alone", "gpus": 2}
AT = 30
work = queue.Queue()


def drive(lib, number, comm):
    x = stream = None
    if not common.doubles:
        import torch
        torch.cuda.set_device(number)
        x, stream = torch.ones(4096, device="cuda").data_ptr(), torch.cuda.Stream().cuda_stream
    for step in range(60):
        time.sleep(0.05)
        if step == AT and number == 1 and not common.healthy:
            common.strike(1)
            work.get()  # BUG
        data, handle = ctypes.c_void_p(x), ctypes.c_void_p(stream)
        lib.ncclAllReduce(data, data, ctypes.c_size_t(4096), common.FLOAT, common.SUM, ctypes.c_void_p(comm), handle)


def main():
    lib = ctypes.CDLL(common.Nccl.path())
    comms = (ctypes.c_void_p * 2)()
    common.Nccl.check(lib.ncclCommInitAll(comms, 2, (ctypes.c_int * 2)(0, 1)))
    threads = [threading.Thread(target=drive, args=(lib, number, comms[number])) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
