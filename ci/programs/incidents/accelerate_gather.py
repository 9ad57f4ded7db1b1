"""accelerate_gather.py: the main process alone gathers predictions for its report.

Source: https://github.com/huggingface/accelerate/issues/314
"""
import common
import torch

LABEL = {"kind": 5, "ranks": 3, "rank": "0", "call": "AllGather", "class": "mismatch|extra-call",
         "reason": "rank 0 alone gathers, the others are in the next step's sum", "two": True}
AT = 25


def main():
    common.place()
    from accelerate import Accelerator, InitProcessGroupKwargs
    accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(timeout=common.timeout())])
    predictions, loss = torch.ones(256, device=accelerator.device), torch.ones(common.MB, device=accelerator.device)

    def report():
        everything = accelerator.gather(predictions)  # BUG
        accelerator.print(f"mean {everything.mean().item():.3f}")

    for step in common.steps(50):
        accelerator.reduce(loss, "mean")
        common.sync()
        if step % 10 == 5 and (accelerator.is_main_process or common.healthy or step != AT):
            if step == AT and not common.healthy:
                common.strike()
            report()
    common.sync()
    accelerator.end_training()


main()
