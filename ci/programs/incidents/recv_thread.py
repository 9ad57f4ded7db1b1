"""recv_thread.py: a thread receives the cache of another rank while the engine sums; the sender never got the request.

Source: https://github.com/NVIDIA/nccl/issues/1766
"""
import threading

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 4, "ranks": 3, "rank": "0", "call": "[Ss]end|[Rr]ecv|AllReduce", "class": "p2p-unmatched|missing-call|p2p-peer|mismatch|host-blocked",
         "reason": "rank 0 waits for a request and does not send the cache that rank 2 receives", "two": False}
AT = 25
device = common.start()
transfer, sums = dist.new_group([0, 1, 2]), dist.new_group([0, 1, 2])
cache, hidden = torch.ones(1 << 22, device=device), torch.ones(1 << 14, device=device)
requests = threading.Semaphore(0)


def serve_cache(count):
    for number in range(count):
        if number == 2 and not common.healthy:
            common.strike()
            requests.acquire()  # BUG
        for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, cache, 2, group=transfer)]):
            work.wait()
        common.sync()


def fetch_cache():
    for work in dist.batch_isend_irecv([dist.P2POp(dist.irecv, cache, 0, group=transfer)]):
        work.wait()
    common.sync()


def decode():
    dist.all_reduce(hidden, group=sums)
    hidden.fill_(1)
    common.sync()


for step in common.steps(12):
    decode()
    dist.all_reduce(hidden, group=transfer)
    hidden.fill_(1)
    common.sync()
threads = {0: lambda: serve_cache(4), 2: lambda: [fetch_cache() for _ in range(4)]}
thread = threading.Thread(target=threads.get(common.rank, lambda: None))
thread.start()
thread.join()
for step in common.steps(12):
    decode()
common.finish()
