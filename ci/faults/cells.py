#!/usr/bin/env python3
"""cells.py: which cells of the fault matrix are run: for each fault a seeded pairwise covering array.

A cell is one value of each factor. Which cells cannot be is asked of the program itself, with
HANGAR_START=0; what only a started rank can tell (exit 2 or 77) is replaced in the
next round.

cells.py OUTDIR: makes or extends OUTDIR/cells.csv, prints what is still to be run. Its settings are
those of `matrix`, in the environment."""
import csv
import fcntl
import functools
import itertools
import os
import random
import re
import shlex
import subprocess
import sys
import zlib
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tables import run, write_csv  # noqa: E402

FACTORS = ["collective", "ranks", "place", "size", "dtype", "mode", "transport", "schedule", "when",
           "keys"]
COLUMNS = ["cell", "fault", *FACTORS, "culprits", "spec", "command"]
COVERAGE = ["fault", "cells", "replaced", "covered", "feasible", "infeasible"]
REFUSED = ["fault", "transport", "exit_code", "why", "times", "command"]
PLACES = ["first", "middle", "last", "several", "rest"]
TRIES = 3  # so many cells with a pair were refused by started ranks and none was not: it cannot be
MISSES = 8  # cells with a pair that the program refused, and it is given up
CANDIDATES = 12
FEW = 5  # cells of a fault that runs alone
BEYOND = 99999999  # no schedule has so many calls
SEARCH = 8  # calls that are tried until all culprits make one and the fault applies to it


# ---- what is expected of a cell ----

def read_csv(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


@functools.cache
def expectations(fault):
    path = Path(os.environ.get("EXPECTED", Path(__file__).resolve().parent / "expected.csv"))
    return [row for row in read_csv(path) if row["fault"] == fault]


def alone(fault):
    """It takes what its neighbours on the GPU need."""
    return fault in os.environ.get("ALONE", "").split()


def backend(cell):
    return "mpi" if cell["transport"] == "mpi" else "nccl"


def meets(row, cell):
    """The row's column `cells` holds conditions "factor=a|b", all of which the cell has to meet."""
    values = dict(cell, backend=backend(cell))
    return all(str(values[name]) in allowed.split("|") for name, allowed in
               (word.split("=") for word in row["cells"].split()))


def expectation(cell):
    """The first row of the fault with these keys whose conditions the cell meets, or None."""
    return next((row for row in expectations(cell["fault"])
                 if row["keys"] == cell["keys"] and meets(row, cell)), None)


# ---- factors ----

def culprits(place, ranks, turn):
    """The guilty ranks of a place, None where another place has the same; one rank is innocent.
    `several` is two ranks or, every other time, half of eight."""
    if place in ("first", "last"):
        return [0] if place == "first" else [ranks - 1]
    if ranks < 3 or place == "several" and ranks < 4:
        return None
    if place == "middle":
        return [ranks // 2]
    if place == "rest":
        return [i for i in range(ranks) if i != ranks // 2]
    return list(range(1, ranks, 2)) if turn % 2 and ranks > 4 else [1, ranks // 2]


def listed_faults(transport):
    """fault -> ("can run" or why not, where it can fire), in the program's own words."""
    text = subprocess.run([fired("all_gather_perf"), "--backend", backend({"transport": transport}),
                           "--list-faults=all"], text=True, check=True, stdout=subprocess.PIPE).stdout
    found = {}
    for name, rows in re.findall(r"^# ([a-z][a-z0-9-]*) .*\n((?:#   .*\n)+)", text, re.M):
        here = re.search(r"^#   here: (.*)$", rows, re.M)
        fires = re.search(r"^#   fires: (.*)$", rows, re.M)
        # a plan may be made for GPUs of another machine
        can = not here or here[1] == "needs a GPU" and devices()
        found[name] = ("can run" if can else here[1], fires[1].split() if fires else [])
    return found


def moments(fires):
    found = ["default", "last"] if "@NUMBER" in fires else []
    return found + [word for word in ("first", "init") if "@" + word in fires]


def factors_of(fault, transports, fires):
    """factor -> values. The healthy twin has no culprit; a fault without a row runs as it is."""
    env = os.environ
    keys = list(dict.fromkeys(row["keys"] for row in expectations(fault)))
    wanted = env["WHEN"].split()
    values = {"place": env["PLACES"].split(), "keys": keys or [""], "transport": transports,
              "when": [w for w in moments(fires) if w in wanted] or moments(fires)[:1]}
    for name in ("collective", "ranks", "size", "dtype", "mode", "schedule"):
        values[name] = env[name.upper() + ("" if name == "ranks" else "S")].split()
    if fault == "none":
        values.update(place=["-"], when=["-"])
    if len(values["schedule"]) > 5:  # halves and pairs are alike: each for half of the faults
        values["schedule"].remove(("halves", "pairs")[zlib.crc32(fault.encode()) % 2])
    return {name: values[name] for name in FACTORS if name in values}


# ---- one cell as a command ----

def fired(words):
    """A command with the whole path of its program: a plan is used where BUILD is another."""
    return str(Path(os.environ["BUILD"]) / "tests" / "fired" / words)


def devices():
    return int(os.environ.get("DEVICES", "0"))


def possible(cell):
    """Conditions that need no asking: ranks that are culprits, and a GPU for each but over sockets. The cell may
    lack factors."""
    ranks, place = int(cell.get("ranks", 0)), cell.get("place", "-")
    if ranks and place != "-" and not culprits(place, ranks, 0):
        return False
    if cell.get("transport") in ("p2p", "shm") and ranks > devices():
        return False
    if cell.get("algo") == "Tree" and cell.get("collective", "all_reduce") != "all_reduce":
        return False
    return cell.get("collective") != "hypercube" or ranks & (ranks - 1) == 0


def command(cell, row):
    words = [cell["collective"] + "_perf", "--backend", backend(cell), "-g", cell["ranks"],
             "-b", cell["size"], "-d", cell["dtype"]]
    words += ["--mode", cell["mode"]] * (cell["mode"] != "stream")
    words += [f"--schedule={cell['schedule']}"] * bool(cell["schedule"])
    words += ["--share-gpu"] * (cell["transport"] == "net")
    return words + shlex.split(row["options"] if row else "") + \
        shlex.split(os.environ.get("OPTIONS", ""))


@functools.cache
def ask(words):
    """(exit code, what was said last) of a start that starts nothing. No GPU is shown:
    CUDA's start takes many times the rest, and ranks look at them."""
    env = dict(os.environ, CUDA_VISIBLE_DEVICES="", HANGAR_START="0")
    run = subprocess.run(words, executable=fired(words[0]), env=env, text=True, timeout=60,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    lines = run.stderr.strip().splitlines()
    return run.returncode, lines[-1].split(": ", 1)[-1] if lines else ""


def spec_of(cell, who, op):
    return f"{cell['fault']}:{','.join(map(str, who))}{op and f'@{op}'}" + \
        ("," + cell["keys"] if cell["keys"] else "")


def nearer(why, when):
    """The call to try instead of one that the program refuses, in its own words; None."""
    beyond = re.search(r"makes (\d+) calls in the schedule", why)
    apart = re.search(r"does not apply to call (\d+) .*applies to: (\d+)", why)
    if when == "last":
        return int(beyond[1]) if beyond else int(apart[1]) - 1 if apart and int(apart[2]) else None
    return int(apart[2]) if when == "first" and apart else None


def fill(cell, turn):
    """Culprits, spec and command line; returns (0, 2 or 77, why). `first` and `last` are of the calls
    that the fault applies to."""
    words, when, who = command(cell, expectation(cell)), cell["when"], []
    spec = "none"
    if cell["fault"] != "none":
        who = culprits(cell["place"], int(cell["ranks"]), turn)
        spec = spec_of(cell, who, {"default": "", "last": BEYOND}.get(when, when))
    code, why = ask((*words, f"--fault={spec}"))
    for _ in range(SEARCH):
        op = nearer(why, when) if code == 2 else None
        if not op:
            break
        spec = spec_of(cell, who, op)
        code, why = ask((*words, f"--fault={spec}"))
    cell.update(culprits=",".join(map(str, who)), spec=spec,
                command=shlex.join([*words, f"--fault={spec}"]))
    return code, why


# ---- the covering array ----

def pairs_of(cell):
    return set(itertools.combinations(((name, cell[name]) for name in FACTORS), 2))


def values_of(cell):
    return tuple(cell[name] for name in FACTORS)


class Array:
    """The cells of one fault; `replaced`: names of those that started ranks refused. `causes`: sets of
    values that the program refuses, whatever the others are."""

    def __init__(self, fault, factors, cells, replaced):
        self.fault, self.factors, self.cells = fault, factors, list(cells)
        self.dice = random.Random(f"{os.environ['SEED']} {fault} {len(cells)}")
        self.fails, self.good, self.barren = Counter(), Counter(), set()
        self.causes, self.said, self.seen = [], {}, set()
        self.open = {((a, x), (b, y)) for a, b in itertools.combinations(FACTORS, 2)
                     for x in factors[a] for y in factors[b]}
        self.pairs = set(self.open)
        for cell in cells:
            self.note(cell, cell["cell"] not in replaced)

    def note(self, cell, good):
        self.seen.add(values_of(cell))
        (self.good if good else self.fails).update(pairs_of(cell))
        if good:
            self.open -= pairs_of(cell)

    def cannot(self, pair):
        return not possible(dict(pair)) or any(cause <= set(pair) for cause in self.causes) or \
            self.fails[pair] >= TRIES and not self.good[pair]

    def hits(self, cell):
        """The cell, which may lack factors, holds values that are refused together."""
        items = {(name, cell[name]) for name in cell.keys() & set(FACTORS)}
        return any(cause <= items for cause in self.causes)

    def worth(self, cell, name, value):
        """Pairs that the value would newly cover; less than nothing where it cannot be."""
        tried = dict(cell, **{name: value})
        if self.hits(tried) or not possible(tried):
            return -1
        mine = FACTORS.index(name)
        return sum((((name, value), (other, tried[other])) if mine < i else
                    ((other, tried[other]), (name, value))) in self.open
                   for i, other in enumerate(FACTORS) if other in tried and i != mine)

    def candidate(self, pair, greedy=True):
        """A cell with the pair: the other factors, in random order, take what is worth most, or any
        value that can be."""
        cell = dict(pair, fault=self.fault)
        for name in self.dice.sample(FACTORS, len(FACTORS)):
            if name not in cell:
                values = self.dice.sample(self.factors[name], len(self.factors[name]))
                cell[name] = max(values, key=lambda value: self.worth(cell, name, value) *
                                 (greedy or self.worth(cell, name, value) < 0))
        return cell

    def usable(self, cell):
        return possible(cell) and not self.hits(cell) and values_of(cell) not in self.seen

    def best(self, pair):
        """The possible and new candidate that covers most; or None."""
        for greedy in (True, False):
            made = [c for c in (self.candidate(pair, greedy) for _ in range(CANDIDATES))
                    if self.usable(c)]
            if made:
                break
        return max(made, key=lambda c: len(pairs_of(c) & self.open), default=None)

    def asked(self, cell):
        """"", or for what reason the program refuses the cell."""
        code, why = fill(cell, len(self.cells))
        if not code:
            return ""
        reason = "applies" if re.search("applies to none|does not apply", why) else \
            re.sub(r"\d+", "N", re.sub(r"--fault=\S+ ", "", why))
        times, first = self.said.get((cell["transport"], code, reason), (0, (why, cell["command"])))
        self.said[cell["transport"], code, reason] = times + 1, first
        return reason or str(code)

    def find_cause(self, bad, reason):
        """Which of a refused cell's values it takes: one that can be another, a cell's that is not
        refused where there is one, and is refused for the same reason, is not needed. A cause is
        believed when it is refused beside every other value."""
        cause = {name: bad[name] for name in FACTORS if len(self.factors[name]) > 1}
        good = self.dice.choice(self.cells or [bad])
        for name in self.dice.sample(list(cause), len(cause)):
            others = [v for v in self.factors[name] if v != bad[name]]
            other = good[name] if good[name] in others else self.dice.choice(others)
            changed = dict(bad, **{name: other})
            if possible(changed) and self.asked(changed) == reason:
                del cause[name]
                bad = changed
        if cause and all(self.asked(cell) for cell in self.beside(cause)):
            self.causes.append(frozenset(cause.items()))

    def beside(self, cause):
        """Cells with these values, in which each value of each other factor is."""
        columns = {name: self.dice.sample(values, len(values))
                   for name, values in self.factors.items() if name not in cause}
        for i in range(max(map(len, columns.values())) * (2 if len(cause) == 1 else 1)):
            cell = dict(cause, fault=self.fault, **{name: values[i % len(values)]
                                                   for name, values in columns.items()})
            for _ in range(CANDIDATES):
                if possible(cell):
                    yield cell
                    break
                for name in {"ranks", "place", "transport"} - cause.keys():
                    cell[name] = self.dice.choice(self.factors[name])

    def extend(self, limit):
        """Adds cells, of each collective first, until all pairs that can be are covered, or there are
        `limit`."""
        misses = Counter()
        while len(self.cells) < limit:
            left = sorted(pair for pair in self.open if pair not in self.barren and not self.cannot(pair))
            if not left:
                break
            met = {cell["collective"] for cell in self.cells}
            pair = self.dice.choice([pair for pair in left if pair[0][0] == "collective" and
                                     pair[0][1] not in met and misses[pair[0]] < MISSES] or left)
            cell = self.best(pair)
            if cell is None:
                self.barren.add(pair)
                continue
            reason = self.asked(cell)
            if reason:
                self.seen.add(values_of(cell))
                self.find_cause(dict(cell), reason)
                misses.update([pair, pair[0]])
                self.barren |= {pair} if misses[pair] == MISSES else set()
            else:
                self.note(cell, True)
                self.cells.append(dict(cell, cell=f"{self.fault}.{len(self.cells) + 1:02d}"))

    def coverage(self, replaced):
        """Pairs of factors with several values: covered, feasible, infeasible; a pair that no cell was
        found for counts as feasible unless it is known why."""
        real = {p for p in self.pairs if all(len(self.factors[name]) > 1 for name, _ in p)}
        left = real & self.open
        cannot = sum(self.cannot(pair) for pair in left)
        return [self.fault, len(self.cells) - replaced, replaced, len(real) - len(left),
                len(real) - cannot, cannot]


def extended(fault, factors, cells, replaced, limit):
    """(cells, coverage, what was refused) of one fault."""
    array = Array(fault, factors, cells, replaced)
    array.extend(limit)
    return array.cells, array.coverage(len(replaced)), [
        [fault, transport, code, why, times, words]
        for (transport, code, _), (times, (why, words)) in array.said.items()]


# ---- all faults ----

def runnable():
    """fault -> (transports, where it fires), and [fault, transport, 77, why, 1, ""] of the others."""
    found, cannot = {"none": (os.environ["TRANSPORTS"].split(), [])}, []
    for transport in found["none"][0]:
        for fault, (here, fires) in listed_faults(transport).items():
            if not re.search(os.environ["ONLY"], fault):
                continue
            if here == "can run":
                found.setdefault(fault, ([], fires))[0].append(transport)
            else:
                cannot.append([fault, transport, 77, here, 1, ""])
    return found, cannot


def plan(out):
    """Makes cells.csv, coverage.csv and refused.csv, or adds cells where a run refused one."""
    old = read_csv(out / "cells.csv")
    replaced = {row["cell"] for row in read_csv(out / "matrix.csv")
              if row["verdict"] in ("impossible", "refused")}
    coverage = {row["fault"]: list(row.values()) for row in read_csv(out / "coverage.csv")}
    refused = [list(row.values()) for row in read_csv(out / "refused.csv")]
    found, cannot = runnable() if not old or replaced else ({}, [])
    most = min(int(os.environ["CELLS"]), max(1, int(os.environ["MOST"]) // max(1, len(found))))
    jobs = []
    with ProcessPoolExecutor() as pool:
        for fault, (transports, fires) in found.items():
            mine = [cell for cell in old if cell["fault"] == fault]
            bad = {cell["cell"] for cell in mine} & replaced
            limit = min(most, FEW) if alone(fault) else most
            if not old or len(bad) > int(coverage[fault][COVERAGE.index("replaced")]):
                jobs.append(pool.submit(extended, fault, factors_of(fault, transports, fires), mine,
                                        bad, min(2 * limit, limit + len(bad))))
    cells = {fault: [c for c in old if c["fault"] == fault] for fault in coverage}
    refused += cannot if not old else []
    for job in jobs:
        made, covered, said = job.result()
        cells[covered[0]], coverage[covered[0]] = made, covered
        refused += said
    if jobs:
        write_csv(out / "refused.csv", REFUSED, refused)
        write_csv(out / "coverage.csv", COVERAGE, coverage.values())
        write_csv(out / "cells.csv", COLUMNS, [[cell[name] for name in COLUMNS]
                                               for made in cells.values() for cell in made])
    return read_csv(out / "cells.csv"), replaced


def forget_wrong(out):
    """They go to wrong.csv and are run again."""
    rows = read_csv(out / "matrix.csv")
    wrong = [row for row in rows if row["verdict"] == "wrong"]
    for path, lines in ((out / "wrong.csv", wrong), (out / "matrix.csv", [r for r in rows if r not in wrong])):
        if rows:
            write_csv(path, list(rows[0]), [line.values() for line in lines])


def todo(out):
    """Prints "NAME TRANSPORT RANKS COMMAND" of each run that has no line yet. Repeats come outermost
    and faults take turns, so that what is cut short has covered all alike; what runs alone comes last.
    Exit 2: no such fault."""
    with open(out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.environ["RETRY"] == "1":
            forget_wrong(out)
        cells, replaced = plan(out)
    ran = {(row["cell"], row["repeat"]) for row in read_csv(out / "matrix.csv")}
    runs = itertools.product(range(1, int(os.environ["REPEATS"]) + 1), cells)
    for repeat, cell in sorted(runs, key=lambda r: (alone(r[1]["fault"]), r[0],
                                                    int(r[1]["cell"].rsplit(".", 1)[1]))):
        if (cell["cell"], str(repeat)) not in ran and cell["cell"] not in replaced and \
                os.environ["CELL"] in ("", cell["cell"]):
            print(f"{cell['cell']}-{repeat}", cell["transport"], cell["ranks"],
                  shlex.quote(fired("")) + "/" + cell["command"])
    return 0 if {c["fault"] for c in cells} - {"none"} else 2


if __name__ == "__main__":
    sys.exit(run("cells", lambda: todo(Path(sys.argv[1]))))
