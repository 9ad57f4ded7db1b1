"""tensor_data.py: tensor x data parallel training: each rank is in two communicators (with four ranks or more)."""
import job  # first: without torch it says so
import torch
import torch.distributed as dist


class Sum(torch.autograd.Function):
    """Sums over the tensor parallel group where forward goes; each rank's gradient is the sum's."""

    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Spread(torch.autograd.Function):
    """The other way round: forward as it is, gradients summed over the group."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


def groups(j, tensor):
    """The rank's two groups: neighbours share a layer, those of equal place share the gradients."""
    rows = [list(range(i, i + tensor)) for i in range(0, j.size, tensor)]
    columns = [list(range(i, j.size, tensor)) for i in range(tensor)]
    made = {tuple(ranks): dist.new_group(ranks) for ranks in rows + columns}
    return [made[tuple(ranks)] for half in (rows, columns) for ranks in half if j.rank in ranks]


def main():
    j = job.Job(__doc__, tensor=2)
    o = j.options
    tensor = o.tensor if j.size % o.tensor == 0 else 1
    row, column = groups(j, tensor)
    torch.manual_seed(100 + j.rank % tensor)
    part = o.width // tensor
    layers = torch.nn.ModuleList(torch.nn.ModuleList([torch.nn.Linear(o.width, part), torch.nn.Linear(part, o.width)])
                                 for _ in range(o.layers)).to(j.device)
    optimizer = torch.optim.SGD(layers.parameters(), lr=1e-3)

    def step(number):
        optimizer.zero_grad()
        x = j.data(number * j.size - j.rank + j.rank // tensor, o.batch, o.width)
        for into, out in layers:
            x = x + Sum.apply(out(torch.nn.functional.gelu(into(Spread.apply(x, row)))), row)
        loss = x.square().mean()
        loss.backward()
        for p in layers.parameters():
            dist.all_reduce(p.grad, group=column)
        optimizer.step()
        return loss.detach()

    j.train(step)


if __name__ == "__main__":
    main()
