#!/bin/bash
# e2e_nccl_log.sh: nccl_log on a real log, as one stream and as files, as text and JSON; its
# exit codes.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

log=ci/tests/data/nccl_log_h200x4.log
nccl_log=$BUILD/nccl_log

run "$nccl_log" "$log"
expect_rc 0
expect_out '^NCCL 2\.28\.9\+cuda13\.0, network Socket'
expect_out '^  channels 00,23: 0 -P2P/direct pointer-> 1 -P2P/direct pointer-> 2 -P2P/direct pointer-> 3 -P2P/direct pointer-> 0$'
expect_out 'is this ring rational\? rational$'
expect_out 'AllReduce: 1048576 Bytes -> Algo RING proto LL channel'
cp "$work/out" "$work/plain"

# Through a launcher that labels its lines, on standard input: all but the count of lines is
# the same.
sed 's/^/[1,0]<stdout>:/' "$log" >"$work/labelled"
run bash -c '"$1" - <"$2"' - "$nccl_log" "$work/labelled"
expect_rc 0
holds 'labels change what is read' diff <(tail -n +2 "$work/plain") <(tail -n +2 "$work/out")

# A file per thread, whole lines only.
grep -a '^vm:' "$log" >"$work/whole"
for tid in 955 956 957 958 936 969 970 971 972; do
	grep -a "^vm:936:$tid " "$work/whole" >"$work/rank.$tid"
done
run "$nccl_log" "$work"/rank.95? "$work"/rank.936 "$work"/rank.9[67]?
expect_rc 0
expect_out 'lines of 4 of them here'
expect_out 'is this ring rational\? rational$'

# A topology that knows better: pairs one PCIe switch apart must not use shared memory.
cat >"$work/topo.xml" <<'END'
<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"><pci busid="0000:01:00.0">
<pci busid="0000:00:06.0"><gpu dev="0"/></pci><pci busid="0000:00:07.0"><gpu dev="1"/></pci>
<pci busid="0000:00:08.0"><gpu dev="2"/></pci><pci busid="0000:00:09.0"><gpu dev="3"/></pci>
</pci></cpu></system>
END
sed 's|1\[1\] -> 2\[2\] via P2P/direct pointer|1[1] -> 2[2] via SHM/direct/direct|' "$log" >"$work/shm"
run "$nccl_log" --topo "$work/topo.xml" "$work/shm"
expect_rc 0
expect_out 'irrational: channel 00 and others: 1 -> 2 uses SHM/direct/direct although their GPUs are PIX apart'

run "$nccl_log"
expect_rc 2 'without a file'
run "$nccl_log" "$work/none"
expect_rc 2 'no such file'
expect_err 'none'
run "$nccl_log" --topo "$log" "$log"
expect_rc 2 'a topology that is no XML'
expect_err 'no NCCL topology'
run "$nccl_log" Makefile
expect_rc 77 'no NCCL line'
run "$nccl_log" "$nccl_log"
expect_rc 77 'a program instead of its log'
echo '[1,0]<stdout>:NCCL version 2.28.9+cuda13.0' >"$work/version"
run "$nccl_log" "$work/version"
expect_rc 0 'NCCL_DEBUG=VERSION'
expect_out '^NCCL 2\.28\.9\+cuda13\.0,'

# Rows of a file: forms before the built-in ones, causes in their place; a bad one is named by its line.
echo 'network: ^The network is (?<network>\w+)' >"$work/lines.txt"
printf '%s\n' 'a:1:1 [0] NCCL INFO The network is Quantum' 'a:1:1 [0] x.cc:1 NCCL WARN the plug is out' >"$work/new.log"
echo 'cause | plug is (?:out|loose) | a cable is out' >"$work/causes.txt"
run "$nccl_log" --lines "$work/lines.txt" --causes "$work/causes.txt" "$work/new.log"
expect_rc 11
expect_out 'network Quantum' 'a row of --lines'
expect_out '^failure: process 1 on a \(GPU 0\): a cable is out' 'a row of --causes'
for option in lines causes; do
	printf '\nfact: ^(' >"$work/bad.txt"
	[ $option = lines ] || printf '\ncause | ( | a cable' >"$work/bad.txt"
	run "$nccl_log" --$option "$work/bad.txt" "$work/new.log"
	expect_rc 2 "--$option"
	expect_err "bad.txt:2: no pattern: missing closing parenthesis" "--$option"
done

# A pipe with a writer is read, however slow it is; what never says anything or never ends is not waited for.
run bash -c '"$1" <(head -n 400 "$2"; sleep 1; tail -n +401 "$2")' - "$nccl_log" "$log"
expect_rc 0 'a slow pipe'
holds 'a pipe changes what is read' diff "$work/plain" "$work/out"
mkfifo "$work/fifo"
cp "$log" "$work/long"
head -c 4000000 /dev/zero >>"$work/long"
run timeout 60 "$nccl_log" "$work/long"
expect_rc 0 'a line of 4 MB'
for path in fifo:'nothing came out of this pipe for 20 s' /dev/zero:'is no file or pipe' .:'is no file or pipe'; do
	run bash -c 'cd "$1" && shift && timeout 60 "$@"' - "$work" "$nccl_log" "${path%%:*}"
	expect_rc 2 "$path"
	expect_err "^nccl_log: .*${path%%:*}: ${path#*:}\$"
done
for path in fifo:'is not a regular file' /dev/zero:'is not a regular file'; do
	run bash -c 'cd "$1" && shift && timeout 20 "$@"' - "$work" "$BUILD/reconcile" "${path%%:*}"
	expect_rc 2 "reconcile $path"
	expect_err "^reconcile: .*${path%%:*}: ${path#*:}\$"
done
"$BUILD/tests/tool_synthetic" "$work/run" 4 20 >/dev/null
for name in verdict.json postmortem.md timeline.csv; do
	rm -f "$work/run/$name"
	mkfifo "$work/run/$name" # before it none is there, after it all are written
	run timeout 20 "$BUILD/hang_diagnose" "$work/run"
	expect_rc 1 "hang_diagnose, $name"
	expect_err "cannot write .*/$name: it is not a regular file"
	rm "$work/run/$name"
done
mkfifo "$work/run/command.txt" "$work/run/nccl-1.log" "$work/run/ras.txt" "$work/run/rank-0.stack.txt" "$work/run/report.txt"
ln -s /dev/zero "$work/run/nccl-2.log"
run timeout 20 "$BUILD/hang_diagnose" "$work/run"
expect_rc 10 'folders of pipes'
rm "$work/run/run.json"
mkfifo "$work/run/run.json"
run timeout 20 "$BUILD/hang_diagnose" "$work/run"
expect_out 'run.json is missing or unsound'

# Logs as people paste them: what is right for each stands in a table.
logs=ci/tests/data/logs
while IFS='|' read -r name code texts; do
	name=${name// /}
	run "$nccl_log" "$logs/$name"
	expect_rc "${code// /}" "$name"
	cp "$work/out" "$work/said"
	run "$BUILD/hang_diagnose" --log "$logs/$name"
	cp "$work/out" "$work/compared"
	while IFS= read -r text; do
		from=said
		text=${text# } text=${text% }
		[[ $text != "hang: "* ]] || { from=compared && text=${text#hang: }; }
		[ -n "$text" ] || continue
		case $text in
		!*) holds "$name says ${text#!}" [ "$(grep -cE -e "${text#!}" "$work/$from")" = 0 ] ;;
		*) holds "$name does not say $text" grep -qE -e "$text" "$work/$from" ;;
		esac
	done <<<"${texts//" | "/$'\n'}"
done < <(grep -v '^#' "$logs/expected.txt" | sed -e ':a' -e 'N;$!ba' -e 's/\n  *|/ |/g' | grep .)

run "$nccl_log" --json "$logs/nccl230-function.log"
expect_rc 11 '--json'
expect_out '^ "ranks": "35",$'
expect_out '^ "fix": "Look at the peer'
holds '--json is not as the schema of a verdict says' python3 ci/tests/rig/schema.py faults/detect/answer/verdict.schema.json "$work/out"
for asked in "$nccl_log --json" "$BUILD/hang_diagnose --log --json"; do
	# shellcheck disable=SC2086
	run $asked "$logs/ras-one-behind.log"
	expect_rc 11 "$asked"
	expect_out '^ "outcome": "error",$' "$asked"
	expect_out 'behind, rank 6 ' "$asked"
	holds "$asked is not as the schema says" python3 ci/tests/rig/schema.py faults/detect/answer/verdict.schema.json "$work/out"
done
run "$nccl_log" --json "$log"
expect_rc 0 '--json of a log without a failure'
expect_out '^ "outcome": "ok",$'
holds 'nor then' python3 ci/tests/rig/schema.py faults/detect/answer/verdict.schema.json "$work/out"

# Half of the ranks' calls, alike, and no failure: no hang.
run "$BUILD/hang_diagnose" --log "$logs/sglang-8-of-16.log"
expect_rc 0 'calls that end alike'
expect_out '^No hang is in these lines: .* alike up to the last, which may be over\.$'
run "$BUILD/hang_diagnose" --log --json "$logs/sglang-8-of-16.log"
expect_out '^ "outcome": "ok",$' 'calls that end alike'
run "$BUILD/hang_diagnose" --log "$logs/old-no-group.log"
expect_err 'and may be several: it is not compared\.' 'a rank with several time-outs'
run env PATH=/none "$BUILD/hang_diagnose" --log "$logs/watchdog-lagging-rank.log"
expect_rc 77 'calls of logs without python3'
expect_err 'the logs can.t be read without python3'
# Texts of any bytes are data.
sed 's/PG GUID 1/PG GUID \xff\x01"/' "$logs/watchdog-lagging-rank.log" >"$work/bytes.log"
run "$BUILD/hang_diagnose" --log "$work/bytes.log"
expect_out '^culprits? +ranks? 1 \(of'

run bash -c '"$1" "$2" >/dev/full' - "$nccl_log" "$log"
expect_rc 1 'output that fails'

finish
