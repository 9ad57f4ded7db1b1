"""job.py: what the training programs share: options, the process group, the loop of steps and its figures."""
import argparse
import ctypes
import os
import random
import signal
import statistics
import sys
import time
from datetime import timedelta

try:
    import torch
    import torch.distributed as dist
except ImportError:
    sys.stderr.write("this program needs PyTorch (pip install torch)\n")
    sys.exit(77)

BUGS = ("none", "shape", "dtype", "half", "drop", "kill", "exit0", "oom")
WARMUP = 5  # steps that are not timed
GAUGE = 5   # timed steps that say how many fit into --seconds


LAUNCHERS = {"RANK": ("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"),
             "WORLD_SIZE": ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS"),
             "LOCAL_RANK": ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"),
             "LOCAL_WORLD_SIZE": ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE")}


def launched(what, otherwise):
    """A value of the launcher, whichever it is; MASTER_ADDR and MASTER_PORT must be there in any case."""
    return int(next((os.environ[name] for name in LAUNCHERS[what] if name in os.environ), otherwise))


def pause(on):
    """Has libhangar.so, where this runs under it, record no calls for a while. All ranks do it between the same steps."""
    if hasattr(ctypes.CDLL(None), "hangar_pause"):
        ctypes.CDLL(None).hangar_pause(on)


def limit_memory(room):
    """Into a memory cgroup of its own, in which no more than `room` bytes come to what it has. The starter removes it."""
    for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        path = os.path.join(base, f"hangar-bug-{os.getpid()}")
        try:
            os.mkdir(path)
            for name, text in ((limit, room), ("cgroup.procs", os.getpid())):
                with open(os.path.join(path, name), "w") as file:
                    file.write(str(text))
            return
        except OSError as e:
            error = e
    sys.exit(f"no memory cgroup can be made here: {error}")


class Job:
    """One rank: its place, its device, and what was asked for."""

    def __init__(self, what, bugs=BUGS, **defaults):
        parser = argparse.ArgumentParser(description=what)
        parser.add_argument("--seconds", type=float, default=60, help="how long to train (60)")
        parser.add_argument("--steps", type=int, default=0, help="so many steps instead")
        parser.add_argument("--width", type=int, default=1024, help="of a layer (1024)")
        parser.add_argument("--layers", type=int, default=8, help="of the model (8)")
        parser.add_argument("--batch", type=int, default=32, help="samples a rank and step (32)")
        parser.add_argument("--timeout", type=float, default=600, help="of the process group, seconds (600)")
        parser.add_argument("--backend", choices=("nccl", "gloo"),
                            default="nccl" if torch.cuda.is_available() else "gloo")
        parser.add_argument("--bug", choices=bugs, default="none", help="of the --guilty rank in step --at")
        parser.add_argument("--alternate", type=int, default=0,
                            help="record so many steps, then let so many go by unrecorded, and so on; print what it costs")
        parser.add_argument("--guilty", type=int, default=-1, help="rank (the last)")
        parser.add_argument("--at", type=int, default=20, help="step of the bug (20)")
        for name, value in defaults.items():
            parser.add_argument("--" + name, type=type(value), default=value, help=f"({value})")
        self.options = parser.parse_args()
        self.rank, self.size = launched("RANK", 0), launched("WORLD_SIZE", 1)
        self.device = self.place()
        self.closing = []
        self.bugs = bugs
        self.guilty = self.rank == self.options.guilty % self.size
        self.program = os.path.splitext(os.path.basename(sys.argv[0]))[0]
        dist.init_process_group(self.options.backend, rank=self.rank, world_size=self.size,
                                timeout=timedelta(seconds=self.options.timeout))
        torch.manual_seed(17)

    def place(self):
        """The rank's device. More ranks than GPUs share them: NCCL takes each for a host then."""
        if self.options.backend == "gloo":
            return torch.device("cpu")
        local = launched("LOCAL_RANK", self.rank)
        gpus = torch.cuda.device_count()
        if launched("LOCAL_WORLD_SIZE", self.size) > gpus:
            os.environ.update(NCCL_HOSTID=f"rank{self.rank}", NCCL_NET="Socket", NCCL_SOCKET_IFNAME="lo")
        torch.cuda.set_device(local % gpus)
        return torch.device("cuda", local % gpus)

    def sync(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def data(self, step, *shape):
        """Synthetic samples, the same in each run, others on each rank and in each step."""
        made = torch.Generator().manual_seed(1000 * step + self.rank)
        return torch.randn(*shape, generator=made).to(self.device)

    def text(self, step, batch, length, words):
        """Synthetic text: a word mostly says which one follows, so that there is something to learn."""
        made = torch.Generator().manual_seed(1000 * step + self.rank)
        counted = (torch.randint(words, (batch, 1), generator=made) + 7 * torch.arange(length)) % min(words, 512)
        others = torch.randint(words, (batch, length), generator=made)
        return torch.where(torch.rand(batch, length, generator=made) < 0.9, counted, others).to(self.device)

    def bug(self, bug):
        """All ranks sum up figures, as training scripts do now and then; what the guilty one does is the bug. The amounts
        are such that it hangs, over NVLink and over sockets: others complete with wrong sums."""
        figures = torch.ones(1 << 22, device=self.device, dtype=torch.bfloat16 if self.options.bug == "half" else torch.float32)
        figures = figures[:1 << 14] if self.options.bug == "dtype" else figures
        if bug == "drop":
            time.sleep(3600)
        elif bug == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif bug == "exit0":
            sys.exit(0)
        elif bug == "oom":
            limit_memory(256 << 20)
            held = [bytearray(os.urandom(1 << 20) * 64) for _ in range(1 << 10)]
            time.sleep(len(held))
        elif bug == "shape":
            figures = figures[:1 << 10]
        elif bug == "dtype":
            figures = figures.to(torch.uint8)
        elif bug == "half":
            figures = figures.to(torch.float16)
        dist.all_reduce(figures)

    def count(self, step_s):
        """How many more steps all make: the slowest rank says."""
        if self.options.steps:
            return max(self.options.steps - WARMUP - GAUGE, 0)
        slowest = torch.tensor([step_s], device=self.device)
        dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
        return max(int(self.options.seconds / max(slowest.item(), 1e-6)) - GAUGE, 0)

    def train(self, step):
        """Calls step(number), which returns the loss, and prints what a step took."""
        times, loss = [], None
        last, number = WARMUP + GAUGE, 0
        while number < last:
            if self.options.alternate and number >= WARMUP:
                pause(self.is_paused(number))
            if number == self.options.at and self.options.bug != "none" and self.bugs is BUGS:
                self.bug(self.options.bug if self.guilty else "none")
            begin = time.monotonic()
            loss = step(number)
            self.sync()
            times.append(time.monotonic() - begin)
            number += 1
            if number == WARMUP + GAUGE:
                last += self.count(statistics.mean(times[WARMUP:]))
        self.report(times[WARMUP:], loss)
        return statistics.median(times[WARMUP:])

    def is_paused(self, number):
        """Blocks of --alternate steps: recorded, not, not, recorded."""
        block = (number - WARMUP) // self.options.alternate
        return (block + block // 2) % 2

    def cost(self, times):
        """Percent by which the median of the recorded steps is above that of the others, and its interval, 95 %, by drawing
        fours of blocks anew; then all times."""
        width = self.options.alternate
        fours = [times[i:i + 4 * width] for i in range(0, len(times) - 4 * width + 1, 4 * width)]
        draw = random.Random(17)

        def ratio(chosen):
            on = [t for four in chosen for t in four[:width] + four[3 * width:]]
            off = [t for four in chosen for t in four[width:3 * width]]
            return 100 * (statistics.median(on) / statistics.median(off) - 1)

        drawn = sorted(ratio(draw.choices(fours, k=len(fours))) for _ in range(400)) if fours else []
        if not fours:
            return ""
        return (f" cost_pct={ratio(fours):.3f} cost_low={drawn[10]:.3f} cost_high={drawn[389]:.3f} cost_fours={len(fours)}\n"
                "# program: ms of each step: " + " ".join(f"{1000 * t:.3f}" for t in times))

    def report(self, times, loss):
        pause(0)
        dist.barrier()
        for close in self.closing:  # NCCL's destroy waits for graphs that hold a communicator
            close()
        if self.rank == 0:
            ms = sorted(1000 * t for t in times)
            print(f"# program={self.program} ranks={self.size} device={self.device.type} steps={len(ms)} "
                  f"mean_ms={statistics.mean(ms):.4f} median_ms={statistics.median(ms):.4f} "
                  f"loss={loss.item() if loss is not None else 0:.6g}" +
                  (self.cost(times) if self.options.alternate else ""), flush=True)
        dist.destroy_process_group()


def blocks(width, layers):
    """A stack of layers as wide as they are deep, which any of the programs can cut up."""
    return torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.GELU())
                                 for _ in range(layers)])
