"""fsdp2.py: sharded training (fully_shard) of a Llama-shaped model in bf16: each layer is gathered before it is used, its gradients are
scattered. --width 2048 --layers 22 --sequence 1024 has a billion parameters."""
import job  # first: without torch it says so
import torch
import torch.nn.functional as F
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

HEAD = 64


class Attention(nn.Module):
    """Rotary positions, four query heads to a key and value head."""

    def __init__(self, width):
        super().__init__()
        self.queries, self.keys = width // HEAD, max(width // HEAD // 4, 1)
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * self.keys * HEAD, bias=False)

    def forward(self, x, turn):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, self.queries, HEAD).transpose(1, 2)
        k, v = self.kv(x).view(batch, length, 2 * self.keys, HEAD).transpose(1, 2).chunk(2, dim=1)
        k, v = (t.repeat_interleave(self.queries // self.keys, dim=1) for t in (k, v))
        y = F.scaled_dot_product_attention(rotated(q, turn), rotated(k, turn), v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(batch, length, -1))


def rotated(x, turn):
    cosine, sine = turn
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cosine - b * sine, a * sine + b * cosine), dim=-1).to(x.dtype)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width)
        self.gate, self.up = (nn.Linear(width, 8 * width // 3 // HEAD * HEAD, bias=False) for _ in range(2))
        self.down = nn.Linear(8 * width // 3 // HEAD * HEAD, width, bias=False)

    def forward(self, x, turn):
        x = x + self.attention(self.first(x), turn)
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, words, width, layers):
        super().__init__()
        self.embedding, self.norm = nn.Embedding(words, width), nn.RMSNorm(width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        place = torch.arange(tokens.shape[1], device=tokens.device)
        angle = place[:, None] / 10000 ** (torch.arange(HEAD // 2, device=tokens.device) / (HEAD // 2))
        x, turn = self.embedding(tokens), (angle.cos(), angle.sin())
        for layer in self.layers:
            x = layer(x, turn)
        return self.head(self.norm(x))


def main():
    j = job.Job(__doc__, sequence=128, words=8192)
    o = j.options
    mesh = init_device_mesh(j.device.type, (j.size,))
    torch.set_default_device(j.device)
    model = Llama(o.words, o.width, o.layers)
    torch.set_default_device("cpu")
    parameters = sum(p.numel() for p in model.parameters())
    half = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=half)
    fully_shard(model, mesh=mesh, mp_policy=half)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    losses = []

    def step(number):
        optimizer.zero_grad()
        text = j.text(number, o.batch, o.sequence + 1, o.words)
        loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1).float(), text[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        return loss.detach()

    seconds = j.train(step)
    if j.rank == 0:
        print(f"# program=fsdp2 parameters={parameters} first_loss={losses[0].item():.4g} "
              f"last_loss={(sum(losses[-5:]) / 5).item():.4g} tokens_per_s={j.size * o.batch * o.sequence / seconds:.0f}", flush=True)


if __name__ == "__main__":
    main()
