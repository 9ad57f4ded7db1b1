#!/bin/bash
# e2e_score.sh: incidents that need no PyTorch, over test doubles of libnccl and libcuda: score reads what hangar_run prints
# quiet: waits for deadlines
source "$(dirname "$0")/lib.sh"

export DOUBLE_DIR=$work HANGAR_E2E=$token
score() {
	LD_LIBRARY_PATH=$BUILD/tests/double timeout 100 ci/programs/score "$work/out" --hangar "$BUILD/hangar_run" --jobs 4 \
		--only '^(draft_tokens|split_missing|plain_c|engine_graph)$' "$@" >"$work/said" 2>&1
}

# column NAME HEALTHY COLUMN: of that program's run
column() {
	python3 -c 'import csv, sys
print(next(r[sys.argv[4]] for r in csv.DictReader(open(sys.argv[1])) if (r["name"], r["healthy"]) == (sys.argv[2], sys.argv[3])))' \
		"$work/out/score.csv" "$@"
}

score
check "score ends well: $(tail -n 3 "$work/said")" [ $? = 0 ]
score --healthy
check "with healthy twins too: $(tail -n 3 "$work/said")" [ $? = 0 ]
while IFS='|' read -r name columns; do
	for pair in $columns; do
		got=$(column "$name" False "${pair%=*}")
		check "$name: ${pair%=*} is '$got', not ${pair#*=}" [ "$got" = "${pair#*=}" ]
	done
	check "$name's twin is well" [ "$(column "$name" True right)" = True ]
done <<'ROWS'
draft_tokens|void=False right=True rank_right=True line_right=True early=0 named=3 class=mismatch confidence=majority
split_missing|void=False rank_right=True call_right=True early=0 named=2 class=init-missing-rank
plain_c|void=False right=True named=2
engine_graph|void=False rank_right=True named=1 early=0
ROWS
finish
