"""tracker_init.py: rank 0 alone opens a run at the experiment tracker. The server takes the connection and never answers.

Source: https://github.com/starVLA/starVLA/pull/369
"""
import http.client
import socket
import threading

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 3, "ranks": 3, "rank": "0", "call": "init|set-up|communicator|Broadcast", "class": "init-missing-rank|missing-call|host-blocked",
         "reason": "rank 0 waits for an answer of the tracker; the others are in the set-up of the first communicator", "two": True, "last": True}
device = common.start()
weights, gradients = (torch.ones(1 << 19, device=device) for _ in range(2))


class Tracker:
    """The client, and a server on the same host."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0))
        if common.healthy:
            threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        connection, _ = self.server.accept()
        connection.recv(4096)
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nrun 1")
        connection.close()

    def open_run(self, name):
        client = http.client.HTTPConnection(*self.server.getsockname())
        client.request("POST", "/runs", body=name)
        if not common.healthy:
            common.strike()
        answer = client.getresponse()  # BUG
        return answer.read()


if common.rank == 0:
    Tracker().open_run("finetune")
dist.broadcast(weights, 0)
for step in common.steps(30):
    dist.all_reduce(gradients)
    gradients /= common.size
    common.sync()
common.finish()
