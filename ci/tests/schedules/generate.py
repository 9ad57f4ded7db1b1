#!/usr/bin/env python3
"""generate.py: schedules of calls, healthy or with one edit in one rank, played, as Flight Recorder dumps and as text.

usage: ci/tests/schedules/generate.py OUT [--seed 1] [--count 300] [--calls collectives,sends,both] [--edits LIST]
                                          [--ranks 3-16]

OUT gets index.csv, a line a schedule: what it is, whether it stands still, and the truth; NUMBER.txt, the schedule as text
(below); NUMBER/rank_R, the dumps that PyTorch would leave. The same seed and number give the same files.

A schedule has ranks, groups (0 has all ranks; a name counts all groups, as PyTorch's do) and a list of calls a rank. A healthy
one is the projection of one order of collectives and transfers, so that it ends whatever the streams are. The edits: skip,
extra (made twice), swap (with the next call), count, kind (another collective; a send for a receive), peer, end (no call
from there on; the rank lives). Guilty is the rank with the edit. "Beside" are ranks that the evidence cannot clear:
its partners in the edited calls, or the other member of a group of two.

The player. A rank makes its calls in order, at most `ahead` more than are over (-1: any number), and each is put on a stream:
one for all groups, or one a group. A stream starts a call when the call before it is over. A collective is over when all members
stand in it with equal arguments; a send with its receive, the nth with the nth of that pair, with equal counts. No send is
eager.

The text, words between blanks, for a program that plays it live:

  ranks N
  stream one|group
  ahead N
  group NAME RANK,RANK...        a line a group, in the order of names: 0, 1, 2...
  truth ends|stands EDIT GUILTY BESIDE     "-": none; EDIT is NAME@CALL, from 0, in the healthy list
  rank R CALL CALL...            a line a rank; a CALL is KIND/GROUP/COUNT/PEER: `peer` is the place in the group of
                                 a send's or receive's partner, a broadcast's or reduce's root; else -1
"""
import argparse
import csv
import os
import pickle
import random
from collections import namedtuple
from dataclasses import dataclass, field

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
ROOTED = ("broadcast", "reduce")
EDITS = ("skip", "extra", "swap", "count", "kind", "peer", "end")
TORCH = {"all_gather": "_all_gather_base", "reduce_scatter": "_reduce_scatter_base"}
BEGAN = 1795393998000000000  # ns
TICK = 1000000  # ns between two events of a play
WAITED = 600  # s from the last event to the dump, where a rank waits

Call = namedtuple("Call", "kind group count peer")


def is_transfer(call):
    return call.kind in ("send", "recv")


@dataclass
class Schedule:
    calls_of: str  # collectives, sends, both
    groups: list  # of each its ranks; the first has all
    stream: str
    ahead: int
    ranks: list = field(default_factory=list)  # of each its calls
    edit: str = "none"
    at: int = -1
    guilty: list = field(default_factory=list)
    beside: list = field(default_factory=list)

    @property
    def n(self):
        return len(self.groups[0])


# ---- schedules ----


def make_groups(rng, n):
    """The world, and perhaps one or two layers of groups that part it: blocks of neighbours, every kth rank, or both."""
    layers = []
    sizes = [k for k in range(2, n) if n % k == 0]
    shape = rng.choice(("world", "blocks", "strides", "grid"))
    if sizes and shape != "world":
        k = rng.choice(sizes)
        if shape in ("blocks", "grid"):
            layers.append([list(range(i, i + k)) for i in range(0, n, k)])
        if shape in ("strides", "grid"):
            layers.append([list(range(i, n, k)) for i in range(k)])
    groups, numbers = [list(range(n))], [[0]]
    for layer in layers:
        numbers.append(list(range(len(groups), len(groups) + len(layer))))
        groups += layer
    return groups, numbers


def collective(rng, groups, numbers):
    """One collective, by all groups of a layer."""
    kind, count = rng.choice(COLLECTIVES), 8 * rng.randint(1, 400)
    root = rng.randrange(min(len(groups[g]) for g in numbers)) if kind in ROOTED else -1
    return [Call(kind, g, count, root) for g in numbers]


def transfers(rng, groups, numbers):
    """Sends among the members of each group of a layer, (group, from, to, count): a pipeline there and back, a ring, pairs."""
    form, count = rng.choice(("pipeline", "ring", "pairs", "some")), 8 * rng.randint(1, 400)
    found = []
    for g in numbers:
        k = len(groups[g])
        there = [(i, i + 1) for i in range(k - 1)]
        if form == "pipeline":
            there += [(j, i) for i, j in reversed(there)]
        elif form == "ring" and k > 2:
            there.append((k - 1, 0))
        elif form == "pairs":
            there = there[::2] + there[1::2]
        elif form == "some":
            there = [tuple(rng.sample(range(k), 2)) for _ in range(k)]
        found += [(g, i, j, count) for i, j in there]
    return found


def project(schedule, order):
    """Each rank's part of one order of collectives and transfers."""
    schedule.ranks = [[] for _ in range(schedule.n)]
    for step in order:
        if isinstance(step, Call):
            for rank in schedule.groups[step.group]:
                schedule.ranks[rank].append(step)
            continue
        group, sender, receiver, count = step
        members = schedule.groups[group]
        schedule.ranks[members[sender]].append(Call("send", group, count, receiver))
        schedule.ranks[members[receiver]].append(Call("recv", group, count, sender))


def healthy(rng, calls_of, n):
    """A job of a few steps that make the same calls; the last one has some more."""
    groups, layers = make_groups(rng, n)
    schedule = Schedule(calls_of, groups, rng.choice(("one", "group")), rng.choice((-1, -1, 0, 4)))
    makers = {"collectives": [collective], "sends": [transfers], "both": [collective, transfers]}[calls_of]
    block = []
    for i in range(rng.randint(2, 5)):
        block += makers[i % len(makers)](rng, groups, rng.choice(layers))
    order = block * rng.randint(2, 5)
    for _ in range(rng.randint(0, 2)):
        order += rng.choice(makers)(rng, groups, layers[0])
    project(schedule, order)
    return schedule


# ---- edits ----


def others(rng, schedule, edit, call):
    """A call to stand in place of this one; None: the edit is none of its kind."""
    members = schedule.groups[call.group]
    if edit == "count":
        return call._replace(count=call.count + 8 * rng.randint(1, 40))
    if edit == "kind" and is_transfer(call):
        return call._replace(kind="recv" if call.kind == "send" else "send")
    if edit == "kind":
        kind = rng.choice([k for k in COLLECTIVES if k != call.kind])
        return call._replace(kind=kind, peer=0 if kind in ROOTED else -1)
    places = [i for i, rank in enumerate(members) if i != call.peer and rank != schedule.guilty[0]]
    if edit == "peer" and is_transfer(call) and places:
        return call._replace(peer=rng.choice(places))
    return None


def apply_edit(rng, schedule, edit, at):
    """Edits the guilty rank's list at that call. Returns the calls concerned, or None where that is no edit of it."""
    calls = schedule.ranks[schedule.guilty[0]]
    was = calls[at]
    if edit == "skip":
        del calls[at]
        return [was]
    if edit == "end":
        del calls[at:]
        return [was]
    if edit == "extra":
        calls.insert(at, was)
        return [was]
    if edit == "swap":
        if at + 1 >= len(calls) or calls[at + 1] == was:
            return None
        calls[at], calls[at + 1] = calls[at + 1], was
        return [was, calls[at]]
    becomes = others(rng, schedule, edit, was)
    if becomes is None:
        return None
    calls[at] = becomes
    return [was, becomes]


def concerned(schedule, calls):
    """Ranks that calls of the guilty one concern alone: partners, and the other member of a group of two."""
    ranks = set()
    for call in calls:
        members = schedule.groups[call.group]
        if is_transfer(call):
            ranks.add(members[call.peer])
        elif len(members) == 2:
            ranks.update(members)
    return sorted(ranks - set(schedule.guilty))


def plant(rng, schedule, edits):
    """One edit in one rank: the first of some tries that is one."""
    for _ in range(200):
        edit, rank = rng.choice(edits), rng.randrange(schedule.n)
        if not schedule.ranks[rank]:
            continue
        at = rng.randrange(len(schedule.ranks[rank]))
        schedule.guilty = [rank]
        calls = apply_edit(rng, schedule, edit, at)
        if calls:
            schedule.edit, schedule.at, schedule.beside = edit, at, concerned(schedule, calls)
            return
    schedule.guilty = []


def generate(seed, number, kinds=("collectives", "sends", "both"), edits=("none",) + EDITS, ranks=(3, 16)):
    """The schedule of a seed and number; each fourth or so is healthy."""
    rng = random.Random("%d/%d" % (seed, number))
    n = rng.choice([k for k in (3, 4, 4, 5, 6, 6, 7, 8, 8, 9, 12, 16) if ranks[0] <= k <= ranks[1]] or [ranks[0]])
    schedule = healthy(rng, kinds[number % len(kinds)], n)
    planted = [e for e in edits if e != "none"]
    if planted and ("none" not in edits or rng.random() < .8):
        plant(rng, schedule, planted)
    return schedule


# ---- the player ----


@dataclass
class Played:
    """One call of a rank as it was played; the ticks are -1 where that did not happen."""
    call: Call
    made: int
    started: int = -1
    over: int = -1


class Play:
    """Plays a schedule until no rank can go on. calls: of each rank those that it made."""

    def __init__(self, schedule):
        self.schedule, self.tick = schedule, 0
        self.calls = [[] for _ in schedule.ranks]
        self.streams = [{} for _ in schedule.ranks]  # of each rank: name -> its calls that are not over
        while any([self.advance(rank) for rank in range(schedule.n)]):
            pass

    def stands(self):
        """True if a rank waits in a call, or has calls that it never made."""
        return any(len(made) < len(calls) or any(p.over < 0 for p in made)
                   for made, calls in zip(self.calls, self.schedule.ranks))

    def now(self):
        self.tick += 1
        return self.tick

    def advance(self, rank):
        """Makes one call of the rank, and ends what can end with it. Returns whether anything happened."""
        return any([self.make(rank), *[self.end(rank, stream) for stream in list(self.streams[rank])]])

    def make(self, rank):
        made, calls = self.calls[rank], self.schedule.ranks[rank]
        waiting = sum(len(queue) for queue in self.streams[rank].values())
        if len(made) == len(calls) or 0 <= self.schedule.ahead < waiting:
            return False
        played = Played(calls[len(made)], self.now())
        made.append(played)
        stream = 0 if self.schedule.stream == "one" else played.call.group
        self.streams[rank].setdefault(stream, []).append(played)
        self.start(rank, stream)
        return True

    def start(self, rank, stream):
        """The first call of a stream starts."""
        queue = self.streams[rank][stream]
        if queue and queue[0].started < 0:
            queue[0].started = self.now()

    def first(self, rank, group):
        """The call in which the rank's stream of that group stands, None: none, or another group's."""
        queue = self.streams[rank].get(0 if self.schedule.stream == "one" else group)
        return queue[0] if queue and queue[0].call.group == group else None

    def end(self, rank, stream):
        queue = self.streams[rank][stream]
        if not queue:
            return False
        call = queue[0].call
        members = self.schedule.groups[call.group]
        if is_transfer(call):
            ranks = [rank, members[call.peer]]
            other = self.first(ranks[1], call.group)
            fits = other and other.call == Call("recv" if call.kind == "send" else "send", call.group, call.count,
                                                members.index(rank))
        else:
            ranks, firsts = members, [self.first(member, call.group) for member in members]
            fits = all(first and first.call == call for first in firsts)
        if not fits:
            return False
        tick = self.now()
        for member in ranks:
            self.streams[member][stream].pop(0).over = tick
        for member in ranks:
            self.start(member, stream)
        return True


# ---- what is written ----


def entry(schedule, rank, number, played, seqs, timed):
    """One entry of a Flight Recorder dump; seqs: the group's numbers of collectives, transfers and both."""
    call = played.call
    members = schedule.groups[call.group]
    mine, transfer = members.index(rank), is_transfer(call)
    seqs[transfer] += 1
    seqs[2] += 1
    name = TORCH.get(call.kind, call.kind)
    if transfer:
        name = "%s %d%s%d" % (call.kind, mine, "->" if call.kind == "send" else "<-", call.peer)
    sizes = [call.count * (len(members) if call.kind == kind else 1) for kind in ("reduce_scatter", "all_gather")]
    state = "completed" if played.over >= 0 else "started" if timed and played.started >= 0 else "scheduled"
    groups = [g for g, ranks in enumerate(schedule.groups) if rank in ranks]
    return {
        "frames": [{"name": "step", "filename": "train.py", "line": 10 + COLLECTIVES.index(call.kind)
                    if not transfer else 20 + (call.kind == "recv")}],
        "record_id": number, "pg_id": groups.index(call.group),
        "process_group": (str(call.group), "undefined" if call.group else "default_pg"),
        "thread_name": "python3", "thread_id": "140338333086464", "collective_seq_id": seqs[0], "p2p_seq_id": seqs[1],
        "op_id": seqs[2], "profiling_name": "nccl:" + name, "time_created_ns": BEGAN + played.made * TICK,
        "input_sizes": [[sizes[0]]], "input_dtypes": ["Float"], "output_sizes": [[sizes[1]]], "output_dtypes": ["Float"],
        "state": state,
        "time_discovered_started_ns": BEGAN + played.started * TICK if timed and played.started >= 0 else None,
        "time_discovered_completed_ns": BEGAN + played.over * TICK if played.over >= 0 else None,
        "retired": played.over >= 0, "timeout_ms": WAITED * 1000, "is_p2p": transfer}


def dump(play, rank, timed):
    """A rank's dump as an object. timed: PyTorch was asked for times, and tells calls that started from those behind."""
    schedule = play.schedule
    seqs = {g: [0, 0, 0] for g, ranks in enumerate(schedule.groups) if rank in ranks}
    entries, status = [], {}
    for local, group in enumerate(seqs):
        status[str(local)] = dict.fromkeys(("last_enqueued_collective", "last_started_collective",
                                            "last_completed_collective"), -1)
    for number, played in enumerate(play.calls[rank]):
        e = entry(schedule, rank, number, played, seqs[played.call.group], timed)
        entries.append(e)
        if not e["is_p2p"]:
            said = status[str(e["pg_id"])]
            said["last_enqueued_collective"] = e["collective_seq_id"]
            if e["state"] == "completed":
                said["last_completed_collective"] = e["collective_seq_id"]
            if timed and e["state"] != "scheduled":
                said["last_started_collective"] = e["collective_seq_id"]
    config = {str(g): {"name": str(g), "desc": "undefined" if g else "default_pg", "ranks": str(schedule.groups[g])}
              for g in seqs}
    return {"version": "2.10", "pg_config": config, "comm_lib_version": "2.28.9", "pg_status": status, "entries": entries}


def write_dumps(play, folder, timed):
    """rank_R of all ranks, with the time at which they were written."""
    os.makedirs(folder, exist_ok=True)
    seconds = (BEGAN + play.tick * TICK) // 10**9 + (WAITED if play.stands() else 1)
    for rank in range(play.schedule.n):
        path = os.path.join(folder, "rank_%d" % rank)
        with open(path, "wb") as file:
            pickle.dump(dump(play, rank, timed), file, protocol=2)
        os.utime(path, (seconds, seconds))


def numbers(values):
    return ",".join(map(str, values)) or "-"


def text(play):
    s = play.schedule
    edit = s.edit if s.edit == "none" else "%s@%d" % (s.edit, s.at)
    lines = ["ranks %d" % s.n, "stream " + s.stream, "ahead %d" % s.ahead]
    lines += ["group %d %s" % (g, numbers(ranks)) for g, ranks in enumerate(s.groups)]
    lines.append("truth %s %s %s %s" % ("stands" if play.stands() else "ends", edit, numbers(s.guilty), numbers(s.beside)))
    for rank, calls in enumerate(s.ranks):
        lines.append(" ".join(["rank %d" % rank] + ["/".join(map(str, call)) for call in calls]))
    return "\n".join(lines) + "\n"


COLUMNS = "number calls ranks groups stream ahead timed made edit at stands guilty beside".split()


def row(number, play, timed):
    s = play.schedule
    return [number, s.calls_of, s.n, len(s.groups), s.stream, s.ahead, int(timed), sum(map(len, play.calls)), s.edit, s.at,
            int(play.stands()), numbers(s.guilty), numbers(s.beside)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--calls", default="collectives,sends,both")
    parser.add_argument("--edits", default="none," + ",".join(EDITS))
    parser.add_argument("--ranks", default="3-16")
    args = parser.parse_args()
    edits, kinds = args.edits.split(","), args.calls.split(",")
    least, _, most = args.ranks.partition("-")
    if set(edits) - {"none", *EDITS} or set(kinds) - {"collectives", "sends", "both"} or int(least) < 2:
        parser.error("--edits are of none, %s; --calls of collectives, sends, both; two ranks at least" % ", ".join(EDITS))
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "index.csv"), "w", newline="", encoding="utf-8") as file:
        index = csv.writer(file, lineterminator="\n")
        index.writerow(COLUMNS)
        for number in range(args.count):
            play = Play(generate(args.seed, number, kinds, edits, (int(least), int(most or least))))
            name, timed = os.path.join(args.out, "%04d" % number), number % 2 == 0
            write_dumps(play, name, timed)
            with open(name + ".txt", "w", encoding="utf-8") as out:
                out.write(text(play))
            index.writerow(row(number, play, timed))


if __name__ == "__main__":
    main()
