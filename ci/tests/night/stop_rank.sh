#!/bin/bash
# stop_rank.sh: runs a command and stops rank 1 of what it starts while that is timing: a hang from outside.
# usage: BUILD=... stop_rank.sh COMMAND...
export HANGAR_E2E=stopped-by-$PPID # rows.jsonl notes it: the same in all launches
"${BUILD:?}/tests/tool_phase" "$HANGAR_E2E" timed 100 rank:1 19 >/dev/null &
exec "$@"
