#!/bin/bash
# e2e_faults.sh: the faults of faults.txt on the mpi backend, several at once: outcome, class, guilty rank and the call where
# timelines parted; the same again from the saved evidence, in another process.
# timeout: 750
# alone: six runs at once leave nothing of two cores, and a hang has to be named within 3 s
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/../e2e/lib.sh"
# shellcheck source=ci/tests/faults/faults.sh
source "$(dirname "$0")/faults.sh"
ranks_sleep

while read -ra row; do
	[[ ${row[0]:-#} == '#'* ]] || flight broken "${row[@]}"
done <ci/tests/faults/faults.txt
landed
holds "only $flown runs" [ "$flown" -ge 71 ]

cat "$work"/*/saved >"$work/saved"
wrong=$(python3 - "$work/saved" 2>&1 <<'END'
import json
import sys

for line in open(sys.argv[1]):
    path, *wanted, what = line.rstrip("\n").split("|")
    verdict = json.load(open(path))
    ranks = verdict["ranks"]
    if isinstance(ranks, list):
        ranks = ",".join(map(str, ranks))
    if [verdict["class"], ranks] != wanted:
        print("after", what, "class", verdict["class"], "and ranks", ranks, "instead of", wanted)
END
)
check "verdict.json: ${wrong:0:600}" [ -z "$wrong" ]
run python3 ci/tests/rig/schema.py faults/detect/answer/verdict.schema.json "$work"/*/saved.json
expect_rc 0 "verdict.json and its schema: $(head -c 600 "$work/out")"
finish
