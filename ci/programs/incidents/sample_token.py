"""sample_token.py: each tensor parallel rank samples the next token by itself; one draws the end and leaves.

Source: https://github.com/openai/gpt-oss/issues/270
"""
import common
import torch
import torch.distributed as dist

LABEL = {"kind": 6, "ranks": 4, "rank": "0", "call": "Broadcast|AllReduce", "class": "mismatch|skipped-call|extra-call|skipped-or-early-exit",
         "reason": "rank 0 drew the end token and broadcasts the next prompt; the others decode on", "two": False}
END, AT = 7, 12
device = common.start()
hidden, prompt = torch.ones(1 << 16, device=device), torch.zeros(128, device=device)


def next_prompt():
    dist.broadcast(prompt, 0)  # BUG


def forward():
    for _ in range(2):
        dist.all_reduce(hidden)
    hidden.fill_(1)


def sample(turn, position):
    if turn == 3 and position == AT and common.rank == 0 and not common.healthy:
        common.strike()
        return END
    return END if position == 15 else position % 5


def generate(turn):
    for position in common.steps(16, 0.03):
        forward()
        common.sync()
        if sample(turn, position) == END:
            return


for turn in range(6):
    next_prompt()
    generate(turn)
common.finish()
