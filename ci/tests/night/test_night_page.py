"""test_night_page.py: pages of launches, evidence and nights: what they say first, damage, hostile text."""
import json
import math
import os
import random
import sys
import unittest

from case import HEADER, TOP, NightCase

sys.path.insert(0, str(TOP / "ci/tests/installed"))
import night_sample  # noqa: E402
import page  # noqa: E402
import page_data  # noqa: E402

LOW = {"size_bytes": 1 << 26, "of_predicted_percent": 61.4}
WRONG = {"wrong": 3}
# What a launch's folder holds beside ROW: rows, outcome, header; what the page must say, and must not.
LAUNCHES = (
    ("quiet", {}, ["Nothing was found", "75.0", "1 MiB", "2 ranks"], ["class=\"card"]),
    ("low", {"rows_of": ({}, LOW)}, ["1 of 2 points from 1 MiB reach less than 80 %", "64 MiB out-of-place: 61 %"], []),
    ("ended", {"outcome": "wrong-data"}, ["<h3><span class=\"badge failed\">failed</span> wrong-data"], ["Nothing was found"]),
    ("no-header", {"header": None}, ["Nothing was found"], ["id=\"topology\""]),
    ("hostile", {"header": {**HEADER, "hosts": [night_sample.HOSTILE], "env": {"NCCL_X<i>": "<b>"}}},
     ["NCCL_X&lt;i&gt;", "&quot;&gt;&lt;script&gt;fail"], ["<script>fail", "<img src=x", "NCCL_X<i>"]),
)
VALUES = (None, 1, -1.5, "x", [], {}, [1], ["a"], {"a": 1}, True, math.nan, [[]], [{}], "9" * 400, 10 ** 400)


# A program that measures 100 GB/s at 2 ranks and 10 less for each more; 5 ranks fail after their rows.
FAKE = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in -g) n=$2 ;; --out) out=$2 ;; esac; shift; done
mkdir -p "$out"
printf '%s\\n' schema,collective,backend,nranks,nnodes,size_bytes,dtype,redop,root,placement,mode,time_us,busbw_gbs \
	1,alltoall,mpi,$n,1,$((1048576 / n * n)),float,none,-1,out-of-place,stream,10,$((120 - 10 * n)) >"$out/rows.csv"
[ "$n" != 5 ] || { echo "rank 4 died"; exit 14; }
"""


class NoPictures:
    def __init__(self, *_):
        self.svg = {}

    def html(self, *_):
        return ""


def places(value, at=()):
    yield at
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*at, key))


def changed(value, at, new):
    if not at:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[at[0]] = changed(value[at[0]], at[1:], new)
    return copy


class PageTest(NightCase):
    def page_of(self, folder, *options, **env):
        os.environ.update(env)
        code, out, said = self.program("page", folder, *options)
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(out.strip(), str(folder / "page.html"))
        return (folder / "page.html").read_text()

    def test_launches(self):
        for name, kept, has, lacks in LAUNCHES:
            with self.subTest(name):
                self.launch(name, **kept)
                text = page.render(page_data.gather(self.place / name))
                self.assertEqual([h for h in has if h not in text], [])
                self.assertEqual([h for h in lacks if h in text], [])

    def test_torn_and_lacking(self):
        folder = self.launch("torn", ({}, {"size_bytes": 8}))
        with open(folder / "rows.csv", "a") as file:
            file.write("1,all_red")
        (folder / "rows.jsonl").write_text((folder / "rows.jsonl").read_text().splitlines()[0] + '\n{"type":"en')
        text = self.page_of(folder)
        for said in ("rows.csv: 1 torn lines left out", "rows.jsonl:2: torn", "did not end by itself", "of 2 points"):
            self.assertIn(said.replace("of 2 points", "2 points"), text)
        self.assertGreater(text.count("data:image/svg+xml"), 0)
        self.assertTrue((folder / "plots" / "sheet.svg").exists() or (folder / "plots" / "busbw.svg").exists())
        lines = (folder / "rows.csv").read_text().replace("busbw_gbs", "other")
        (folder / "rows.csv").write_text(lines)
        self.assertIn("no column busbw_gbs: its rows are not shown", self.page_of(folder))

    def test_numbers(self):
        for value, text in ((5.306e-6, "0.000005"), (1.5e-4, "0.00015"), (0.25, "0.25"), (2e6, "2000000"), (0, "0"), ("nan", "")):
            self.assertEqual(page.num(value), text)

    def test_columns_of_one_value(self):
        """They are said once, above the table: the rest fits a narrow page."""
        self.launch("run", ({"dtype": "half"}, {"dtype": "half", "size_bytes": 8}))
        text = page.render(page_data.gather(self.place / "run"))
        head, said = text.split('id="points-table"')
        self.assertIn("All rows: collective all_reduce, placement out-of-place, ", head)
        for lifted in ("mode stream", "ranks 2 nccl", "type half sum", "used Ring Simple 24", "launches 1"):
            self.assertIn(lifted, head.split("All rows: ")[1])
            self.assertNotIn(f">{lifted.split()[0]}</th>", said)
        self.assertIn(">size</th>", said)

    def test_spread(self):
        """Nothing is green above times that are twice as far apart as they are long."""
        for i, us in enumerate((10, 11, 10, 75)):
            self.launch(f"runs/{i}", [{"time_us": us}])
        text = page.render(page_data.gather(self.place / "runs"))
        self.assertIn("1 of 1 points spread by more than 100 %, the most all_reduce 1 MiB: 619 %", text)
        self.assertNotIn("nothing found", text)

    def test_columns_are_explained(self):
        """Each column of a table has a word of explanation, or a name that is one."""
        for columns in (page.COMPARED, page.MEASURED):
            self.assertEqual([c[0] for c in columns if len(c) != 3], [])
        self.launch("explained", ({}, {"size_bytes": 8, "time_us": 3}))
        text = page.render(page_data.gather(self.place / "explained"))
        self.assertIn("<summary>What the columns mean</summary>", text)
        self.assertIn("<dt>bus GB/s</dt><dd>bus bandwidth: what a link of a ring carries", text)

    def test_hang_alone(self):
        """Evidence without launches says nothing of their number."""
        folder = self.place / "alone"
        folder.mkdir()
        (folder / "verdict.json").write_text(json.dumps({"outcome": "hang", "class": "missing-call", "ranks": "1", "lines": []}))
        text = page.render(page_data.gather(folder))
        self.assertIn("1 verdict", text)
        self.assertNotIn("0 launches", text)
        self.assertNotIn("0 points", text)

    def test_verdict_of_out(self):
        """--out DIR of a run that hung: verdict and post-mortem are beside its rows."""
        folder = self.launch("hung", header=None)
        (folder / "rows.jsonl").write_text(json.dumps(HEADER) + "\n")
        (folder / "postmortem.md").write_text("# Post-mortem")
        verdict = {"outcome": "hang", "class": "missing-call", "ranks": "1", "comm": 0, "seq_low": 8, "confidence": "proved",
                   "detect_ms": 779.0, "lines": ["Rank 1 sleeps."]}
        for changes, has, lacks in (
                ({}, ["<span class=bad>rank 1</span> (proved, named after 779 ms)", "# verdict: outcome=hang class=missing-call "
                      "ranks=1 comm=0 seq=8 confidence=proved detect_ms=779<", "The verdict is above."], "results/runs"),
                ({"summary": ["culprit: rank 1 <sleeps>", "  lacks call 8"]}, ["<ul><li class=bad>culprit: rank 1 &lt;sleeps&gt;</li>"
                  "<li>lacks call 8</li></ul><details><summary>In sentences</summary><ul><li>Rank 1 sleeps.</li>"], "results/runs"),
                ({"cause": "It sleeps.", "fix": "Wake it.", "prevention": "No <sleep>.", "hang_seq": 8, "culprit_hosts": "node1", "command": "x --y"},
                 ["<dl class=now><dt>What happened</dt><dd>The job hangs in call 8 of communicator 0. It sleeps.</dd><dt>Who</dt><dd>rank 1 on "
                  "node1 (proved: it can be no other)</dd><dt>What to do now</dt><dd>Wake it.</dd><dt>To have it again</dt><dd><code>x --y</code></dd>"
                  "<dt>Never again</dt><dd>No &lt;sleep&gt;.</dd></dl><pre class=line>"], "results/runs"),
                ({"cause": "They differ.", "field": "count", "theirs": "50", "majority": "100"},
                 ["The job hangs. They differ. count: 50 there, 100 elsewhere.</dd>"], "results/runs"),
                ({"withdrawn": "the run goes on"}, ['<article class="card warning">', ") <span class=quiet>withdrawn</span></h3><dl class=now>"
                  "<dt>Since then</dt><dd>The run goes on</dd><dt>What happened</dt>"], 'failed">hang<'),
                ({"ranks": "1,2", "seq_low": -1}, ["ranks 1,2<", "ranks=1,2 confidence=proved"], "seq="),
                ({"ranks": "-", "detect_ms": None}, ["no rank named", "detect_ms=0<"], "ms)")):
            (folder / "verdict.json").write_text(json.dumps({**verdict, **changes}))
            text = page.render(page_data.gather(folder))
            for one in (*has, '<a href="./postmortem.md">postmortem.md</a>', '<a href="./verdict.json">'):
                self.assertIn(one, text)
            card = text[text.index("<article"):text.index("Post-mortem</summary>")]
            self.assertIn("missing-call", card)
            self.assertNotIn(lacks, text[text.index("<article"):text.index('id="environment"')])

    def test_program_under_hangar_run(self):
        """--csv and --trace in a folder: pictures of who waited and who came late."""
        folder = self.place / "metered"
        folder.mkdir()
        (folder / "meter.csv").write_text("communicator,name,nranks,call,rank,held_percent,waited_percent\n" + "".join(
            f'0,"ranks 0,1",2,AllReduce,{rank},60,{rank}\n' for rank in (-1, 0, 1)))
        (folder / "trace.json").write_text(json.dumps({"traceEvents": [
            {"ph": "X", "tid": rank, "ts": call, "dur": 5.0, "name": name, "args": {"communicator": "ab", "call": call}}
            for call in (1, 2) for rank, name in ((0, "waits in AllReduce"), (0, "AllReduce"), (1, "AllReduce"))]}))
        text = self.page_of(folder)
        self.assertIn("Time in calls, and waiting for others: metered", text)
        self.assertIn("How late ranks came: metered", text)

    def test_nothing_to_show(self):
        for folder, said in ((self.place, "no night.json, rows.csv, meter.csv, trace.json or verdict.json"), (self.place / "gone", "no such folder")):
            code, out, err = self.program("page", folder)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(said, err)

    def test_points_are_medians_over_launches(self):
        for n, time in enumerate((10.0, 30.0, 11.0)):
            self.launch(f"run/{n}", ({"time_us": time},))
        data = page_data.gather(self.place / "run")
        point, = page_data.points_of(data.runs)
        self.assertEqual((point["time_us"], point["launches"], point["used"]), (11.0, 3, "Ring Simple 24"))
        self.assertAlmostEqual(point["spread"], 100 * 20 / 11)
        data.runs[1].fault = True
        self.assertEqual(page_data.points_of(data.runs)[0]["launches"], 2)

    def test_damaged_values(self):
        self.addCleanup(setattr, page, "Pictures", page.Pictures)
        page.Pictures = NoPictures
        self.addCleanup(setattr, night_sample, "SIZES", night_sample.SIZES)
        night_sample.SIZES = [8, 1 << 26]
        night = night_sample.make(self.place / "night")
        noise = random.Random(5)
        for name in ("night.json", "health-after.json", "runs/drop-rank/1/evidence/verdict.json", "runs/reduce/1/rows.jsonl"):
            kept = (night / name).read_text()
            lines = [json.loads(line) for line in kept.splitlines()] if name.endswith("l") else json.loads(kept)
            where = list(places(lines))
            for at in noise.sample(where, min(40, len(where))):
                value = noise.choice(VALUES)
                new = changed(lines, at, value)
                with self.subTest(name, at=at, value=str(value)[:20]):
                    many = name.endswith("l") and isinstance(new, list)
                    (night / name).write_text("\n".join(map(json.dumps, new)) if many else json.dumps(new))
                    self.assertIn("</html>", page.render(page_data.gather(night)))
            (night / name).write_text(kept)

    def test_night(self):
        night_sample.COLLECTIVES, kept = ["alltoall"], night_sample.COLLECTIVES
        self.addCleanup(setattr, night_sample, "COLLECTIVES", kept)
        text = self.page_of(night_sample.make(self.place / "night"))
        order = [text.index(f'id="{name}"') for name in
                 ("findings", "changed", "runs", "points", "pictures", "health", "topology", "environment", "files")]
        self.assertEqual(order, sorted(order))
        self.assertLess(text.index("badge failed\">failed"), text.index("badge regression\">regression"))
        for said in ("18 slower", "exit 10", "Points that are slower".lower(), "absent", ">moved<", "after 634 ms"):
            self.assertIn(said, text)
        self.assertNotIn("<script>fail", text)
        night = json.loads((self.place / "night/night.json").read_text())
        self.assertNotIn("named as it must be", text)
        night["state"], night["runs"][-1]["status"] = "incomplete", "ok"
        (self.place / "night/night.json").write_text(json.dumps(night))
        second = (self.place / "night").rename(self.place / "2026-11-22-2")
        head, *lines = (second / "trend.csv").read_text().splitlines()
        (second / "trend.csv").write_text("\n".join([f"{head},variant"] + [
            f'{line},"4 ranks, nccl, {kind}"' for kind in ("float", "half") for line in lines]))
        text = page.render(page_data.gather(second))
        for kind in ("float", "half"):
            self.assertTrue(f">4 ranks, nccl, {kind}<" in (second / "plots/trend.svg").read_text(), kind)
        self.assertIn("<title>Night 2026-11-22-2, gpu-7<", text)
        for said in ("the night is incomplete", "a fault, named as it must be", "1 fault named"):
            self.assertIn(said, text)

    def test_scaling(self):
        self.addCleanup(os.environ.pop, "BUILD", None)
        os.environ["BUILD"] = str(self.place)
        (self.place / "alltoall_perf").write_text(FAKE)
        (self.place / "alltoall_perf").chmod(0o755)
        code, out, said = self.program("scaling", "-r", "4,2,3,5", "-l", "2", self.place / "to", "alltoall_perf", "--", "-b", "1M")
        self.assertEqual((code, said), (14, ""))
        self.assertEqual(out.count(": exit 0"), 6)
        self.assertIn("rank 4 died", out)
        lines = [line.split(",") for line in (self.place / "to/scaling.csv").read_text().splitlines()]
        self.assertEqual([line[4:7] + line[8:] for line in lines[1:]], [
            ["2", "100", "100.0", "2"], ["3", "90", "90.0", "2"], ["4", "80", "80.0", "2"], ["5", "70", "70.0", "2"]])
        self.assertIn('alt="Over ranks"', (self.place / "to/page.html").read_text())
        for wrong, why in ((["-r", "1"], "from 2"), (["--launch", "mpirun"], "no {}"), ([], "has launches already")):
            code, _, said = self.program("scaling", *wrong, self.place / "to", "alltoall_perf")
            self.assertEqual(code, 2)
            self.assertIn(why, said)
        code, _, said = self.program("scaling", self.place / "new", "no_perf")
        self.assertIn("no no_perf in", said)
        for options in ((), ("-b", "1M"), ("-r", "3", "-b", "1M"), ("--", "-r", "3")):  # the program's begin without "--", too
            code, _, said = self.program("scaling", "-r", "2", "/dev/null/x", "alltoall_perf", *options)
            self.assertEqual((code, said), (2, "scaling: /dev/null/x: cannot be made: Not a directory\n"))

    def test_without_gnuplot(self):
        self.addCleanup(os.environ.__setitem__, "PATH", os.environ["PATH"])
        tools = self.place / "bin"
        tools.mkdir()
        for name in ("sh", "awk", "sed", "dirname", "env", "python3", "cut", "sort", "wc"):
            for folder in ("/usr/local/bin", "/usr/bin", "/bin"):
                if os.access(f"{folder}/{name}", os.X_OK) and not (tools / name).exists():
                    (tools / name).symlink_to(f"{folder}/{name}")
        text = self.page_of(self.launch("one"), PATH=str(tools))
        self.assertIn("pictures are missing", text)
        self.assertIn("1 MiB", text)


if __name__ == "__main__":
    unittest.main()
