"""test_torch_dumps.py: hang_diagnose --torch on Flight Recorder dumps that are made here from the documented format (those
that PyTorch itself wrote are in torch_recorded.tar.xz), and on hostile, cut and foreign files."""
# timeout: 750
import contextlib
import importlib.util
import io
import itertools
import json
import os
import pickle
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("BUILD", os.path.join(TOP, "build"))
TIME = 1795393998000000000
FORMS = [("2.4", "pickle"), ("2.10", "pickle"), ("2.10", "json")]
SHARED = "UNIT_SHARE" in os.environ  # under a sanitizer: a form of each dump, in turn, instead of all three


class Rank:
    """Plays one rank's calls as ProcessGroupNCCL numbers them: sequence numbers by group, op_id for each part."""

    def __init__(self, rank, groups, version="2.10"):
        self.rank, self.version, self.entries, self.seqs = rank, version, [], {}
        self.groups = {name: ranks for name, ranks in groups.items() if rank in ranks}

    def call(self, name="all_reduce", count=1000, dtype="Float", group="0", out=None, state="completed", p2p=False,
             inside=False):
        seq = self.seqs.setdefault(group, [0, 0, 0])
        if not inside:
            seq[p2p] += 1
        seq[2] += 1
        self.entry(name, [[count]], dtype, group, [[count if out is None else out]], state, p2p)
        return self

    def coalesced(self, calls, group="0", state="completed", p2p=False):
        self.seqs.setdefault(group, [0, 0, 0])[p2p] += 1
        for call in calls:
            self.call(group=group, state="scheduled", p2p=p2p, inside=True, **call)
        self.entry("coalesced", [], "Float", group, [], state, False)
        return self

    def entry(self, name, sizes, dtype, group, out, state, p2p):
        seq, n = self.seqs[group], len(self.entries)
        e = {"record_id": n, "pg_id": int(group), "process_group": (group, "default_pg" if group == "0" else "x"),
             "collective_seq_id": seq[0], "p2p_seq_id": seq[1], "op_id": seq[2], "profiling_name": "nccl:" + name,
             "time_created_ns": TIME + n * 1000000, "input_sizes": sizes, "input_dtypes": [dtype] * len(sizes),
             "output_sizes": out, "output_dtypes": [dtype] * len(out), "state": state, "retired": state == "completed",
             "time_discovered_started_ns": None if state == "scheduled" else TIME + n * 1000000 + 10,
             "time_discovered_completed_ns": TIME + n * 1000000 + 20 if state == "completed" else None,
             "timeout_ms": 8000, "is_p2p": p2p, "frames": [{"name": "step", "filename": "train.py", "line": 7}]}
        if self.version >= "2.5":
            e.update(thread_id="1", thread_name="python")
        self.entries.append(e)

    def dump(self, keep=None):
        dump = {"version": self.version, "entries": self.entries[-keep:] if keep else self.entries,
                "pg_config": {name: {"name": name, "desc": "x", "ranks": str(list(ranks))}
                              for name, ranks in self.groups.items()},
                "pg_status": {}}
        if self.version >= "2.7":
            dump["comm_lib_version"] = "2.28.9"
        return dump


WORLD = {"0": (0, 1, 2, 3)}
HALVES = dict(WORLD, **{"1": (0, 1), "2": (2, 3)})


def mixed(r, steps, half=None):
    for step in range(steps):
        r.call(count=1000 + step).call("_all_gather_base", 100, out=400).call(count=64, group=half or "0")


def shape(r):
    mixed(r, 2)
    r.call(count=500 if r.rank == 2 else 1000, state="started").call("_all_gather_base", 100, out=400, state="scheduled")


def dtype(r):
    mixed(r, 2)
    r.call(dtype="Half" if r.rank == 1 else "Float", state="started")


def drop(r):
    mixed(r, 2)
    if r.rank != 3:
        r.call(state="started")


def skip(r):
    mixed(r, 2)
    if r.rank != 2:
        r.call(count=777, state="started")
    r.call("_all_gather_base", 100, out=400, state="scheduled" if r.rank != 2 else "started")
    r.call("broadcast", 55, state="scheduled")


def gone(r):
    drop(r)
    return r.rank != 3


def ring(r):
    to, of = (r.rank + 1) % 4, (r.rank - 1) % 4
    for step in range(5):
        r.call(count=1000 + step)
        parts = [dict(name="recv %d<-%d" % (r.rank, of), count=10), dict(name="send %d->%d" % (r.rank, to), count=10)]
        left = step == 4 and r.rank == 2
        r.coalesced(parts[:1] if left else parts, p2p=True, state="completed" if step < 4 else "started")
    r.call(count=1005, state="scheduled")


def half(r):
    name = "1" if r.rank < 2 else "2"
    mixed(r, 2, name)
    if r.rank != 3:
        r.call(count=64, group=name, state="completed" if r.rank < 2 else "started")
    if r.rank < 2:
        r.call(state="started")


def order(r):
    name = "1" if r.rank < 2 else "2"
    mixed(r, 2, name)
    r.call(count=9)
    if r.rank < 2:
        r.call(state="started").call(count=64, group=name, state="scheduled")
    elif r.rank == 2:
        r.call(state="started").call(count=64, group=name, state="scheduled")
    else:
        r.call(count=64, group=name, state="started").call(state="scheduled")


def parts(r):
    mixed(r, 2)
    r.coalesced([dict(count=n) for n in ((11, 22) if r.rank == 1 else (11, 22, 33))], state="started")
    r.call("broadcast", 5, state="scheduled")


def healthy(r):
    mixed(r, 3, "1" if r.rank < 2 else "2")
    r.call("alltoall_base", 10 + r.rank, out=20 - r.rank).call("reduce", 8).call("nothing_known", 3)


# what was played, in which groups; and the verdict: outcome, class, ranks, comm, seq
PLAYED = [
    (shape, WORLD, "hang", "mismatch", "2", 0, 7), (dtype, WORLD, "hang", "mismatch", "1", 0, 7),
    (drop, WORLD, "hang", "missing-call", "3", 0, 7), (skip, WORLD, "hang", "skipped-call", "2", 0, 7),
    (half, HALVES, "hang", "missing-call", "3", 1, 3), (order, HALVES, "hang", "order-cycle", "3", None, None),
    (ring, WORLD, "hang", "p2p-unmatched", "2", 0, None), (parts, WORLD, "hang", "skipped-call", "1", 0, 9),
    (gone, WORLD, "hang", "rank-unseen", "3", 0, 7), (healthy, HALVES, "ok", "ok", "-", None, None),
]


SIXTEEN = {"0": tuple(range(16))}


def late_tensor(r):
    group = str(1 + r.rank // 4)
    for step in range(3):
        r.call(count=1000 + step).call(count=64, group=group)
    if r.rank != 11:
        r.call(count=77, group=group, state="started" if r.rank // 4 == 2 else "completed")
        r.call(count=2000, state="scheduled" if r.rank // 4 == 2 else "started")


def late_half(r):
    for step in range(4):
        r.call(count=512)
    r.call("_reduce_scatter_base", 1200, "Half" if r.rank == 5 else "Float", out=100, state="started").call(count=9, state="scheduled")


def late_pipeline(r):
    """Four stages of four ranks; in the fourth step rank 9 leaves out its send to 13."""
    column, stage = r.rank % 4, r.rank // 4
    group = str(1 + column)
    for step in range(4):
        r.call(count=16 + step)
        stuck = step == 3 and column == 1
        if stage > 0:
            waits = stuck and stage == 3
            r.call("recv %d<-%d" % (stage, stage - 1), 50, group=group, p2p=True, state="started" if waits else "completed")
            if waits:
                return
        if stage < 3 and not (stuck and stage == 2):
            r.call("send %d->%d" % (stage, stage + 1), 50, group=group, p2p=True)
    r.call(count=20, state="started")


def late_absent(r):
    for step in range(5):
        r.call(count=300 + step)
    r.call("_all_gather_base", 100, out=1600, state="started")
    return r.rank not in (4, 5)


def late_wrapped(r):
    for step in range(60):
        r.call(count=100 + step % 3).call("_all_gather_base", 10, out=160)
    if r.rank != 7:
        r.call(count=5, state="started")


def late_barrier(r):
    for step in range(5):
        r.call(count=640).call("broadcast", 8)
    if r.rank == 3:
        r.call("all_reduce_barrier", 1, state="started")
    r.call(count=641, state="started" if r.rank != 3 else "scheduled").call("broadcast", 8, state="scheduled")


# Written late and run once before anything was mended (ci/tests/data/logs/late/README.md): what was played, by how many ranks, in
# which groups, how much of it a ring keeps; class, ranks, what is said.
LATE = [
    (late_tensor, 16, {str(1 + i): tuple(range(4 * i, 4 * i + 4)) for i in range(4)}, None, "missing-call", "11", "rank 11 is in no call"),
    (late_half, 12, {}, None, "mismatch", "5", "ReduceScatter 100 half"),
    (late_pipeline, 16, {str(1 + i): tuple(range(i, 16, 4)) for i in range(4)}, None, "order-cycle", "9", "waits in Recv call 4"),
    (late_absent, 16, {}, None, "rank-unseen", "4,5", "Nothing is known of ranks 4,5 (2 of 16 ranks)."),
    (late_wrapped, 16, {}, 20, "missing-call", "7", "lacks call 121"), (late_barrier, 10, {}, None, "mismatch", "-", "either side may be"),
]


def played(play, rank):
    r = Rank(rank, WORLD)
    play(r)
    return r.dump()


# What PyTorch 2.11.0 with NCCL 2.28.9 wrote on two H200 (results/any-program/torch-dumps.md): in the archive's folder, class, ranks,
# comm and call. Guilty: rank 2 of mixed, 3 of the others. Who died left nothing, nor did rank 3 of mixed/exit0, which crashed
# then. plain/order: the half's all-reduce stands last in a step and first in the guilty rank's, as if it were made twice.
RECORDED = {
    "mixed/none": ("ok", "ok", "-"), "mixed/json": ("ok", "ok", "-"),
    "mixed/drop": ("hang", "missing-call", "2", 0, 38), "mixed/skip": ("hang", "skipped-call", "2", 0, 38),
    "mixed/extra": ("hang", "extra-call", "2", 0, 39), "mixed/half": ("hang", "missing-call", "2", 1, 7),
    "mixed/order": ("hang", "order-cycle", "2", 0, 38), "mixed/coalesced": ("hang", "mismatch", "2", 0, 43),
    "mixed/p2p": ("hang", "p2p-unmatched", "2", 0, 42), "mixed/kill": ("hang", "rank-unseen", "2", 0, 37),
    "mixed/exit0": ("hang", "rank-unseen", "2,3", 0, 38),
    "plain/shape": ("hang", "mismatch", "3", 0, 14), "plain/dtype-16384": ("hang", "mismatch", "3", 0, 14),
    "plain/drop": ("hang", "missing-call", "3", 0, 14), "plain/half": ("hang", "missing-call", "3", 1, 7),
    "plain/kill": ("hang", "rank-unseen", "3", 0, 14), "plain/order": ("hang", "order-cycle", "3", 0, 14),
    "fsdp2/shape": ("hang", "mismatch", "3", 0, 481), "fsdp2/drop": ("hang", "missing-call", "3", 0, 481),
    "experts/drop": ("hang", "missing-call", "3", 0, 49), "experts/kill": ("hang", "rank-unseen", "3", 0, 49),
    "graphs/drop": ("hang", "missing-call", "3", 0, 26), "graphs/kill": ("hang", "rank-unseen", "3", 0, 26),
    "fsdp2/kill": ("hang", "rank-unseen", "3", 0, 481), "fsdp2/exit0": ("hang", "rank-unseen", "3", 0, 481),
}


class Dumps(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def put(self, name, data):
        with open(os.path.join(self.dir, name), "wb") as file:
            file.write(data if type(data) is bytes else pickle.dumps(data, protocol=2))

    def play(self, play, groups=WORLD, version="2.10", keep=None, form="pickle", ranks=4):
        for rank in range(ranks):
            r = Rank(rank, groups, version)
            if play(r) is not False:
                dump = r.dump(keep)
                self.put("nccl_trace_rank_%d" % rank, dump if form == "pickle" else json.dumps(dump).encode())

    def diagnose(self, *options, path=None):
        """Exit code, verdict (None: none), what was printed."""
        env = dict(os.environ, **({"PATH": path} if path else {}))
        done = subprocess.run([os.path.join(BUILD, "hang_diagnose"), "--torch", *options, self.dir], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
        verdict = os.path.join(self.dir, "verdict.json")
        if not os.path.exists(verdict):
            return done.returncode, None, done.stdout
        with open(verdict) as file:
            return done.returncode, json.load(file), done.stdout

    def check(self, want, what):
        code, verdict, text = self.diagnose()
        found = [verdict[k] for k in ("outcome", "class", "ranks")] if verdict else None
        self.assertEqual(found, list(want[:3]), what + "\n" + text)
        for key, value in zip(("comm", "seq_low"), want[3:]):
            if value is not None:
                self.assertEqual(verdict[key], value, what + "\n" + text)
        return text

    def test_played(self):
        for n, (play, groups, *want) in enumerate(PLAYED):
            for version, form in FORMS[n % 3:n % 3 + 1] if SHARED else FORMS:
                with self.subTest(play=play.__name__, version=version, form=form):
                    self.setUp()
                    self.play(play, groups, version, form=form)
                    text = self.check(want, play.__name__)
                    self.assertIn("are not recorded", text)
                    self.assertNotIn("float sum", text)

    def test_late(self):
        for play, ranks, groups, keep, name, culprits, said in LATE:
            with self.subTest(play=play.__name__):
                self.setUp()
                self.play(play, {"0": SIXTEEN["0"][:ranks], **groups}, keep=keep, ranks=ranks)
                for file in os.listdir(self.dir):
                    os.utime(os.path.join(self.dir, file), ns=(TIME + 9 * 10 ** 9,) * 2)
                self.assertIn(said, self.check(("hang", name, culprits), play.__name__))

    def test_recorded(self):
        with tarfile.open(os.path.join(os.path.dirname(__file__), "torch_recorded.tar.xz")) as archive:
            for name, want in RECORDED.items():
                with self.subTest(recorded=name):
                    self.setUp()
                    for member in archive.getmembers():
                        if member.name.startswith(name + "/rank_"):
                            self.put(os.path.basename(member.name), archive.extractfile(member).read())
                    self.check(want, name)

    def test_lists(self):
        """Sends and collectives together. A list a rank: s1 = a send to 1, r0 = a receive from 0, A, B = an all_reduce of the first,
        second group; behind it ! = started, ? = behind that one."""
        two = {"0": (0, 1), "1": (0, 1)}
        for lists, groups, outcome, name, ranks, pair in (
                ("s1,A r0,s2,A r1,A", None, "ok", "ok", "-", None),
                ("s1,A,s1,A r0,s2,A,r0,s2,A r1,A,r1,A", None, "ok", "ok", "-", None),
                ("s1,s1,A r0,r0,s2,s2,A r1,r1,s3,s3,A r2,r2,A", None, "ok", "ok", "-", None),
                ("s1,s1 r0,s2,r0,s2 r1,r1,r1!", None, "hang", "p2p-unmatched", "-", "1>2"),
                ("s1,s1 r0,s2,r0,s2 r1,s3,r1 r2,r2!", None, "hang", "missing-call", "2", "2>3"),
                ("s1,s1 r0,s2,r0,s2,r0! r1,s3,r1,s3 r2,r2", None, "hang", "p2p-unmatched", "-", "0>1"),
                ("s1,r1,s1,r1! r0,s2,r2,s0,r0,s2,r2 r1,s1,r1,s1", None, "hang", "missing-call", "1", "1>0"),
                ("s1!,A? A!,r0?", None, "hang", "order-cycle", "-", "0>1"),
                ("A,B,A,B,A,B,A!,B? A,B,A,B,A,B,B!,A?", two, "hang", "order-cycle", "1", None),
                ("A,A,A! A,A A,A A,A", None, "hang", "extra-call", "0", None)):
            with self.subTest(lists=lists):
                self.setUp()
                n = len(lists.split())
                for rank, words in enumerate(lists.split()):
                    r = Rank(rank, groups or {"0": tuple(range(n))})
                    for word in words.split(","):
                        state = {"!": "started", "?": "scheduled"}.get(word[-1], "completed")
                        call, peer = word[0], word.rstrip("!?")[1:]
                        names = {"s": "send %d->%s" % (rank, peer), "r": "recv %d<-%s" % (rank, peer)}
                        r.call(names.get(call, "all_reduce"), group="1" if call == "B" else "0", state=state, p2p=call in "sr")
                    self.put("rank_%d" % rank, r.dump())
                text = self.check((outcome, name, ranks), lists)
                self.assertEqual(self.diagnose()[1]["pair"] or None, pair, text)

    def test_sent_before(self):
        """Rings that have wrapped in unlike places hold unlike numbers of sends: their collectives are compared all the same."""
        for rank in range(3):
            r = Rank(rank, {"0": (0, 1, 2)})
            for step in range(10):
                for peer in [p for p in (rank - 1, rank + 1) if 0 <= p < 3]:
                    r.call(("recv %d<-%d" if peer < rank else "send %d->%d") % (rank, peer), p2p=True)
                r.call(count=100 + step)
            self.put("rank_%d" % rank, r.dump(keep=12))
        self.check(("ok", "ok", "-"), "rings of pipelines")

    def test_wrapped(self):
        """Of a ring that has wrapped calls keep their numbers; ranks whose rings begin elsewhere are compared all the same."""
        for rank in range(4):
            r = Rank(rank, WORLD)
            mixed(r, 20)
            if rank != 3:
                r.call(state="started")
            self.put("rank_%d" % rank, r.dump(keep=12 + rank))
        self.check(("hang", "missing-call", "3", 0, 61), "wrapped")

    def test_kept(self):
        """What was read lies there as hangar's own evidence; --dry-run leaves nothing, and finds the same."""
        self.play(drop)
        code, verdict, text = self.diagnose("-n")
        self.assertEqual((code, verdict, sorted(os.listdir(self.dir))[0]), (10, None, "nccl_trace_rank_0"))
        self.assertEqual(len(os.listdir(self.dir)), 4)
        self.assertNotIn("may leave the same", text)
        for rank in range(4):  # the first pending call may take 8 s
            os.utime(os.path.join(self.dir, "nccl_trace_rank_%d" % rank), ns=(TIME + 10 ** 9, TIME + 10 ** 9))
        self.assertIn("may leave the same", self.check(("hang", "missing-call", "3"), "torch"))
        with open(os.path.join(self.dir, "postmortem.md")) as file:
            self.assertIn("train.py:7", file.read())
        for rank in range(4):
            os.remove(os.path.join(self.dir, "nccl_trace_rank_%d" % rank))
        done = subprocess.run([os.path.join(BUILD, "hang_diagnose"), "-n", self.dir], stdout=subprocess.PIPE)
        self.assertEqual((done.returncode, b"missing-call" in done.stdout), (10, True))

    def test_old(self):
        """A dump that ends early, is of another hour or job, or holds nothing is set aside with a sentence: the rank that left
        it is not named, and the guilty one still is where its dump says so."""
        hour = 3600 * 10 ** 9
        for play, name, cut, entries_ns, file_ns, said in (
                (drop, "missing-call", 0, 0, 0, ""),
                (drop, "missing-call", 1, hour, 0, "made the others' calls 3600 s before them: it is of another job"),
                (drop, "missing-call", 3, -hour, 0, "made the others' calls 3600 s after them: it is of another job"),
                (drop, "missing-call", 1, 0, hour, "was written 3600 s before the others: it is older"),
                (drop, "missing-call", 2, 0, 0, "ends at call 5 of communicator 0, but rank 0 completed call 6 with it"),
                (drop, "missing-call", 9, 0, 0, "holds no calls, which says nothing of its rank"),
                (shape, "mismatch", 4, 0, 0, "ends at call 4 of communicator 0, but rank 0 completed call 6 with it"),
                (skip, "skipped-call", 5, 0, 0, "ends at call 4 of communicator 0, but rank 0 completed call 6 with it"),
                (healthy, "unexplained", 3, hour, 0, "made the others' calls 3600 s before them: it is of another job")):
            with self.subTest(play=play.__name__, cut=cut, said=said):
                self.setUp()
                self.play(play)
                dump = played(play, 1)
                dump["entries"] = dump["entries"][:max(0, len(dump["entries"]) - cut)]
                for entry in dump["entries"]:
                    entry.update({k: v - entries_ns for k, v in entry.items() if k.startswith("time_") and v})
                self.put("nccl_trace_rank_1", dump)
                now = time.time_ns() - file_ns
                os.utime(os.path.join(self.dir, "nccl_trace_rank_1"), ns=(now, now))
                code, verdict, text = self.diagnose()
                self.assertEqual(verdict["class"], name, text)
                self.assertNotIn("1", verdict["ranks"], text)
                self.assertIn(said, text)
                if said:
                    self.assertNotEqual(verdict["confidence"], "proved", text)
                    self.assertIn("Nothing is known", text)

    def test_emptied(self):
        """What was not seen is never proved, and no rank is named for it by a majority: ranks whose dumps lost their entries, whatever
        their groups count."""
        full, nothing = {0}, set()
        for kept, counted, form in itertools.product((full, nothing, {0, 2}), (None, 0, 6), ("empty", "missing", "config")):
            with self.subTest(kept=kept, counted=counted, form=form):
                self.setUp()
                for rank in range(4):
                    dump = played(healthy, rank)
                    made = dump["entries"][-1]["collective_seq_id"] if counted else 0
                    dump["pg_status"] = {} if counted is None else {"0": {"last_%s_collective" % word: made for word in ("enqueued", "completed")}}
                    if rank not in kept:
                        dump = {"pg_config": dump["pg_config"]} if form == "config" else {**dump, "entries": []}
                        if form == "missing":
                            del dump["entries"]
                    self.put("rank_%d" % rank, dump if rank % 2 else json.dumps(dump).encode())
                code, verdict, text = self.diagnose()
                if verdict:
                    self.assertEqual(verdict["confidence"], "inconclusive", text)
                    self.assertNotEqual((verdict["outcome"], code), ("ok", 0), text)
                else:
                    self.assertIn("holds no calls", text)

    def test_cut(self):
        """A dump that ends right before the call in which the others wait is proof where its own count and its file's time say
        so: at TIME all made their calls, and 8 s later dumps were written. Otherwise nothing is proved of its rank."""
        cut_note = "Rank %d's dump may be older than the others', or cut: its file's time does not tell."
        for cut, counts, written, ranks, confidence, said in (
                (None, True, 9, "3", "proved", None), (None, False, 9, "3", "proved", None),
                (None, True, None, "3", "inconclusive", cut_note % 3), (None, True, -9, "3", "inconclusive", cut_note % 3),
                (1, True, None, "3", "inconclusive", cut_note % 3), (1, True, 9, "3", "majority", None),
                (1, False, None, "1,3", "inconclusive", cut_note % 1)):
            with self.subTest(cut=cut, counts=counts, written=written):
                self.setUp()
                for rank in range(4):
                    dump = played(drop, rank)
                    if counts:
                        dump["pg_status"] = {"0": {"last_enqueued_collective": dump["entries"][-1]["collective_seq_id"]}}
                    if rank == cut:
                        del dump["entries"][-1]
                    name = "rank_%d" % rank
                    self.put(name, dump)
                    if written:
                        os.utime(os.path.join(self.dir, name), ns=(TIME + written * 10 ** 9,) * 2)
                code, verdict, text = self.diagnose()
                self.assertEqual((verdict["class"], verdict["ranks"], verdict["confidence"]),
                                 ("missing-call", ranks, confidence), text)
                self.assertIn(said or "", text)
                self.assertEqual("or cut: its file's" in text, said is not None, text)
                # what a file's time does not tell is not said: that the rank is idle, and how long others have waited
                self.assertEqual("had made no call after" in text, said is not None, text)
                self.assertEqual("is alive and idle" in text, said is None, text)
                self.assertEqual(", 9.00 s\n" in text, written == 9, text)

    def test_windows(self):
        """What a group counts stands for the calls that left its dump; what one rank has completed, no other waits in."""
        def lagging(dump, rank):  # rank 2 has not noticed the end of its last calls; the others keep later ones alone
            if rank == 2:
                for entry in dump["entries"][-2:]:
                    entry.update(state="scheduled", time_discovered_completed_ns=None, retired=False)
            else:
                del dump["entries"][:-1]
            dump["pg_status"] = {"0": {"last_enqueued_collective": 6 + (rank != 2), "last_completed_collective": 4 if rank == 2 else 6}}

        def silent(dump, rank):  # rank 2 has no entry of the group in which the others wait
            dump["pg_status"] = {"0": {"last_enqueued_collective": 6 + (rank != 2), "last_completed_collective": 6}}
            dump["entries"] = [] if rank == 2 else dump["entries"][-1:]

        def rooted(dump, rank):  # a broadcast that its root has completed: the others may wait in it
            lagging(dump, rank)
            for entry in dump["entries"]:
                entry["profiling_name"] = "nccl:broadcast"

        for change, verdict in ((lagging, ("missing-call", "2", "Rank 2 had made 6 calls on communicator 0 when it wrote this.")),
                                (silent, ("missing-call", "2", "3 of 4 ranks made call 7 of communicator 0")),
                                (rooted, (None, None, "waits in call 5, Broadcast"))):
            with self.subTest(change.__name__):
                self.setUp()
                for rank in range(4):
                    r = Rank(rank, WORLD)
                    for _ in range(6):
                        r.call(count=64)
                    dump = (r.call(count=64, state="started") if rank != 2 else r).dump()
                    change(dump, rank)
                    self.put("rank_%d" % rank, dump)
                    os.utime(os.path.join(self.dir, "rank_%d" % rank), ns=(TIME + 9 * 10 ** 9,) * 2)
                code, found, text = self.diagnose()
                if verdict[0]:
                    self.assertEqual((found["class"], found["ranks"]), verdict[:2], text)
                self.assertIn(verdict[2], text)
                self.assertIn("Communicator 0 is PyTorch's group 0 default_pg.", text)

    def test_recorded_cut(self):
        """A dump that PyTorch wrote, without the pending call or more: its own count tells, and the guilty one is found."""
        with tarfile.open(os.path.join(os.path.dirname(__file__), "torch_recorded.tar.xz")) as archive:
            for job, innocent, cut in (("experts/drop", 0, 1), ("experts/drop", 1, 2), ("fsdp2/drop", 2, 1), ("plain/half", 2, 1),
                                       ("mixed/drop", 0, 9), ("mixed/order", 3, 9), ("graphs/drop", 1, 1)):
                with self.subTest(job=job, innocent=innocent, cut=cut):
                    self.setUp()
                    for member in archive.getmembers():
                        if member.name.startswith(job + "/rank_"):
                            dump = pickle.loads(archive.extractfile(member).read())
                            if member.name.endswith(str(innocent)):
                                del dump["entries"][-cut:]
                            self.put(os.path.basename(member.name), dump)
                    code, verdict, text = self.diagnose()
                    if str(innocent) in verdict["ranks"]:
                        self.assertEqual(verdict["confidence"], "inconclusive", text)

    def test_names(self):
        """What ends with a number and is no rank's dump costs nothing; the others are diagnosed."""
        for name, data in (("job_20251124", None), ("rank_1.bak99999", None), ("rank_99999", {"entries": [], "version": "2.10"}),
                           ("rank_77", {})):
            with self.subTest(name=name):
                self.setUp()
                self.play(drop)
                self.put(name, played(drop, 1) if data is None else data)
                self.check(("hang", "missing-call", "3", 0, 7), name)

    def test_many(self):
        """Of many dumps the newest calls are compared, and what is pending; children share the files."""
        spec = importlib.util.spec_from_file_location("torch_dumps", os.path.join(TOP, "faults/detect/evidence/torch_dumps.py"))
        script = sys.modules["torch_dumps"] = importlib.util.module_from_spec(spec)  # children send what it defines
        spec.loader.exec_module(script)
        script.CALLS_COMPARED = 1  # the least of each: 64
        script.MANY = 20

        class Terminal(io.StringIO):
            def isatty(self):
                return True

        def waits(r):
            for n in range(300):
                r.call(state="completed" if r.rank != 3 or n < 100 else "scheduled")
        self.play(waits, {"0": range(20)}, ranks=20)
        self.put("nccl_trace_rank_7", b"no dump")
        with contextlib.redirect_stderr(Terminal()) as shown:
            dumps, remarks = script.read(self.dir)
        self.assertRegex(shown.getvalue(), r"^\r\[#? *\] 1 of 20 dumps are read(.*\r)*\r\x1b\[K$")
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            script.read(self.dir)
        self.assertEqual(shown.getvalue(), "", "no terminal")
        self.assertEqual(list(dumps), [r for r in range(20) if r != 7])
        self.assertEqual([len(d.calls) for r, d in dumps.items() if r != 3], [64] * 18)
        self.assertEqual((len(dumps[3].calls), dumps[3].calls[0].seqs[0]), (200 + script.BEFORE, 101 - script.BEFORE))
        self.assertIn("Of 19 dumps the newest 64 calls are compared", remarks[0])
        self.assertIn("nccl_trace_rank_7 is cut off", remarks[1])
        self.assertTrue(len({id(d.groups["0"]) for d in dumps.values()}) == 1, "a group's ranks are there once")

    def test_bombs(self):
        """Small files that would take time or memory without end are left out within seconds."""
        deep = ()
        for _ in range(40):
            deep = (deep, deep)
        whole = played(drop, 2)
        frames = dict(whole, entries=[dict(e, frames=[{"name": deep, "filename": "f", "line": deep}]) for e in whole["entries"]])
        ranks = dict(whole, pg_config={"0": {"ranks": [deep, 0, 1, 2, 3]}}, comm_lib_version=deep)
        states = dict(whole, entries=[dict(e, state=deep) for e in whole["entries"]])
        for data, said in ((b"\x80\x02)" + b"q\x00h\x00\x86" + b"".join(b"q%ch%c\x86" % (i, i) for i in range(1, 60)) +
                            b"q\xff}h\xffK\x01s.", "takes too much time"), (pickle.dumps(frames, 2), ""),
                           (pickle.dumps(ranks, 2), ""), (pickle.dumps(states, 2), "")):
            with self.subTest(said=said, bytes=len(data)):
                self.setUp()
                self.play(drop)
                self.put("nccl_trace_rank_2", data)
                began = time.monotonic()
                code, verdict, text = self.diagnose()
                self.assertEqual((verdict["class"], "3" in verdict["ranks"]), ("missing-call", True), text)
                self.assertIn(said, text)
                self.assertLess(time.monotonic() - began, 60)
        self.setUp()
        self.put("rank_0", dict(whole, pg_config={"0": {"ranks": list(range(1 << 18))}}))
        code, verdict, text = self.diagnose()
        self.assertEqual((code, verdict, text.count("\n")), (2, None, 1), text)
        self.assertIn("too many are missing", text)

    def test_hostile(self):
        """What is no data is never executed; what is cut, foreign or no file is left out, and said."""
        mark = os.path.join(self.dir, "executed")

        class Call:
            def __reduce__(self):
                return os.system, ("touch " + mark,)

        loop = []
        loop.append(loop)
        whole = Rank(3, WORLD).call().dump()
        cut = pickle.dumps(whole, protocol=2)
        for n, (data, said) in enumerate((
                (pickle.dumps(dict(whole, more=Call()), protocol=2), "more than data"), (cut[:len(cut) // 2], "cut off"),
                (b"", "cut off"), (b"{\"entries\": [", "cut off"), (b"\x80\x02r\xff\xff\xff\x7f.", "cut off"),
                (b"\x7fELF and more", "cut off"), (pickle.dumps([1]), "no Flight Recorder dump"),
                (pickle.dumps({"entries": loop}), "no name"), (pickle.dumps({"entries": 7}), "no list"),
                (pickle.dumps({"version": "2.10", "entries": [{"process_group": "0"}]}), "no name"),
                (pickle.dumps({"version": 9, "pg_config": {1: 2, "0": {"ranks": loop}}, "entries": [dict(
                    whole["entries"][0], input_sizes=[[-1]])]}), "sizes"))):
            with self.subTest(said=said, n=n):
                self.setUp()
                self.play(drop)
                self.put("nccl_trace_rank_3", data)
                text = self.check(("hang", "rank-unseen", "3"), "hostile")
                self.assertIn(said, text)
                self.assertIn("inconclusive", text)
                self.assertFalse(os.path.exists(mark))
        self.put("nccl_trace_rank_3", dict(whole, entries=[dict(whole["entries"][0], profiling_name="nccl:x\x1b[31m",
                                                                process_group=("0", "\n"), frames=[loop, {}])]))
        self.assertNotIn("\x1b", self.diagnose()[2])

    def test_refused(self):
        """Nothing there, dumps of two jobs, several folders, no python3: one line, and the exit code says which."""
        self.assertEqual(self.diagnose()[:2], (2, None))
        os.mkfifo(os.path.join(self.dir, "rank_0"))
        self.assertEqual(self.diagnose()[:2], (2, None))
        self.play(drop)
        self.put("nccl_trace_rank_7", Rank(7, {"0": tuple(range(8))}).call().dump())
        text = self.check(("hang", "missing-call", "3", 0, 7), "one of another job")
        self.assertIn("Rank 7's dump is of another job: that one had 8 ranks, the others' 4, and is not read.", text)
        self.setUp()
        for rank, of in ((0, 4), (7, 8)):
            self.put("nccl_trace_rank_%d" % rank, Rank(rank, {"0": tuple(range(of))}).call().dump())
        code, verdict, text = self.diagnose()
        self.assertEqual((code, verdict, text.count("\n")), (2, None, 1))
        self.assertIn("different jobs", text)
        self.assertEqual(self.diagnose(self.dir)[0], 2)
        code, verdict, text = self.diagnose(path="/nonexistent")
        self.assertEqual((code, verdict, text.count("\n")), (77, None, 1))
        self.assertIn("python3", text)


if __name__ == "__main__":
    unittest.main()
