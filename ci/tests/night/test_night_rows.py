"""test_night_rows.py: what can be read of launches, and what is said about the rest."""
import json

from case import HEADER, ROW, NightCase, rows, unittest

import foreign  # (case adds its folder)


def header(**changes):
    return {**HEADER, **changes}


class Csv(NightCase):
    def test_damage(self):
        """What cannot be read says where and why; only a torn last line is left out."""
        names, first = ",".join(ROW), ",".join(str(v) for v in ROW.values())
        columns = list(ROW)
        short = ",".join(columns[:columns.index("time_us")])
        cases = (
            ("", "empty"),
            ("hello\n", "no rows.csv of a"),
            (f"{short}\n", "without column time_us"),
            (f"{names}\n2{first[1:]}\n", "schema '2'.*reads schema 1"),
            (f"{names}\n1,all_red\n{first}\n", ":2: 2 cells"),
            (f"{names}\n{first.replace(str(1 << 20), '1M')}\n", "size_bytes is '1M'"))
        path = self.place / "rows.csv"
        for text, message in cases:
            path.write_text(text)
            with self.subTest(message), self.assertRaisesRegex(rows.RowsError, f"{path}.*{message}"):
                rows.read_csv(path)
        for tail in (first[:40], first, "\0\0\0"):
            path.write_text(f"{names}\n{first}\n{tail}")
            found, notes = rows.read_csv(path)
            with self.subTest(tail):
                self.assertEqual(len(found), 1)
                self.assertRegex(notes[0], ":3: the last line is torn")

    def test_sides(self):
        """Folders of one launch, of several, a night without its fault runs; what is none of them."""
        self.launch("night/runs/sweep/10")
        self.launch("night/runs/sweep/9", outcome="hang")
        self.launch("night/runs/drop/1", header=None)
        (self.place / "night/night.json").write_text(json.dumps(
            {"runs": [{"name": "sweep", "kind": "bench"}, {"name": "drop", "kind": "fault"}]}))
        found = rows.read_side(self.place / "night")
        self.assertEqual([launch.path[-8:] for launch in found], ["/sweep/9", "sweep/10"])
        self.assertRegex(found[0].notes[0], "ended with hang")
        self.assertEqual(len(rows.read_side(self.place / "night/runs/drop/1")), 1)
        (self.place / "empty").mkdir()
        self.launch("rowless/1", rows_of=())
        (self.place / "text").write_text("{")
        (self.place / "list").write_text("[]")
        for name, message in (("empty", "no rows.csv in it or below"), ("nope", "no such folder"),
                              ("rowless", "1 launches without a single row"), ("text", "neither a folder, a"),
                              ("list", "no baseline file")):
            with self.subTest(name), self.assertRaisesRegex(rows.RowsError, message):
                rows.read_side(self.place / name)

    def test_points(self):
        """A point's value in a launch is the median over its cycles; type, operator and ranks are apart."""
        self.launch("a", ({"time_us": 1}, {"time_us": 3}, {"time_us": 8}, {"dtype": "half"}, {"time_us": "nan"}, {"time_us": "inf"}, {"time_us": -1}))
        times = rows.columns(rows.read_side(self.place / "a"))
        self.assertEqual(sorted(times.values()), [[3.0], [10.0]])
        self.assertEqual({p.variant for p in times}, {"2 ranks, nccl, float sum", "2 ranks, nccl, half sum"})


class Baseline(NightCase):
    def test_kept(self):
        """What is written is read again, times and facts alike; another schema and damage are told."""
        self.launch("a", ({}, {"of_ceiling_percent": "nan", "size_bytes": 8}))
        launches, path = rows.read_side(self.place), self.place / "b.json"
        rows.write_baseline(path, launches, host_class="h200x2")
        again = rows.read_side(path)
        self.assertEqual(rows.columns(again), rows.columns(launches))
        self.assertEqual(rows.columns(again, "of_ceiling_percent"), rows.columns(launches, "of_ceiling_percent"))
        self.assertEqual(again[0].facts, launches[0].facts)
        whole = json.loads(path.read_text())
        self.assertEqual(whole["host_class"], "h200x2")
        for changes, message in (({"schema": 7}, "baseline of schema 7.*--accept"), ({"columns": ["schema"]}, "damaged"),
                                 ({"launches": [{}]}, "damaged"), ({"launches": [{"path": "", "facts": []}]}, "damaged"),
                                 ({"launches": [{"path": "", "facts": {}, "rows": [[-1] * len(rows.KEPT)]}]}, "-1")):
            path.write_text(json.dumps({**whole, **changes}))
            with self.subTest(message), self.assertRaisesRegex(rows.RowsError, message):
                rows.read_side(path)


class Differences(NightCase):
    def test_named(self):
        """What differs is named, settings of NCCL first; what Open MPI sets for itself is not."""
        self.launch("base/1", header=header(env={"NCCL_MAX_NCHANNELS": "32", "OMPI_MCA_orte_jobfam": "1"}))
        self.launch("new/1", header=header(env={"NCCL_MAX_NCHANNELS": "16", "OMPI_MCA_btl": "tcp,self"},
                                           hosts=["h2"], hangar_version="0.2.0", options={"check": 0, "out": "x"}))
        other = dict(HEADER, ranks=[{**HEADER["ranks"][0], "library": "NCCL 2.28.3"}])
        self.launch("new/2", header=other)
        base, new = (rows.read_side(self.place / side) for side in ("base", "new"))
        found = rows.differences(base, new[:1])
        self.assertEqual([tuple(d) for d in found], [
            ("NCCL_MAX_NCHANNELS", "32", "16"), ("host", "h1", "h2"), ("hangar", "0.1.0", "0.2.0"),
            ("OMPI_MCA_btl", "not set", "tcp,self"), ("option check", "1", "0")])
        mixed = {d.name: d for d in rows.differences(new, new)}
        self.assertEqual(mixed["nccl"].base, "2.28.3 (1 launches), 2.28.9 (1 launches)")
        self.assertNotIn("NCCL_MAX_NCHANNELS", mixed)
        self.launch("bare/1", header=None)
        self.assertEqual(rows.differences(base, rows.read_side(self.place / "bare")), [])


RANKS = "".join(f"#  Rank  {i} Group  0 Pid  9 on     n1 device  {i} [0x0f] NVIDIA H100\n" for i in range(4))
NOW = " 1048576 262144 float  sum  -1  30.10  34.84  52.26  0  29.88  35.09  52.64  0\n"
OLD = " 1048576 262144 float  sum  30.10  34.84  52.26  1e-07  29.88  35.09  52.64  1e-07\n"
ONE = " 1048576 262144 float none -1 30.10 34.84 17.42 N/A\n"
SPEC = json.dumps({"header": {"id": "0x7", "rank": 2, "n_ranks": 8, "nnodes": 1}, "metadata": {"hostname": "n1"}, "coll_perf": {
    "coll": "AllReduce", "coll_sn": 14, "coll_msg_size_bytes": 1048576, "coll_exec_time_us": 30.1, "coll_algobw_gbs": 34.8,
    "coll_busbw_gbs": 52.26}}) + "\n"


class Foreign(NightCase):
    def test_tables(self):
        """Outputs of nccl-tests, with prefixes and of any version, and lines of Inspector, are launches."""
        cases = (
            ("all_reduce.txt", RANKS + NOW, ["all_reduce", "4", "float", "sum"], 2, {"host": "n1", "device": "4 x NVIDIA H100"}),
            ("x.log", "$ ./all_gather_perf -b 1M\n[1,0]<stdout>: " + ONE, ["all_gather", "", "float", "none"], 1, {}),
            ("x.log", "# NCCL version 2.18.3+cuda12.1\nn1: " + OLD + OLD, ["all_reduce", "", "float", "sum"], 4, {"nccl": "2.18.3"}),
            ("x.log", "# nccl-tests version 2.17.1 nccl-headers=22907 nccl-library=22809\n" + ONE, ["", "", "float", "none"], 1, {"nccl": "2.28.9"}),
            ("x.log", "# nccl-library=2804\n" + ONE, ["", "", "float", "none"], 1, {"nccl": "2.8.4"}),
            ("x.json", "junk\n" + SPEC + SPEC[:40] + "\n" + SPEC, ["all_reduce", "8", "", "none"], 2, {"host": "n1"}))
        for name, text, first, count, facts in cases:
            path = self.place / name
            path.write_text(text)
            with self.subTest(name + text[:30]):
                launch, = rows.read_side(path)
                row = launch.rows[0]
                self.assertEqual([row[c] for c in ("collective", "nranks", "dtype", "redop")], first)
                self.assertEqual((len(launch.rows), row["time_us"], row["busbw_gbs"], row["size_bytes"]), (count, 30.1, 17.42 if ONE in text else 52.26, 1 << 20))
                self.assertEqual(launch.facts, facts)

    def test_documents(self):
        """-J of nccl-tests and hangar's --json; labels inside of rows; two runs in one file are refused."""
        result = {"size": 1048576, "count": 262144, "type": "float", "redop": "sum", "root": "    -1",
                  "out_of_place": {"time": 30.1, "alg_bw": 34.8, "bus_bw": 52.26, "nwrong": 0.0}, "in_place": None}
        devices = [{"rank": i, "pid": 9, "hostname": "n1", "device": i, "device_info": "NVIDIA H100"} for i in range(4)]
        document = json.dumps({"version": 2, "args": ["./all_reduce_perf", "-b", "1M"], "config": {"ngpus": 1, "devices": devices}, "results": [result]})
        row = {"type": "row", "collective": "all_reduce", "nranks": 4, "nnodes": 1, "size_bytes": 1048576, "count": 262144, "dtype": "float",
               "redop": "sum", "root": -1, "placement": "out-of-place", "time_us": 30.1, "busbw_gbs": 52.26}
        own = json.dumps({"type": "header", "ranks": [{"host": "n1", "device": "NVIDIA H100"}] * 4}) + "\n" + json.dumps(row) + "\n"
        glued = RANKS + NOW.replace("  30.10", "[0]  30.10").replace("  29.88", "[0]  29.88")
        for number, (text, ranks) in enumerate(((document, 4), (own, 4), (glued, 4))):
            path = self.place / "one.json"
            path.write_text(text)
            with self.subTest(number):
                first = rows.read_side(path)[0].rows[0]
                self.assertEqual((first["collective"], first["nranks"], first["time_us"], first["busbw_gbs"]), ("all_reduce", str(ranks), 30.1, 52.26))
        path.write_text(RANKS + RANKS.replace("n1", "n2") + NOW)
        with self.assertRaisesRegex(rows.RowsError, "two runs in one file: rank 0 twice .n1, pid 9 and n2, pid 9."):
            rows.read_side(path)

    def test_run(self):
        """As a folder with rows.csv that plots and pages read."""
        path = self.place / "all_reduce.txt"
        path.write_text(RANKS + NOW)
        folder = foreign.as_run(path)
        found, notes = rows.read_csv(folder / "rows.csv")
        self.assertEqual((len(found), notes, found[1]["placement"], found[1]["busbw_gbs"]), (2, [], "in-place", 52.64))
        path.write_text("no table")
        self.assertIsNone(foreign.as_run(path))

    def test_others(self):
        """A folder of tables is a side; a text that is none is refused."""
        folder = self.place / "many"
        folder.mkdir()
        for i in range(3):
            (folder / f"all_reduce.{i}.txt").write_text(NOW)
        (folder / "README").write_text("no table")
        self.assertEqual(len(rows.read_side(folder)), 3)
        with self.assertRaisesRegex(rows.RowsError, "nor a table of nccl-tests"):
            rows.read_side(folder / "README")


if __name__ == "__main__":
    unittest.main()
