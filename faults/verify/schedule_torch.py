#!/usr/bin/env python3
"""schedule: records the calls that each rank of a PyTorch program makes, without GPUs and without the other ranks, for hang_verify.

usage: hangar schedule [OPTION...] --world N PROGRAM.py [ARGUMENT...]     options stand before PROGRAM.py
"""
import argparse
import ctypes
import itertools
import json
import os
import signal
import sys
import tempfile
import time
import traceback

END = """Each rank runs by itself, in a process that is forked after one import of torch. Its process group carries nothing out: what other ranks
would have sent is not known. A program that lets such a value decide what it does ends with "cannot be faked: LINE". PROGRAM has to
run on the CPU, and to end: give it few steps.

exit: 0 the schedule is written; 1 a rank failed; 2 usage; 77 it cannot be faked, a rank did not end in time, or there is no torch.
Examples:
  hangar schedule --world 512 --out s.txt train.py --steps 10 && hangar verify s.txt
  hangar schedule --world 512 --mesh dp=64,pp=8 --sample dp train.py --steps 10
Files: --out FILE (schedule.txt) gets the schedule, a line a rank
See also: hangar verify, hangar reduce"""
DTYPES = {"float32": "float", "float64": "double", "float16": "half", "bool": "uint8", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}
WIDTH = 8  # calls on a line of the text


class Refused(Exception):
    """There is no schedule: why, and the exit code."""

    def __init__(self, why, code):
        super().__init__(why)
        self.code = code


# ---- schedules, without torch: {"groups": [[ranks, number]...], "calls": [word or [kind, group, count, peer, dtype, op, line]...]} ----

def places(sizes, rank):
    """Coordinates of a rank in a mesh, outermost first."""
    found = []
    for size in reversed(sizes):
        found.append(rank % size)
        rank //= size
    return found[::-1]


def rank_at(sizes, coordinates):
    rank = 0
    for size, place in zip(sizes, coordinates):
        rank = rank * size + place
    return rank


def sampled(mesh, along):
    """{rank: the rank that stands for it}, and pairs of ranks that must be alike for that: the first and the last along `along`."""
    names, sizes = list(mesh), list(mesh.values())
    fixed = [range(1) if name in along else range(size) for name, size in mesh.items()]
    firsts = [rank_at(sizes, where) for where in itertools.product(*fixed)]
    stands = {}
    for rank in range(rank_at(sizes, [size - 1 for size in sizes]) + 1):
        where = places(sizes, rank)
        stands[rank] = rank_at(sizes, [0 if name in along else place for name, place in zip(names, where)])
    last = {first: rank_at(sizes, [size - 1 if name in along else place for name, size, place in zip(names, sizes, places(sizes, first))])
            for first in firsts}
    return stands, last


def moved(made, mesh, start, rank):
    """What `rank` does where it does the same as `start`: groups and partners move along the mesh; a root stays a root."""
    sizes = list(mesh.values())
    shift = [(b - a) % size for a, b, size in zip(places(sizes, start), places(sizes, rank), sizes)]

    def to(one):
        return rank_at(sizes, [(place + by) % size for place, by, size in zip(places(sizes, one), shift, sizes)])

    groups = [[sorted(to(one) for one in ranks), number] for ranks, number in made["groups"]]
    calls = []
    for call in made["calls"]:
        if not isinstance(call, str) and call[0] in ("send", "recv"):
            call = [*call]
            call[3] = groups[call[1]][0].index(to(made["groups"][call[1]][0][call[3]]))
        calls.append(call)
    return {"groups": groups, "calls": calls}


def ranges(numbers):
    """[0, 1, 2, 5] as "0-2,5"."""
    text, numbers = [], sorted(numbers)
    for _, run in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in run]
        text.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
    return ",".join(text)


def word(call, names):
    if isinstance(call, str):
        return call
    kind, group, count, peer, dtype, op, line = call
    parts = [kind, names[group], str(count), "-" if peer is None else str(peer), dtype, op or "-"]
    while len(parts) > 3 and parts[-1] in ("-", "float", "sum"):
        parts.pop()
    return "/".join(parts) + (f"@{line}" if line else "")


def parts_of(words):
    """Parts of about WIDTH words, none of which ends within a group of calls; of no words one part."""
    parts, deep = [[]], 0
    for one in words:
        if len(parts[-1]) >= WIDTH and not deep:
            parts.append([])
        parts[-1].append(one)
        deep += (one == "(") - (one == ")")
    return parts


def text_of(world, made):
    """The text that hang_verify reads; made: {rank: what it does}."""
    numbers, alike, lines = {}, {}, [f"ranks {world}"]
    for rank in sorted(made):
        names = []
        for ranks, number in made[rank]["groups"]:
            key = (tuple(ranks), number)
            if len(ranks) == world and number == 0:
                names.append("")
                continue
            if key not in numbers:
                numbers[key] = f"g{len(numbers)}"
                lines.append(f"group {numbers[key]} {','.join(map(str, ranks))}")
            names.append(numbers[key])
        alike.setdefault(tuple(word(call, names) for call in made[rank]["calls"]), []).append(rank)
    for words, ranks in alike.items():
        lines += [" ".join([f"rank {ranges(ranks)}", *part]) for part in parts_of(words)]
    return "\n".join(lines) + "\n"


def compared(world, made, mesh, last):
    """Takes the last ranks of a sample out again: each must do what the first, moved there, does."""
    for first, other in last.items():
        if other == first:
            continue
        told = made.pop(other)
        for a, b in itertools.zip_longest(text_of(world, {other: moved(made[first], mesh, first, other)}).split(), text_of(world, {other: told}).split()):
            if a != b:
                raise Refused(f"ranks {first} and {other} are not alike ({a or 'no call'}, {b or 'no call'}): record all, without --sample", 77)


# ---- one rank ----

class Recorder:
    """What this rank calls, and which memory holds values that other ranks would have made."""

    def __init__(self):
        import torch
        self.torch, self.home = torch, os.path.dirname(os.path.abspath(torch.__file__)) + os.sep
        self.groups, self.calls, self.why = [], [], ""
        self.foreign, self.most = {}, 1024  # by the storage's address; a weak reference, with which no address comes twice

    def frame(self):
        """The program's own line that runs now: "train.py:88", or "train.py:88(layers.3)" where FSDP2 tells the module; "": there is none."""
        frame, module = sys._getframe(1), ""
        while frame and (frame.f_code.co_filename.startswith((self.home, "<")) or frame.f_code.co_filename == __file__):
            module = module or getattr(frame.f_locals.get("self"), "_module_fqn", "") or ""
            frame = frame.f_back
        line = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else ""
        return (line + f"({module})" * bool(line and module)).replace(" ", "_")

    def refuse(self, what):
        self.why = self.why or f"cannot be faked: {self.frame() or 'a line of torch'}: {what}"
        raise SystemExit(77)

    def add_group(self, ranks):
        number = sum(ranks == other for other, _ in self.groups)
        self.groups.append([ranks, number])
        return len(self.groups) - 1

    def note(self, kind, group, count, dtype, peer=None, op=None):
        dtype = str(dtype).replace("torch.", "")
        self.calls.append([kind, group, count, peer, DTYPES.get(dtype, dtype), op, self.frame()])

    # -- values of other ranks --

    @staticmethod
    def place(tensor):
        try:
            return tensor.untyped_storage()
        except (RuntimeError, NotImplementedError):
            return None

    def is_foreign(self, tensor):
        storage = self.place(tensor)
        return storage is not None and storage._cdata in self.foreign

    def take(self, tensors):
        """They hold other ranks' values from now on."""
        from torch.multiprocessing.reductions import StorageWeakRef
        for storage in map(self.place, tensors):
            if storage is not None and storage._cdata not in self.foreign:
                self.foreign[storage._cdata] = StorageWeakRef(storage)
        if len(self.foreign) > self.most:
            self.foreign = {key: ref for key, ref in self.foreign.items() if not ref.expired()}
            self.most = max(1024, 2 * len(self.foreign))


def tensors_in(torch, values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(torch, value)


def make_mode(recorder):
    """Follows other ranks' values through operators; a shape that depends on them cannot be faked."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    shaped = ("nonzero", "masked_select", "unique", "_unique2", "repeat_interleave", "bincount")

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            name = op.overloadpacket.__name__
            foreign = any(recorder.is_foreign(t) for t in tensors_in(torch, [*args, *kwargs.values()]))
            masks = name.startswith("index") and any(t.dtype in (torch.bool, torch.uint8) and recorder.is_foreign(t) for t in tensors_in(torch, args[1:]))
            if foreign and name in shaped or masks:
                recorder.refuse("a shape that depends on what other ranks sent")
            out = op(*args, **kwargs)
            if foreign:
                recorder.take(tensors_in(torch, [out]))
            return out
    return Mode()


class Unknown:
    """A number that other ranks would have made: it may be printed and reckoned with, and decides nothing."""

    def __init__(self, recorder):
        self.recorder = recorder

    def __format__(self, form):
        return "?"

    def __repr__(self):
        return "?"

    def same(self, *_):
        return self

    def decide(self, *_):
        self.recorder.refuse("a value that other ranks sent decides what is done next")

    __hash__ = None
    __bool__ = __int__ = __float__ = __index__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = decide
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = same
    __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = __pos__ = __abs__ = __round__ = same


def watch_values(recorder):
    """Python's ways from a tensor to a number, torch's own code included."""
    torch = recorder.torch

    def replace(name, refuse):
        real = getattr(torch.Tensor, name)

        def asked(self, *args, **kwargs):
            if not recorder.is_foreign(self):
                return real(self, *args, **kwargs)
            return recorder.refuse(f"{name.strip('_')} of a value that other ranks sent") if refuse else Unknown(recorder)
        setattr(torch.Tensor, name, asked)

    for name in ("__bool__", "__int__", "__float__", "__index__", "tolist", "numpy", "__array__"):
        replace(name, True)
    replace("item", False)


def make_group(recorder):
    """The class of a process group that carries nothing out."""
    import torch
    import torch.distributed as dist

    class Over(dist._Work):
        def __init__(self, result):
            super().__init__()
            self.future = torch.futures.Future()
            self.future.set_result(result)

        def wait(self, *_):
            return True

        def is_completed(self):
            return True

        def get_future(self):
            return self.future

    class Group(dist.ProcessGroup):
        supports_coalescing = True

        def __init__(self, rank, ranks, name):
            super().__init__(rank, len(ranks))
            self.here = recorder.add_group(ranks)
            self.named = name

        def done(self, kind, tensor, result, count=None, peer=None, op=None, own=False):
            """own: what this rank gets is its own."""
            recorder.note(kind, self.here, tensor.numel() if count is None else count, tensor.dtype, peer, op)
            if not own:
                recorder.take(tensors_in(torch, result))
            return Over(result)

        def reduction(self, opts):
            named = {"avg": "AVG", "prod": "PRODUCT", "max": "MAX", "min": "MIN"}
            return next((name for name, of in named.items() if opts and opts.reduceOp == getattr(dist.ReduceOp, of)), "sum")

        def getBackendName(self):  # noqa: N802
            return "hangar"

        def getGroupName(self):  # noqa: N802
            return self.named

        group_name = property(getGroupName)

        def _get_backend(self, device):
            return self

        def _start_coalescing(self, device):
            recorder.calls.append("(")

        def _end_coalescing(self, device):
            recorder.calls.append(")")
            return Over([])

        # -- collectives --

        def allreduce(self, tensors, opts=None):
            return [self.done("all_reduce", t, [t], op=self.reduction(opts)) for t in tensors][-1]

        def allreduce_coalesced(self, tensors, opts=None):
            self._start_coalescing(None)
            work = self.allreduce(tensors, opts)
            self._end_coalescing(None)
            return work

        def broadcast(self, tensors, opts=None):
            root = opts.rootRank if opts else 0
            return self.done("broadcast", tensors[0], tensors, peer=root, own=root == self.rank())

        def reduce(self, tensors, opts):
            return self.done("reduce", tensors[0], tensors, peer=opts.rootRank, op=self.reduction(opts), own=opts.rootRank != self.rank())

        def allgather(self, outputs, inputs, opts=None):
            for out, tensor in zip(outputs, inputs):
                for one in out:
                    one.copy_(tensor.reshape(one.shape) if one.numel() == tensor.numel() else one)
            return self.done("all_gather", inputs[0], outputs)

        def _allgather_base(self, out, tensor, opts=None):
            out.view(-1).copy_(tensor.reshape(-1).repeat(out.numel() // max(tensor.numel(), 1)))
            return self.done("all_gather", tensor, [out])

        def allgather_coalesced(self, outputs, inputs, opts=None):
            return self.allgather(list(zip(*outputs)), inputs)

        def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
            self._start_coalescing(None)
            work = [self._allgather_base(*pair) for pair in zip(outputs, inputs)][-1]
            self._end_coalescing(None)
            return work

        def reduce_scatter(self, outputs, inputs, opts=None):
            for out, parts in zip(outputs, inputs):
                out.copy_(parts[self.rank()])
            return self.done("reduce_scatter", outputs[0], outputs, op=self.reduction(opts))

        def _reduce_scatter_base(self, out, tensor, opts=None):
            out.view(-1).copy_(tensor.reshape(-1)[:out.numel()])
            return self.done("reduce_scatter", out, [out], op=self.reduction(opts))

        def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
            self._start_coalescing(None)
            work = [self._reduce_scatter_base(*pair, opts) for pair in zip(outputs, inputs)][-1]
            self._end_coalescing(None)
            return work

        def alltoall(self, outputs, inputs, opts=None):
            even = len({t.numel() for t in [*inputs, *outputs]}) == 1
            for out in outputs:
                out.zero_()
            return self.done("alltoall" if even else "alltoallv", inputs[0], [outputs], count=None if even else 0)

        def alltoall_base(self, out, tensor, out_splits=(), in_splits=(), opts=None):
            even = not out_splits and not in_splits
            out.zero_()
            return self.done("alltoall" if even else "alltoallv", tensor, [out], count=tensor.numel() // self.size() if even else 0)

        def gather(self, outputs, inputs, opts):
            return self.done("gather", inputs[0], outputs, peer=opts.rootRank)

        def scatter(self, outputs, inputs, opts):
            return self.done("scatter", outputs[0], outputs, peer=opts.rootRank, own=opts.rootRank == self.rank())

        def barrier(self, opts=None):
            recorder.note("all_reduce", self.here, 1, "float", None, "sum")  # as NCCL's group does it
            return Over([])

        # -- sends --

        def send(self, tensors, to, tag=0):
            return self.done("send", tensors[0], [], peer=to)

        def recv(self, tensors, source, tag=0):
            tensors[0].zero_()
            return self.done("recv", tensors[0], tensors, peer=source)

        def recv_anysource(self, tensors, tag=0):
            recorder.refuse("a receive from any rank: which one sends is not known")

        all_gather_single, all_gather_single_coalesced = _allgather_base, allgather_into_tensor_coalesced
        reduce_scatter_single, reduce_scatter_single_coalesced = _reduce_scatter_base, reduce_scatter_tensor_coalesced
        all_to_all_single = alltoall_base
    return Group


def set_up(recorder, rank, world):
    """Whatever backend the program names, it gets the group that carries nothing out."""
    import torch.distributed as dist
    c10d = dist.distributed_c10d
    group = make_group(recorder)

    def create(options, _):
        return group(options.group_rank, list(options.global_ranks_in_group) or list(range(world)), options.group_id)

    dist.Backend.register_backend("hangar", create, extended_api=True, devices=["cpu", "cuda"])
    begin, split, objects = dist.init_process_group, dist.new_group, "objects of other ranks"

    def init(backend=None, *args, timeout=None, **kwargs):
        begin("hangar", store=dist.HashStore(), rank=rank, world_size=world)

    def new_group(ranks=None, timeout=None, backend=None, *args, **kwargs):
        return split(sorted(ranks) if ranks is not None else None, backend="hangar", **{k: v for k, v in kwargs.items() if k == "group_desc"})

    def refused(name):
        return lambda *_, **__: recorder.refuse(f"{name}: {objects}")

    instead = {name: refused(name) for name in ("broadcast_object_list", "all_gather_object", "gather_object", "scatter_object_list", "send_object_list",
                                                "recv_object_list")}
    instead |= {"init_process_group": init, "new_group": new_group, "_store_based_barrier": lambda *_, **__: None}
    real = {name: getattr(c10d, name) for name in instead}
    for module in [module for name, module in list(sys.modules.items()) if name.startswith("torch.distributed")]:
        for name, other in instead.items():  # also where it was imported by name
            if vars(module).get(name) is real[name]:
                setattr(module, name, other)


def installed_modules():
    """Those that a program has loaded and not written."""
    import site
    homes = tuple([*site.getsitepackages(), os.path.dirname(os.__file__)])
    return [name for name, module in list(sys.modules.items()) if (getattr(module, "__file__", None) or "").startswith(homes)]


def run_rank(rank, world, program, words, out):
    """In the child: runs the program and writes what it called, or why that cannot be told."""
    import runpy

    import torch
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(world), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(world),
                      MASTER_ADDR="localhost", MASTER_PORT="1")
    sys.argv, sys.path[0] = [program, *words], os.path.dirname(os.path.abspath(program))
    recorder, code = Recorder(), 0
    set_up(recorder, rank, world)
    watch_values(recorder)
    try:
        with make_mode(recorder):
            runpy.run_path(program, run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code and not recorder.why and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:  # noqa: BLE001 the program's own
        traceback.print_exc()
        code = 1
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"code": code, "why": recorder.why, "groups": recorder.groups, "calls": recorder.calls, "modules": installed_modules()}, file)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # no destructor of torch waits for anything


# ---- all ranks ----

def fork_rank(rank, asked, folder):
    said = os.path.join(folder, f"{rank}.said")
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no rank outlives this program
        for number in (1, 2):
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), number)
        run_rank(rank, asked.world, asked.program, asked.words, os.path.join(folder, str(rank)))
    return child


def result(rank, folder):
    """What a rank did; Refused where that is no schedule."""
    try:
        with open(os.path.join(folder, str(rank)), encoding="utf-8") as file:
            made = json.load(file)
    except (OSError, ValueError):
        made = {"code": 1, "why": ""}
    if made["why"]:
        raise Refused(f"rank {rank}: {made['why']}", 77)
    if made["code"]:
        with open(os.path.join(folder, f"{rank}.said"), encoding="utf-8", errors="replace") as file:
            lines = file.read().strip().split("\n")[-8:]
        raise Refused("\n    ".join([f"rank {rank} failed: exit {made['code']}", *lines]), 77 if made["code"] == 77 else 1)
    return {"groups": made["groups"], "calls": made["calls"], "modules": made["modules"]}


def load(modules):
    """What the first rank has loaded is loaded here, once for all others."""
    import importlib
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 then each rank does it
            pass


def record(ranks, asked, folder):
    """{rank: what it does}; --jobs at once."""
    made, running, left = {}, {}, list(reversed(ranks))
    try:
        while left or running:
            while left and len(running) < asked.jobs:
                rank = left.pop()
                running[fork_rank(rank, asked, folder)] = (rank, time.monotonic() + asked.limit)
            child, _ = os.waitpid(-1, os.WNOHANG)
            if child:
                rank, _ = running.pop(child)
                made[rank] = result(rank, folder)
                continue
            late = [rank for rank, until in running.values() if time.monotonic() > until]
            if late:
                raise Refused(f"rank {late[0]} did not end within {asked.limit:g} s (--limit)", 77)
            time.sleep(.01)
    finally:
        for child in running:
            os.kill(child, 9)
            os.waitpid(child, 0)
    return made


def options(arguments):
    parser = argparse.ArgumentParser(prog="schedule", usage=__doc__.split("usage: ")[1].rstrip(), description=__doc__.split("\n")[0], epilog=END,
                                     allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--world", type=int, required=True, metavar="N", help="ranks")
    add("--out", default="schedule.txt", metavar="FILE", help="the schedule (%(default)s; -: standard output)")
    add("--mesh", default="", metavar="NAME=N,...", help="sizes of the ranks' mesh, the outermost first: dp=64,pp=8")
    add("--sample", default="", metavar="NAME,...", help="ranks along these do the same: the first is recorded, and the last to compare")
    add("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="ranks at once (a processor each)")
    add("--limit", type=float, default=120, metavar="S", help="a rank ends within so many seconds (%(default)s)")
    add("program")
    add("words", nargs=argparse.REMAINDER)
    asked = parser.parse_args(arguments)
    try:
        asked.mesh = {name: int(size) for name, size in (part.split("=") for part in asked.mesh.split(",") if part)}
    except ValueError:
        parser.error(f"--mesh {asked.mesh}: NAME=N,...")
    asked.sample = [name for name in asked.sample.split(",") if name]
    product = rank_at(asked.mesh.values(), [size - 1 for size in asked.mesh.values()]) + 1
    if not 1 <= asked.world <= 1 << 18 or asked.jobs < 1:
        parser.error("--world and --jobs are 1 or more")
    if asked.mesh and (min(asked.mesh.values()) < 1 or product != asked.world):
        parser.error(f"--mesh has {product} ranks, --world {asked.world}")
    if set(asked.sample) - set(asked.mesh):
        parser.error("--sample names parts of --mesh")
    if not os.path.isfile(asked.program):
        parser.error(f"{asked.program}: no such file")
    return asked


def schedule(asked):
    stands, last = sampled(asked.mesh, asked.sample) if asked.sample else ({rank: rank for rank in range(asked.world)}, {})
    ranks = sorted({*stands.values(), *last.values()})
    with tempfile.TemporaryDirectory(prefix="hangar-schedule-") as folder:
        made = record(ranks[:1], asked, folder)
        load(made[ranks[0]]["modules"])
        made |= record(ranks[1:], asked, folder)
    if asked.sample:
        compared(asked.world, made, asked.mesh, last)
        made = {rank: made[stands[rank]] if stands[rank] == rank else moved(made[stands[rank]], asked.mesh, stands[rank], rank) for rank in stands}
    return text_of(asked.world, made), len(ranks), sum(not isinstance(call, str) for one in made.values() for call in one["calls"])


def main(arguments):
    asked, began = options(arguments), time.monotonic()
    try:
        import torch.distributed
        if not torch.distributed.is_available():
            raise ImportError
    except ImportError:
        print(f"schedule: {sys.executable} has no torch: pip install torch, or python -m hangar of the Python that has it", file=sys.stderr)
        return 77
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # by way of what is cleared up
    try:
        text, ranks, calls = schedule(asked)
    except Refused as error:
        print(f"schedule: {error}", file=sys.stderr)
        return error.code
    if asked.out == "-":
        sys.stdout.write(text)
    else:
        with open(asked.out, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"# {asked.out}: {asked.world} ranks, {calls} calls; {ranks} ranks recorded in {time.monotonic() - began:.1f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
