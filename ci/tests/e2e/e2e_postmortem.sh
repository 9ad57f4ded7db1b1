#!/bin/bash
# e2e_postmortem.sh: what a run that hung leaves for whoever is on call: every part of the
# post-mortem, a trace that parses, a picture; and that the evidence does not hear what was broken.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
root=$PWD
cd "$work" || exit 1 # evidence goes below the working directory

# has FILE TEXT...: every text stands in the file, in this order
has() {
	holds "$1 lacks something, or in another order" python3 - "$@" <<'END'
import sys

text, at = open(sys.argv[1]).read(), 0
for part in sys.argv[2:]:
    found = text.find(part, at)
    if found < 0:
        print("no", repr(part))
        sys.exit(1)
    at = found + len(part)
END
}

parts=('# Post-mortem: hang, missing-call, rank 1' '- culprit: rank 1 (' '- lacks call 8' '- ranks 0,2 wait in call 8'
	'- rank 1 is stuck on ' '## The run' 'program' 'command line' 'backend' 'library' 'ranks'
	'hosts' 'verdict at' '### Ring topology' '## Reproducer' 'hang_reduce --as nccl' '## The walk' '| rank | process | phase | is in'
	'| **1** | alive' 'Last common call: communicator 0, call 7' 'Divergence point: communicator 0, call 8'
	'Hang point: communicator 0, call 8' '### Stacks' '## Root cause' 'confidence: proved' '## Fix' '## Prevention'
	'all-reduce')

run "$BUILD/all_reduce_perf" --backend mpi -g 3 --fault=drop-rank:1 --expect hang:missing-call:1
expect_rc 0
folder=$(sed -n 's/^# verdict: .*evidence=//p' "$work/out")
holds 'no folder of evidence' [ -d "${folder:-none}" ]
last=$(readlink results/runs/last)
holds 'results/runs/last is not the newest' [ "results/runs/$last" = "$folder" ]
# what is said can be pasted, here and from the folder above
pasted() {
	local said
	said=$(command_said "$1")
	holds "$1 cannot be pasted: $said" bash -c "$said" >/dev/null 2>&1
}
holds 'the lines to paste do not take the shorter way' [ "$(grep -cE '^# (look further|or draw it): [^ ]* results/runs/last$' "$work/out")" -eq 2 ]
holds "$(command_said 'look further'): exit other than 10" \
	bash -c "$(command_said 'look further') >/dev/null; [ \$? -eq 10 ]"
pasted 'or draw it'
# One time of the verdict, whole milliseconds, in line, files, picture and page
ms=$(sed -nE 's/^# verdict: .* detect_ms=([0-9]+) .*/\1/p' "$work/out")
for place in "verdict.json \"detect_ms\": $ms(\\.0)?," "postmortem.md ^\\| verdict came \\| $ms ms after" \
	"timeline.csv ^title,.*; named after $ms ms\""; do
	holds "${place%% *} lacks the verdict's $ms ms" grep -qE "${place#* }" "$folder/${place%% *}"
done
run "$root/ci/page" "$folder"
holds "the page lacks the verdict's $ms ms" grep -qF "named after $ms ms" "$folder/page.html"
rm -rf "$folder/page.html" "$folder/plots"
has "$folder/postmortem.md" "${parts[@]}"
has "$folder/postmortem.md" '| mpi |' 'Open MPI' 'does not tell' '--fault=drop-rank:1' \
	'| rank | process'
for name in verdict.json timeline.json timeline.csv command.txt; do
	holds "no $name" [ -s "$folder/$name" ]
done
holds 'the command is not command.txt' grep -q -- '--fault=drop-rank:1' "$folder/command.txt"
holds 'the evidence heard of the fault' bash -c '! grep -aql -e drop-rank -e --fault -e missing-call "$1"/run.json "$1"/rank-*' \
	- "$folder"

# --out of a sweep takes the evidence, too; tools that are near are said by their way from here.
cd "$BUILD" || exit 1
run ./all_reduce_perf --backend mpi -g 2 --fault=drop-rank:1 --out "$work/swept"
expect_rc 10 '--out:'
swept=$(sed -n 's/^# verdict: .*evidence=//p' "$work/out")
holds '--out: no verdict in it' [ "${swept%/*}" = "$work/swept" -a -s "$swept/verdict.json" ]
holds '--out: look further' [ "$(command_said 'look further')" = "./hang_diagnose $swept" ]
pasted 'or draw it'
cd "$work" || exit 1
holds "verdict.json lacks what the screen says" python3 - "$swept/verdict.json" "$work/out" <<'END'
import json, sys
said = [line[2:].rstrip("\n") for line in open(sys.argv[2]) if line.startswith("# ")]
sys.exit(not all(line in said for line in json.load(open(sys.argv[1]))["summary"]))
END

# Long ways: no line passes 100 characters but one that is such a way alone.
long=$work/$(printf 'a%.0s' {1..90})
mkdir "$long"
cd / || exit 1
run "$BUILD/all_reduce_perf" --backend mpi -g 2 --fault=drop-rank:1 --out "$long/again"
expect_out '^# look further:$'
expect_out "^#   [^ ]*/hang_diagnose $long/again/[^ ]*\$"
pasted 'or draw it'
cd "$work" || exit 1

# The trace: ranks as processes, every call of a rank inside the run, the unfinished ones to
# the verdict.
holds 'timeline.json is not as it should be' python3 - "$folder" <<'END'
import json
import sys

top = json.load(open(sys.argv[1] + "/timeline.json"))
calls = [e for e in top["traceEvents"] if e.get("cat") == "call"]
instants = {e["name"]: e["ts"] for e in top["traceEvents"] if e["ph"] == "i"}
assert {e["pid"] for e in calls} == {0, 1, 2}
assert instants["divergence: call 8 of communicator 0"] < instants["verdict"]
for rank in range(3):
    mine = [e for e in calls if e["pid"] == rank]
    assert [e["args"]["seq"] for e in mine] == [4, 5, 6, 7] + ([8] if rank != 1 else [])
    for e in mine:
        assert e["args"]["kind"] == "AllReduce" and e["args"]["dtype"] == "float"
        assert 0 <= e["ts"] and e["ts"] + e["dur"] <= instants["verdict"] + 1
        assert e["args"]["unfinished"] == (e["args"]["seq"] == 8)
        if e["args"]["unfinished"]:
            assert abs(e["ts"] + e["dur"] - instants["verdict"]) < 1 and e["dur"] > 400e3
verdict = json.load(open(sys.argv[1] + "/verdict.json"))
assert 100 < verdict["detect_ms"] < 10000 and verdict["hosts"].endswith(": 0-2")
assert "--fault" not in verdict["command"] and verdict["backend"] == "mpi"
END

# The picture, and the same from evidence that was moved without the command.
run "$root/plots/plot" "$folder"
expect_rc 0 'plot:'
expect_out 'timeline.svg .*timeline.png'
picture() {
	python3 - "$1" <<'END'
import struct
import sys
import zlib

data = open(sys.argv[1] + "/timeline.png", "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) > 10000, len(data)
width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
assert width >= 1500 and height >= 400, (width, height)
at, packed = 8, b""
while at < len(data):
    size, name = struct.unpack(">I4s", data[at:at + 8])
    if name == b"IDAT":
        packed += data[at + 8:at + 8 + size]
    at += size + 12
assert len(zlib.decompress(packed)) >= width * height
svg = open(sys.argv[1] + "/timeline.svg").read()
for text in ("rank 0", "rank 1", "rank 2", "divergence: call 8", "call that never ended", "missing-call"):
    assert text in svg, text
END
}
holds 'no proper picture' picture "$folder"
mkdir copy
cp "$folder"/rank-* "$folder/run.json" copy/
run "$BUILD/hang_diagnose" copy
expect_rc 10 'hang_diagnose:'
has copy/postmortem.md '## Reproducer' 'Not known: command.txt'
holds 'the copy knows the fault' bash -c '! grep -rqF -- --fault copy/postmortem.md copy/verdict.json'
run "$BUILD/hang_diagnose" --json copy
expect_rc 10 'hang_diagnose --json:'
holds '--json is not verdict.json' python3 -c 'import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
sys.exit(a != b)' "$work/out" copy/verdict.json
holds 'another timeline from the copy' cmp -s "$folder/timeline.csv" copy/timeline.csv

# NCCL's rings, out of its logs.
sed -i 's/"backend": "mpi"/"backend": "nccl"/' copy/run.json
run "$BUILD/hang_diagnose" copy
has copy/postmortem.md 'Ring topology' 'Not known' 'NCCL_DEBUG=INFO' '## Reproducer'
cp "$root/ci/tests/data/nccl_log_h200x4.log" copy/nccl-vm-1.log
run "$BUILD/hang_diagnose" copy
has copy/postmortem.md 'Ring topology' '0 -P2P/direct pointer-> 1' 'is this ring rational? rational' \
	'## Reproducer'

# Started bare, with logs in a folder that will be gone: the reproducer says how many ranks there were.
run env NCCL_DEBUG=INFO NCCL_DEBUG_FILE="$work/gone/%p.log" NCCL_ALGO=Ring \
	"$BUILD/all_reduce_perf" --backend mpi --fault=drop-rank:4
expect_rc 10 'bare:'
folder=$(sed -n 's/^# verdict: .*evidence=//p' "$work/out")
holds "another reproducer: $(cat "$folder/command.txt")" cmp -s "$folder/command.txt" \
	<(echo "env NCCL_ALGO=Ring $BUILD/all_reduce_perf -g 5 --backend mpi --fault=drop-rank:4")

# Nothing to draw is said; rows and timeline in one folder are both drawn.
head -n 1 copy/timeline.csv >empty.csv
mkdir empty
mv empty.csv empty/timeline.csv
run "$root/plots/plot" empty
expect_rc 1 'nothing to draw:'
holds 'nothing to draw, and not said' grep -q 'no calls to draw' "$work/out" "$work/err"

# An exchange returns before it has ended: what nobody saw the end of is not done.
run "$BUILD/sendrecv_perf" --backend mpi -g 4 --fault=drop-rank:2
expect_rc 10 'sendrecv:'
folder=$(sed -n 's/^# verdict: .*evidence=//p' "$work/out")
holds 'sendrecv: a call is done that is not, or nobody waits' python3 - "$folder/postmortem.md" "$folder/timeline.csv" <<'END'
import csv
import re
import sys

completed = {int(rank): int(n) for rank, n in
             re.findall(r"^\| \**(\d+)\** \|.* \| \d+, (\d+) completed \|", open(sys.argv[1]).read(), re.M)}
assert len(completed) == 4
calls = [row for row in csv.DictReader(open(sys.argv[2])) if row["row"] == "call"]
assert all((row["state"] == "done") == (int(row["seq"]) <= completed[int(row["rank"])])
           for row in calls)
assert {row["rank"] for row in calls if row["state"] == "unfinished"} == {"0", "1", "3"}
END
finish
