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
expect_out 'lines of 4 here'
expect_out 'is this ring rational\? rational$'

# A topology that knows better: pairs one PCIe switch apart must not use shared memory.
cat >"$work/topo.xml" <<'END'
<system version="1"><cpu numaid="0"><pci busid="0000:01:00.0">
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
run bash -c '"$1" "$2" >/dev/full' - "$nccl_log" "$log"
expect_rc 1 'output that fails'

finish
