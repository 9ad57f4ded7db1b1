"""test_nightly.py: ci/nightly with programs that only write rows: what it finds, and what it outlives."""
# quiet: programs that sleep, and a real run
# timeout: 750
import json
import os
import pty
import signal
import sqlite3
import subprocess
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from case import TOP, NightCase, rows, unittest
import config
import findings
import history
import junit
import night
import place

NIGHT = """schema = 1
[night]
reports = {reports}
build = {build}
host_class = "test"
limit = "{limit}"
within = "{within}"
min_free = "{min_free}"
page = {page}
env = {{ {env} }}
[thresholds]
min_ceiling = {ceiling}
"""
RUN = """[[run]]
name = "{0}"
program = "{0}_perf"
env = {{ FAKE = "{1}" }}
"""
FAULT = """[[fault]]
fault = "{0}"
program = "all_gather_perf"
env = {{ FAKE = "{1}" }}
{2}
"""
HANG = "exit=10 says=hang:missing-call:1"


class Rig(NightCase):
    """A folder with programs, and nights that write to it."""

    def setUp(self):
        super().setUp()
        self.place = self.place.resolve()
        self.reports = self.place / "reports"
        for name in ("all_reduce", "all_gather", "broadcast"):
            (self.place / f"{name}_perf").symlink_to(Path(__file__).resolve().parent / "fake_perf.py")

    def configure(self, runs, faults=(), limit="60s", within="5m", min_free="1K", env="", ceiling=0, reports=None, page="false"):
        text = NIGHT.format(reports=json.dumps(str(reports or self.reports)), build=json.dumps(str(self.place)), limit=limit,
                            within=within, min_free=min_free, env=env, ceiling=ceiling, page=page)
        text += "".join(RUN.format(name, fake) for name, fake in runs.items())
        text += "".join(FAULT.format(*fault) for fault in faults)
        path = self.place / "night.toml"
        path.write_text(text)
        return path

    def command(self, *arguments):
        return [TOP / "ci" / "nightly", *arguments]

    def nightly(self, *arguments):
        run = subprocess.run(self.command(*arguments), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=60, check=False)
        self.said = run.stdout
        return run.returncode

    def last(self, reports=None):
        return json.loads((place.nights(reports or self.reports)[-1] / "night.json").read_text())

    def bad(self):
        """(kind, run) of all findings that are more than a note."""
        return sorted((f["kind"], f["run"]) for f in self.last()["findings"] if f["severity"] != "info")


class Nights(Rig):
    def test_found_named_and_only_these(self):
        healthy = {"all_reduce": "", "all_gather": "", "broadcast": ""}
        faults = [("drop-rank:1", HANG, ""), ("none", "", "")]
        self.assertEqual(self.nightly(self.configure(healthy, faults)), 0, self.said)
        self.assertEqual(self.bad(), [])
        self.assertIn("no baseline", self.said)
        self.assertEqual(self.nightly("--accept", self.place / "night.toml"), 0, self.said)
        self.assertEqual(self.nightly(self.place / "night.toml"), 0, self.said)
        self.assertEqual({row["verdict"] for row in self.last()["comparisons"]}, {"same"})
        planted = {"all_reduce": "slow=4096:16384:2", "all_gather": "sleep=60",
                   "broadcast": "exit=12 says=wrong-data:corrupt-data:2"}
        faults = [("drop-rank:1", "exit=10 says=hang:missing-call:2", ""), ("kill-rank:0", "exit=20", ""),
                  ("stop-rank:0,how=x", HANG, 'expect = "hang:missing-call:0|1"')]
        self.assertEqual(self.nightly(self.configure(planted, faults, limit="4s", env='NCCL_MAX_NCHANNELS = "16"',
                                                     ceiling=70)), 10, self.said)
        self.assertEqual(self.bad(), [("fault-missed", "drop-rank-1"), ("hang", "all_gather"),
                                      ("not-fired", "kill-rank-0"), ("slower", "all_reduce"),
                                      ("wrong-data", "broadcast")])
        texts = {f["kind"]: f["text"] for f in self.last()["findings"]}
        for kind, words in (("slower", ("4 KiB to 16 KiB", "factor of", "NCCL_MAX_NCHANNELS: not set before, 16 now")),
                            ("wrong-data", ("corrupt-data, rank 2", "in 2 of 2 launches")), ("hang", ("killed",)),
                            ("fault-missed", ("ranks 2 instead of 1",)), ("gone", ("all_gather, broadcast",))):
            for word in words:
                self.assertIn(word, texts[kind])
        self.assertEqual([len(run["launches"]) for run in self.last()["runs"]], [5, 1, 2, 1, 1, 1])
        folder = place.nights(self.reports)[-1]
        root = xml.parse(folder / "junit.xml").getroot()
        self.assertEqual(len(root.findall("testsuite[@name='comparison']/testcase/failure")), 4)
        self.assertEqual(len(root.findall("testsuite[@name='bench']/testcase/failure")), 3)
        trend = (folder / "trend.csv").read_text().splitlines()
        self.assertEqual(len(trend), 1 + 24 + 24 + 8)

    def test_below_the_ceiling_on_a_sick_host(self):
        sick = {"version": 1, "hosts": [{"host": "h1", "findings": [{"weight": weight, "part": "GPU 0", "text": f"{weight} it", "fix": "so"}
                                            for weight in ("note", "warn", "drain")]}]}
        (self.place / "health").write_text(f"#!/bin/sh\necho '{json.dumps(sick)}'\nexit 13\n")
        (self.place / "health").chmod(0o755)
        path = self.configure({"all_reduce": "", "all_gather": ""}, ceiling=70)
        self.assertEqual(self.nightly(path), 13, self.said)
        self.assertEqual(self.bad(), [("below-ceiling", "all_gather"), ("health", ""), ("health", "")])
        self.assertIn("WARNING health: h1: GPU 0: warn it", self.said)
        path.write_text(path.read_text().replace("page =", f'chaos = "1s"\natlas = "{self.place}/atlas 2.9 2.30"\npage ='))
        (self.place / "atlas").mkdir()
        (self.place / "atlas/atlas.csv").write_text("transport,fault,keys,cell,collective,size,algo,proto,when,library,run,outcome\n" + "".join(
            f"net,size-mismatch,,s.01,all_reduce,1M,Ring,LL,warm,{end}\n" for end in ("2.9,1,error", "2.30,1,wrong-data")))
        self.assertEqual(self.nightly(path), 1, self.said)  # an end that says nothing of its runs is none
        self.assertIn(("chaos", ""), self.bad())
        self.assertIn("1 of 1 cells end otherwise with 2.30 than with 2.9, 1 of them now in wrong data", self.said)

    def test_another_schema_of_baseline_torn_rows_nothing_measured(self):
        path = self.configure({"all_reduce": "torn", "broadcast": "exit=77 err=no-GPU", "all_gather": "exit=2 err=bad-option"})
        (self.reports / "baselines").mkdir(parents=True)
        (self.reports / "baselines" / "test--2.28.9.json").write_text('{"kind": "hangar-baseline", "schema": 7}')
        self.assertEqual(self.nightly(path), 1, self.said)
        self.assertEqual(set(self.bad()), {("baseline", ""), ("torn", "all_reduce"), ("usage", "all_gather")})
        self.assertIn("schema 7", self.said)
        self.assertIn("bad-option", self.said)
        self.assertIn("rows.csv:9: the last line is torn", self.said)
        self.assertEqual([(run["status"], len(run["launches"])) for run in self.last()["runs"]],
                         [("finding", 5), ("not-run", 1), ("failed", 1)])
        self.assertEqual(self.nightly(self.configure({"broadcast": "exit=77 err=no-GPU"})), 77, self.said)

    def test_programs_that_are_not_there(self):
        path = self.configure({"all_reduce": "", "all_gahter": ""})
        self.assertEqual(self.nightly(path), 2, self.said)
        self.assertEqual(self.said, f"nightly: {path}: program: {self.place}/all_gahter_perf: no such program\n")
        self.assertFalse(self.reports.exists())

    def test_reports_that_cannot_be_made(self):
        self.assertEqual(self.nightly(self.configure({"all_reduce": ""}, reports="/dev/null/x")), 2, self.said)
        self.assertRegex(self.said, "^nightly: .*/night.toml: reports: /dev/null/x: cannot be made or written: Not a directory\n$")

    def test_time_is_up_then_it_goes_on(self):
        path = self.configure({"all_reduce": "sleep=0.4"}, within="1.2s")
        self.assertEqual(self.nightly(path), 1, self.said)
        made = len(self.last()["runs"][0]["launches"])
        self.assertTrue(0 < made < 5, made)
        self.assertEqual((self.last()["state"], self.bad()), ("incomplete", [("incomplete", "")]))
        self.assertIn("of 5 launches were not made", self.said)
        code, began = 1, time.monotonic()
        while code == 1 and time.monotonic() < began + 30:
            code = self.nightly(path)
        self.assertEqual((code, len(place.nights(self.reports)), self.last()["state"]), (0, 1, "complete"), self.said)

    def started(self, path, launches):
        """A night that has noted so many launches and waits in the next one."""
        process = subprocess.Popen(self.command(path), stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            time.sleep(0.05)
            found = place.nights(self.reports)
            if found and len(self.last()["runs"][0]["launches"]) >= launches:
                return process
        self.fail("it did not get so far")

    def test_killed_two_at_once_and_stopped(self):
        path = self.configure({"all_reduce": "sleep=0.5"})
        process = self.started(path, 2)
        process.send_signal(signal.SIGSTOP)  # it makes no launches while others compute
        self.assertEqual(self.nightly(path), 75)
        self.assertIn(f"another night is running: process {process.pid}", self.said)
        process.kill()
        process.wait()
        kept = self.last()
        self.assertEqual((kept["state"], kept["exit"]), ("incomplete", 1))
        began = (place.nights(self.reports)[0] / "runs" / "all_reduce" / "1" / "rows.csv").stat().st_mtime_ns
        process = self.started(path, 4)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 1)
        self.assertIn("SIGTERM", self.last()["findings"][0]["text"])
        self.assertEqual(self.nightly(path), 0, self.said)
        self.assertIn("goes on", self.said)
        self.assertEqual(self.last()["runs"][0]["launches"][:2], kept["runs"][0]["launches"][:2])
        self.assertEqual(began, (place.nights(self.reports)[0] / "runs/all_reduce/1/rows.csv").stat().st_mtime_ns)
        self.assertEqual((len(place.nights(self.reports)), len(self.last()["runs"][0]["launches"])), (1, 5))

    def test_orphans_of_a_killed_night_are_ended(self):
        path = self.configure({"all_reduce": "sleep=600"}, limit="1s")
        process = subprocess.Popen(self.command(path), stderr=subprocess.DEVNULL)
        token = f"{self.reports}/"
        while not night.launch.marked(token):
            time.sleep(0.02)
        process.kill()
        process.wait()
        self.assertEqual((len(night.launch.marked(token)), self.last()["state"]), (1, "incomplete"))
        self.assertEqual(self.nightly(path), 10, self.said)
        self.assertIn("ended 1 processes that a killed night left", self.said)
        self.assertEqual(len(place.nights(self.reports)), 1)
        self.assertEqual(night.launch.marked(token), [])

    def test_full_disk(self):
        disk = self.place / "disk"
        disk.mkdir()
        if os.geteuid() or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], check=False).returncode:
            self.skipTest("cannot mount a tmpfs")
        self.addCleanup(subprocess.run, ["umount", "-l", disk], check=True)
        for name, fat, free in (("near", 900, "1M"), ("brim", 1100, "64K")):
            path = self.configure({"all_reduce": f"fat={fat}"}, reports=disk / name, min_free=free)
            self.assertEqual(self.nightly(path), 1, self.said)
            document = self.last(disk / name)
            self.assertEqual((document["state"], document["findings"][0]["kind"]), ("incomplete", "disk"), self.said)
            kept = document["runs"][0]["launches"]
            self.assertTrue(kept and all((disk / name / document["date"] / one["dir"] / "rows.csv").stat().st_size > 900
                                         for one in kept))
            subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
            self.assertEqual(self.nightly(path), 0, self.said)
            self.assertEqual(self.last(disk / name)["runs"][0]["launches"][:len(kept)], kept)
            subprocess.run(f"rm -rf {disk}/* && mount -o remount,size=3m {disk}", shell=True, check=True)

    def test_hostile_names(self):
        reports = self.place / "$(touch owned); 'rm' -rf \"x\" \\ é"
        (self.place / "-e;x perf").symlink_to(self.place / "all_reduce_perf")
        path = self.configure({"all_reduce": ""}, reports=reports)
        path.write_text(path.read_text().replace('"all_reduce_perf"', '"-e;x perf"\nargs = ["--out=$(id)", "a\'b"]'))
        self.assertEqual(self.nightly(path), 0, self.said)
        self.assertEqual(self.last(reports)["state"], "complete")
        self.assertEqual([p.name for p in self.place.glob("**/owned")], [])

    def test_terminal(self):
        path = self.configure({"all_reduce": "sleep=0.7"})
        master, slave = pty.openpty()
        process = subprocess.Popen(self.command(path), stderr=slave)
        os.close(slave)
        said = b""
        try:
            while chunk := os.read(master, 4096):
                said += chunk
        except OSError:
            pass  # a terminal whose last writer is gone
        process.wait()
        os.close(master)
        self.assertRegex(said.decode(), r"\r\x1b\[K\[3/5\] all_reduce 3 of 5: 0:0\d, about 0:\d\d left")
        log = (place.nights(self.reports)[0] / "log.txt").read_text()
        self.assertNotIn("\r", log)
        self.assertRegex(log, r"\[5/5\] all_reduce 5 of 5: ok, \d+\.\d s")


class Real(Rig):
    def test_a_slice_of_a_real_night(self):
        build = Path(os.environ.get("BUILD", TOP / "build")).resolve()
        if not (build / "all_reduce_perf").exists():
            self.skipTest(f"{build} is not built")
        path = self.configure({"all_reduce": ""}, [("drop-rank:1", "", 'args = "--backend mpi -g 4"')],
                              page="true", env='OMPI_ALLOW_RUN_AS_ROOT = "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = "1"')
        path.write_text(path.read_text().replace(json.dumps(str(self.place)), json.dumps(str(build))).replace(
            '"all_reduce_perf"', '"all_reduce_perf"\nargs = "--backend mpi -g 2 -b 4K -e 16K -n 5 -w 2"'))
        self.assertEqual(self.nightly(path), 0, self.said)
        self.assertIn("hang: missing-call, rank 1, call 8 of communicator 0", self.said)
        self.assertEqual([len(run["launches"]) for run in self.last()["runs"]], [5, 1])
        self.assertEqual((len(self.last()["comparisons"]), self.bad()), (6, []))
        self.assertIn("drop-rank", (place.nights(self.reports)[0] / "page.html").read_text())


class Values(NightCase):
    def test_configurations_that_are_refused(self):
        good = NIGHT.format(reports='"r"', build='"b"', limit=1, within="1m", min_free="1K", env="", ceiling=0, page="true")
        good += RUN.format("all_reduce", "")
        config.parse_config(good, "x.toml", TOP)
        for old, new, complaint in (
                ('name = "all_reduce"', 'name = "../../etc"', "name: the name of a folder"),
                ('name = "all_reduce"', 'name = "-rf"', "name: the name of a folder"),
                ('name = "all_reduce"', 'name = "a\\u0000b"', "cannot be printed"),
                ('"all_reduce_perf"', '"all\\nreduce"', "program: it holds a character"),
                ('"all_reduce_perf"', '"x"\nargs = "\'"', "args: No closing quotation"),
                ('"all_reduce_perf"', '"x"\nargs = [1]', "args: a string, or a list of strings"),
                ('"all_reduce_perf"', '"x"\nlaunches = 4', "launches: a number from 5"),
                ('"all_reduce_perf"', '"x"\nlaunchs = 9', "launchs is no setting"),
                ('program = "all_reduce_perf"', '', "program is missing"),
                ("schema = 1", "schema = 2", "schema = 1 is needed"),
                ("schema = 1", "schema = ", "Invalid value"),
                ('within = "1m"', 'within = "1 fortnight"', "within: a time"),
                ('min_free = "1K"', 'min_free = true', "min_free: a size"),
                ("page = true", "page = 1", "page: true or false"),
                ("min_ceiling = 0", "min_ceiling = 101", "min_ceiling: a number from 0 to 100"),
                ("min_ceiling = 0", "min_ceilling = 1", "min_ceilling is no setting"),
                ('FAKE = ""', '"A=B" = ""', "env: { NAME"),
                ("[[run]]", "[run]", "run: tables [[run]]"),
                ("[[run]]", '[[fault]]\nfault="drop-rank"\nprogram="x"\n[[run]]', "fault: NAME:RANKS"),
                ("[[run]]", '[[fault]]\nfault="none"\nname="all_reduce"\nprogram="x"\n[[run]]', "taken twice")):
            self.assertIn(old, good)
            with self.subTest(new), self.assertRaisesRegex(config.ConfigError, "x.toml: ") as caught:
                config.parse_config(good.replace(old, new, 1), "x.toml", TOP)
            self.assertIn(complaint, str(caught.exception))
        self.assertTrue(config.read(TOP / "ci" / "nightly.toml", TOP).runs)

    def test_plan(self):
        runs = [config.Run(name, "bench", "p", launches=n) for name, n in (("a", 5), ("b", 5), ("c", 6))]
        faults = [config.Run(name, "fault", "p", launches=n) for name, n in (("f", 1), ("g", 2))]
        order = night.plan(runs + faults)
        self.assertEqual(sorted((run.name, n) for run, n in order),
                         sorted((run.name, n) for run in runs + faults for n in range(1, run.launches + 1)))
        self.assertEqual([run.name for run, n in order if run.kind == "bench"][:9], list("abcbcacab"))
        self.assertEqual([run.name for run, _ in night.plan(faults)], ["f", "g", "g"])

    def test_exit_codes(self):
        for kinds, code in (([], 0), (["slower"], 13), (["undecided"], 17), (["undecided", "slower"], 13), (["slower", "wrong-data"], 12), (["hang", "wrong-data"], 10),
                            (["died", "error"], 14), (["fault-missed", "slower"], 1), (["not-fired", "slower"], 20)):
            self.assertEqual(findings.exit_of([findings.finding("failed", k, "", "") for k in kinds]), code)
        self.assertEqual(findings.exit_of([findings.finding("info", "lacks", "", "")]), 0)

    def test_a_night_that_cannot_tell(self):
        """It is a finding with its own exit code, or a note where the configuration says so; the setting that changed is named."""
        row = {"collective": "all_reduce", "mode": "stream", "placement": "in-place", "verdict": "cannot-tell", "ratio": 1.6}
        mute = [{"row": row, "open": True, "text": "6 of 6 points"}, {"row": row, "open": False, "text": "1 of 6 points"}]
        for untold, groups, severity, code, kinds in (
                (mute[:1], [[row]], "low", 17, ["undecided"]), (mute[:1], [[row]], "info", 0, ["undecided"]),
                (mute[1:], [[row]], "low", 0, ["undecided"]), ([], [[row]], "low", 0, ["changed"]),
                ([], [[row | {"verdict": "new", "ratio": None}]], "low", 17, ["undecided", "new"]), ([], [], "low", 0, ["changed"])):
            with self.subTest(kinds, severity=severity):
                found = findings.comparison_findings(groups, lambda _: [rows.Difference("OMPI_MCA_btl", "not set", "self,tcp")],
                                                     lambda group: "", {}, untold, severity)
                self.assertEqual((findings.exit_of(found), [f["kind"] for f in found]), (code, kinds))
                self.assertTrue(untold == [] or "OMPI_MCA_btl: not set before, self,tcp now" in found[0]["text"], found)
        for word, complaint in (('"ok"', ""), ('"maybe"', "undecided: 'finding' or 'ok' is needed")):
            text = (TOP / "ci/nightly.toml").read_text().replace('undecided = "finding"', f"undecided = {word}")
            if complaint:
                self.assertRaisesRegex(config.ConfigError, complaint, config.parse_config, text, "x.toml", TOP)
            else:
                self.assertEqual(config.parse_config(text, "x.toml", TOP).undecided, "ok")

    def test_history_of_several_hosts(self):
        path = self.place / "h.sqlite"

        def write(i):
            document = dict.fromkeys(("date", "nccl", "driver", "started", "ended"), f"2026-11-{i % 7 + 1:02}") | {
                "host": f"h{i % 4}", "host_class": "c", "state": "complete", "exit": 0,
                "findings": [findings.finding("info", "x", "", "it's hostile'; DROP TABLE night")]}
            history.add(path, f"n{i % 28}", document, {
                rows.Point("all_reduce", 8, "stream", "in-place", ""): [1.0, 3.0, 2.0, float("nan")]})
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(write, range(56)))  # each night twice
        history.write_trend(path, self.place / "trend.csv", "c")
        lines = (self.place / "trend.csv").read_text().splitlines()
        self.assertEqual((len(lines), lines[0]), (29, ",".join(history.TREND)))
        self.assertIn("all_reduce,8,stream,in-place,2.0,1.0,3.0,3", lines[1])
        with sqlite3.connect(path) as db:
            self.assertEqual(db.execute("SELECT count(*) FROM finding").fetchone()[0], 28)
            db.execute("PRAGMA user_version = 9")
        db.close()
        for corrupted in (None, b"no database" * 100):
            if corrupted:
                path.write_bytes(corrupted)
            with self.assertRaises(history.HistoryError):
                write(0)

    def test_junit_holds_what_anybody_says(self):
        said = "a \x00\x1b[31m ]]> <&> \ud800 \ufffe"
        document = {"host": "h", "started": "2026-11-22T20:00:00+00:00", "state": "incomplete", "comparisons": [],
                    "findings": [findings.finding("failed", "hang", "r", said), findings.finding("failed", "disk", "", said)],
                    "runs": [{"name": "r", "kind": "bench", "status": "failed", "why": "", "launches": []}]}
        junit.write(self.place / "j.xml", document)
        root = xml.parse(self.place / "j.xml").getroot()
        self.assertEqual(len(root.findall(".//failure")), 3)


if __name__ == "__main__":
    unittest.main()
