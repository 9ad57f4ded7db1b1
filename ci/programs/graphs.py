"""graphs.py: a step with its all-reduces as a captured CUDA graph, replayed; without GPU the same step by step."""
import job  # first: without torch it says so
import torch
import torch.distributed as dist


def main():
    j = job.Job(__doc__)
    o = j.options
    layers = [torch.randn(o.width, o.width, device=j.device) / o.width ** 0.5 for _ in range(o.layers)]
    x = torch.zeros(o.batch, o.width, device=j.device)
    out = torch.zeros_like(x)

    def work():
        y = x
        for weight in layers:
            y = torch.tanh(y @ weight)
            dist.all_reduce(y)
            y = y / j.size
        out.copy_(y)

    replay = capture(j, work) if j.device.type == "cuda" else work

    def step(number):
        x.copy_(j.data(number, o.batch, o.width))
        replay()
        if number % 10 == 0:  # and now and then a call that is not in the graph
            dist.all_reduce(out)
        return out.square().mean()

    j.train(step)


def capture(j, work):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    j.closing.append(graph.reset)
    return graph.replay


if __name__ == "__main__":
    main()
