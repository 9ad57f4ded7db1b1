#!/usr/bin/python3 -SE
"""fake_perf.py: stands for the *_perf program by whose name it is called: writes rows, ends as FAKE says.

FAKE: words. slow=LOW:HIGH:FACTOR sizes that take longer; sleep=SECONDS; torn: the last line of rows.csv
breaks off; fat=KIB: so much output; says=OUTCOME:CLASS:RANKS a verdict line; exit=CODE."""
import json
import os
import random
import sys
import time
from pathlib import Path

COLUMNS = ("schema,collective,backend,nranks,nnodes,size_bytes,dtype,redop,root,placement,mode,time_us,"
           "busbw_gbs,ci_percent,predicted_us,ceiling_busbw_gbs,of_predicted_percent,of_ceiling_percent,"
           "used_algo,used_proto,used_channels,timestamp")
SETTINGS = {name: value for name, value in os.environ.items() if name.startswith("NCCL_")}
collective = os.path.basename(sys.argv[0]).removesuffix("_perf")
fake = dict(word.partition("=")[::2] for word in os.environ.get("FAKE", "").split())
fault = next((word for word in sys.argv if word.startswith("--fault=")), "--fault=none")[8:]
dice = random.Random("/".join(os.getcwd().split("/")[-4:]))
low, high, factor = map(float, fake.get("slow", "1:0:1").split(":"))
text = COLUMNS + "\n"
for size in (1 << 10, 1 << 12, 1 << 14, 1 << 16):
    for placement in ("out-of-place", "in-place"):
        us = (5 + size / 1e3) * dice.lognormvariate(0, 0.005) * (factor if low <= size <= high else 1)
        text += (f"1,{collective},nccl,4,1,{size},float,sum,-1,{placement},stream,{us},{size / us / 1e3},1,{us},"
                 f"100,90,{50 if collective == 'all_gather' else 90},ring,simple,32,2026-11-22T20:00:00+0000\n")
Path("rows.csv").write_text(text[:-40] if "torn" in fake else text)
head = {"type": "header", "backend": "nccl", "nranks": 4, "options": {"mode": "stream"}, "hosts": ["node1"],
        "env": SETTINGS, "ranks": [{"library": "NCCL 2.28.9, built", "device": "GPU"}]}
Path("rows.jsonl").write_text(json.dumps(head) + '\n{"type": "end", "outcome": "ok"}\n')
Path("fat").write_bytes(b"x" * 1024 * int(fake.get("fat", 0)))
if fault != "none":
    print(f"# schedule plain: 25 steps\n# fault {fault.split(':')[0]}: rank {fault.split(':')[1]}, call 8", flush=True)
time.sleep(float(fake.get("sleep", 0)))
if "says" in fake:
    outcome, kind, ranks = fake["says"].split(":")
    print(f"# verdict: outcome={outcome} class={kind} ranks={ranks} comm=0 seq=8 confidence=proved detect_ms=600 evidence=-")
print(fake.get("err", ""), file=sys.stderr)
sys.exit(int(fake.get("exit", 0)))
