"""reply_behind.py: a thread of rank 1 answers rank 0 with a sum that its GPU computes. Once rank 1 is in a barrier by then, and the kernel
stands behind it in the stream; rank 0 comes to the barrier when it has its answer.

Source: https://github.com/pytorch/pytorch/issues/44169
"""
import os
import socket
import struct
import threading
import time

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 7, "ranks": 3, "rank": "0", "call": "AllReduce|[Bb]arrier", "class": "missing-call|host-blocked|deadlock|wait-cycle",
         "reason": "rank 0 waits for rank 1's answer, whose kernel waits for the barrier, which waits for rank 0", "two": True, "last": True}
AT, EPOCHS = 3, 5
device = common.start()
control = dist.new_group(backend="gloo")
gradients, table = torch.ones(common.MB, device=device), torch.ones(1 << 12, device=device)
path = os.path.join(common.folder, "table.sock")


def serve(listener):
    connection, _ = listener.accept()
    while connection.recv(1):
        connection.sendall(struct.pack("d", float(table.sum())))


def ask(connection, epoch):
    time.sleep(1)  # so that the others are in the barrier
    if epoch == AT and not common.healthy:
        common.strike()
    connection.sendall(b"?")
    return connection.recv(8)  # BUG


def connect():
    """Rank 0's connection to the server on rank 1."""
    plug = socket.socket(socket.AF_UNIX)
    if common.rank == 1:
        plug.bind(path)
        plug.listen()
        threading.Thread(target=serve, args=(plug,), daemon=True).start()
    dist.barrier()
    if common.rank == 0:
        plug.connect(path)
    return plug


connection = connect()
for epoch in range(EPOCHS):
    for step in common.steps(12):
        dist.all_reduce(gradients)
        gradients /= common.size
        common.sync()
    if common.rank == 0:
        ask(connection, epoch)
    if epoch != AT or common.healthy:
        dist.barrier(control)  # on the host alone, so that the server's stream is free
    dist.barrier()
common.finish()
