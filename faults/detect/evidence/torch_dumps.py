"""torch_dumps.py: PyTorch Flight Recorder dumps in a folder, for evidence_torch.c.

    python3 -I torch_dumps.py DIR COMMUNICATORS      (hang_diagnose --torch has it built in)

Writes a line for the job, then one for each rank, as JSON; or one that says what is wrong. Pickles are read as data: what
names a class or a function is refused, so nothing in a file is executed. They are read by children, one a processor, with
little memory and time for each. Of many dumps the newest calls are compared. A dump says what its rank called, in which process group, and what of it completed. It says neither reduction operator
nor root nor stream: they are not compared. A dump of another job, or from before the others' last calls, is set aside.
"""
import gc
import json
import os
import pickle
import re
import resource
import selectors
import signal
import stat
import statistics
import struct
import sys
import time
import zlib

MEMORY = 4 << 30       # for all dumps, and
FILE_MEMORY = 2 << 30  # for one: a hostile pickle may ask for any amount
FILE_SECONDS = 3       # of a processor, and one more for
SECOND_BYTES = 4 << 20
FILE_BYTES = 256 << 20
ENTRIES = 1 << 17      # a ring has 2000
RANKS = 1 << 18
ABSENT = 1 << 13       # ranks without a dump, at most
FRAMES = 24
CALLS_COMPARED = 1 << 20  # of all dumps: fewer of each where there are many
CALLS_LEAST = 64
MANY = 64              # from so many dumps on a terminal shows how many are read
TOO_MUCH = "takes too much"
ALONE = 2              # RECORD_ALONE
BEFORE = 8             # calls before a rank's first pending one are kept
CLOCKS = 60 * 10 ** 9  # clocks of hosts differ less
DUMPED = 600 * 10 ** 9 # all ranks of a job dump within this time
KEYS = {"entries", "version", "pg_config", "pg_status"}

# In the order of enum call_kind and enum dtype.
KINDS = "AllReduce AllGather ReduceScatter Broadcast Reduce AlltoAll AlltoAllv Gather Scatter Send Recv".split()
DTYPES = ("Char", "Byte Bool", "Int", "UInt32", "Long", "UInt64", "Half", "Float ComplexFloat", "Double ComplexDouble",
          "BFloat16", "Float8_e4m3fn", "Float8_e5m2")
DTYPE = {name: i for i, names in enumerate(DTYPES) for name in names.split()}

# PyTorch's names (after "nccl:") by NCCL's kind, and the tensors that say its count, which is one rank's. The amounts of
# an all-to-all may differ by right, and its parts are not recorded.
NAMES = (
    ("AllReduce", "input", "all_reduce all_reduce_barrier all_reduce_coalesced allreduce allreduce_coalesced barrier"),
    ("AllGather", "input", "all_gather _all_gather_base all_gather_into_tensor_coalesced allgather allgather_coalesced"),
    ("ReduceScatter", "output", "reduce_scatter _reduce_scatter_base reduce_scatter_tensor_coalesced"),
    ("Broadcast", "input", "broadcast _broadcast_oop"), ("Reduce", "input", "reduce _reduce_oop"),
    ("AlltoAllv", None, "all_to_all alltoall all_to_all_single alltoall_base all_to_allv"),
    ("Gather", "input", "gather"), ("Scatter", "output", "scatter"), ("Send", "any", "send"), ("Recv", "any", "recv"))
# No rank ends these before all have begun.
TOGETHER = {KINDS.index(kind) for kind in ("AllReduce", "AllGather", "ReduceScatter", "AlltoAll")}
NEAR = 256  # a group counts collectives and sends apart, and its status says the last one's number, whichever it was
SEND, UNEVEN = KINDS.index("Send"), KINDS.index("AlltoAllv")
CALLS = {name: (KINDS.index(kind), tensors) for kind, tensors, names in NAMES for name in names.split()}


class Data(pickle.Unpickler):
    """Dictionaries, lists, tuples, texts and numbers, and nothing that has a name."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError("names %.40s.%.40s, which is more than data" % (module, name))


class Unsound(Exception):
    pass


def clean(text):
    return "".join(c if " " <= c <= "~" or c == "\n" else "?" for c in text)


def say(**line):
    print(json.dumps(line))


def number(value, low=0, high=(1 << 62)):
    return value if type(value) is int and low <= value <= high else None


def texts(value):
    return [x for x in value if type(x) is str] if type(value) in (list, tuple) else []


def elements(sizes):
    """Of all tensors of a call; None where their sizes are not sound."""
    total = 0
    for size in sizes if type(sizes) in (list, tuple) else []:
        one = 1
        for n in size if type(size) in (list, tuple) else [None]:
            if number(n, 0, 1 << 48) is None:
                return None
            one = min(one * n, 1 << 60)
        total += one
    return total


# ---- files ----

def load(path):
    """One dump as a dictionary of which nothing is sound yet."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as file:
        there = os.fstat(fd)
        if not stat.S_ISREG(there.st_mode) or there.st_size > FILE_BYTES:
            raise Unsound("is no file of a sensible size")
        head = file.read(1)
        file.seek(0)
        try:
            dump = json.loads(file.read().decode()) if head == b"{" else Data(file).load()
        except MemoryError:
            raise Unsound("asks for too much memory") from None
        except Exception as e:  # whatever hostile bytes make of the unpickler
            raise Unsound("is cut off or no dump (%.80s)" % str(e)) from None
    if type(dump) is not dict or not KEYS & set(k for k in dump if type(k) is str):
        raise Unsound("is no Flight Recorder dump")
    return dump


class Ranks(tuple):
    """A group's ranks: of large jobs thousands, which are keys. They are made once for each group."""
    made = {}

    def __new__(cls, ranks):
        found = super().__new__(cls, ranks)
        found.hash = super(Ranks, found).__hash__()
        return cls.made.setdefault(found, found)

    def __hash__(self):
        return self.hash

    def __reduce__(self):
        return Ranks, (tuple(self),)


def answer(to, work, most):
    """A child: reads dumps one after the other, and writes what each says, with its groups' ranks by number: the parent has them."""
    resource.setrlimit(resource.RLIMIT_AS, (FILE_MEMORY, FILE_MEMORY))
    gc.disable()
    numbers = {}
    for path, rank in work:
        try:
            used = resource.getrusage(resource.RUSAGE_SELF)
            limit = int(used.ru_utime + used.ru_stime) + 1 + FILE_SECONDS + os.stat(path).st_size // SECOND_BYTES
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
            said, new = Dump(path, rank, most), []
            for name, ranks in said.groups.items():
                if ranks and ranks not in numbers:
                    numbers[ranks] = len(numbers)
                    new.append(ranks)
                said.groups[name] = ranks and numbers[ranks]
        except (Unsound, OSError) as e:
            said, new = str(e), []
        data = pickle.dumps((said, new), protocol=4)
        to.write(struct.pack("<Q", len(data)) + data)
        to.flush()


class Reader:
    """A child, and the files that it has not answered for. It ends at a file that takes too much; another goes on behind it."""

    def __init__(self, work, most):
        self.work, self.most, self.buffer, self.ranks = work, most, bytearray(), []
        self.of, to = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            os.close(self.of)
            try:
                with os.fdopen(to, "wb") as file:
                    answer(file, work, most)
            finally:
                os._exit(0)
        os.close(to)

    def read(self):
        """What it has said since: (path, rank, dump or what is wrong with it), and whether it has ended."""
        data = os.read(self.of, 1 << 20)
        self.buffer += data
        said = []
        while len(self.buffer) >= 8:
            size, = struct.unpack_from("<Q", self.buffer)
            if len(self.buffer) < 8 + size:
                break
            dump, new = pickle.loads(bytes(self.buffer[8:8 + size]))  # the child's own
            del self.buffer[:8 + size]
            self.ranks += new
            if type(dump) is not str:
                dump.groups = {name: None if n is None else self.ranks[n] for name, n in dump.groups.items()}
            said.append((*self.work.pop(0), dump))
        return said, not data

    def end(self):
        """What is wrong with the file at which it ended, if it did."""
        os.close(self.of)
        ended = os.waitpid(self.child, 0)[1]
        if not self.work:
            return []
        slow = os.WIFSIGNALED(ended) and os.WTERMSIG(ended) in (signal.SIGXCPU, signal.SIGKILL)
        return [(*self.work.pop(0), TOO_MUCH + (" time" if slow else " memory"))]


def read_all(work, most):
    """(path, rank, dump or what is wrong with it) of these files, in any order: read by a child a processor."""
    readers, several = selectors.DefaultSelector(), min(len(os.sched_getaffinity(0)), 16, (len(work) + 7) // 8)
    for n in range(several):
        one = Reader(work[n::several], most)
        readers.register(one.of, selectors.EVENT_READ, one)
    while readers.get_map():
        for key, _ in readers.select():
            said, over = key.data.read()
            yield from said
            if over:
                readers.unregister(key.fd)
                yield from key.data.end()
                if key.data.work:
                    one = Reader(key.data.work, most)
                    readers.register(one.of, selectors.EVENT_READ, one)


def find(folder):
    """Files by rank: a dump's name ends with the rank. Of several for one rank the newest, pickles first."""
    found = {}
    for name in sorted(os.listdir(folder)):
        match = re.match(r"(?!rank-\d)((?:.*\D)?)(\d{1,6})(\.json|\.pickle|\.pkl)?$", name)
        path = os.path.join(folder, name)
        if match and int(match.group(2)) < RANKS and os.path.isfile(path):
            key = (match.group(3) != ".json", os.stat(path).st_mtime)
            found.setdefault(int(match.group(2)), []).append((key, name))
    return {rank: sorted(files, reverse=True) for rank, files in found.items()}


# ---- what a dump says ----

class Call:
    """One entry that is a call, with its group's key."""
    __slots__ = ("library", "name", "pg", "description", "group", "place", "peer", "seqs", "op", "record", "created", "started", "ended", "over",
                 "state", "timeout", "kind", "count", "dtype", "dtypes", "frames", "alone", "comm", "seq", "stream")

    def __init__(self, entry):
        name = entry.get("profiling_name")
        group = entry.get("process_group")
        match = re.match(r"(?:(\w+):)?(\w+)(?: (\d+)(->|<-)(\d+))?", name if type(name) is str else "")
        if not match or len(texts(group)) < 1:
            raise Unsound("an entry has no name or no group")
        self.library, self.name = match.group(1) or "", match.group(2)
        self.pg = counted(entry.get("pg_id"))
        self.description = clean((texts(group)[1:] or [""])[0])[:60].replace("undefined", "")
        self.group = texts(group)[0][:60]
        self.place = int(match.group(3)) if match.group(3) else None
        self.peer = int(match.group(5)) if match.group(5) and len(match.group(5)) < 7 else -1
        self.seqs = tuple(number(entry.get(k)) or 0 for k in ("collective_seq_id", "p2p_seq_id"))
        self.op = number(entry.get("op_id"), 0, 1 << 40) or 0
        self.record = number(entry.get("record_id"), 0, 1 << 40) or 0
        self.created, self.started, self.ended = (
            number(entry.get(k)) or 0
            for k in ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns"))
        self.over = self.ended  # 0: not known
        self.state = (texts([entry.get("state")]) or [""])[0]
        self.timeout = (number(entry.get("timeout_ms"), 0, 1 << 40) or 0) * 1000000
        if self.library == "gloo" and entry.get("retired") is True:
            self.state, self.ended = "completed", self.ended or self.created
        self.kind, tensors = CALLS.get(self.name, (None, None))
        self.count = self.counted(entry, tensors)
        dtypes = texts(entry.get("input_dtypes")) + texts(entry.get("output_dtypes"))
        self.dtype = DTYPE.get(dtypes[0]) if dtypes else 0  # a barrier may have no tensor
        self.dtypes = " ".join(dtypes)[:30]
        self.frames = ()
        self.alone = True

    def counted(self, entry, tensors):
        n = {key: elements(entry.get(key + "_sizes")) for key in ("input", "output")}
        if None in n.values():
            raise Unsound("an entry's sizes are none")
        if tensors is None:
            return 0  # an uneven all-to-all's amounts differ by right, and its parts are not recorded
        times = 2 if "ComplexFloat" in texts(entry.get("input_dtypes")) + texts(entry.get("output_dtypes")) else 1
        return times * ((n["input"] or n["output"]) if tensors == "any" else n[tensors])

    def key(self):
        return self.group, self.seqs


def calls_of(entries, rank, unknown):
    """The rank's calls, oldest first. What ends a coalesced group says what became of its parts."""
    calls, frames, groups = [], [], {}
    for entry in entries:
        call = Call(entry if type(entry) is dict else {})
        groups.setdefault(call.key(), []).append(call)
        if call.name == "coalesced":
            for part in groups.pop(call.key()):
                part.state, part.started, part.ended = call.state, call.started, call.ended
                part.alone = False
        elif call.kind is None or call.dtype is None:
            unknown.add("%s of %s" % (call.name[:30], call.dtypes))
        else:
            calls.append(call)
            frames.append(entry.get("frames"))
    at = waits_at(calls)
    if calls and type(frames[at]) is list:
        calls[at].frames = [tuple(plain(f.get(k)) for k in ("name", "filename", "line"))
                            for f in frames[at][:FRAMES] if type(f) is dict]
    return calls


def newest_of(entries, most):
    """So many, and the first that is pending with some before it."""
    pending = next((i for i, e in enumerate(entries) if type(e) is not dict or e.get("state") != "completed"), len(entries))
    return entries[max(0, min(len(entries) - most, pending - BEFORE)):]


def plain(value):
    return value if type(value) is str or number(value) is not None else "?"


def waits_at(calls):
    """Index of the first call that has not completed, else of the last one."""
    return next((i for i, c in enumerate(calls) if c.state != "completed"), len(calls) - 1)


def counted(value):
    """A number, or what JSON makes a text of it; -1: neither."""
    return int(value) if type(value) is str and re.match(r"\d{1,18}$", value) else -1 if number(value) is None else value


def is_cut(whole):
    """Each group counts what it has enqueued: what is beyond its entries was taken out, but for a ring that has wrapped."""
    told, newest, entries = whole.get("pg_status"), {}, whole.get("entries", ())
    for entry in entries:
        pg, seqs = counted(entry.get("pg_id")), map(entry.get, ("collective_seq_id", "p2p_seq_id"))
        newest[pg] = max(newest.get(pg, 0), *map(counted, seqs))
    start = 0 if entries and entries[0].get("record_id") == 0 else 1 << 62
    return type(told) is dict and any(counted(status.get("last_enqueued_collective")) > newest.get(counted(pg), start)
                                      for pg, status in told.items() if type(status) is dict)


def statuses(whole):
    """Process group's number -> the last collectives that were enqueued and completed in it; -1: not told."""
    told = whole.get("pg_status")
    return {counted(pg): tuple(counted(status.get("last_%s_collective" % word)) for word in ("enqueued", "completed"))
            for pg, status in (told.items() if type(told) is dict else ()) if type(status) is dict}


def is_emptied(dump):
    """Groups count calls, all over, and none of them is there: a ring that has wrapped has some."""
    return not dump.calls and all(made == over for made, over in dump.status.values())


def ranks_of(told, known={}):
    """Of a group, as a list or the text of one, which is alike in many dumps."""
    if type(told) is not str:
        return Ranks(r for r in (told if type(told) is list else []) if number(r, 0, RANKS - 1) is not None)
    if told not in known:
        known[told] = Ranks(r for r in map(int, re.findall(r"\d{1,6}", told)) if r < RANKS)
    return known[told]


class Dump:
    def __init__(self, path, rank, most):
        whole = load(path)
        entries = whole.get("entries", [])
        if type(entries) is not list or len(entries) > ENTRIES:
            raise Unsound("has no list of entries")
        self.entries = len(entries)
        if len(entries) > most:  # its calls before these are not compared
            whole["entries"] = entries = newest_of(entries, most)
        self.status = statuses(whole)
        self.unknown = set()
        self.calls = calls_of(entries, rank, self.unknown)
        self.cut = is_cut(whole)
        self.library = (texts([whole.get("comm_lib_version"), whole.get("nccl_version")]) or [""])[0]
        self.written = os.stat(path).st_mtime_ns
        self.groups = {}  # name -> its ranks, None: not told
        config, told_groups = whole.get("pg_config"), 0
        for name, told in config.items() if type(config) is dict else ():
            ranks = told.get("ranks") if type(told) is dict else None
            members = ranks_of(ranks)
            told_groups += bool(members)
            if type(name) is str and members and rank in members:
                self.groups[name[:60]] = members
        if told_groups and not self.groups:
            raise Unsound("is of no rank %d: no group of it has that rank" % rank)
        if not self.calls and not any(made > 0 for made, over in self.status.values()):
            raise Unsound("holds no calls, which says nothing of its rank")
        for call in self.calls:
            self.groups.setdefault(call.group, None)
        self.names = numbered(self, config if type(config) is dict else {})

    def last(self):
        return max([max(c.created, c.ended) for c in self.calls] + [0])


# ---- all dumps together ----

def members(dumps):
    """The job's groups as (name, ranks). Where nobody told a group's ranks, they are those that called on it."""
    callers = {}
    for rank, dump in sorted(dumps.items()):
        for name in dump.groups:
            callers.setdefault(name, []).append(rank)
    for dump in dumps.values():
        for name, ranks in dump.groups.items():
            dump.groups[name] = ranks or Ranks(callers[name])
    return {(name, ranks) for dump in dumps.values() for name, ranks in dump.groups.items()}


def communicators(groups, nranks, most):
    """A number for each group, such that no rank is in two of one number; 0 is for all ranks. None: too many."""
    taken, given = {}, {}
    for key in sorted(groups, key=lambda k: (-len(k[1]), len(k[0]), k)):
        whole = key[1] == tuple(range(nranks))
        comm = next((c for c in range(0 if whole else 1, most) if not taken.get(c, set()) & set(key[1])), None)
        if comm is not None:
            taken.setdefault(comm, set()).update(key[1])
        given[key] = comm
    return given


def streams(calls):
    """A stream for each call that has not completed. Which it was is not recorded, but what has started stands behind
    nothing: it is on a stream of its group's own; what has not stands behind the one before it."""
    last, seen = 0, set()
    for call in calls:
        call.stream = 0
        if call.state == "completed":
            continue
        if call.state == "started" and seen - {call.comm}:
            last = 1 + call.comm
        call.stream = last
        seen.add(call.comm)


def is_dated(dump, earliest, over):
    """Whether its file's time is when it was written: copies have another one."""
    return earliest is not None and earliest + 10 ** 9 < dump.written < over + DUMPED


def is_undated(dump, earliest, over):
    """Whether a dump may be from before the others' call, or end early, for all that its file's time says."""
    return earliest is not None and not dump.cut and not is_dated(dump, earliest, over)


def tell_rank(rank, dump, given, newest, undated, others):
    calls = [c for c in dump.calls if given[c.group, dump.groups[c.group]] is not None]
    seqs, sent = {}, {}
    for call in calls:
        call.comm = given[call.group, dump.groups[call.group]]
        call.seq = seqs.get(call.comm, max(call.op - 1, 0) if call.op > 1 and call.record else 0) + 1
        seqs[call.comm] = call.seq
        sent.setdefault(call.comm, sent_before(call))
    streams(calls)
    old = older(dump, given, others)
    before = max([c.seq - i - 1 for i, c in enumerate(calls)] + [call[1] - i - 1 for i, call in enumerate(old)] + [0])
    say(rank=rank, present=1, before=before, newest=newest,
        cut=int(dump.cut), emptied=int(is_emptied(dump)), undated=int(undated), comms=comms_of(rank, list(dump.groups.items()), given, sent),
        stack=stack_of(calls),
        calls=old + [[c.comm, c.seq, c.kind, c.count, c.dtype, c.peer, c.stream, int(c.state == "completed"), ALONE * c.alone,
                c.created, c.started, (c.ended or c.created) if c.state == "completed" else 0] for c in calls])


def sent_before(call):
    """The group's sends and receives before its first entry, in a ring that has wrapped: it counts collectives apart."""
    collectives = call.seqs[0] - (call.kind < SEND)
    return max(call.seq - 1 - collectives, 0) if call.seqs[1] else 0


def comms_of(rank, groups, given, sent, ids={}):
    for key in groups:
        if key not in ids:
            ids[key] = zlib.crc32(repr(key).encode())
    return [[given[key], key[1].index(rank) if rank in key[1] else -1, len(key[1]), ids[key],
             sent.get(given[key], 0)] for key in sorted(groups) if given[key] is not None]


def stack_of(calls):
    """Where the program made that call."""
    call = calls[waits_at(calls)] if calls else None
    if call is None or not call.frames:
        return ""
    lines = ["Python, at the %s call, %s %d of communicator %d (group %s):" %
             ("last" if call.state == "completed" else "first pending", KINDS[call.kind], call.seq, call.comm, call.group)]
    for i, frame in enumerate(call.frames):
        lines.append("#%d %.80s (%.200s:%.9s)" % (i, *frame))
    return clean("\n".join(line.replace("\n", "?") for line in lines) + "\n")


class Progress:
    """How many of many dumps are read, in a line of a terminal that goes when all are."""

    def __init__(self, total):
        self.total, self.done, self.next = total, 0, 0
        self.shown = total >= MANY and sys.stderr.isatty()

    def count(self):
        self.done += 1
        if self.shown and time.monotonic() >= self.next:
            self.next = time.monotonic() + 0.5
            bar = "#" * (30 * self.done // self.total)
            print("\r[%-30s] %d of %d dumps are read" % (bar, self.done, self.total), end="", file=sys.stderr, flush=True)

    def end(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def read(folder):
    """Dumps by rank, and what is wrong with ranks that have files and no dump."""
    dumps, wrong, remarks, files, again = {}, {}, [], find(folder), set()
    progress = Progress(len(files))
    most = max(CALLS_COMPARED // max(len(files), 1), CALLS_LEAST)
    while files:
        work = [(os.path.join(folder, names[0][1]), rank) for rank, names in sorted(files.items())]
        for path, rank, said in read_all(work, most):
            progress.count()
            if type(said) is str and said.startswith(TOO_MUCH) and path not in again:
                again.add(path)  # a machine that stands still for seconds may count them as the child's
                files[rank].insert(0, files[rank][0])
            elif type(said) is str:
                wrong.setdefault(rank, "%.60s %s." % (os.path.basename(path), said))
            else:
                dumps[rank] = said
        files = {rank: names[1:] for rank, names in files.items() if rank not in dumps and names[1:]}
    progress.end()
    remarks = [why for rank, why in sorted(wrong.items()) if rank not in dumps]
    cut = sum(d.entries > most for d in dumps.values())
    if cut:
        remarks.insert(0, "Of %d dumps the newest %d calls are compared, and what is pending." % (cut, most))
    return dict(sorted(dumps.items())), remarks


# ---- what groups count, beyond their entries ----

def numbered(dump, config):
    """Process group's number -> name: as entries have it, else by order, where there are as many numbers as names, which are numbers
    too, and no entry says otherwise: both count groups as they were made."""
    own = {call.pg: call.group for call in dump.calls}
    names = sorted(map(int, (name for name in config if re.match(r"\d{1,9}$", name))))
    ordered = dict(zip(sorted(dump.status), map(str, names)))
    if len(names) != len(config) or len(names) != len(dump.status) or any(ordered.get(pg) != own[pg] for pg in own):
        ordered = {}
    return {**ordered, **own}


def older(dump, given, others):
    """The newest call of each group of which the dump has no entry: its number is the group's count, the rest that of another
    rank's call there, of this number where one has it: it says no more than that it is over. Groups with sends count two things,
    and are left out."""
    calls = []
    for pg, (made, over) in sorted(dump.status.items()):
        name = dump.names.get(pg)
        comm = given.get((name, dump.groups.get(name)))
        if made < 1 or made != over or comm is None or any(c.group == name for c in dump.calls):
            continue
        first, created, sends, numbered = others.get((name, dump.groups.get(name)), (None, 0, False, {}))
        if first and not sends:
            same = numbered.get(made)
            like = same or first
            calls.append([comm, made, like.kind, same.count if same else 0, like.dtype, -1, 0, 1, ALONE, created - 1, 0, created - 1])
    return calls


def settle_passed(dumps):
    """A collective that one rank has completed has been begun by all: a rank that has not noticed its end yet does not wait in
    it, nor in what came before it in its group. An uneven all-to-all may leave a rank out: most of the others must have ended it."""
    over, kinds = {}, {}  # group and its ranks -> rank -> the last collective that it has completed
    for rank, dump in dumps.items():
        for call in dump.calls:
            if call.kind < SEND:
                kinds[call.group, dump.groups[call.group], call.seqs[0]] = call.kind if call.alone else None
            if call.state == "completed" and call.kind < SEND:
                mine = over.setdefault((call.group, dump.groups[call.group]), {})
                mine[rank] = max(mine.get(rank, 0), call.seqs[0])
        for pg, (made, last) in dump.status.items():
            name = dump.names.get(pg)
            if name in dump.groups:
                mine = over.setdefault((name, dump.groups[name]), {})
                mine[rank] = max(mine.get(rank, 0), last)
    sorted_ends = {key: sorted(((seq, r) for r, seq in mine.items()), reverse=True) for key, mine in over.items()}
    for rank, dump in dumps.items():
        for call in dump.calls:
            if call.state == "completed":
                continue
            key = call.group, dump.groups[call.group]
            whole = sorted_ends.get(key, [])
            half = len(key[1]) // 2 - 1
            ends = [seq for seq, r in whole[:2] if r != rank]
            # more than half of the others have come so far
            most = without_own(whole, (over.get(key, {}).get(rank), rank), half) if len(key[1]) > 2 else []
            if call.state != "completed" and call.kind < SEND and call.seqs[0] and \
                    (any(kinds.get((*key, seq)) in TOGETHER for seq in ends[:1] if call.seqs[0] <= seq) or
                     any(kinds.get((*key, seq)) in (*TOGETHER, UNEVEN) for seq in most[:1] if call.seqs[0] <= seq)):
                call.state = "completed"
            elif call.state != "completed" and call.kind >= SEND and met(call, dumps, key):
                call.state = "completed"


def without_own(ends, own, at):
    """The number at that place of those of the other ranks, in a list; []: there are not so many."""
    return [seq for seq, r in ends[at + (at < len(ends) and own[0] is not None and own >= ends[at]):][:1]]


def met(call, dumps, key):
    """Whether the partner of a send or receive has completed as many in that group: both count them."""
    partner = dumps.get(key[1][call.peer]) if 0 <= call.peer < len(key[1]) else None
    last = [over for pg, (made, over) in partner.status.items() if partner.names.get(pg) == key[0]] if partner else []
    return len(last) == 1 and 0 < call.seqs[1] <= last[0] < call.seqs[1] + NEAR and abs(last[0] - call.seqs[0]) > NEAR and \
        all(other.peer == call.place for other in partner.calls if other.group == key[0] and other.kind >= SEND)


def named(dumps, given):
    """The communicators that calls are in, by PyTorch's names, for people."""
    found = {}
    for dump in dumps.values():
        for call in dump.calls:
            comm = given[call.group, dump.groups[call.group]]
            if comm is not None:
                found.setdefault(comm, set()).add(" ".join(filter(None, (call.group, call.description))))
    return ["Communicator %d is PyTorch's group %s." % (comm, " or ".join(sorted(names)[:3]))
            for comm, names in sorted(found.items())[:6]]


# ---- dumps that are of another job, or old ----

def other_worlds(dumps):
    """Dumps that both know a group of all ranks must agree about it: older jobs leave theirs in the same place."""
    worlds = {}
    for rank, dump in sorted(dumps.items()):
        if dump.groups.get("0"):
            worlds.setdefault(dump.groups["0"], []).append(rank)
    most = max(worlds, key=lambda w: len(worlds[w]), default=())
    if any(w != most and len(worlds[w]) >= len(worlds[most]) for w in worlds):
        (a, x), (b, y) = sorted(worlds.items())[:2]
        raise Unsound("holds dumps of different jobs: rank %d's had %d ranks, rank %d's %d" % (x[0], len(a), y[0], len(b)))
    return {r: "is of another job: that one had %d ranks, the others' %d" % (len(w), len(most))
            for w in worlds if w != most for r in worlds[w]}


def other_times(dumps):
    """No rank completes a collective before another has made it: clocks that differ by more than clocks of hosts do are
    those of two jobs. The later one counts where there are two."""
    times = {}
    for rank, dump in dumps.items():
        for call in dump.calls:
            if call.seqs[0] and call.alone and call.kind in TOGETHER and call.created:
                key = call.group, dump.groups[call.group], call.seqs[0], call.kind
                times.setdefault(key, {}).setdefault(rank, (call.created, call.over))
    wrong = {}
    for calls in times.values():
        made, over = statistics.median_high(sorted(calls.values()))
        for rank, (own, own_over) in calls.items():
            if (own_over and own_over + CLOCKS < made) or (over and over + CLOCKS < own):
                wrong[rank] = "made the others' calls %.0f s %s: it is of another job" % (
                    abs(made - own) * 1e-9, "before them" if own < made else "after them")
    return wrong


def other_ages(dumps):
    """A file that was written before the others made the call in which they wait says nothing of that call."""
    waits = {rank: dump.calls[waits_at(dump.calls)] for rank, dump in dumps.items() if dump.calls}
    waited = {}  # key -> when the ranks made it that wait in it
    for call in waits.values():
        if call.state != "completed":
            waited.setdefault(call.key(), []).append(call.created)
    written = sorted(dump.written for dump in dumps.values())
    wrong = {}
    for rank, dump in dumps.items():
        known = {call.key() for call in dump.calls}
        lacks = sorted(t for key, made in waited.items() if key not in known for t in made)
        before = [t for t in lacks if t > dump.written + 10 ** 9]
        if dump.written < dump.last():
            continue  # the file's time says nothing
        if before and 2 * len(before) >= len(lacks):
            wrong[rank] = "was written %.0f s before the others made the call in which they wait: it is older" % (
                (before[0] - dump.written) * 1e-9)
        elif lacks and dump.written + DUMPED < statistics.median_high(written):
            wrong[rank] = "was written %.0f s before the others: it is older" % (
                (statistics.median_high(written) - dump.written) * 1e-9)
    return wrong


def set_aside(dumps):
    """Takes out those that say nothing of this job; returns what is wrong with them."""
    said = []
    for find_wrong in (other_worlds, other_times, other_ages):
        for rank, why in sorted(find_wrong(dumps).items()):
            del dumps[rank]
            said.append("Rank %d's dump %s, and is not read." % (rank, why))
    return said


def main():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    gc.disable()  # nothing here goes in circles
    try:
        dumps, remarks = read(sys.argv[1])
        remarks = set_aside(dumps) + remarks
    except OSError as e:
        return say(error="cannot be read: " + e.strerror)
    except Unsound as e:
        return say(error=str(e))
    if not dumps:
        return say(error=clean("holds no Flight Recorder dump" + "".join(": " + r for r in remarks[:1])))
    told = {ranks for d in dumps.values() for ranks in d.groups.values() if ranks}
    nranks = max(list(dumps) + [max(ranks) for ranks in told]) + 1
    if nranks - len(dumps) > ABSENT:
        return say(error="holds dumps of %d ranks, and rank %d is named in them or by a file: too many are missing" %
                   (len(dumps), nranks - 1))
    unknown = set().union(*(d.unknown for d in dumps.values()))
    groups = members(dumps)
    settle_passed(dumps)
    given = communicators(groups, nranks, int(sys.argv[2]))
    # No dump says when it was written: its file's time does, else it was when the time of the first pending call was over.
    calls = [c for d in dumps.values() for c in d.calls]
    earliest = min((c.created for c in calls if c.state != "completed"), default=None)
    over = min([c.created + c.timeout for c in calls if c.state != "completed"] + [1 << 62])
    dated = [d.written for d in dumps.values() if is_dated(d, earliest, over)]
    newest = max((dated or [0 if over == 1 << 62 else over]) + [d.last() for d in dumps.values()])
    library = next((d.library for d in dumps.values() if d.library), "(version not recorded)")
    said = ["From dumps that PyTorch wrote while its ranks lived: reduction operators, roots and streams are not recorded."]
    if max(d.written for d in dumps.values()) < over < 1 << 62:
        said.append("They were written before the first pending call timed out: a job that goes on may leave the same.")
    said += named(dumps, given)
    if any(c.kind is not None and c.kind >= SEND for c in calls):
        said.append("Calls are numbered as op_id does: a group's sends, receives and collectives together.")
    if unknown:
        said.append("Calls that are not known here are left out: %s." % ", ".join(sorted(unknown)[:4]))
    left = sorted(k[0] for k in given if given[k] is None)
    if left:
        said.append("%d process groups of %d are left out, there is no room: %.60s." % (len(left), len(given), ", ".join(left)))
    say(ranks=nranks, counted=int(bool(told)), remarks=clean(" ".join(said + remarks[:4]))[:1000],
        library=clean("%s %s" % ("gloo" if any(c.library == "gloo" for c in calls) else "NCCL", library)))
    wanted = {}  # group and its ranks -> numbers of calls that a dump counts
    for d in dumps.values():
        for pg, (made, ended) in d.status.items():
            if made == ended:
                wanted.setdefault((d.names.get(pg), d.groups.get(d.names.get(pg))), set()).add(made)
    others = {}  # group and its ranks -> its first call here, when the first was made, whether it has sends, calls by those numbers
    for d in dumps.values():
        for c in d.calls:
            key = c.group, d.groups[c.group]
            first, created, sends, numbered = others.get(key, (c, c.created, False, {}))
            others[key] = first, min(created, c.created), sends or c.kind >= SEND, numbered
            if c.seqs[0] in wanted.get(key, ()):
                numbered.setdefault(c.seqs[0], c)
    for rank in range(nranks):
        if rank in dumps:
            tell_rank(rank, dumps[rank], given, newest, is_undated(dumps[rank], earliest, over), others)
        else:  # what others say of it
            say(rank=rank, present=0, before=0, newest=newest, cut=0, undated=0, stack="", calls=[],
                comms=comms_of(rank, [key for key in given if rank in key[1]], given, {}))


if __name__ == "__main__":
    main()
