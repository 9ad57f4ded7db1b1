"""night.py: a night: runs what the configuration lists, compares, reports, and can be killed anywhere.

night.json is written whole after every launch: what it does not hold was not run. The same command goes
on with what is missing."""
import argparse
import errno
import json
import os
import re
import shlex
import shutil
import signal
import sys
import time
from datetime import date
from pathlib import Path

import config as configuration
import findings as judged
import history
import junit
import launch
import rows
from place import (SCHEMA, ask, baseline_path, folder_of, fresh, hosts_of, lock, machine, nights, read_json, stamp, tail,
                   write_json)
from progress import Progress, clock_text, seconds_left
from tables import save, write_csv

TOP = Path(__file__).resolve().parent.parent.parent
RESERVE = 1 << 18    # bytes kept free for saying that the disk is full
BLAMED = 6           # changed settings that a finding names
DESCRIPTION = """Runs what CONFIG lists (ci/nightly.toml is a commented example), compares it with the
baseline of this kind of host and its NCCL version, and writes a folder a night: night.json, compare.csv,
junit.xml, trend.csv, page.html, and all launches. A night that was killed, or whose time was up, goes on
when the same command is started again within 20 hours."""
EXITS = """exit codes: 0 nothing found; else the most serious finding: 14 a rank died, 11 error, 10 hang, 12 wrong
data, 16 ranks diverged, 1 anything else that failed (also an incomplete night), 20 a fault did not fire, 13 a
regression or below a threshold, 17 it cannot be told whether anything became slower; 2 usage; 77 nothing of it can run here; 75 another night is running."""


class Stopped(Exception):
    """A signal asked the night to end."""


# ---- pure decisions ----

def plan(runs):
    """The launches in their order, as (run, number): rounds, so that every run's launches are spread over the
    night; each round begins with another run, faults follow in portions."""
    benches, faults = ([run for run in runs if run.kind == kind] for kind in ("bench", "fault"))
    trials = [(run, n) for n in range(1, max((f.launches for f in faults), default=0) + 1)
              for run in faults if n <= run.launches]
    rounds = max((run.launches for run in benches), default=1)
    order = []
    for n in range(1, rounds + 1):
        turn = (n - 1) % len(benches) if benches else 0
        order += [(run, n) for run in benches[turn:] + benches[:turn] if n <= run.launches]
        order += trials[len(trials) * (n - 1) // rounds:len(trials) * n // rounds]
    return order


def collective_of(run):
    return Path(run.program).name.removesuffix("_perf")


def owners(measured):
    """(collective -> the run that measures it, where one does; runs that measure the same point together)."""
    runs, points = {}, {}
    for one in measured:
        name = Path(one.path).parent.name
        for row in one.rows:
            runs.setdefault(row["collective"], set()).add(name)
            points.setdefault(rows.point_of(row), set()).add(name)
    mixed = sorted({", ".join(sorted(names)) for names in points.values() if len(names) > 1})
    return {collective: min(names) for collective, names in runs.items() if len(names) == 1}, mixed


def status_of(run, found):
    """(status, why) of a run: ok, finding, failed or not-run."""
    mine, planned, have = [f for f in found if f["run"] == run["name"]], run["planned"], len(run["launches"])
    why = f"{have} of {planned} launches: the others were left out" if have < planned else ""
    severities = {f["severity"] for f in mine}
    if "failed" in severities:
        return "failed", why
    if not have or any(f["kind"] == "lacks" for f in mine):
        return "not-run", mine[0]["text"] if mine else "the night ended before"
    return "finding" if severities & {"regression", "low", "warning"} else "ok", why


# ---- a night ----

class Night:
    def __init__(self, config, folder, document, progress):
        self.config, self.folder, self.night, self.progress = config, folder, document, progress
        self.runs = {run.name: run for run in config.runs}
        self.extra = []  # findings that belong to no launch
        self.reserve = folder / ".reserve"
        progress.log = folder / "log.txt"

    # -- keeping --

    def keep_reserve(self):
        with open(self.reserve, "wb") as file:
            os.posix_fallocate(file.fileno(), 0, min(RESERVE, self.config.min_free))

    def save(self):
        self.night["findings"] = judged.sorted_findings(self.found() + self.extra)
        self.night["exit"] = judged.exit_of(self.night["findings"])
        if self.night["state"] != "complete":
            self.night["exit"] = self.night["exit"] or 1
        for run in self.night["runs"]:
            run["status"], run["why"] = status_of(run, self.night["findings"])
        if not self.night["exit"] and all(run["status"] == "not-run" for run in self.night["runs"]):
            self.night["exit"] = 77
        write_json(self.folder / "night.json", self.night)

    def found(self):
        return [one for run in self.night["runs"] for one in
                (judged.bench_findings(run) if run["kind"] == "bench" else judged.fault_findings(run))]

    def room(self):
        """Raises OSError when the disk is nearly full."""
        stat = os.statvfs(self.folder)
        free = stat.f_bavail * stat.f_frsize
        if free < self.config.min_free:
            raise OSError(errno.ENOSPC, f"{free >> 10} KiB are free, {self.config.min_free >> 10} KiB are needed "
                          "(min_free)", str(self.folder))

    # -- launches --

    def command(self, run):
        program = self.config.build / run.program
        fired = self.config.build / "tests" / "fired" / run.program
        if run.kind == "fault" and fired.exists():
            program = fired
        fault = (f"--fault={run.fault}",) if run.fault else ()
        return [*run.launcher, str(program), *run.args, *fault, "--out", "."]

    def token(self):
        return f"{self.folder.resolve()}/"

    def one(self, run, number, tick):
        """Makes one launch and notes it. Where the disk is full afterwards it was none."""
        name = f"runs/{run.name}/{number}"
        folder = self.folder / name
        shutil.rmtree(folder, ignore_errors=True)
        self.room()
        folder.mkdir(parents=True)
        env = {**run.env, "HANGAR_FAULT_LOG": str(folder)} if run.kind == "fault" else run.env
        code, seconds, left = launch.launch(self.command(run), folder, env, run.limit, self.token(), tick)
        self.room()
        record = {"dir": name, "exit": code, "seconds": seconds, "verdict": None, "left": left,
                  "why": tail(folder / "err.txt") if code else "", "ended": stamp()}
        record["verdict"] = self.verdict(folder, record)
        (self.judge_bench if run.kind == "bench" else self.judge_fault)(run, folder, record)
        entry = next(entry for entry in self.night["runs"] if entry["name"] == run.name)
        entry["launches"].append(record)
        self.save()
        return record

    def verdict(self, folder, record):
        verdict = judged.verdict_of((folder / "out.txt").read_text(errors="replace"))
        if verdict and verdict.get("evidence", "-") != "-":
            said = read_json(folder / verdict["evidence"] / "verdict.json") or {}
            record["fix"] = str(said.get("fix") or "")
            verdict["evidence"] = f"{record['dir']}/{verdict['evidence']}"
        return verdict

    def judge_bench(self, _run, folder, record):
        try:
            record["notes"] = rows.read_launch(folder).notes
        except rows.RowsError as trouble:
            record["notes"] = [str(trouble)]
            if record["exit"] in judged.MEASURED:
                record.update(exit=1, why=str(trouble))
        record["notes"] = [note.replace(f"{self.folder}/", "") for note in record["notes"]] \
            if record["exit"] in judged.MEASURED else []

    def judge_fault(self, run, folder, record):
        entry = {"fault": run.fault, "expect": run.expect}
        record["wrong"], record["why"] = judged.fault_wrong(entry, record, self.facts(run, folder, record))

    def facts(self, run, folder, record):
        """The cell that a fault's launch was: see findings.cell_of."""
        try:
            head = json.loads((folder / "rows.jsonl").read_text(errors="replace").split("\n", 1)[0])
        except (OSError, ValueError):
            head = {}
        out = (folder / "out.txt").read_text(errors="replace")
        options, schedule = head.get("options") or {}, re.search(r"^# schedule (\w+):", out, re.M)
        told = re.search(r"^# fault [a-z0-9-]+: rank \d+(?: and others)?(?:, call (\d+))?", out, re.M)
        ranks = configuration.spec_of(run.fault)[1]
        shots = {rank: tuple(where) for rank, (_, *where) in judged.score.fired(folder).items()}
        if not shots and told and (not schedule or schedule[1] == "plain"):
            shots = {rank: (0, int(told[1] or 0)) for rank in ranks}
        found = {"collective": collective_of(run), "backend": head.get("backend", ""),
                 "ranks": head.get("nranks", 0), "mode": options.get("mode", "stream"), "shots": shots,
                 "share_gpu": bool(options.get("share_gpu")), "schedule": schedule[1] if schedule else "plain"}
        evidence = (record["verdict"] or {}).get("evidence", "-")
        said = read_json(self.folder / evidence / "verdict.json") if evidence != "-" else None
        if said:
            found["interval"] = {key: said[key] for key in ("seq_low", "seq_high") if key in said}
        return found

    # -- the loop --

    def todo(self):
        """Launches that are planned and not made, but for runs that were given up."""
        done = {run["name"]: run["launches"] for run in self.night["runs"]}
        return [(run, n) for run, n in plan(self.config.runs) if n > len(done[run.name]) and not (
            run.kind == "bench" and judged.give_up(done[run.name]))]

    def all(self):
        """Runs what is left; False when time was up before."""
        began, total = time.monotonic(), len(plan(self.config.runs))
        while todo := self.todo():
            run, number = todo[0]
            seen = {entry["name"]: [one["seconds"] for one in entry["launches"]] for entry in self.night["runs"]}
            left = seconds_left([run.name for run, _ in todo], seen)
            spent = time.monotonic() - began
            if spent + (seconds_left([run.name], seen) or 0) > self.config.within:
                self.extra.append(judged.finding(
                    "failed", "incomplete", "", f"time was up (within = {clock_text(self.config.within)}): "
                    f"{len(todo)} of {total} launches were not made"))
                return False
            head = f"[{total - len(todo) + 1}/{total}] {run.name} {number} of {run.launches}"

            def tick(start=time.monotonic(), head=head, left=left):
                gone = time.monotonic() - start
                more = "" if left is None else f", about {clock_text(max(0, left - gone))} left"
                self.progress.update(f"{head}: {clock_text(gone)}{more}")
            tick()
            record = self.one(run, number, tick)
            self.say(head, run, record, None if left is None else left - record["seconds"])
        return True

    def say(self, head, run, record, left):
        wrong = judged.abnormal(record) if run.kind == "bench" else None
        what = wrong[2] if wrong else record["why"] if run.kind == "fault" else "ok"
        if run.kind == "fault":
            what = f"{record['wrong'].upper()}: {what}" if record["wrong"] else f"named: {what}"
        more = "" if left is None else f"; about {clock_text(max(0, left))} left"
        self.progress.line(f"{head}: {what}, {record['seconds']:.1f} s{more}")

    def beside(self, name, limit, words, evidence):
        """Another program of ci/, in a folder of its name; a finding where it does not end with 0."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        code, seconds, _ = launch.launch([str(TOP / "ci" / words[0]), *words[1:]], folder, {**self.config.env, "BUILD": str(self.config.build)},
                                         limit, self.token(), lambda: self.progress.update(name))
        said = tail(folder / "out.txt") or tail(folder / "err.txt")
        self.progress.line(f"{name}: exit {code}, {seconds:.1f} s: {said}")
        if code:
            self.extra.append(judged.finding("failed", name, "", said, f"{name}/{evidence}"))

    def others(self):
        """Runs that are drawn, each night others, the same again where a night goes on; what an upgrade changes."""
        first = 1000 * date.fromisoformat(self.night["date"][:10]).toordinal()
        if self.config.chaos:
            self.beside("chaos", self.config.chaos + 120,
                        ["faults/chaos", ".", "--minutes", str(self.config.chaos / 60), "--seeds", f"{first}-{first + 999}"], "summary.txt")
        if self.config.atlas:
            folder, *libraries = self.config.atlas
            self.beside("atlas", 120, ["atlas", str(TOP / folder), "--diff", *libraries], "out.txt")

    # -- the end --

    def health(self, when):
        """Keeps the readings of build/health in health-WHEN.json; its findings are printed once."""
        program = self.config.build / "health"
        if not program.exists():
            self.progress.line(f"health {when}: {program} is not there: not asked")
            return
        run = ask(*self.config.launcher, program, "--json", seconds=300, env=self.config.env)
        file = self.folder / f"health-{when}.json"
        save(file, run.stdout)
        said = hosts_of(read_json(file))
        for one in judged.health_findings(said, file.name, run.returncode, run.stderr.strip()[-500:]):
            if one["text"] not in {other["text"] for other in self.extra}:
                self.extra.append(one)

    def measured(self):
        """Launches whose rows count, as rows.py reads them."""
        return [rows.read_launch(self.folder / record["dir"]) for run in self.night["runs"] if run["kind"] == "bench"
                for record in run["launches"] if judged.counts(record)]

    def compare(self, measured):
        """Compares with the baseline of this host class and library; notes findings."""
        self.night["comparisons"] = []
        facts = [one.facts for one in measured]
        self.night["nccl"] = next((f["nccl"] for f in facts if f.get("nccl")),
                                  next((f["mpi"] for f in facts if f.get("mpi")), "unknown library"))
        if not measured:
            return
        path = baseline_path(self.config.baselines, self.night["host_class"], self.night["nccl"])
        try:
            import compare  # these need SciPy; without it a night still measures
            import shares
            base = rows.read_side(path) if path.exists() else []
        except (ImportError, rows.RowsError) as trouble:
            self.extra.append(judged.finding("failed", "baseline", "", f"not compared: {trouble}", str(path)))
            return
        if not base:
            others = ", ".join(sorted(p.name for p in self.config.baselines.glob("*.json"))) or "none"
            self.extra.append(judged.finding(
                "info", "baseline", "", f"no baseline for {self.night['host_class']} with {self.night['nccl']}; "
                f"there are: {others}", str(path)))
        made = compare.compare_sides(base, measured, self.config.min_effect / 100)
        vendor = shares.vendor_of(measured)
        shares.add_shares(made, base, measured, vendor and vendor[0])
        self.night["comparisons"] = made
        owner, mixed = owners(measured)
        self.extra += [judged.finding("warning", "mixed", "", f"runs {names} measure the same points: their launches are "
                                      "compared as one", what_to_do="leave one of them to a night of its own")
                       for names in mixed]
        if base:
            def changed(collective):
                sides = ([one for one in side if not collective or any(row["collective"] == collective for row in one.rows)]
                         for side in (base, measured))
                return rows.differences(*sides)[:BLAMED]
            self.extra += judged.comparison_findings(compare.ranges(made), changed, compare.range_text, owner, compare.untold(made),
                                                     "info" if self.config.undecided == "ok" else "low")
        for kind, least, what in (("vendor", self.config.min_vendor, "the vendor's figure"),
                                  ("ceiling", self.config.min_ceiling, "the physical ceiling")):
            if least:
                self.extra += judged.threshold_findings(
                    f"below-{kind}", shares.below(made, f"{kind}_percent", least, what), f"min_{kind}")

    def report(self):
        """Everything that is made of the launches; can be made again."""
        measured = self.measured()
        self.compare(measured)
        self.save()
        made = self.night["comparisons"]
        head = list(made[0]) if made else ["collective"]
        write_csv(self.folder / "compare.csv", head, [["" if r[k] is None else r[k] for k in head] for r in made])
        write_json(self.folder / "compare.json", made)
        self.keep_history(measured)
        self.save()
        junit.write(self.folder / "junit.xml", self.night)
        if self.config.page:
            self.page()

    def keep_history(self, measured):
        path = self.config.reports / "history.sqlite"
        try:
            points = rows.columns(measured, "busbw_gbs")
            history.add(path, self.folder.name, self.night, points)
            history.write_trend(path, self.folder / "trend.csv", self.night["host_class"])
        except history.HistoryError as trouble:
            self.extra.append(judged.finding("failed", "history", "", f"not in the history: {trouble}", str(path)))

    def page(self):
        program = TOP / "ci" / "page"
        if not program.exists():
            self.progress.line("page: ci/page is not there: no page")
            return
        run = ask(program, self.folder, seconds=600)
        if run.returncode:
            said = (run.stderr.strip().splitlines() or ["it said nothing"])[-1]
            self.extra.append(judged.finding("warning", "page", "", f"no page: exit {run.returncode}: {said}"))
            self.save()

    def run(self):
        """From here to the end of the night; its exit code."""
        done = False
        try:
            self.keep_reserve()
            self.save()  # killed from now on it is there, and incomplete
            self.health("before")
            done = self.all()
            self.others()
            self.health("after")
            self.night["state"] = "complete" if done else "incomplete"
        except Stopped as trouble:
            self.extra.append(judged.finding("failed", "incomplete", "", f"stopped by {trouble}"))
        except OSError as trouble:
            if trouble.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            self.extra.append(judged.finding("failed", "disk", "", f"the disk is full: {trouble.filename or self.folder}: "
                                             f"{trouble.strerror}"))
        self.reserve.unlink(missing_ok=True)
        self.night["ended"] = stamp()
        try:
            self.report()
        except OSError as trouble:
            self.night["state"] = "incomplete"
            print(f"nightly: the report is incomplete, what was measured is kept: {trouble}", file=sys.stderr)
            return judged.exit_of(self.night["findings"]) or 1
        return self.night["exit"]


# ---- commands ----

def begin(config, progress):
    """A night, new or going on."""
    folder, document = folder_of(config)
    if document:
        made = sum(len(run["launches"]) for run in document["runs"])
        progress.line(f"goes on with {folder}: {made} launches are made")
        document["findings"] = []
    else:
        document = fresh(config, folder, *machine())
        document["host_class"] = config.host_class or document["host_class"]
        progress.line(f"begins {folder}")
    night = Night(config, folder, document, progress)
    for entry in document["runs"]:
        entry["command"] = shlex.join(night.command(night.runs[entry["name"]]))
    return night


def stop_on_signals():
    def stop(number, _frame):
        raise Stopped(signal.Signals(number).name)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup
            signal.signal(number, stop)


def summary(night, progress):
    for one in night.night["findings"]:
        progress.line(f"{one['severity'].upper()} {one['kind']}: {one['text']}")
    counted = {}
    for row in night.night["comparisons"]:
        counted[row["verdict"]] = counted.get(row["verdict"], 0) + 1
    compared = ", ".join(f"{n} {verdict}" for verdict, n in sorted(counted.items())) or "nothing"
    progress.line(f"{night.night['state']}, exit {night.night['exit']}, compared: {compared}: {night.folder}")


def check_programs(config, path):
    """Raises ConfigError with the programs of runs that are not there."""
    gone = dict.fromkeys(program for run in config.runs if (program := config.build / run.program).is_dir()
                         or not os.access(program, os.X_OK))
    if gone:
        raise configuration.ConfigError("\n".join(f"{path}: program: {program}: no such program" for program in gone))


def tonight(config):
    progress = Progress(sys.stderr)
    ended = launch.end_marked(f"{config.reports.resolve()}/")
    if ended:
        progress.line(f"ended {ended} processes that a killed night left")
    stop_on_signals()
    night = begin(config, progress)
    code = night.run()
    summary(night, progress)
    return code


def again(config, folder):
    """Reports once more of a night that was run, here or elsewhere."""
    document = read_json(folder / "night.json")
    if not document or document.get("schema") != SCHEMA:
        print(f"nightly: {folder}: no night.json of schema {SCHEMA}", file=sys.stderr)
        return 2
    night = Night(config, folder, document, Progress(sys.stderr))
    if document["state"] != "complete":
        night.extra = [f for f in document["findings"] if f["kind"] in ("incomplete", "disk")]
    night.report()
    summary(night, night.progress)
    return document["exit"]


def accept(config, folder):
    """Makes the night's measurements the baseline of its host class and library."""
    if folder is None:
        done = [path for path in nights(config.reports)
                if ((found := read_json(path / "night.json")) or {}).get("state") == "complete"
                and found["host"] == os.uname().nodename]
        folder = done[-1] if done else None
    document = read_json(folder / "night.json") if folder else None
    if not document or document.get("schema") != SCHEMA or document["state"] != "complete":
        print(f"nightly: {folder or config.reports}: no complete night of schema {SCHEMA} to accept", file=sys.stderr)
        return 2
    night = Night(config, folder, document, Progress(sys.stderr))
    night.progress.log = None
    measured = night.measured()
    if not measured:
        print(f"nightly: {folder}: no launch that measured anything", file=sys.stderr)
        return 2
    config.baselines.mkdir(parents=True, exist_ok=True)
    path = baseline_path(config.baselines, document["host_class"], document["nccl"])
    rows.write_baseline(path, measured, host_class=document["host_class"], nccl=document["nccl"], date=document["date"],
                        night=folder.name)
    print(f"{path}: {len(measured)} launches of {folder}")
    return 0


def main(arguments):
    parser = argparse.ArgumentParser(prog="nightly", description=DESCRIPTION, epilog=EXITS)
    parser.add_argument("config", nargs="?", default=str(TOP / "ci" / "nightly.toml"), metavar="CONFIG",
                        help="default: ci/nightly.toml")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--accept", nargs="?", const="", metavar="NIGHT",
                      help="make this night (default: the newest complete one) the baseline of its host class and "
                           "NCCL version; runs nothing")
    what.add_argument("--report", metavar="NIGHT", help="compare and report once more; runs nothing")
    options = parser.parse_args(arguments)
    if options.accept and Path(options.accept).is_file():
        options.config, options.accept = options.accept, ""
    try:
        config = configuration.read(options.config, TOP)
        if options.accept is None and not options.report:
            check_programs(config, options.config)
        try:
            config.reports.mkdir(parents=True, exist_ok=True)
            held = lock(config.reports)
        except OSError as trouble:
            raise configuration.ConfigError(f"{options.config}: reports: {config.reports}: cannot be made or written: "
                                            f"{trouble.strerror}") from None
        if not held:
            return 75
        if options.accept is not None:
            return accept(config, Path(options.accept) if options.accept else None)
        return again(config, Path(options.report)) if options.report else tonight(config)
    except configuration.ConfigError as trouble:
        print(f"nightly: {trouble}".replace("\n", "\nnightly: "), file=sys.stderr)
        return 2
    except (OSError, rows.RowsError, Stopped) as trouble:
        print(f"nightly: {trouble}", file=sys.stderr)
        return 1
