"""night_sample.py: a made-up night of 11 collectives x 30 sizes x 2 placements, with findings, verdicts, a trend,
and names that mean harm: for the page's test. `make(folder)` writes it."""
import csv
import json
import random
from pathlib import Path

COLLECTIVES = ("all_reduce all_gather reduce_scatter broadcast reduce alltoall alltoallv gather scatter sendrecv "
               "hypercube").split()
SIZES = [8 << i for i in range(30)]
HOSTILE = "\"><script>fail('name')</script><img src=x onerror=fail('img')>'&"
LAUNCHES = 2
HEADER = {"type": "header", "schema": 1, "hangar_version": "0.1.0", "nranks": 4, "nnodes": 1, "hosts": ["gpu-7"],
          "mpi_library": "Open MPI v4.1.4", "started": "2026-11-22T03:00:00+0000", "options": {"check": 1},
          "env": {"NCCL_DEBUG": HOSTILE},
          "ranks": [{"rank": i, "host": "gpu-7", "node": 0, "device": "NVIDIA H200", "device_index": i,
                     "bus_id": f"0000:00:0{6 + i}", "library": "NCCL 2.28.9", "device_memory_bytes": 150 << 30}
                    for i in range(4)]}
ROW = ("schema", "collective", "backend", "nranks", "nnodes", "size_bytes", "count", "dtype", "redop", "root",
       "placement", "mode", "time_us", "busbw_gbs", "p5_us", "p95_us", "wrong", "predicted_us", "predicted_busbw_gbs",
       "ceiling_busbw_gbs", "of_predicted_percent", "of_ceiling_percent", "used_algo", "used_proto", "used_channels")
TREND = "date,host,host_class,nccl,driver,collective,bytes,mode,placement,busbw,low,high,launches"


def row_of(collective, size, placement, slow, noise):
    predicted = 9 + size / 350e3
    time = predicted * noise.gauss(1, 0.01) * slow
    speed = size / time / 1e3
    return [1, collective, "nccl", 4, 1, size, size // 4, "float", "none", -1, placement, "stream", time, speed, time * .98,
            time * 1.03, 0, predicted, size / predicted / 1e3, 450, 100 * predicted / time, speed / 4.5, "Ring", "Simple", 24]


def compared(collective, size, placement, slow):
    verdict = "slower" if slow > 1 else ("same", "same", "cannot-tell", "faster")[size % 4 if size < 16 else 0]
    return {"collective": collective, "bytes": size, "mode": "stream", "placement": placement, "unit": "us",
            "base_median": 9 + size / 350e3, "new_median": (9 + size / 350e3) * slow, "ratio": slow, "low": slow - .01,
            "high": slow + .012, "p": 0.004, "base_launches": 5, "new_launches": 5, "launches_needed": None,
            "verdict": verdict, "min_effect": 0.02, "ceiling_percent": 70.1, "ceiling_moved": -0.2,
            "vendor_percent": None, "vendor_moved": None, "text": f"{verdict} by 4 to 6 %", "variant": "4 ranks, nccl, float"}


def launch(folder, name, n, rows):
    place = folder / "runs" / name / str(n)
    place.mkdir(parents=True)
    with open(place / "rows.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([ROW, *rows])
    lines = [HEADER | {"program": f"{name}_perf", "command": [f"./{name}_perf", "-b", "8", HOSTILE]},
             {"type": "comment", "text": "Prediction for 1 node of 4 x NVIDIA H200"}, {"type": "end", "outcome": "ok"}]
    (place / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"dir": str(place.relative_to(folder)), "exit": 0, "seconds": 4.2, "verdict": None}


def evidence(folder, name):
    place = folder / "runs" / name / "1" / "evidence"
    place.mkdir(parents=True)
    (place / "verdict.json").write_text(json.dumps({
        "outcome": "hang", "class": "missing-call", "ranks": "3", "confidence": "proved", "detect_ms": 633.5,
        "lines": ["Rank 3 never made call 8.", HOSTILE], "cause": "It sleeps.", "fix": "Wake it.", "command": HOSTILE}))
    (place / "postmortem.md").write_text(f"# Post-mortem\n{HOSTILE}\n")
    (place / "timeline.csv").write_text(
        "row,rank,lane,guilty,text,comm,seq,kind,count,dtype,state,start_ms,joined_ms,end_ms,device_start_ms,device_end_ms\n"
        'title,,,,"hang: missing-call",,,,,,,,,,,\nverdict,,,,"verdict",,,,,,,9,,,,\n'
        'lane,0,0,1,"idle",,,,,,,,,,,\ncall,0,0,0,,0,1,AllReduce,1,float,unfinished,0,0,9,,\n')
    return {"dir": f"runs/{name}/1", "exit": 10, "seconds": 2, "verdict": {
        "outcome": "hang", "class": "missing-call", "ranks": "3", "detect_ms": "633", "evidence": str(place)}}


def trend_lines(noise):
    yield TREND
    for day in range(1, 31):
        for collective in COLLECTIVES:
            speed = 340 * noise.gauss(1, .004)
            yield (f"2026-10-{day:02},gpu-7,4x H200,{'2.28.3' if day < 12 else '2.28.9'},580,{collective},1073741824,stream,"
                   f"out-of-place,{speed:.5g},{speed * .996:.5g},{speed * 1.004:.5g},5")


def make(folder):
    folder, noise = Path(folder), random.Random(7)
    runs, comparisons = [], []
    for collective in COLLECTIVES:
        def slow(size, name=collective):
            return 1.05 if name == "alltoall" and size >= 1 << 24 else 1.0
        points = [(size, place) for size in SIZES for place in ("out-of-place", "in-place")]
        launches = [launch(folder, collective, n, [row_of(collective, s, p, slow(s), noise) for s, p in points])
                    for n in range(1, LAUNCHES + 1)]
        runs.append({"name": collective, "command": f"{collective}_perf -b 8", "kind": "bench", "status": "ok", "why": "",
                     "launches": launches})
        comparisons += [compared(collective, s, p, slow(s)) for s, p in points]
    runs.append({"name": HOSTILE, "command": HOSTILE, "kind": "fault", "status": "failed", "why": HOSTILE,
                 "launches": [evidence(folder, "drop-rank")]})
    (folder / HOSTILE.replace("/", "_")).write_text("x")
    (folder / "javascript:fail('file')").write_text("x")
    found = [("failed", "hang", HOSTILE, "javascript:fail('file')"), ("regression", "slower", "alltoall 16 MiB to 4 GiB: 5 %", "compare.csv"),
             ("warning", "health", "GPU 2 at 86 C", "../../etc/passwd"), ("info", "new", "330 points are new", "")]
    (folder / "night.json").write_text(json.dumps({
        "schema": 1, "date": "2026-11-22", "host": "gpu-7", "host_class": "4x NVIDIA H200", "nccl": "2.28.9", "driver": "580",
        "state": "complete", "exit": 10, "started": "2026-11-22T03:00:00+00:00", "ended": "2026-11-22T03:08:00+00:00",
        "runs": runs, "comparisons": comparisons, "findings": [
            {"severity": s, "kind": k, "run": "alltoall", "text": t, "what_to_do": "look", "evidence": e} for s, k, t, e in found]}))
    for when, sent in (("before", 1), ("after", 2)):
        (folder / f"health-{when}.json").write_text(json.dumps({"version": 1, "hosts": [{"host": HOSTILE, "reading": {"parts": {
            "GPU 0": {"states": {"celsius": 40}, "counters": {"sent": sent}}, f"only {when}": {"states": {"up": 1}}}}}]}))
    (folder / "trend.csv").write_text("\n".join(trend_lines(noise)) + "\n")
    return folder
