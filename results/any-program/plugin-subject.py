# an NCCL that no wrapper reaches: a copy of libnccl under another soname, loaded by hand
import ctypes, os, sys, time, torch
r, n = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]); mode = sys.argv[2]
torch.cuda.set_device(r)
lib = ctypes.CDLL(sys.argv[1])
class Id(ctypes.Structure): _fields_ = [("b", ctypes.c_char * 128)]
def ok(rc):
    if rc: sys.exit("nccl %d" % rc)
u = Id(); path = os.environ["IDFILE"]
if r == 0:
    ok(lib.ncclGetUniqueId(ctypes.byref(u)))
    open(path + ".t", "wb").write(bytes(u)); os.rename(path + ".t", path)
else:
    while not os.path.exists(path): time.sleep(0.02)
    ctypes.memmove(ctypes.byref(u), open(path, "rb").read(), 128)
comm = ctypes.c_void_p()
ok(lib.ncclCommInitRank(ctypes.byref(comm), n, u, r))
s = torch.cuda.current_stream().cuda_stream
x = torch.ones(1 << 20, device="cuda"); y = torch.ones(1 << 20, device="cuda")
p = lambda t: ctypes.c_void_p(t.data_ptr())
def reduce(count): ok(lib.ncclAllReduce(p(x), p(y), ctypes.c_size_t(count), 7, 0, comm, ctypes.c_void_p(s)))
for i in range(1, 301):
    if mode == "asleep" and r == 1 and i == 60: time.sleep(600)
    if not (mode == "skip" and r == 1 and i == 60): reduce(1000 + i % 7)
    ok(lib.ncclBroadcast(p(x), p(y), ctypes.c_size_t(64), 7, 0, comm, ctypes.c_void_p(s)))
    if i % 8 == 0: torch.cuda.synchronize()
torch.cuda.synchronize()
best = 1e9
for _ in range(20):
    k = 1000; t0 = time.time()
    for i in range(k): reduce(2)
    torch.cuda.synchronize()
    best = min(best, (time.time() - t0) / k * 1e6)
if r == 0: print("us_per_call %.3f" % best, mode, flush=True)
ok(lib.ncclCommDestroy(comm))
