"""spawn_wait.py: a worker of mp.spawn waits for an answer from a server that has accepted its connection and says nothing.

Source: https://github.com/ultralytics/ultralytics/issues/1439
"""
import os
import socket

import common
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

LABEL = {"kind": 9, "ranks": 3, "rank": "2", "call": "AllReduce", "class": "missing-call|host-blocked",
         "reason": "worker 2 waits for a server's answer", "two": False, "launch": "alone"}
AT = 30


def upload_metrics():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    client.sendall(b"POST /metrics HTTP/1.0\r\n\r\n")
    common.strike(2)
    return client.recv(100)  # BUG


def worker(rank, size):
    device = common.start(rank, size)
    gradients = torch.ones(common.MB, device=device)
    for step in common.steps(50):
        if step == AT and rank == 2 and not common.healthy:
            upload_metrics()
        dist.all_reduce(gradients)
        gradients /= size
        common.sync()
    common.finish()


if __name__ == "__main__":
    count = int(os.environ.get("INCIDENT_RANKS", 3))
    mp.spawn(worker, (count,), nprocs=count)
