#!/bin/bash
# e2e_predict.sh: topo_predict's tables, explanation, errors, speed, and its plots.
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"

predict=$BUILD/topo_predict
topo() { "$predict" "$@" >"$work/out" 2>"$work/err"; }

# ends RC PATTERN ARGUMENTS...: exit code and a pattern in what it said
ends() {
	local want=$1 pattern=$2 got
	shift 2
	topo "$@"
	got=$?
	check "topo_predict $*: exit $got instead of $want" [ "$got" -eq "$want" ]
	check "topo_predict $*: no '$pattern'" grep -q -e "$pattern" "$work/out" "$work/err"
}

ends 0 'gb200-nvl72' --list
cat >"$work/table.txt" <<'END'
#  Rank  0 Group  0 Pid 12 on n1 device  0 [0x0f] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid 13 on n1 device  1 [0x1f] NVIDIA H100 80GB HBM3
   268435456  67108864  float  sum  -1  1230.0  218.24  218.24  0  2500.0  107.37  107.37  0
END
ends 0 '^# all_reduce on 1 node of 2 of 8 x H100' -t dgx-h100 --against "$work/table.txt"
ends 0 '268435456 .* 1230.00 .* 218.24 .* low$' -t dgx-h100 -c all_reduce --against "$work/table.txt"
ends 0 '268435456 .* 1230.00 .* 218.24 .* low$' --against="$work/table.txt" -t dgx-h100
ends 0 'the table is of 2 ranks, the prediction of 16' -N 2 --against "$work/table.txt"
# One process that launches on both GPUs in turn, as nccl-tests' head says, takes longer for a small call.
small='        8        2    float     sum      -1    14.00    0.00    0.00      0    14.00    0.00    0.00      0'
for gpus in 1 2; do
	printf '# nThread 1 nGpus %s minBytes 8 maxBytes 8\n%s\n' $gpus "$small" >"$work/small.txt"
	topo -t dgx-h100 --gpus 2 --against "$work/small.txt"
	awk '$1 == 8 { print $4 }' "$work/out" >>"$work/small"
done
check "one process with two GPUs: $(xargs <"$work/small")" [ "$(sort -gru "$work/small" | xargs)" = "$(xargs <"$work/small")" ]
ends 0 '^ *8 .* 87  good$' -t dgx-h100 --gpus 2 --against "$work/small.txt"
cat >"$work/inspector.json" <<'END'
{"header":{"n_ranks":8,"nnodes":1},"metadata":{"hostname":"n1"},"coll_perf":{"coll":"AllGather","coll_msg_size_bytes":268435456,"coll_exec_time_us":760,"coll_busbw_gbs":309}}
{"header":{"n_ranks":8,"nnodes":1},"metadata":{"hostname":"n1"},"coll_perf":{"coll":"AllGather","coll_msg_size_bytes":268435456,"coll_exec_time_us":9999,"coll_busbw_gbs":3}}
{"header":{"n_ranks":8,"nnodes":1},"metadata":{"hostname":"n1"},"coll_perf":{"coll":"AllGather","coll_msg_size_bytes":268435456,"coll_exec_time_us":761,"coll_busbw_gbs":308}}
END
ends 0 '268435456 .* 761.00 .* 308.00 .* good$' -t dgx-h100 --against "$work/inspector.json"
# A GPU without the NVLinks that the others have is named; its kind is that of its device id.
ends 0 '^# without an NVLink, which the others have: GPU 1$' -t ci/tests/data/tray_one_gpu_no_nvlink.xml -b 1G -e 1G
ends 0 '4 x GB300,' -t ci/tests/data/tray_one_gpu_no_nvlink.xml -b 1G -e 1G
sed 's/0x31c2/0xffff/' ci/tests/data/tray_one_gpu_no_nvlink.xml >"$work/tray.xml"
ends 0 'sm 103 (B300 class)' -t "$work/tray.xml" -b 1G -e 1G
# The word follows the printed range, which is wide for small calls.
echo '   1024  256  float  sum  -1  6.3  0.16  0.16  0  6.3  0.16  0.16  0' >"$work/inside.txt"
ends 0 '^ *1024 .* 1[3-9][0-9]  good$' -t dgx-h100 --gpus 2 --against "$work/inside.txt"
sed 's/float  sum/float  none/' "$work/table.txt" >"$work/gather.txt"
ends 2 "nothing names its collective, and rows without an operator" -t dgx-h100 --against "$work/gather.txt"
sed 's/ 1230.0 /[0] 1230.0 /' "$work/table.txt" >"$work/glued.txt"
ends 0 '268435456 .* 1230.00 .* 218.24 .* low$' -t dgx-h100 --against "$work/glued.txt"
ends 2 'No such file' --against "$work/none"
PATH=/none "$predict" --against "$work/table.txt" 2>"$work/err"
check "--against without python3 ends with another code than 77" [ $? -eq 77 ]
ends 2 'no row of a table of nccl-tests' -t dgx-h100 --against /etc/passwd
ends 2 'one collective' -c all --against "$work/table.txt"
ends 2 'one number of nodes' -N 1-4 --against "$work/table.txt"
ends 2 'without --csv' --json --csv
"$predict" -c all -N 1-2 --csv >"$work/rows.csv" && "$predict" -c all -N 1-2 --json >"$work/rows.json"
check 'rows of --json are not those of --csv' python3 -c 'import csv, json, sys
rows, objects = list(csv.DictReader(open(sys.argv[1]))), json.load(open(sys.argv[2]))["rows"]
same = lambda a, b: a == "" and b is None or a == b or abs(float(a) - b) <= 1e-3 * abs(b)
sys.exit(len(rows) != len(objects) or any(list(r) != list(o) or not all(same(r[k], o[k]) for k in r) for r, o in zip(rows, objects)))' "$work/rows.csv" "$work/rows.json"
ends 2 'without --csv' --csv --against "$work/table.txt"
ends 0 'NVLSTree' --topo dgx-h100 --nodes 16
ends 0 'limited by: NICs of a node' --topo dgx-a100 --nodes 16 -c all_gather -e 1G --explain
ends 0 'constants: physical only (asked for)$' --topo dgx-a100 --physical
ends 0 'constants: fitted (fitted.json)$' --topo dgx-a100
ends 0 'constants: fitted to runs of ci/research/.*; 170 points' --explain
ends 2 '/nowhere.json: No such file' --fitted /nowhere.json
ends 0 '^# 100 nodes, 2 failures' --topo dgx-h100 --nodes 100 --failures 2
ends 0 'every 8.8 h; a job of 24 h meets one with 93.53 %' -N 1000 --failures 1
ends 2 "no machine spec 'pdp-11'; there are: a100-pcie-bridged" --topo pdp-11
ends 2 'nowhere.xml' --topo /nowhere.xml
ends 2 "unknown collective 'all_reduced'; there are: broadcast, reduce, .*, hypercube$" -c all_reduced
ends 2 "unknown algorithm 'Rings'; there are: Tree, Ring, .*, P2P$" --algo Rings
ends 2 "unknown protocol 'L'; there are: LL, LL128, Simple$" --proto L
ends 2 '.-e (1048576 B) is below -b (1073741824 B)' -b 1G -e 1M
ends 0 '  1073741824 NVLS' -b 1G --explain
ends 0 ' 17179869184 NVLS' -b 16G
ends 2 'NCCL has no model of sends' --nccl-model -c sendrecv -b 8G
ends 2 'explain is for the eye' --explain --csv
ends 2 'explain is for the eye' --explain --nccl-model
ends 2 'failures prints text' --csv --failures 2
ends 0 'which has no effect: one leaf holds them' -N 16 --fabric fat-tree --oversubscription 4
# Rows of one's own: a table, hangar's CSV and folder, and what --save-rows wrote of them, say the same.
printf '# all_reduce_perf\n%12d %12d float sum -1 %s 1 1.19 0 %s 1 1.19 0\n' 16384 4096 24.1 24.1 4194304 1048576 60 60 >"$work/own.txt"
ends 0 ', below 64 MiB rows of one.s own$' --calibrate "$work/own.txt" --save-rows "$work/own.json" -e 1K
{
	echo collective,nranks,nnodes,size_bytes,count,dtype,redop,root,placement,mode,time_us,busbw_gbs,wrong
	printf 'all_reduce,8,1,%s,1,float,sum,-1,out-of-place,stream,%s,1,0\n' 16384 24.1 4194304 60
} >"$work/own.csv"
mkdir "$work/ran"
python3 -c 'import csv, json, sys
for row in csv.DictReader(open(sys.argv[1])): print(json.dumps({"type": "row", **row}))' "$work/own.csv" >"$work/ran/rows.jsonl"
"$predict" --csv -b 1K >"$work/plain.csv"
for own in own.txt own.json own.csv ran; do
	"$predict" --csv -b 1K --calibrate "$work/$own" >"$work/moved.csv"
	check "$own: other rows than own.txt" python3 -c 'import csv, sys
plain, moved = ({float(r["size_bytes"]): r["time_us"] for r in csv.DictReader(open(f))} for f in sys.argv[1:])
near = lambda size, us: abs(float(moved[size]) / us - 1) < 1e-3
sys.exit(not near(16384, 24.1) or not near(4194304, 60) or any((plain[s] == moved[s]) != (s >= 64 << 20) for s in plain))' "$work/plain.csv" "$work/moved.csv"
done

# A low table names the one or two changes under which it would be as measured, and never a cause.
as_if() {
	local want=$1 made=$2
	shift 2
	# shellcheck disable=SC2086
	"$predict" --csv -b 64M -e 1G "$@" $made | awk -F, 'BEGIN { print "# all_reduce_perf" } NR > 1 {
		printf "%12d %12d float sum -1 %s %s %s 0 %s %s %s 0\n", $5, $5 / 4, $9, $10, $11, $9, $10, $11 }' >"$work/low.txt"
	ends 0 "$want" "$@" --against "$work/low.txt"
}
as_if '^# as if: NVLS off (--no-nvls): all sizes from 64 MiB on within 5 %' --no-nvls
as_if '^# as if: half the NICs of a node' '--nics 4' -N 4
as_if '^# as if: no GPUDirect' --no-gpudirect -N 4
as_if '^# as if what? no single change fits' '--nics 3' -N 4
as_if '^ .* good$' '' -N 4
check 'a good table is as if something' [ "$(grep -c 'as if' "$work/out")" = 0 ]

# A floor: from 64 MiB on, of a class of which 20 sweeps were measured; by the plain prediction, whatever rows say.
ends 0 '^ .* 33554432 .* not judged$' -t hgx-h200 --gpus 4 --no-nvls --floor 98 -b 32M -e 64M
floors='-t hgx-h200 --gpus 4 --no-nvls --floor 98 --csv -b 64M -e 1G'
# shellcheck disable=SC2086
check 'floors are not 92.3 % of predictions' [ "$("$predict" $floors | awk -F, 'NR > 1 { printf "%.3f\n", $7 / $6 }' | sort -u)" = 0.923 ]
ends 77 'no floor: 2 sweeps of such machines (node-nvls) were measured' -t dgx-h100 --floor 98
ends 77 'no floor: they begin at 64 MiB' -t hgx-h200 --gpus 4 --no-nvls --floor 98 -e 32M
ends 2 'other shares of healthy runs' --floor 95
ends 2 'prints its own table' --floor 98 --explain

# refused PATTERN ARGUMENTS...: exit 2, one line on standard error with the pattern, none on standard output
refused() {
	ends 2 "$@"
	check "topo_predict ${*:2}: $(wc -l <"$work/err") lines, $(wc -c <"$work/out") bytes" \
		[ "$(wc -l <"$work/err"),$(wc -c <"$work/out")" = 1,0 ]
}
mkfifo "$work/fifo.json"
sed 's/"gpus": 8/"gpus": 4294967304/' common/predict/topo/specs/dgx-h100.json >"$work/wraps.json"
sed 's/"dgx-h100"/"dgx\\nh100"/' common/predict/topo/specs/dgx-h100.json >"$work/lines.json"
refused 'fifo.json: is not a regular file' --topo "$work/fifo.json"
mkfifo "$work/fifo.xml"
truncate -s 17M "$work/large.json"
refused 'fifo.xml: is not a regular file' --topo "$work/fifo.xml"
refused 'large.json: is larger than 16 MiB' --topo "$work/large.json"
refused 'fifo.json: is not a regular file' --fitted "$work/fifo.json"
refused 'wraps.json: gpus must be 1 to 128 for H100, not 4.29497e+09' --topo "$work/wraps.json"
refused "lines.json: name 'dgx?h100' is not 1 to 63" --topo "$work/lines.json"
refused ': No such file' --calibrate "$work"
refused 'no row of a table' --calibrate "$0"
refused 'no row is of what is predicted, but of all_reduce' --calibrate "$work/own.txt" -c broadcast
refused 'rows are of 8 ranks on 1 node, not of 16 on 2' --calibrate "$work/own.csv" -N 2
refused 'has wrong data' --calibrate <(sed 's/,0$/,7/' "$work/own.csv")
refused 'save-rows writes the rows of --calibrate' --save-rows x.json
refused 'nic-gbps: a number from 1e-09 to 1e+06, not .1e-300' --nic-gbps 1e-300
refused "oversubscription: a number from 1 to 1e+06, not '0.5'" --oversubscription 0.5
refused 'not .4X' -e 4X
refused '8 GPUs a node, not 9' --topo dgx-h100 --gpus 9
refused 'belongs to no option' word
refused "nodes: a whole number from 1 to 1e+06, not '-1'" --nodes -1
refused "leaf-nodes: a whole number from 1 to 1e+06, not '0'" --leaf-nodes 0
refused "place is order|rack, not 'random'" --place random
refused 'there are fewer than two ranks' --topo tcp-10g
refused 'NVLS is switched off' --algo NVLS --no-nvls --csv
refused 'NVLS Simple for all_reduce on 1 node of dgx-a100: it needs an NVSwitch that reduces' --topo dgx-a100 --algo NVLS
refused 'it needs several nodes' --algo NVLSTree
refused 'it is for all_reduce' -c broadcast --algo Tree
refused 'TCPXO runs with NCCL_ALGO=Ring,Tree' -t gcp-a3-mega -N 2 --algo NVLSTree
refused 'CollNet needs several nodes and --sharp' --algo CollNetChain -N 2
refused 'it needs several nodes of one GPU' --algo PAT -c all_gather
refused 'it is a group of sends, P2P alone' --algo Ring -c alltoall
refused 'sends have no LL128' --proto LL128 -c alltoall

# lacks PATTERN ARGUMENTS...
lacks() {
	local pattern=$1
	shift
	topo "$@"
	check "topo_predict $*: has '$pattern'" [ "$(grep -c -e "$pattern" "$work/out")" -eq 0 ]
}
lacks ' launch$' --nccl-model --gpus 2 -e 64K
lacks 'no effect' -N 17 --fabric fat-tree --oversubscription 4
lacks 'checked against published' -b 1K -e 1K
ends 0 'checked against published' -b 8G

# A range doubles up to its end; numbers and their nouns; what is used of a node.
topo -N 3-20 -b 1G -e 1G
check "-N 3-20: $(cat "$work/out")" [ "$(awk '!/^#/ { print $1 }' "$work/out" | xargs)" = '3 6 12 20' ]
ends 0 '^# dgx-h100: 3 to 20 nodes of 8 x H100, 8 NICs' -N 3-20
ends 0 '^# dgx-h100: 1 node of 8 x H100' -e 1K
ends 0 '^# dgx-h100: 1 node of 4 of 8 x H100, 8 NICs of 400 Gb/s (ib), 4 used;' --gpus 4
ends 0 ', 1 NIC of' --nics 1
ends 0 'on 1 channel (' -e 1K --explain
cat >"$work/two.xml" <<'END'
<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
<pci busid="0000:01:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="0" sm="90" rank="0">
<nvlink target="0000:02:00.0" count="18" tclass="0x030200"/></gpu></pci>
<pci busid="0000:02:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="1" sm="90" rank="1">
<nvlink target="0000:01:00.0" count="18" tclass="0x030200"/></gpu></pci></cpu></system>
END
ends 0 '^# two.xml: 1 node of 2 x sm 90 (H100 class), no NIC; constants' --topo "$work/two.xml"

# A reader with a calculator: each printed product, the least of them, the correction, the transfer.
recomputed() {
	topo --explain "$@"
	check "--explain $*: the terms do not give the bandwidth" awk -f - "$work/out" <<-'AWK'
		function off(a, b) { return a > b * 1.005 + .005 || a < b * .995 - .005 }
		/^algorithm bandwidth/ { in_terms = 1; turn = /one after the other/; next }
		in_terms && /^  [^=]* = [0-9.]+ GB\/s/ {
			split($0, side, " = ")
			sub(/^[^(]*  +|^[^(0-9]* /, "", side[1])
			gsub(/\([^()]*(\([^()]*(\([^()]*\))?[^()]*\))*[^()]*\)/, "", side[1])
			n = split(side[1], part, "*")
			product = 1
			for (i = 1; i <= n; i++) product *= part[i]
			bad += off(product, side[2] + 0)
			sum += 1 / product
			if (!least || product < least) { least = product; marked = /<- limits/ }
			terms++
			next
		}
		in_terms && /^  \* / { correction = $2 }
		in_terms && /^  = / { total = $2; in_terms = 0 }
		/^transfer/ { bytes = $3; us = $(NF - 1) }
		END {
			want = turn ? 1 / sum : least
			want *= correction ? correction : 1
			exit !(terms && !bad && (marked || turn) && !off(want, total) &&
			       !off(bytes / want / 1000, us))
		}
	AWK
}
recomputed --topo dgx-h100 -b 8G --algo Ring --proto LL
recomputed --topo dgx-h100 -b 1K -e 1K -N 16
recomputed --topo dgx-h100 -c broadcast -e 1M
recomputed --topo dgx-h100 -N 16 -e 1G
recomputed --topo dgx-h100 -N 2 -e 64M -c hypercube
recomputed --topo dgx-h100 -N 64 -e 1G -c alltoall --fabric fat-tree --oversubscription 4
recomputed --topo dgx-a100 -N 64 -e 1G --algo Tree --fabric fat-tree --oversubscription 4 --place rack
recomputed --topo gb200-nvl72 -N 1000000 -e 64M -c hypercube
recomputed --topo dgx-a100 -e 4M --proto LL128
ends 0 '(as asked)' -e 8G --algo Ring --proto LL --explain
ends 0 "(least time in NCCL's tuning model)" -e 8G --explain
tree=(-b 8G --fabric fat-tree --oversubscription 4)
ends 0 ' 99\.99 .*  uplinks of a leaf$' -N 2048 "${tree[@]}" --place rack
ends 0 ' 14[0-9]\.[0-9]* .*  channels$' -N 17 --topo dgx-a100 --algo Tree --proto Simple "${tree[@]}"
ends 0 'uplinks of leaf 0: load 15.88 of a width of 4 .* shared by 0>\*.* and 10 more' -N 2048 -c alltoall "${tree[@]}" --explain
ends 0 "nodes' NICs, shared by [0-9]*>" -N 24 --algo Ring "${tree[@]}" --place rack --explain
ends 0 ' latency$' -b 1K -e 1K -N 16
# A row says how much is known: two digits without a bar, ~ at a bar that is argued; bars of several clusters have none.
ends 0 ' ~480 *no bar ' --physical -b 8G
ends 0 '^# ~: of one cluster, or argued: not nine in ten$' -t aws-p5 -N 4 -b 8G
ends 0 ' 3[0-9][0-9]\.[0-9]* *~[0-9]* to ' -t aws-p5 -N 4 -b 8G
ends 0 ' 3[0-9][0-9]\.[0-9]* *[0-9]* to ' -N 4 -b 8G
# The version decides channels of sends; one that is not known yet is said.
ends 0 ' 28\.00 ' -N 4 -c sendrecv -b 8G --nccl 2.28.9
ends 0 ' 49\.0[0-9] ' -N 4 -c sendrecv -b 8G --nccl 2.29.2
ends 0 '^# NCCL 2.31 is beyond what is known: ' -b 1G --nccl 2.31
# Networks: a hop's time, no GPUDirect, a host's launch.
ends 0 '^latency  = 11[0-9]\.' -t aws-p5 -N 4 -b 1K --explain
ends 0 '^latency  = 21[0-9]\.' -t aws-p5 -N 4 -b 1K --net-hop-us 45 --explain
ends 0 ' [67][0-9]\.[0-9]* .*NICs of a node$' -t aws-p4d -N 2 -b 8G --no-gpudirect
ends 0 'a launch costs the host 12.00 us$' --host-launch-us 12
# Sends follow the network's hop, too: 22 us on InfiniBand and 97 more on TCP.
ends 0 '^ *2 sendrecv .* ~120 ' -t tcp-25g -N 2 -c sendrecv -b 1K -e 1K
ends 0 '^ *2 sendrecv .* ~520 ' -t tcp-25g -N 2 -c sendrecv -b 1K -e 1K --net-hop-us 500
# Rails without PXN cross the spines.
ends 0 ' NICs of a node$' -N 8 -c alltoall -b 8G --oversubscription 4
ends 0 ' uplinks of a leaf$' -N 8 -c alltoall -b 8G --oversubscription 4 --no-pxn
ends 0 ' NICs of a node$' -N 8 -c alltoall -b 8G --oversubscription 4 --no-pxn --fabric fat-tree
# The spec of the README, at most ten lines: 4 NICs of 50 GB/s, without GPUDirect what memory carries of it; one NIC for one GPU; half of the wires above leaves.
sed -n '/^    {$/,/^    }$/p' common/predict/command/README.md >"$work/ours.json"
check "ten lines: $(wc -l <"$work/ours.json")" [ "$(wc -l <"$work/ours.json")" -le 10 ]
ends 0 ' 11[0-9]\.[0-9]* .*NICs of a node$' -t "$work/ours.json" -N 8 -c broadcast -b 8G
ends 0 ' 4[0-9]\.[0-9]* .*NICs of a node$' -t "$work/ours.json" -N 8 --gpus 1 -c broadcast -b 8G
ends 0 ' ~[0-9.]* *~1\.[0-9]* to ' -t geforce-4090 -N 2 -b 1G -e 1G
# Pairs of a GPU each on two nodes: a message of 8 B takes 45 us, 5.82 and 2.14 of a Simple send and 14 of NCCL's hop among them.
cat >"$work/far.json" <<'END'
{"nccl_topology": "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\"><pci busid=\"0000:0f:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" sm=\"90\" rank=\"0\"/></pci><pci busid=\"0000:10:00.0\" class=\"0x020700\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"><nic><net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\"/></nic></pci></cpu></system>",
 "measured": {"ranks": 2, "nodes": 2, "host": false, "bytes": [8, 1048576],
  "pairs": [[0, 1, 1, 45, 45, 90, 90, 45, 45, 90, 90, 45, 45, 90, 90, 45, 45, 90, 90]]}}
END
ends 0 ', a hop takes 23.0 us more$' --calibrate "$work/far.json"
ends 2 'no pairs of GPUs of several nodes' -N 2 --calibrate common/predict/topo/specs/dgx-h100.json
# Eight groups of a GPU a node on four NICs of 100 Gb/s: each has half a NIC of 12.5 GB/s, less headers.
ends 0 ' 12\.[0-9]* .*NICs of a node$' -t aws-p4d -N 4 --gpus 1 -c broadcast -b 8G
ends 0 ' 6\.1[0-9]* .*NICs of a node$' -t aws-p4d -N 4 --gpus 1 --groups 8 -c broadcast -b 8G
# Trays of a rack: 36 are two nodes of NCCL's, whose alltoall leaves half of the racks' GPUs; 1 to 36 change it between rows.
ends 0 '^# NVLink joins these 36 nodes to 2 of 72 GPUs$' -t gb200-tray -N 36 -b 16G
ends 0 '^ *36 alltoall .* 9[0-9]\.[0-9]* .*NICs of a node$' -t gb200-tray -N 9-36 -b 16G -c alltoall
ends 0 '^ *18 alltoall .* 6[0-9][0-9]\.[0-9]* .*NVLink of a GPU$' -t gb200-tray -N 9-36 -b 16G -c alltoall
ends 0 '^gb200-tray,36,144,' -t gb200-tray -N 36 -b 16G --csv
ends 0 ' ~[45][0-9][0-9] to [78]' -t gb200-tray -N 36 -b 16G
ends 2 'no NVSwitch joins its nodes' -t tcp-10g -N 4 --domain 2
ends 2 '5 groups of 2 GPUs are more than its 8' -t aws-p4d -N 4 --gpus 2 --groups 5
ends 2 'no name' -c ''
ends 2 "'AMD MI300X like A100' is not known" --gpu 'AMD MI300X like A100'

# No prediction above its ceiling, in any spec, on 1 to 2048 nodes.
for spec in "$BUILD"/specs/*.json; do
	name=$(basename "$spec" .json)
	topo --topo "$name" -N 1-2048 -c all -b 8 -e 16G --csv
	check "$name: a row above its ceiling, or none" awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["busbw_gbs"] + 0 > $at["ceiling_busbw_gbs"] + 0 { bad++ }
		END { exit !(NR > 1000 && !bad) }' "$work/out"
done

# takes LIMIT COMMAND...: at most so many seconds of processor time, which the load of others does not lengthen by much
takes() {
	local limit=$1 spent TIMEFORMAT='%U + %S'
	shift
	{ time "$@"; } 2>"$work/spent"
	spent=$(cat "$work/spent")
	check "$*: took $spent s instead of $limit" awk "BEGIN { exit !($spent < $limit) }"
}
takes 1 topo -N 2048 -c all "${tree[@]}" --place rack
check '2048 nodes: no uplinks' grep -q uplinks "$work/out"
# 11 collectives x 30 sizes x 12 numbers of nodes; a loaded machine is given three times as long as an idle one.
takes .3 topo --topo dgx-h100 -N 1-2048 -c all -b 8 -e 4G --csv
check 'no 3960 points' [ "$(wc -l <"$work/out")" -eq 3961 ]

topo --topo dgx-h100 -N 1-2048 -b 1K -e 8G --csv
cp "$work/out" "$work/predict.csv"
if command -v gnuplot >/dev/null; then
	for over in size_bytes nnodes; do
		check "plot over $over" gnuplot -e "csv='$work/predict.csv'; out='$work/$over'; over='$over'" plots/predict.gp
		check "$over.svg is empty" [ -s "$work/$over.svg" ]
	done
fi

# The small programs start where neither MPI nor NCCL nor CUDA is installed.
for name in topo_predict nccl_log reconcile hang_diagnose; do
	readelf -d "$BUILD/$name" >"$work/needed"
	check "$name: no libc in what it needs" grep -q 'NEEDED.*libc\.' "$work/needed"
	check "$name: $(grep NEEDED "$work/needed")" bash -c '! grep -qE "NEEDED.*lib(mpi|nccl|cuda|cudart|nvidia)" "$1"' - "$work/needed"
done
finish
