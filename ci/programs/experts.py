"""experts.py: expert parallel training: samples go to the rank of their expert and back by uneven all-to-alls."""
import job  # first: without torch it says so
import torch
import torch.distributed as dist


class Exchange(torch.autograd.Function):
    """Rows to their ranks: backward is the same with the amounts exchanged."""

    @staticmethod
    def forward(ctx, rows, send, recv):
        ctx.amounts = send, recv
        out = rows.new_empty(sum(recv), rows.shape[1])
        dist.all_to_all_single(out, rows.contiguous(), recv, send)
        return out

    @staticmethod
    def backward(ctx, grad):
        send, recv = ctx.amounts
        out = grad.new_empty(sum(send), grad.shape[1])
        dist.all_to_all_single(out, grad.contiguous(), send, recv)
        return out, None, None


def main():
    j = job.Job(__doc__)
    o = j.options
    gate = torch.nn.Linear(o.width, j.size).to(j.device)
    torch.manual_seed(100 + j.rank)
    expert = job.blocks(o.width, o.layers).to(j.device)
    optimizer = torch.optim.SGD([*gate.parameters(), *expert.parameters()], lr=1e-3)

    def step(number):
        optimizer.zero_grad()
        x = j.data(number, o.batch, o.width)
        weight, to = gate(x).softmax(1).max(1)
        order = to.argsort(stable=True)
        send = torch.bincount(to, minlength=j.size)
        recv = torch.empty_like(send)
        dist.all_to_all_single(recv, send)
        send, recv = send.tolist(), recv.tolist()
        done = Exchange.apply(expert(Exchange.apply(x[order], send, recv)), recv, send)
        loss = (done * weight[order, None]).square().mean()
        loss.backward()
        for p in gate.parameters():
            dist.all_reduce(p.grad)
        optimizer.step()
        return loss.detach()

    j.train(step)


if __name__ == "__main__":
    main()
