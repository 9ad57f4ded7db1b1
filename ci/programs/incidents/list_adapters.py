"""list_adapters.py: the driver of an engine asks its workers for their LoRA adapters, and does not end their loop first. They wait for
its next command in a broadcast, it waits for their answers.

Source: https://github.com/vllm-project/vllm/issues/5531
"""
import os
from multiprocessing.connection import Client, Listener

import common
import torch
import torch.distributed as dist

LABEL = {"kind": 12, "ranks": 3, "rank": "0", "call": "Broadcast", "class": "missing-call|host-blocked",
         "reason": "rank 0 waits for answers of the workers, which wait for its broadcast", "two": True, "last": True}
STEP, LIST, END = 1, 2, 3
AT = 30
device = common.start()
command, hidden = torch.zeros(1, dtype=torch.int64, device=device), torch.ones(1 << 14, device=device)
path = os.path.join(common.folder, "answers")


def decode():
    dist.all_reduce(hidden)
    hidden.fill_(1)
    common.sync()


def tell(what):
    command.fill_(what)
    dist.broadcast(command, 0)


class Driver:
    def __init__(self):
        self.listener = Listener(path, backlog=8)

    def list_adapters(self):
        if common.healthy:
            tell(LIST)
        else:
            common.strike()
        answers = []
        for _ in range(common.size - 1):
            with self.listener.accept() as worker:  # BUG
                answers.append(worker.recv())
        return answers

    def run(self):
        for step in common.steps(50):
            if step == AT:
                self.list_adapters()
            tell(STEP)
            decode()
        tell(END)


def work():
    while True:
        dist.broadcast(command, 0)
        what = command.item()
        if what == END:
            return
        if what == STEP:
            decode()
            continue
        with Client(path) as driver:
            driver.send([f"adapter{common.rank}"])


if common.rank == 0:
    Driver().run()
else:
    work()
common.finish()
