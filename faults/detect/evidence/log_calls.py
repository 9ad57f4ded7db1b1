"""log_calls.py: what logs say of a run's calls, as evidence, for evidence_log.c: PyTorch's watchdog, else NCCL's own lines of calls.

    python3 -I log_calls.py COMMUNICATORS < FACTS      (hang_diagnose --log has it built in)

FACTS is what nccl_log read, as JSON. Writes what torch_dumps.py writes: a line for the job, then one for each rank; or one that
says what is wrong. Lines have clocks without a year, so all times are before NOW.
"""
import json
import sys

NOW = 10 ** 18
KEPT = 64            # calls of a rank from the slowest rank's on
RANKS = 1 << 16
LINES = 2            # RECORD_LINES: the calls are a log's
ALONE, TAKEN = 2, 8  # RECORD_ALONE, RECORD_TAKEN
NO_TYPE = 12         # DT_COUNT: lines of the watchdog have none
# In the order of enum call_kind.
KINDS = "AllReduce AllGather ReduceScatter Broadcast Reduce AlltoAll AlltoAllv Gather Scatter Send Recv".split()
SCATTERED = ("ReduceScatter", "Scatter")
ROOTED = ("Broadcast", "Reduce", "Gather", "Scatter")


def say(**line):
    print(json.dumps(line))


def kind_of(op):
    """The kind of c10d's OpType, as "_REDUCE_SCATTER_BASE": the longest name with which its letters begin; None: none."""
    letters = op.replace("_", "").lower()
    found = max((k for k in KINDS[:9] if letters.startswith(k.lower())), key=len, default="AllReduce" if op == "BARRIER" else None)
    return "AlltoAllv" if found == "AlltoAll" else found


class Wait:
    """How far a rank came in a process group. `at`: the first call that is not over, `made`: whether the rank has made it."""

    def __init__(self, told):
        (self.group, self.rank, self.place, self.at, self.made, self.enqueued, self.seq, self.op, self.numel_in, self.numel_out,
         self.waited) = told
        self.kind = kind_of(self.op)

    def count(self):
        """As records have it, in elements."""
        count = self.numel_out if self.kind in SCATTERED else self.numel_in
        return 0 if self.kind == "AlltoAllv" else max(count, 0)

    def members(self):
        """How many ranks its group has, by what they gather or scatter; 0: the line does not say."""
        sizes = {"AllGather": (self.numel_out, self.numel_in), "ReduceScatter": (self.numel_in, self.numel_out)}
        whole, part = sizes.get(self.kind, (0, 0))
        return whole // part if part > 0 and whole % part == 0 and whole // part < RANKS else 0


class Group:
    def __init__(self, waits):
        self.waits, self.name = waits, waits[0].group
        seen = 1 + max(w.place for w in waits)
        told = max(w.members() for w in waits)
        self.members, self.counted = max(seen, told), told >= seen
        at = [w.at for w in waits if w.at >= 0]
        self.first, self.most = min(at, default=-1), max(at, default=-1)  # the slowest rank's call, the fastest one's
        self.ranks = {w.rank: w for w in reversed(waits)}

    def line_of(self, own, seq):
        """The line about that call, of this rank, else of any; None: none says what call it is."""
        return next((w for w in [own] + self.waits if w.seq == seq and w.kind), None)

    def wrong(self):
        """Why it can't be compared; None: it can."""
        if any(w.rank >= RANKS or w.place >= RANKS for w in self.waits):
            return "has ranks with numbers that can't be"
        if len({w.place for w in self.waits}) < len(self.waits):
            return ("has two ranks of one number: there are several of that name" if self.name else
                    "is not named (PyTorch before 2.4), and may be several")
        if self.first < 1 or not self.line_of(self.waits[0], self.first):
            return "has no line that names the call its slowest rank is in"
        if not self.name and self.most != self.first:
            return "is not named (PyTorch before 2.4), so that it may be several"
        return "has ranks too far apart" if self.most - self.first >= KEPT else None

    def calls(self, own):
        """The rank's, from the slowest rank's on, up to the first that no line names: no rank has that one. The call before stands
        for all that are over everywhere: its kind is not known, and alike for all."""
        since = NOW - int(max(own.waited, 0) * 1e9)
        last = max(own.at if own.made else own.at - 1, own.enqueued) if own.at >= 0 else -1
        for seq in range(max(self.first - 1, 1), last + 1):
            line = self.line_of(self.waits[0], self.first) if seq < self.first else self.line_of(own, seq)
            if not line:
                return
            yield call(self.comm, seq, line.kind, line.count(), NO_TYPE, -1, seq < own.at, since, 0 if line is own else TAKEN)


def call(comm, number, kind, count, dtype, root, over, since, taken=0):
    """As torch_dumps.py writes it, on a stream of its communicator."""
    return [comm, number, KINDS.index(kind), count, dtype, root, comm, int(over), ALONE | taken, since, since, since if over else 0]


def say_rank(rank, present, cut, undated, stack, comms, calls):
    say(rank=rank, present=int(bool(present)), before=calls[0][1] - 1 if calls else 0, newest=NOW, cut=int(bool(cut)), undated=undated,
        stack=stack, comms=comms, calls=calls)


def groups_of(waits, most, remarks):
    """The groups that can be compared, with a communicator each: 0 for the first one of all ranks."""
    named = {}
    for wait in map(Wait, waits):
        named.setdefault(wait.group, []).append(wait)
    groups = []
    for group in map(Group, named.values()):
        wrong = group.wrong() if len(groups) + 1 < most else "is one too many"
        if wrong:
            remarks.append("%s %s: it is not compared." % ('Process group "%.40s"' % group.name if group.name else "A process group", wrong))
            continue
        groups.append(group)
        group.comm = len(groups)
    nranks = 1 + max((w.rank for g in groups for w in g.waits), default=-1)
    # of a group whose places are the ranks' own numbers: more ranks than those with lines
    nranks = max([nranks] + [g.members for g in groups if all(w.place == w.rank for w in g.waits)])
    counted = any(g.counted and g.members == nranks for g in groups)
    for group in [g for g in groups if g.members == nranks][:1]:
        group.comm = 0
    return groups, nranks, counted


def sent(wait):
    """The send or receive in which a rank waits, of a group that is not compared; its partner is not in the line."""
    since = NOW - int(max(wait.waited, 0) * 1e9) if wait else 0
    return [call(0, max(wait.at, 1), wait.op.capitalize(), max(wait.numel_in, 0), NO_TYPE, -1, False, since)] if wait else []


def say_waits(facts, groups, nranks, counted, remarks):
    remarks.append("From lines of PyTorch's watchdog: types, reduction operators, roots and streams are not in them, nor what ranks "
                   "without a line did.")
    remarks += ["Communicator %d is process group %.40s." % (g.comm, g.name) for g in groups[:6] if g.name]
    teller = facts["traceback_rank"]
    if nranks <= facts["ended"] < RANKS:
        nranks, counted = facts["ended"] + 1, False
    say(ranks=nranks, counted=int(counted), library=facts["version"], remarks=" ".join(remarks)[:1000])
    pairs = {w.rank: w for w in map(Wait, facts["waits"]) if w.op.capitalize() in KINDS[9:] and w.at >= 0} if not groups else {}
    for rank in range(nranks):
        own = [(i, g, g.ranks[rank]) for i, g in enumerate(groups) if rank in g.ranks]
        say_rank(rank, own or rank in pairs, not own and facts["ended"] == rank, 0, facts["traceback"] if teller == rank else "",
                 [[g.comm, w.place, g.members, i + 1, 0] for i, g, w in own] + [[0, rank, nranks, 1, 0]] * (rank in pairs),
                 [c for _, g, w in own for c in g.calls(w)] + sent(pairs.get(rank)))


# ---- NCCL's own lines of calls ----

class Member:
    def __init__(self, told):
        self.rank, self.grouped, self.first, self.last, calls = told
        self.calls = {c[0]: c for c in calls}  # number, kind, count, type, root


def common_calls(members, nranks, kept):
    """So many calls are over, by what all members with lines made, and alike; -1: their numbers can't be compared."""
    if not members or (any(m.grouped for m in members) and len({m.first for m in members}) > 1):
        return -1
    over = min(m.last for m in members) - (len(members) < nranks)  # the newest waits for ranks that may not have made it
    for number in range(over - kept, over + 1):
        if len({tuple(m.calls[number][1:4]) for m in members if number in m.calls}) > 1:
            return number - 1  # it can't be over
    return over


def alike(members):
    """Whether all have come equally far, and have made the newest call alike."""
    return len({m.last for m in members}) == 1 and len({tuple(m.calls[m.last][1:4]) for m in members if m.last in m.calls}) <= 1


def say_calls(facts, remarks):
    """The largest communicator with calls. Several are not compared with each other: their order is not in the numbers."""
    comms = [(nranks, [Member(m) for m in members]) for nranks, members in facts["comms"]]
    over = [common_calls(members, nranks, facts["kept"]) for nranks, members in comms]
    fit = [i for i, (nranks, _) in enumerate(comms) if 2 <= nranks <= RANKS and over[i] >= 0]
    if not fit and facts["waits"]:
        return say(error="hold lines of PyTorch's watchdog that can't be compared. " + " ".join(remarks)[:600])
    if not fit:
        return say(error="hold no line of PyTorch's watchdog that says where a rank is, and no calls (NCCL_DEBUG_SUBSYS=COLL)")
    chosen = max(fit, key=lambda i: comms[i][0])
    nranks, members = comms[chosen]
    calm = len(members) < nranks and alike(members) and over[chosen] == members[0].last - 1
    remarks.append("From NCCL's lines of calls, which say what was enqueued and not what is over: calls that all ranks made alike "
                   "count as over. Reduction operators and streams are not compared.")
    if nranks < max(n for n, _ in comms):
        remarks.append("Ranks have their numbers in communicator %d." % chosen)
    say(ranks=nranks, counted=1, calm=int(calm), library=facts["version"], remarks=" ".join(remarks)[:1000])
    by_rank = {m.rank: m for m in members}
    for rank in range(nranks):
        own = by_rank.get(rank)
        calls = [call(0, n, KINDS[kind], count, dtype, root if KINDS[kind] in ROOTED else -1, n <= over[chosen], NOW)
                 for n, kind, count, dtype, root in sorted(own.calls.values())] if own else []
        say_rank(rank, own, False, LINES if own else 0, "", [[0, rank, nranks, 1, 0]] if own else [], calls)


def main():
    facts, remarks = json.load(sys.stdin), []
    groups, nranks, counted = groups_of(facts["waits"], int(sys.argv[1]), remarks)
    if groups or (facts["waits"] and facts["ended"] >= 0):
        seen = [told[1] for told in facts["waits"] if told[1] < RANKS]
        say_waits(facts, groups, nranks if groups else max(seen, default=-1) + 1, counted, remarks)
    else:
        say_calls(facts, remarks)


if __name__ == "__main__":
    main()
