"""ddp.py: data parallel training with gradient buckets (DistributedDataParallel)."""
import job  # first: without torch it says so
import torch
from torch.nn.parallel import DistributedDataParallel


def main(what=__doc__, before=lambda j, model, number: None, **options):
    """before(job, model, number) is called ahead of each step."""
    j = job.Job(what, bucket=4, **options)
    o = j.options
    model = DistributedDataParallel(job.blocks(o.width, o.layers).to(j.device), bucket_cap_mb=o.bucket)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step(number):
        before(j, model.module, number)
        optimizer.zero_grad()
        loss = model(j.data(number, o.batch, o.width)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    j.train(step)


if __name__ == "__main__":
    main()
