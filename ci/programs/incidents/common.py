#!/usr/bin/env python3
"""common.py: what the incident programs share: their place, the process group, a loop of steps, NCCL by ctypes, and
`strike`, which proves that the bug struck. Without a GPU they use gloo, for smoke tests.

usage: common.py RANKS PROGRAM [OPTION...]    starts one process a rank, as a launcher that ends none of the others
"""
import ctypes
import os
import subprocess
import sys
import time

healthy = "--healthy" in sys.argv
rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
last = size - 1
folder = os.environ.get("INCIDENT_DIR", ".")  # of the run
doubles = "DOUBLE_DIR" in os.environ          # libnccl and libcuda are ci/tests' test doubles
FLOAT, SUM = 7, 0                             # as nccl.h numbers them
MB = 1 << 18                                  # floats


def strike(by=None):
    """Notes that the bug strikes now, and which rank says so. The first time counts."""
    if healthy:
        raise RuntimeError("a healthy twin must not strike")
    try:
        fd = os.open(os.environ.get("INCIDENT_STRUCK", "/dev/null"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
    except FileExistsError:
        return
    os.write(fd, f"{time.time():.3f} {rank if by is None else by}\n".encode())
    os.close(fd)


def place(number=None, of=None):
    """The device of a rank. Ranks that share a GPU are hosts of their own to NCCL, and use sockets."""
    import torch
    number, of = rank if number is None else number, of or size
    if not torch.cuda.is_available():
        return torch.device("cpu")
    gpus = torch.cuda.device_count()
    if of > gpus:
        os.environ.update(NCCL_HOSTID=f"rank{number}-{os.environ.get('MASTER_PORT', 0)}", NCCL_NET="Socket", NCCL_SOCKET_IFNAME="lo",
                          NCCL_NVLS_ENABLE="0")
    local = int(os.environ.get("LOCAL_RANK", number)) % gpus
    torch.cuda.set_device(local)
    return torch.device("cuda", local)


def timeout():
    """How long a call of the process group may take."""
    from datetime import timedelta
    return timedelta(seconds=float(os.environ.get("INCIDENT_TIMEOUT", 600)))


def start(number=None, of=None, **options):
    """The process group of all ranks; the rank's device."""
    import torch
    import torch.distributed as dist
    device = place(number, of)
    if number is not None:
        options.update(rank=number, world_size=of)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=timeout(), **options)
    torch.manual_seed(17)
    return device


def steps(count, seconds=0.05):
    """Numbers of steps, which take a while."""
    for number in range(count):
        time.sleep(seconds)
        yield number


def sync():
    import torch
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def finish():
    import torch.distributed as dist
    sync()
    dist.destroy_process_group()


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_byte * 128)]


class Nccl:
    """NCCL by ctypes: library, one communicator of all ranks, a stream, memory. Calls are the program's own."""

    def __init__(self, number=None, of=None, name="id"):
        self.rank, self.size = rank if number is None else number, of or size
        self.device = None if doubles else place(self.rank, self.size)
        self.lib = ctypes.CDLL(self.path())
        many, no = ctypes.c_size_t, ctypes.c_void_p
        for function, arguments in {"ncclAllReduce": [no, no, many, ctypes.c_int, ctypes.c_int, no, no],
                                    "ncclReduceScatter": [no, no, many, ctypes.c_int, ctypes.c_int, no, no],
                                    "ncclAllGather": [no, no, many, ctypes.c_int, no, no],
                                    "ncclBroadcast": [no, no, many, ctypes.c_int, ctypes.c_int, no, no],
                                    "ncclSend": [no, many, ctypes.c_int, ctypes.c_int, no, no],
                                    "ncclRecv": [no, many, ctypes.c_int, ctypes.c_int, no, no]}.items():
            getattr(self.lib, function).argtypes = arguments
        self.comm = ctypes.c_void_p()
        self.check(self.lib.ncclCommInitRank(ctypes.byref(self.comm), self.size, self.unique(name), self.rank))
        self.stream = None
        if not doubles:
            import torch
            self.side = torch.cuda.Stream()
            self.stream = ctypes.c_void_p(self.side.cuda_stream)

    @staticmethod
    def path():
        if not doubles:
            import torch  # noqa: F401  has loaded its own NCCL
            with open("/proc/self/maps") as maps:
                for line in maps:
                    if "libnccl.so" in line:
                        return line.split()[-1]
        return "libnccl.so.2"

    @staticmethod
    def check(code):
        if code:
            raise RuntimeError(f"NCCL error {code}")

    def unique(self, name):
        """The communicator's id: rank 0 makes it, the others read it in the run's folder."""
        made, path = Id(), os.path.join(folder, name)
        if self.rank == 0:
            self.check(self.lib.ncclGetUniqueId(ctypes.byref(made)))
            with open(path + ".new", "wb") as file:
                file.write(bytes(made))
            os.rename(path + ".new", path)
        while not os.path.exists(path):
            time.sleep(0.02)
        with open(path, "rb") as file:
            return Id.from_buffer_copy(file.read())

    def buffer(self, count=MB):
        """Address of so many floats."""
        if doubles:
            return None
        import torch
        self.kept = getattr(self, "kept", []) + [torch.zeros(count, device=self.device)]
        torch.cuda.synchronize()
        return self.kept[-1].data_ptr()

    def wait(self):
        if doubles:
            ctypes.CDLL("libcuda.so.1").cuStreamSynchronize(None)
        else:
            self.side.synchronize()


def main():
    """The launcher: its exit code is that of the first rank that failed."""
    count = int(sys.argv[1])
    ranks = [subprocess.Popen([sys.executable, *sys.argv[2:]], env=dict(os.environ, RANK=str(r), LOCAL_RANK=str(r), WORLD_SIZE=str(count),
                                                                        LOCAL_WORLD_SIZE=str(count))) for r in range(count)]
    return next((code for code in [job.wait() for job in ranks] if code), 0)


if __name__ == "__main__":
    sys.exit(main() & 255)
