"""fsdp2.py: sharded training (fully_shard): each layer is gathered before it is used, its gradients are scattered."""
import job  # first: without torch it says so
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def main():
    j = job.Job(__doc__)
    o = j.options
    mesh = init_device_mesh(j.device.type, (j.size,))
    model = job.blocks(o.width, o.layers).to(j.device)
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def step(number):
        optimizer.zero_grad()
        loss = model(j.data(number, o.batch, o.width)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    j.train(step)


if __name__ == "__main__":
    main()
