"""against.py: what nccl-tests (2.10 and later), NCCL Inspector and hangar print, as rows; and those beside the prediction of a machine.

    python3 -I against.py TOPO_PREDICT FILE COLLECTIVE FIT ARGUMENT...     (topo_predict --against FILE has it built in)
    python3 -I against.py --rows FILE|DIR         its rows as a JSON document, in the form that --save-rows writes (--calibrate has it built in)

A table may be text or JSON (-J of nccl-tests and of hangar, hangar's --json). Lines may have a prefix of mpirun, srun or a log. ci/night/foreign.py takes its rows from here.
"""
import csv
import json
import os
import re
import subprocess
import sys

# size, count, type, then operator and root in most versions, time, algbw, busbw, what is wrong, and the same in place
_ROW = re.compile(r"(?:^|\s)(\d+)\s+(\d+)\s+([a-z]\w*)(?:\s+([a-z]+))?(?:\s+(-?\d+)(?=\s+[\d.]+\s+[\d.]+\s+[\d.]+))?((?:\s+[\d.]+\s+[\d.]+\s+[\d.]+"
                  r"(?:\s+\S+)?){1,2})\s*$")
_TIMES = re.compile(r"([\d.]+)\s+([\d.]+)\s+([\d.]+)(?:\s+(\S+))?")
_LABEL = re.compile(r"\[\d+(?:,\d+)?\](?:<\w+>:?)?")  # mpirun's and srun's, which may stand inside of a row
_RANK = re.compile(r"#\s+Rank\s+(?P<rank>\d+)\s.*?\b(?:Pid\s+(?P<pid>\d+)\s.*)?\bon\s+(\S+)\s+device\s+\S+\s+\[\w+\]\s*(.*?)\s*$")
_PROGRAM = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|broadcast|reduce|alltoall|alltoallv|gather|scatter|sendrecv|hypercube)_perf")
_PROCESS = re.compile(r"#.*\bnThread\s+\d+\s+nGpus\s+(\d+)")
_GRAPH = re.compile(r"#.*\bgraph:\s*[1-9]")
_NCCL = re.compile(r"NCCL version[: ]+(\d[\d.]+)|nccl-library=(\d+)")
_FIELDS = "collective nranks nnodes size_bytes count dtype redop root placement mode time_us busbw_gbs wrong".split()
_LATER = {"mode": "stream", "wrong": ""}  # fields that a row may lack
_BYTES = {"int8": 1, "uint8": 1, "float": 4, "half": 2, "bfloat16": 2, "double": 8, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8}
_KINDS = {"AllReduce": "all_reduce", "AllGather": "all_gather", "ReduceScatter": "reduce_scatter", "Broadcast": "broadcast",
          "Reduce": "reduce", "AlltoAll": "alltoall", "Send": "sendrecv", "Recv": "sendrecv"}
MOST = 256 << 20
SHOWN = 128
LINE = 4096  # no table has longer lines
GOOD, LOW, ABOVE = 80, 50, 125  # percent, as --good and --low of the programs
# A change of the machine or of a setting, the collectives that it can matter to (none: all), and how to look for it.
CHANGES = [
    (["--no-nvls"], "NVLS off", "NCCL_NVLS_ENABLE and NCCL_ALGO in the job's environment; NCCL_DEBUG=INFO: `NVLS multicast support`"),
    (["--no-gpudirect"], "no GPUDirect", "lsmod | grep -E 'nvidia_peermem|gdrdrv'; NCCL_DEBUG=INFO: `GDRDMA` behind each NET; NCCL_NET_GDR_LEVEL"),
    (["--nics", "1"], "one NIC of a node", "NCCL_IB_HCA; NCCL_DEBUG=INFO: `NET/IB : Using`"),
    (["--nics", "half"], "half the NICs of a node", "ibstat: ports that are not Active; NCCL_IB_HCA"),
    (["--no-pxn"], "no PXN", "NCCL_PXN_DISABLE"),
    (["--algo", "Ring"], "Ring alone", "NCCL_ALGO, NCCL_COLLNET_ENABLE, a tuner plug-in"),
    (["--algo", "Tree"], "Tree alone", "NCCL_ALGO, a tuner plug-in"),
    (["--proto", "LL128"], "LL128 alone", "NCCL_PROTO"),
    (["--proto", "LL"], "LL alone", "NCCL_PROTO"),
]
FITS, FIT_SIZES, FIT_FROM = 5, 3, 64 << 20  # percent; so many sizes, of so many bytes on


class Measured:
    """rows: dicts of collective, size_bytes, dtype, redop, root, placement, time_us, busbw_gbs, nranks, nnodes, as text or numbers;
    hosts and devices of the ranks that the lines list; process_gpus: those that each thread launches on in turn, as the head says."""

    def __init__(self, text, name=""):
        self.rows, self.hosts, self.devices, self.process_gpus = [], [], [], "1"
        self.inspector, self.wrong, self.mode = '"coll_perf"' in text, None, "stream"
        lines = [line for line in text.splitlines() if len(line) < LINE or self.inspector]
        if not self._json(text) and not self._csv(text):
            (self._inspector if self.inspector else self._table)(lines, name)
        for row in self.rows:
            row["collective"] = row["collective"] or self._kind(row)

    @staticmethod
    def _kind(row):
        """The collective of a row that no program's name tells, by operator, root and what the count is of; "": several have such a row."""
        size = int(row.get("count") or 0) * _BYTES.get(row["dtype"], 0)
        if not size:
            return ""
        if row["redop"] == "none":
            return ""
        if row["root"] != "-1":
            return "reduce"
        return "all_reduce" if size == int(row["size_bytes"]) else "reduce_scatter"

    def _json(self, text):
        """-J of nccl-tests, a document; --json of hangar, a line a row. False: it is neither."""
        if text.lstrip()[:1] != "{" or self.inspector:
            return False
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            document = None
        try:
            if document:
                self._document(document)
            for line in [] if document else filter(None, map(str.strip, text.splitlines())):
                row = json.loads(line)
                if row.get("type") == "row":
                    self.rows.append({**{k: str(row[k]) for k in _FIELDS if k not in _LATER}, **{k: str(row.get(k, none)) for k, none in _LATER.items()}})
                self.hosts += [r["host"] for r in row.get("ranks", ())]
                self.devices += [r["device"] for r in row.get("ranks", ())]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return bool(self.rows)
        return True

    def _csv(self, text):
        """--csv of hangar. False: it is none."""
        lines = text.splitlines()
        if not lines or not {"collective", "time_us", "placement"} <= set(lines[0].split(",")):
            return False
        self.rows += [{k: row.get(k) or "" for k in _FIELDS} for row in csv.DictReader(lines)]
        return True

    def _document(self, document):
        if document.get("type") == "calibration":
            self.process_gpus = str(document["process_gpus"])
            self.rows += [{k: str(row[k]) for k in _FIELDS} for row in document["rows"]]
            return
        program = _PROGRAM.search(str(document["args"][0]))
        config = document.get("config") or {}
        self.process_gpus = str(int(config.get("ngpus", 1)))
        self.mode = "graph" if config.get("graph") else "stream"
        for device in config.get("devices") or ():
            self.hosts.append(str(device["hostname"]))
            self.devices.append(str(device["device_info"]))
        for result in document["results"]:
            for key, placement in (("out_of_place", "out-of-place"), ("in_place", "in-place")):
                times = result.get(key)
                if times:
                    self._row(program, placement, str(result["size"]), str(result["count"]), result["type"], result["redop"],
                              str(result["root"]).strip(), times.get("time", times.get("cpu_time")), times["bus_bw"], times.get("nwrong"))

    def _row(self, program, placement, size, count, dtype, redop, root, time, busbw, wrong):
        self.rows.append(dict(collective=program[1] if program else "", nranks=str(len(self.hosts) or ""), nnodes=str(len(set(self.hosts)) or ""),
                              size_bytes=size, count=count, dtype=dtype, redop=redop, root=root, placement=placement, time_us=str(time),
                              busbw_gbs=str(busbw), mode=self.mode, wrong=str(wrong or "")))

    def _ranks(self, lines):
        """Who ran. One rank twice is two runs: their rows can't be told apart."""
        seen = {}
        for rank in filter(None, map(_RANK.search, lines)):
            where = "%s, pid %s" % (rank[3], rank["pid"])
            first = seen.setdefault(rank["rank"], where)
            if first != where and not self.wrong:
                self.wrong = ("two runs in one file: rank %s twice (%s and %s). Of nccl-tests that were started together they were built without "
                              "MPI=1, and each ran alone; else give one at a time" % (rank["rank"], first, where))
            self.hosts.append(rank[3])
            self.devices.append(rank[4])

    def _table(self, lines, name):
        program = next(filter(None, map(_PROGRAM.search, lines)), None) or _PROGRAM.search(name + "_perf")
        for head in filter(None, map(_PROCESS.search, lines)):
            self.process_gpus = head[1]
        self._ranks(lines)
        self.mode = "graph" if any(map(_GRAPH.search, lines)) else "stream"
        for line in lines:
            row = _ROW.search(_LABEL.sub(" ", line))
            for placement, times in zip(("out-of-place", "in-place"), _TIMES.findall(row[6]) if row else ()):
                self._row(program, placement, row[1], row[2], row[3], row[4] or "none", row[5] or "-1", times[0], times[2], times[3])

    def _inspector(self, lines, name):
        """Its message size is nccl-tests' size."""
        for line in lines:
            try:
                record = json.loads(line)
                call, header = record["coll_perf"], record["header"]
                self.rows.append(dict(collective=_KINDS.get(call["coll"], str(call["coll"]).lower()), nranks=str(header["n_ranks"]),
                                      nnodes=str(header.get("nnodes", "")), size_bytes=str(int(call["coll_msg_size_bytes"])),
                                      placement="out-of-place", time_us=call["coll_exec_time_us"], busbw_gbs=call["coll_busbw_gbs"]))
                self.hosts.append(str(record.get("metadata", {}).get("hostname", "")))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue

    def points(self, collective):
        """Of a collective, "": of all, (bytes, time, busbw) of a table's rows, of either placement the faster, or of Inspector's sizes the median."""
        found = {}
        for number, row in enumerate(self.rows):
            if (not collective or row["collective"] == collective) and float(row["time_us"]) > 0 and int(row["size_bytes"]) > 0:
                key = 0 if self.inspector else number - (row["placement"] == "in-place")
                found.setdefault((key, int(row["size_bytes"])), []).append((float(row["busbw_gbs"]), float(row["time_us"])))
        for (_, size), values in sorted(found.items()) if self.inspector else found.items():
            best = sorted(values)[len(values) // 2] if self.inspector else max(values)
            yield size, best[1], best[0]

    def ranks(self):
        """How many ranks and nodes it lists; None: it lists none, or unlike ones."""
        said = {(row["nranks"], row["nnodes"]) for row in self.rows}
        ranks, nodes = said.pop() if len(said) == 1 else ("", "")
        return (int(ranks), int(nodes)) if ranks.isdigit() and nodes.isdigit() and int(nodes) else None


def judged(percent, busbw, low, high):
    """By the printed range where there is one, else by percents of the prediction."""
    above, good = (busbw > float(high), busbw >= float(low)) if low else (percent > ABOVE, percent >= GOOD)
    return "above what is predicted" if above else "good" if good else "low" if percent >= LOW else "bad"


class Predictor:
    def __init__(self, program, arguments):
        self.command = [program, *arguments]

    def run(self, *more):
        done = subprocess.run(self.command + list(more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        return done.stdout.splitlines() if done.returncode == 0 else [], done.stderr.strip()

    def of(self, size):
        """A prediction as a dict; None: there is none."""
        lines, _ = self.run("--csv", "-b", str(size), "-e", str(size))
        return dict(zip(lines[0].split(","), lines[1].split(","))) if len(lines) > 1 else None


def without(path, arguments):
    """The user's arguments but --against, which may be one word or two."""
    at = next(i for i, word in enumerate(arguments) if word.startswith("--ag") and word in (word.split("=")[0], word.split("=")[0] + "=" + path))
    return arguments[:at] + arguments[at + 1 + ("=" not in arguments[at]):]


def as_if(predictor, points, nics):
    """Lines on changes under which all sizes from 64 MiB on would be as measured. One or two that fit are named, never as a cause."""
    large = [(size, time) for size, time, _ in points if size >= FIT_FROM]
    fits = []
    if len({size for size, _ in large}) < FIT_SIZES:
        return ["as if what? not told of fewer than %d sizes from 64 MiB on" % FIT_SIZES]
    for change, name, look in CHANGES:
        if "half" in change and nics < 4 or change == ["--nics", "1"] and nics < 2:
            continue
        changed = Predictor(predictor.command[0], predictor.command[1:] + [str(nics // 2) if word == "half" else word for word in change])
        predicted = [(changed.of(size), time) for size, time in large[:SHOWN]]
        if all(p and abs(float(p["time_us"]) / time - 1) * 100 <= FITS for p, time in predicted):
            fits.append((change, name, look))
    if not 0 < len(fits) < 3:
        return ["as if what? " + ("no single change fits" if not fits else "%d changes fit, which tells nothing" % len(fits))]
    return ["as if: %s (%s): all sizes from 64 MiB on within %d %%. That is no cause; look at: %s" % (name, " ".join(change), FITS, look)
            for change, name, look in fits]


def show(program, path, asked, fit, arguments):
    with open(path, "rb") as file:
        measured = Measured(file.read(MOST).decode(errors="replace"))
    named = [row["collective"] for row in measured.rows if row["collective"]]
    if measured.rows and not asked and not named:
        return "%s: nothing names its collective, and rows without an operator are all_gather's, alltoall's or others': say -c NAME" % path
    collective = asked or (named or [""])[0]
    points = list(measured.points(collective if measured.inspector else ""))
    if not points or measured.wrong:
        return "%s: %s" % (path, measured.wrong or "no row of a table of nccl-tests")
    predictor = Predictor(program, ["--process-gpus", measured.process_gpus] + arguments + ["-c", collective])
    ranks = measured.ranks()
    if ranks and ranks[0] % ranks[1] == 0 and fit:
        fitted = Predictor(program, predictor.command[1:] + ["-N", str(ranks[1]), "--gpus", str(ranks[0] // ranks[1])])
        predictor = fitted if fitted.of(points[0][0]) else predictor
    head, wrong = predictor.run("-b", str(points[0][0]), "-e", str(points[0][0]))
    if not head:
        return wrong.replace("topo_predict: ", "") or "nothing can be predicted of %s there" % collective
    print("# %s on %s" % (collective, re.sub(r"^# [^:]*: ", "", head[0])))
    first = predictor.of(points[0][0])
    if ranks and first and ranks[0] != int(first["nranks"]):
        print("# the table is of %d rank%s, the prediction of %s: say -N and --gpus" % (ranks[0], "s"[:ranks[0] != 1], first["nranks"]))
    print("# %12s %12s %9s %9s  %-16s %5s  " % ("size", "time(us)", "busbw", "predicted", "nine in ten", "%"))
    low_from = 0
    for size, time, busbw in points[:SHOWN]:
        p = predictor.of(size)
        if p:
            low, high, predicted = p["low_busbw_gbs"], p["high_busbw_gbs"], float(p["busbw_gbs"])
            percent = 100 * float(p["time_us"]) / time  # a table's busbw has two decimals
            print("  %12d %12.2f %9.2f %9.3g  %-16s %5.0f  %s" % (
                size, time, busbw, predicted, ("~" if p["bar_sources"] in "01" else "") + "%.3g to %.3g" % (float(low), float(high)) if low else "no bar",
                percent, judged(percent, predicted * percent / 100, low, high)))
            low_from += size >= FIT_FROM and judged(percent, predicted * percent / 100, low, high) in ("low", "bad")
    if len(points) > SHOWN:
        print("# %d more rows are not shown" % (len(points) - SHOWN))
    nics = re.search(r", (\d+) NICs? of", head[0])
    for line in as_if(predictor, points, int(nics[1]) if nics and int(first["nnodes"]) > 1 else 0) if low_from and first else ():
        print("# " + line)
    return None


def document(path):
    """The rows of a file or of a run's folder, for --calibrate."""
    with open(os.path.join(path, "rows.jsonl") if os.path.isdir(path) else path, "rb") as file:
        text = file.read(MOST).decode(errors="replace")
    measured = Measured(text)
    if measured.wrong or measured.inspector or not measured.rows:
        return {"wrong": measured.wrong or "no row of a table of nccl-tests or of hangar"}
    said = _NCCL.search(text)
    number = lambda word, none: int(word) if word.lstrip("-").isdigit() else none  # noqa: E731
    rows = [dict(row, nranks=number(row["nranks"], 0), nnodes=number(row["nnodes"], 0), size_bytes=number(row["size_bytes"], 0),
                 count=number(row["count"], 0), root=number(row["root"], -1), wrong=number(row["wrong"], -1), time_us=float(row["time_us"]),
                 busbw_gbs=float(row["busbw_gbs"])) for row in measured.rows]
    return {"type": "calibration", "version": 1, "nccl": (said[1] or said[2]) if said else "", "process_gpus": int(measured.process_gpus),
            "rows": rows}


if __name__ == "__main__" and sys.argv[1] == "--rows":
    try:
        print(json.dumps(document(sys.argv[2])))
    except (OSError, ValueError) as e:
        print(json.dumps({"wrong": getattr(e, "strerror", None) or str(e)}))
elif __name__ == "__main__":
    try:
        said = show(*sys.argv[1:4], sys.argv[4] == "1", without(sys.argv[2], sys.argv[5:]))
    except OSError as e:
        said = "%s: %s" % (sys.argv[2], e.strerror)
    if said:
        print("topo_predict: " + said, file=sys.stderr)
        sys.exit(2)
