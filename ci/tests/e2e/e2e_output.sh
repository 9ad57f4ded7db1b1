#!/bin/bash
# e2e_output.sh: what a run prints and writes: table, CSV, JSON, -J, --out; nothing unasked;
# readable whenever it is killed.
if [ -z "${HANGAR_E2E_OWN_MOUNTS:-}" ]; then
	# For own_shm
	export HANGAR_E2E_OWN_MOUNTS=1
	unshare -rm true 2>/dev/null && exec unshare -rm bash "$0" "$@"
fi
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
own_shm

few=(--backend mpi -g 2 -n 2 -w 1 -c 1)
export TMPDIR=$work/tmp
mkdir "$TMPDIR" "$work/cwd"
cd "$work/cwd" || exit 1
perf=$BUILD/all_reduce_perf

# table COLUMNS ROWS [MORE]: standard output as a parser of nccl-tests' output sees it: lines of
# results have that many columns (MORE: at least), all others start with '#'
table() {
	local wrong
	wrong=$(awk -v columns="$1" -v rows="$2" -v more="${3:-}" '
		/^#/ { next }
		!/^ *[0-9]+ +[0-9]+ / { print "line " NR " is neither result nor comment: " $0; next }
		{ n++ }
		more ? NF < columns : NF != columns { print "line " NR " has " NF " columns" }
		$3 !~ /^[a-z]/ || $4 !~ /^[a-z]/ || $5 !~ /^-?[0-9]+$/ { print "line " NR ": point" }
		{
			for (i = 6; i <= 13; i++)
				if ($i !~ /^[0-9.]+$/ && $i != "N/A")
					print "line " NR " column " i ": " $i
			if ($6 != "N/A" && $1 > 0 && ($7 - $1 / $6 / 1e3) ^ 2 > (0.01 + 0.02 * $7) ^ 2)
				print "line " NR ": algbw is not size / time"
		}
		END { if (n != rows) print n " results instead of " rows }' "$work/out")
	holds "table: $wrong" [ -z "$wrong" ]
	expect_out '^# Out of bounds values : 0 OK$'
	expect_out '^# Avg bus bandwidth    : [0-9.e+-]+ *$'
}

# python WHAT TEXT ARGUMENT...: a check in Python, which prints what is wrong
python() {
	local what=$1 text=$2 wrong
	shift 2
	wrong=$(python3 -c "$text" "$@" 2>&1) || wrong+=' failed'
	holds "$what: ${wrong:0:400}" [ -z "$wrong" ]
}

read -rd '' csv_good <<'END'
import csv, sys
path, rows = sys.argv[1], int(sys.argv[2])
text = open(path).read()
table = list(csv.reader(text.splitlines()))
names = table[0]
if len(set(names)) != len(names): print("column names repeat")
for need in "schema size_bytes count dtype redop root placement mode time_us algbw_gbs busbw_gbs " \
        "wrong p5_us p95_us p99_us stddev_us samples stop".split():
    if need not in names: print("no column", need)
if any(len(row) != len(names) for row in table): print("rows of different length")
if rows >= 0 and len(table) - 1 != rows: print(len(table) - 1, "rows instead of", rows)
if rows < 0 and len(table) - 1 < -rows: print("less than", -rows, "rows")
END
read -rd '' jsonl_good <<'END'
import json, sys
path, rows = sys.argv[1], int(sys.argv[2])
lines = [json.loads(line) for line in open(path).read().splitlines()]
kinds = [line["type"] for line in lines]
if kinds[0] != "header": print("first line is", kinds[0])
n = kinds.count("row")
if rows >= 0 and (n != rows or kinds[-1] != "end"): print(n, "rows instead of", rows, kinds[-1])
if rows < 0 and n < -rows: print("less than", -rows, "rows")
for need in "command hosts ranks seed env hangar_version mpi_library".split():
    if need not in lines[0]: print("header lacks", need)
END
read -rd '' nccl_good <<'END'
import json, sys
path, rows = sys.argv[1], int(sys.argv[2])
top = json.load(open(path))
if top["version"] != 3: print("version", top["version"])
for need in "start_time args env nccl_version config results".split():
    if need not in top: print("lacks", need)
n = len(top["results"])
if rows >= 0 and n != rows or rows < 0 and n < -rows: print(n, "results instead of", rows)
for result in top["results"]:
    for need in "size count type redop root out_of_place in_place".split():
        if need not in result: print("result lacks", need)
END

# Where a run could leave something without being asked
everything() {
	find "$work/cwd" "$TMPDIR" -mindepth 1
	left_in_shm
}
before=$(everything)

# Nothing asked for, nothing written
run "$perf" "${few[@]}" -b 8 -e 64K -f 4
expect_rc 0
table 16 7
holds 'a line wider than 140' [ -z "$(grep -v '^# nThread' "$work/out" | awk 'length > 140')" ]
holds "files left: $(everything)" [ "$(everything)" = "$before" ]

# nccl-tests' columns alone, with the N/A of a collective that can't run in place
run "$perf" "${few[@]}" -b 8 -e 64K -f 4 --table=nccl-tests
table 13 7
run "$BUILD/alltoall_perf" "${few[@]}" -b 64 -e 64K -f 4 --table nccl-tests
table 13 6
expect_out 'N/A'

# All files at once, and no secret in them
export SECRET_TOKEN=sesame-1 NCCL_FOO_KEY=sesame-2 OMPI_MY_PASSWORD=sesame-3 HANGAR_API_TOKEN=sesame-4
export AWS_SECRET_ACCESS_KEY=sesame-5 NCCL_DEBUG=WARN PLAIN=sesame-6
run "$perf" "${few[@]}" -b 8 -e 64K -f 4 --csv rows.csv --json rows.jsonl -J nccl.json
expect_rc 0
python CSV "$csv_good" rows.csv 14
python JSON "$jsonl_good" rows.jsonl 14
python -J "$nccl_good" nccl.json 7
holds 'a secret is in a file' bash -c '! grep -l sesame rows.csv rows.jsonl nccl.json'
holds 'NCCL_DEBUG is not told' grep -q NCCL_DEBUG rows.jsonl
unset SECRET_TOKEN NCCL_FOO_KEY OMPI_MY_PASSWORD HANGAR_API_TOKEN AWS_SECRET_ACCESS_KEY NCCL_DEBUG
holds 'CSV and JSON differ' python3 -c '
import csv, json
rows = [json.loads(line) for line in open("rows.jsonl")]
rows = [row for row in rows if row["type"] == "row"]
for a, b in zip(rows, csv.DictReader(open("rows.csv")), strict=True):
    assert str(a["size_bytes"]) == b["size_bytes"] and a["dtype"] == b["dtype"]
    assert abs(a["time_us"] / float(b["time_us"]) - 1) < 1e-3'

# What exists stays as it is
cksum rows.csv rows.jsonl nccl.json >"$work/before"
run "$perf" "${few[@]}" -b 8 -e 8 --csv rows.csv
expect_rc 2 'existing CSV:'
expect_err 'rows.csv.*exists'
run "$perf" "${few[@]}" -b 8 -e 8 --json rows.jsonl
expect_rc 2 'existing JSON:'
run "$perf" "${few[@]}" -b 8 -e 8 -J nccl.json
expect_rc 0 'existing -J:'
python '-J again' "$nccl_good" nccl.json.0 1
holds 'existing files were changed' cmp -s "$work/before" <(cksum rows.csv rows.jsonl nccl.json)
run "$perf" "${few[@]}" -b 8 -e 8 --csv no/such/folder/rows.csv
expect_rc 2 'no folder:'
expect_err 'no/such/folder'

# A folder
run "$perf" "${few[@]}" -b 8 -e 64K -f 4 --out folder --metrics m.prom
expect_rc 0 '--out:'
python '--out CSV' "$csv_good" folder/rows.csv 14
python '--out JSON' "$jsonl_good" folder/rows.jsonl 14
python --metrics '
import re
for line in open("m.prom"):
    if not re.match(r"# (HELP|TYPE) hangar_|hangar_[a-z0-9_]+\{([a-z]+=\"[^\"]*\",?)+} [-0-9.e+]+$", line.replace("size_bytes", "size")):
        print("not a metric:", line)
text = open("m.prom").read()
if text.count("hangar_collective_time_seconds{") != 14 or "completed{program=\"all_reduce_perf\",backend=\"mpi\",nranks=\"2\"} 1\n" not in text:
    print("metrics are missing")'
holds '--out: table differs' diff <(grep -v '^#' "$work/out") <(grep -v '^#' folder/table.txt)
run "$perf" "${few[@]}" -b 8 -e 8 --out folder
expect_rc 2 '--out again:'
expect_err '--out folder: holds a run already; name a folder that does not'
holds '--out again: started before it was refused' bash -c '! grep -q mpirun "$1"' - "$work/err"

# Other backends fill in what NCCL used for no row.
run "$perf" "${few[@]}" -b 8 -e 8 --csv unused.csv
expect_rc 0 'no columns of NCCL:'
holds 'used columns are not empty' awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
	$at["used_algo"] $at["used_proto"] != "" || $at["used_channels"] != -1 ||
		$at["predicted_channels"] != -1 { bad++ }
	END { exit !(NR > 1 && !bad) }' unused.csv

# Killed, all of it at once, when some rows are there
# standard output is the CSV alone, and the table goes to standard error
for name in - /dev/stdout; do
	perf all_reduce -g 2 --sizes 4K,8 -n 2 -w 1 --csv "$name"
	expect_rc 0
	python "CSV on $name" "$csv_good" "$work/out" 4
	holds "$name: the order of --sizes" [ "$(column "$work/out" size_bytes | uniq | paste -sd ' ')" = '4096 8' ]
	expect_err '^# Peak bus bandwidth'
done
perf all_reduce -g 2 --sizes 8 -n 2 -w 1 -J j.json
perf all_reduce -g 2 --sizes 8 -n 2 -w 1 -J j.json
expect_err 'hangar: -J j.json: exists already; writing j.json.0'
for try in 1 2 3; do
	start "$perf" --backend mpi -g 2 -n 20 -w 1 -N 100000 -b 8 -e 64K -f 4 --csv k$try.csv \
		--json k$try.jsonl -J k$try.json
	holds 'no rows to kill' within 20 bash -c "[ -e k$try.csv ] && [ \$(wc -l <k$try.csv) -gt $((10 * try)) ]"
	end_leftovers
	ended
	holds 'killed: processes are left' within 5 no_process
	python 'killed, CSV' "$csv_good" k$try.csv $((-10 * try))
	python 'killed, JSON' "$jsonl_good" k$try.jsonl $((-10 * try + 2))
	holds 'killed, -J: half a document' [ ! -s k$try.json ]
done
# A reader of messages that leaves takes no results away
run bash -c 'exec 2> >(exec sleep 0); sleep 0.2; "$@"' - "$perf" "${few[@]}" -b 1K -e 1K
expect_rc 0 'a gone reader of standard error:'
expect_out '^# Avg bus bandwidth'
finish
