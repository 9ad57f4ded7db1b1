"""pipeline.py: a stage of the model on each rank; activations go forward by send and receive, gradients back in groups."""
import job  # first: without torch it says so
import torch
import torch.distributed as dist


def main():
    j = job.Job(__doc__, micro=4)
    o = j.options
    stage = job.blocks(o.width, max(o.layers // j.size, 1)).to(j.device)
    optimizer = torch.optim.SGD(stage.parameters(), lr=1e-3)
    first, last = j.rank == 0, j.rank == j.size - 1

    def take(number, micro):
        if first:
            return j.data(o.micro * number + micro, o.batch, o.width)
        x = torch.empty(o.batch, o.width, device=j.device)
        dist.recv(x, j.rank - 1)
        return x.requires_grad_()

    def back(x, y):
        """The gradient of y from the next stage, that of x to the one before, as one group where both are known."""
        grad = torch.empty_like(y)
        if not last:
            exchange([dist.P2POp(dist.irecv, grad, j.rank + 1)])
            y.backward(grad)
        else:
            y.square().mean().backward()
        if not first:
            exchange([dist.P2POp(dist.isend, x.grad, j.rank - 1)])

    def exchange(ops):
        for work in dist.batch_isend_irecv(ops):
            work.wait()

    def step(number):
        optimizer.zero_grad()
        held = []
        for micro in range(o.micro):
            x = take(number, micro)
            y = stage(x)
            if not last:
                dist.send(y.detach(), j.rank + 1)
            held.append((x, y))
        for x, y in held:
            back(x, y)
        optimizer.step()
        return held[-1][1].detach().square().mean()

    j.train(step)


if __name__ == "__main__":
    main()
