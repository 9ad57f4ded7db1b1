#!/usr/bin/env python3
"""cells.py: which cells of the fault matrix are run: for each fault a seeded pairwise covering array.

A cell is one value of each factor. Which cells cannot be is asked of the program itself, with a
launcher that starts nothing; what only a started rank can tell (exit 2 or 77) is replaced in the
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
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from tables import write_csv  # noqa: E402

FACTORS = ["collective", "ranks", "place", "size", "dtype", "mode", "transport", "schedule", "when",
           "keys"]
COLUMNS = ["cell", "fault", *FACTORS, "culprits", "op", "spec", "command"]
COVERAGE = ["fault", "cells", "spoilt", "covered", "feasible", "infeasible"]
REFUSED = ["fault", "transport", "exit_code", "why", "times", "command"]
PLACES = ["first", "middle", "last", "several", "rest"]
TRIES = 3  # so many cells with a pair were refused by started ranks and none was not: it cannot be
CANDIDATES = 12
BEYOND = 99999999  # no schedule has so many calls


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
    text = subprocess.run([program("all_gather"), "--backend", backend({"transport": transport}),
                           "--list-faults"], text=True, check=True, stdout=subprocess.PIPE).stdout
    found = {}
    for name, rows in re.findall(r"^# ([a-z][a-z0-9-]*) {2,}.*\n((?:#   .*\n)*)", text, re.M):
        here = re.search(r"^#   here: (.*)$", rows, re.M)
        fires = re.search(r"^#   fires: (.*)$", rows, re.M)
        found[name] = (here[1] if here else "can run", fires[1].split() if fires else [])
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
    return {name: values[name] for name in FACTORS}


# ---- one cell as a command ----

def program(collective):
    return str(Path(os.environ["BUILD"]) / "tests" / "fired" / f"{collective}_perf")


def devices():
    return int(os.environ.get("DEVICES", "0"))


def possible(cell):
    """What needs no asking: ranks that are culprits, and a GPU for each but over sockets. The cell may
    lack factors."""
    ranks, place = int(cell.get("ranks", 0)), cell.get("place", "-")
    if ranks and place != "-" and not culprits(place, ranks, 0):
        return False
    if cell.get("transport") in ("p2p", "shm") and ranks > devices():
        return False
    return cell.get("collective") != "hypercube" or ranks & (ranks - 1) == 0


def command(cell, row):
    words = [program(cell["collective"]), "--backend", backend(cell), "-g", cell["ranks"],
             "-b", cell["size"], "-d", cell["dtype"]]
    words += ["--mode", cell["mode"]] * (cell["mode"] != "stream")
    words += [f"--schedule={cell['schedule']}"] * (cell["schedule"] != "plain")
    words += ["--share-gpu"] * (cell["transport"] == "net")
    return words + shlex.split(row["options"] if row else "") + \
        shlex.split(os.environ.get("OPTIONS", ""))


def ask(words):
    """(exit code, what was said last) of a start whose launcher starts nothing."""
    path = os.environ["NOLAUNCH"] + os.pathsep + os.environ["PATH"]
    run = subprocess.run(words, env=dict(os.environ, PATH=path), text=True, timeout=60,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    lines = run.stderr.strip().splitlines()
    return run.returncode, lines[-1].split(": ", 1)[-1] if lines else ""


def calls_of(words, fault):
    """(first call of step 8, last call): how many there are is said of a call beyond them."""
    said = ask(words + [f"--fault={fault}@{BEYOND}"])[1]
    found = re.search(r"schedule has (\d+) calls?(?:, (\d+) in each)?", said)
    return (7 * int(found[2] or 1) + 1, int(found[1])) if found else (-1, BEYOND)


def fill(cell, turn):
    """Culprits, op, spec and command line; returns (0, 2 or 77, why)."""
    fault, words = cell["fault"], command(cell, expectation(cell))
    who, mark, op = [], "", ""
    if fault != "none":
        who = culprits(cell["place"], int(cell["ranks"]), turn)
        if cell["when"] in ("init", "first"):
            op, mark = int(cell["when"] == "first"), "@" + cell["when"]
        elif cell["when"] == "last":
            op = calls_of(words, fault)[1]
            mark = f"@{op}"
        else:
            op = calls_of(words, fault)[0]
    listed = ",".join(map(str, who))
    spec = "none" if fault == "none" else \
        f"{fault}:{listed}{mark}" + ("," + cell["keys"] if cell["keys"] else "")
    words.append(f"--fault={spec}")
    cell.update(culprits=listed, op=op, spec=spec, command=shlex.join(words))
    return ask(words)


# ---- the covering array ----

def pairs_of(cell):
    return set(itertools.combinations(((name, cell[name]) for name in FACTORS), 2))


def values_of(cell):
    return tuple(cell[name] for name in FACTORS)


class Array:
    """The cells of one fault; `spoilt`: names of those that started ranks refused. `causes`: sets of
    values that the program refuses, whatever the others are."""

    def __init__(self, fault, factors, cells, spoilt):
        self.fault, self.factors, self.cells = fault, factors, list(cells)
        self.dice = random.Random(f"{os.environ['SEED']} {fault} {len(cells)}")
        self.fails, self.good, self.barren = Counter(), Counter(), set()
        self.causes, self.said, self.seen = [], {}, set()
        self.open = {((a, x), (b, y)) for a, b in itertools.combinations(FACTORS, 2)
                     for x in factors[a] for y in factors[b]}
        self.pairs = set(self.open)
        for cell in cells:
            self.note(cell, cell["cell"] not in spoilt)

    def note(self, cell, good):
        self.seen.add(values_of(cell))
        (self.good if good else self.fails).update(pairs_of(cell))
        if good:
            self.open -= pairs_of(cell)

    def hopeless(self, pair):
        return pair in self.barren or any(cause <= set(pair) for cause in self.causes) or \
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
        return len({pair for pair in self.open if (name, value) in pair and
                    all(tried.get(other) == what for other, what in pair)})

    def candidate(self, pair):
        """A cell with the pair: the other factors, in random order, take what is worth most."""
        cell = dict(pair, fault=self.fault)
        for name in self.dice.sample(FACTORS, len(FACTORS)):
            if name not in cell:
                values = self.dice.sample(self.factors[name], len(self.factors[name]))
                cell[name] = max(values, key=lambda value: self.worth(cell, name, value))
        return cell

    def usable(self, cell):
        return possible(cell) and not self.hits(cell) and values_of(cell) not in self.seen

    def best(self, pair):
        """Of some candidates that can be and are new the one that covers most; or None."""
        made = [c for c in (self.candidate(pair) for _ in range(CANDIDATES)) if self.usable(c)]
        return max(made, key=lambda c: len(pairs_of(c) & self.open), default=None)

    def asked(self, cell):
        """"", or why the program refuses the cell; numbers left out."""
        code, why = fill(cell, len(self.cells))
        if code:
            key = (self.fault, cell["transport"], code, why)
            self.said[key] = (self.said.get(key, (0,))[0] + 1, cell["command"])
        return re.sub(r"\d+", "N", why or str(code)) if code else ""

    def find_cause(self, bad, why):
        """Which of a refused cell's values it takes: one that can be another, and is refused for the
        same reason, is not needed. What is called a cause is in no cell that was not refused."""
        cause = {name: bad[name] for name in FACTORS if len(self.factors[name]) > 1}
        for name in list(cause):
            other = self.dice.choice([v for v in self.factors[name] if v != bad[name]])
            changed = dict(bad, **{name: other})
            if possible(changed) and self.asked(changed) == why:
                del cause[name]
                bad = changed
        found = frozenset(cause.items())
        if not any(found <= {(name, cell[name]) for name in FACTORS} for cell in self.cells):
            self.causes.append(found)

    def extend(self, limit):
        """Adds cells until all pairs that can be are covered, or there are `limit`."""
        while len(self.cells) < limit:
            left = sorted(pair for pair in self.open if not self.hopeless(pair))
            if not left:
                break
            pair = self.dice.choice(left)
            cell = self.best(pair)
            if cell is None:
                self.barren.add(pair)
                continue
            why = self.asked(cell)
            if why:
                self.seen.add(values_of(cell))
                self.find_cause(cell, why)
            else:
                self.note(cell, True)
                self.cells.append(dict(cell, cell=f"{self.fault}.{len(self.cells) + 1:02d}"))

    def coverage(self, spoilt):
        """Of pairs of factors with several values: covered, feasible, infeasible."""
        real = {p for p in self.pairs if all(len(self.factors[name]) > 1 for name, _ in p)}
        left = real & self.open
        cannot = sum(self.hopeless(pair) for pair in left)
        return [self.fault, len(self.cells) - spoilt, spoilt, len(real) - len(left),
                len(real) - cannot, cannot]


def extended(fault, factors, cells, spoilt, limit):
    """(cells, what was refused, coverage) of one fault."""
    array = Array(fault, factors, cells, spoilt)
    array.extend(limit)
    return array.cells, [[*key, *value] for key, value in array.said.items()], \
        array.coverage(len(spoilt))


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
    spoilt = {row["cell"] for row in read_csv(out / "matrix.csv")
              if row["verdict"] in ("impossible", "refused")}
    coverage = {row["fault"]: list(row.values()) for row in read_csv(out / "coverage.csv")}
    refused = [list(row.values()) for row in read_csv(out / "refused.csv")]
    found, cannot = runnable() if not old or spoilt else ({}, [])
    limit = min(int(os.environ["CELLS"]), max(1, int(os.environ["MOST"]) // max(1, len(found))))
    jobs = []
    with ProcessPoolExecutor() as pool:
        for fault, (transports, fires) in found.items():
            mine = [cell for cell in old if cell["fault"] == fault]
            bad = {cell["cell"] for cell in mine} & spoilt
            if not old or len(bad) > int(coverage[fault][COVERAGE.index("spoilt")]):
                jobs.append(pool.submit(extended, fault, factors_of(fault, transports, fires), mine,
                                        bad, min(2 * limit, limit + len(bad))))
    cells = {fault: [c for c in old if c["fault"] == fault] for fault in coverage}
    refused += cannot if not old else []
    for job in jobs:
        made, said, covered = job.result()
        cells[covered[0]], coverage[covered[0]] = made, covered
        refused += said
    if jobs:
        write_csv(out / "refused.csv", REFUSED, refused)
        write_csv(out / "coverage.csv", COVERAGE, coverage.values())
        write_csv(out / "cells.csv", COLUMNS, [[cell[name] for name in COLUMNS]
                                               for made in cells.values() for cell in made])
    return read_csv(out / "cells.csv"), spoilt


def todo(out):
    """Prints "NAME TRANSPORT RANKS COMMAND" of each run that has no line yet. Repeats come outermost
    and faults take turns, so that what is cut short has covered all alike. Exit 2: no such fault."""
    with open(out / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cells, spoilt = plan(out)
    ran = {(row["cell"], row["repeat"]) for row in read_csv(out / "matrix.csv")}
    for repeat in range(1, int(os.environ["REPEATS"]) + 1):
        for cell in sorted(cells, key=lambda c: int(c["cell"].rsplit(".", 1)[1])):
            if (cell["cell"], str(repeat)) not in ran and cell["cell"] not in spoilt and \
                    os.environ["CELL"] in ("", cell["cell"]):
                print(f"{cell['cell']}-{repeat}", cell["transport"], cell["ranks"], cell["command"])
    return 0 if {c["fault"] for c in cells} - {"none"} else 2


if __name__ == "__main__":
    sys.exit(todo(Path(sys.argv[1])))
