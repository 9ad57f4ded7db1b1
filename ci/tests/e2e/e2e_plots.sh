#!/bin/bash
# e2e_plots.sh: what plots draw of which columns, beside measured points the predicted ones, and
# what they say of files that they can't draw.
# timeout: 400
# shellcheck source=ci/tests/e2e/lib.sh
source "$(dirname "$0")/lib.sh"
mkdir -p "$work/tools" "$work/bare"
for tool in sh dirname sed; do
	ln -s "$(command -v $tool)" "$work/tools"
done
run env PATH="$work/tools" plots/plot "$work/bare"
expect_rc 77 'no gnuplot:'
expect_err '^plot: gnuplot is not installed: apt-get install gnuplot-nox'
command -v gnuplot >/dev/null || skip 'no gnuplot'

names=schema,collective,backend,nranks,nnodes,size_bytes,dtype,redop,root,placement,mode,time_us
names+=,busbw_gbs,p5_us,p95_us,predicted_us,predicted_busbw_gbs,ceiling_busbw_gbs

# rows_of FILE TYPE PREDICTED: a sweep of three sizes in both places; PREDICTED is time,busbw,ceiling
rows_of() {
	local size placement
	for size in 1024 2048 4096; do
		for placement in out-of-place in-place; do
			echo "1,all_reduce,nccl,4,1,$size,$2,sum,-1,$placement,stream,10,$size,9,11,$3"
		done
	done >>"$1"
}

# draw SCRIPT CSV [SETTING]
draw() {
	rm -f "$work/out.svg" "$work/out.png"
	run gnuplot -e "csv='$2'; out='$work/out'; ${3:-}" "plots/$1.gp"
}
key_has() {
	holds "$1: the key lacks '$2'" grep -qF ">$2<" "$work/out.svg"
}
key_lacks() {
	holds "$1: the key has '$2'" bash -c '! grep -qF ">$1<" "$2"' - "$2" "$work/out.svg"
}
# refused RC TEXT WHAT: nothing drawn, and why
refused() {
	expect_rc "$1" "$3:"
	expect_err "$2"
	holds "$3: a file all the same" [ ! -e "$work/out.svg" ]
}

# ---- predicted beside measured ----

echo "$names" | tee "$work/head.csv" "$work/nan.csv" "$work/void.csv" "$work/both.csv" \
	"$work/part.csv" >"$work/full.csv"
rows_of "$work/full.csv" float 12,900,450
rows_of "$work/nan.csv" float nan,nan,nan
rows_of "$work/void.csv" float ,,
rows_of "$work/both.csv" float 12,900,450
rows_of "$work/both.csv" half 13,800,450
rows_of "$work/part.csv" float nan,nan,nan
rows_of "$work/part.csv" half 13,800,450
cut -d, -f1-15 "$work/full.csv" >"$work/old.csv"
for file in full both part; do
	for plot in busbw latency; do
		draw $plot "$work/$file.csv"
		expect_rc 0 "$file, $plot:"
		holds "$plot of $file: gnuplot says something" [ ! -s "$work/err" ]
		holds "$plot of $file: no PNG" [ -s "$work/out.png" ]
		key_has "$plot of $file" predicted
	done
	draw busbw "$work/$file.csv"
	key_has "busbw of $file" 'what links or memory can carry'
done
for file in nan void old; do
	for plot in busbw latency; do
		draw $plot "$work/$file.csv"
		expect_rc 0 "$file, $plot:"
		holds "$plot of $file: gnuplot says something" [ ! -s "$work/err" ]
		key_has "$plot of $file" in-place
		key_lacks "$plot of $file" predicted
		key_lacks "$plot of $file" 'what links or memory can carry'
	done
done
# lines FILE: how many curves its bandwidth plot has: groups of gnuplot's SVG, keys apart
lines() {
	draw busbw "$work/$1.csv"
	grep -c '<g id="gnuplot_plot_' "$work/out.svg"
}
holds "curves: $(lines full), $(lines nan)" [ "$(lines full)" -eq $(($(lines nan) + 4)) ]
holds "curves of two types: $(lines both)" [ "$(lines both)" -eq 10 ]
holds "curves, one type predicted: $(lines part)" [ "$(lines part)" -eq 8 ]

# A prediction of its own for in-place: a line in its colour
sed 's/,in-place\(.*\),12,900,450$/,in-place\1,14,800,450/' "$work/full.csv" >"$work/apart.csv"
holds "in-place predicted apart: $(lines apart)" [ "$(lines apart)" -eq $(($(lines full) + 2)) ]
# A ceiling far above all else is said, not drawn, and the picture ends a little above the data
cp "$work/head.csv" "$work/far.csv"
rows_of "$work/far.csv" float 12,900,9000
draw busbw "$work/far.csv"
expect_rc 0 'a ceiling far above:'
key_has 'a ceiling far above' 'what links or memory can carry: 9000 GB/s, above the picture'
key_lacks 'a ceiling far above' 10000
# One notation for times
sed '2,3s/,stream,10,/,stream,2000000,/' "$work/full.csv" >"$work/slow.csv"
draw latency "$work/slow.csv"
key_has 'seconds' 1000000
key_lacks 'seconds' 1e+06
# A size measured twice: the mean, not a line that runs to and fro
{ cat "$work/full.csv" && sed '1d;s/,stream,10,/,stream,30,/' "$work/full.csv"; } >"$work/twice.csv"
holds 'points of one size apart' [ "$(lines twice)" -eq "$(lines full)" ]
draw busbw "$work/twice.csv"
key_has 'measured twice' 'float sum stream; mean where a size was measured more than once'

# ---- several collectives in one file ----

mkdir "$work/several" "$work/one" "$work/void"
{ cat "$work/full.csv" && sed '1d;s/all_reduce/all_gather/;s/,nccl,4,/,nccl,8,/' "$work/full.csv" &&
	echo 1,scatt; } >"$work/several/rows.csv"
cp "$work/full.csv" "$work/one/rows.csv"
run plots/plot "$work/several"
expect_rc 0 'several collectives:'
for plot in busbw latency; do
	for kind in all_reduce-4-ranks all_gather-8-ranks; do
		expect_out "^# $work/several/$plot-$kind.svg $work/several/$plot-$kind.png\$"
		holds "no $plot-$kind" [ -s "$work/several/$plot-$kind.png" ]
	done
done
for sheet in sheet scaling predicted; do
	expect_out "^# $work/several/$sheet.svg $work/several/$sheet.png\$"
done
holds 'not one picture each' [ "$(find "$work/several" -name '*.svg' | wc -l)" -eq 7 ]
holds 'the wrong title' grep -q '>all_gather on nccl, 8 ranks, 1 node<' \
	"$work/several/busbw-all_gather-8-ranks.svg"
draw busbw "$work/several/rows.csv"
refused 1 "holds all_reduce,nccl,4,1 all_gather,nccl,8,1 - one picture each: only=" several
run plots/plot "$work/one"
expect_rc 0 'one collective:'
expect_out "^# $work/one/busbw.svg "
holds 'a sheet of one' [ "$(find "$work/one" -name '*.svg' | wc -l)" -eq 3 ]
run plots/plot "$work/nowhere"
expect_rc 2 'no folder:'
holds 'more than a line' [ "$(wc -l <"$work/err")" -eq 1 ]
run plots/plot "$work/void"
expect_rc 1 'a folder without data:'
holds 'a folder without data: more than a line' [ "$(wc -l <"$work/err")" -eq 1 ]

# ---- hostile ----

: >"$work/empty.csv"
printf 'a,b\n1,2\n' >"$work/other.csv"
head -c 3000 /dev/urandom >"$work/noise.csv"
cut -d, -f1-12,14- "$work/full.csv" >"$work/lacking.csv"
draw busbw "$work/nowhere.csv"
refused 1 'nowhere.csv : not there, or empty' 'no file'
draw busbw "$work/empty.csv"
refused 1 'empty.csv : not there, or empty' 'an empty file'
draw busbw "$work/head.csv"
refused 1 'head.csv : no rows to plot' 'no rows'
draw busbw "$work/lacking.csv"
refused 1 'lacking.csv : no column busbw_gbs$' 'a column that lacks'
draw latency "$work/other.csv"
refused 1 'other.csv : no column time_us p5_us ' 'another file'
draw busbw "$work/noise.csv"
refused 1 'noise.csv : no(t there| column)' 'noise'
run gnuplot plots/busbw.gp
expect_rc 2 'no arguments:'
expect_err '^usage: gnuplot'
# A run that was killed: the last row breaks off
sed '$s/^\(.\{30\}\).*/\1/' "$work/full.csv" >"$work/cut.csv"
draw busbw "$work/cut.csv"
expect_rc 0 'a row that breaks off:'
key_has 'a row that breaks off' predicted
holds 'a row that breaks off: gnuplot says something' [ ! -s "$work/err" ]
mkdir "$work/cut"
for less in 5 10 14 30 40; do
	head -c -$less "$work/full.csv" >"$work/cut/rows.csv"
	run env FORMATS=svg plots/plot "$work/cut"
	expect_rc 0 "the last $less bytes cut off:"
	holds "the last $less bytes cut off: gnuplot says something" [ ! -s "$work/err" ]
done

# ---- timeline ----

{
	echo row,rank,lane,guilty,text,comm,seq,kind,count,dtype,state,start_ms,joined_ms,end_ms,device_start_ms,device_end_ms
	echo 'title,,,,"died: rank-killed (ranks 1;2)",,,,,,,,,,,'
	echo 'verdict,,,,"verdict",,,,,,,9,,,,'
	echo 'lane,0,0,0,"in call 1",,,,,,,,,,,'
	echo 'call,0,0,0,,0,1,AllReduce,1,float,unfinished,0,0,9,,'
} >"$work/timeline.csv"
draw timeline "$work/timeline.csv"
expect_rc 0 'timeline:'
key_has timeline 'died: rank-killed (ranks 1,2)'
# A circle of two communicators: which call is of which, by colour and number, and which rank each lacks; the
# time of the verdict is said once.
{
	head -n 1 "$work/timeline.csv"
	echo 'title,,,,"hang: order-cycle (rank 0); named after 640 ms",,,,,,,,,,,'
	echo 'verdict,,,,"verdict",,,,,,,800,,,,'
	for rank in 0 1; do
		echo "lane,$rank,$rank,0,\"in call 3 of communicator $((7 * rank)); for 0.6 s without rank $((1 - rank))\",,,,,,,,,,,"
		echo "call,$rank,$rank,0,,0,2,AllReduce,1,float,done,0,0,90,,"
		echo "call,$rank,$rank,0,,7,2,AllReduce,1,float,done,100,100,190,,"
		echo "call,$rank,$rank,0,,$((7 * rank)),3,AllReduce,1,float,unfinished,200,800,800,,"
	done
} >"$work/circle.csv"
draw timeline "$work/circle.csv"
expect_rc 0 'a circle:'
for text in 'hang: order-cycle (rank 0), named after 640 ms' communicators c0 c7 'c7: 2' 'c0: 3' 'c7: 3' \
	'in call 3 of communicator 7' 'for 0.6 s without rank 0' verdict; do
	key_has 'a circle' "$text"
done
holds 'a circle: a second time of the verdict' bash -c '! grep -qE ">(800 ms|0.8 s)<" "$1"' - "$work/out.svg"
# strips COLOUR: bars in the colour of a communicator
strips() {
	grep -c "fill *= *['\"]rgb($1)" "$work/out.svg"
}
holds "strips: $(strips '  0, 158, 115'), $(strips '166,  61, 143')" \
	[ "$(strips '  0, 158, 115')" -ge 4 -a "$(strips '166,  61, 143')" -ge 4 ]
draw timeline "$work/timeline.csv"
key_lacks 'one communicator' communicators
# A send and a receive that never ended together: their numbers are not on top of each other.
{
	grep -v ^call "$work/timeline.csv"
	echo 'call,0,0,0,,0,815,Send,1,float,unfinished,0,9,9,,'
	echo 'call,0,0,0,,0,816,Recv,1,float,unfinished,0,9,9,,'
} >"$work/pair.csv"
draw timeline "$work/pair.csv"
left_of() {
	grep -B 1 ">$1<" "$work/out.svg" | sed -nE 's/.*translate\(([0-9]+)[.,].*/\1/p'
}
holds "815 at '$(left_of 815)', 816 at '$(left_of 816)'" \
	[ "$(left_of 816)" -gt $(($(left_of 815) + 15)) ]

# ---- accuracy ----

{
	echo source,sweep,model,size_bytes,placement,set,band,measured,predicted,unit,error_percent
	echo 'here,all_reduce,fitted,8,in-place,,,10,11,us,10'
	echo 'here,all_reduce,physical,1024,in-place,,,20,11,us,-45'
} >"$work/accuracy.csv"
draw accuracy "$work/accuracy.csv"
expect_rc 0 'accuracy:'
key_has accuracy 'here: predicted / measured over size'
key_lacks accuracy 'published plateaus'
echo 'published,x,fitted,8,,,plateau,100,110,GB/s,10' >>"$work/accuracy.csv"
draw accuracy "$work/accuracy.csv"
key_has accuracy 'published plateaus'
draw accuracy "$work/full.csv"
refused 1 'no column measured predicted source model unit' 'accuracy of rows'

# Ticks that stand apart, however far off predictions are
read -rd '' overlaps <<'END'
import re, sys
ticks = re.findall(r'translate\(([\d.]+),([\d.]+)\)"[^>]*text-anchor="end">\s*<text><tspan[^>]*> *([\d.]+)<', open(sys.argv[1]).read())
print(len(ticks), *(f"{a[2]} over {b[2]}" for i, a in enumerate(ticks) for b in ticks[:i]
                    if a[0] == b[0] and abs(float(a[1]) - float(b[1])) < 13))
END
for most in 11 15 30 150 90000; do
	sed "s/^\(here.*\),10,11,us,10/\1,10,$most,us,10/" "$work/accuracy.csv" >"$work/off.csv"
	draw accuracy "$work/off.csv" "formats='svg'"
	ticks=$(python3 -c "$overlaps" "$work/out.svg")
	holds "ticks of predictions of $most for 10: $ticks" [ "$ticks" -gt 4 ]
done
# One colour of a collective, whatever stands beside it
sed 's/all_reduce/alltoall/' "$work/full.csv" >"$work/alone.csv"
{ cat "$work/full.csv" && sed 1d "$work/alone.csv"; } >"$work/beside.csv"
for file in alone beside; do
	draw accuracy "$work/$file.csv" "rows=1; formats='svg'"
	holds "alltoall $file: not orange" grep -q 'rgb(230, 159,   0)' "$work/out.svg"
done

# ---- many rows, one row, columns that lack ----

# Of each: a header, what a row must hold, a row with %d for a number.
trend_head=date,host,host_class,nccl,driver,collective,bytes,mode,placement,busbw,low,high,launches
trend_row='2026-10-%d,h,c,2.28.9,580,all_reduce,1024,stream,out-of-place,1%d,9,13,5'
row_row='1,all_reduce,nccl,4,1,1024,float,sum,-1,out-of-place,stream,1%d,100,9,11,12,900,450'
# many PLOT HEAD ROW NEEDED WANTED SETTING KEY: drawn from one row and from ten thousand, without WANTED
# (which is said), not without NEEDED (which is named); the picture holds the text KEY
many() {
	local file=$work/many-$1.csv n
	echo "$2" >"$file"
	for ((n = 1; n <= 10000; n++)); do echo "${3//%d/$n}"; done >>"$file"
	head -n 2 "$file" >"$work/single.csv"
	echo 1,torn >>"$file"
	for file in "$file" "$work/single.csv"; do
		draw "$1" "$file" "formats='svg'; $6"
		expect_rc 0 "$1 of ${file##*/}:"
		holds "$1 of ${file##*/}: gnuplot says something" [ ! -s "$work/err" ]
		key_has "$1 of ${file##*/}" "$7"
	done
	sed "1s/\b$4\b/other/" "$work/single.csv" >"$work/lacking.csv"
	draw "$1" "$work/lacking.csv" "formats='svg'; $6"
	refused 1 "lacking.csv : no column $4\$" "$1 without $4"
	head -n 1 "$file" >"$work/none.csv"
	draw "$1" "$work/none.csv" "formats='svg'; $6"
	refused 1 'none.csv : no ' "$1 without rows"
	[ "$5" ] || return 0
	sed "1s/\b$5\b/other/" "$work/single.csv" >"$work/lacking.csv"
	draw "$1" "$work/lacking.csv" "formats='svg'; $6"
	expect_rc 0 "$1 without $5:"
	expect_err "lacking.csv : drawn without column $5\$"
}
many sheet "$names" "$row_row" busbw_gbs predicted_busbw_gbs '' 'float stream'
many scaling "$names" "$row_row" nranks predicted_busbw_gbs '' 'all_reduce, 1K'
many accuracy "$names" "$row_row" predicted_us '' 'rows=1' 'nccl: time'
many trend $trend_head "$trend_row" nccl low '' 'all_reduce, 1K, stream, out-of-place'
many detection fault,outcome,detect_ms drop-rank,hang,6%d outcome '' '' 'time to the verdict, ms'
many pairs from,to,link,latency_us,alone_gbs,disjoint_gbs,all_gbs 0,%d,NV18,6,359,305,302 disjoint_gbs '' '' 'latency, us'

# A sheet: panel titles without what all have in common; scaling in percent of the fewest ranks
draw sheet "$work/full.csv"
key_has 'sheet' 'bus bandwidth over size, GB/s: nccl, 4 ranks, 1 node'
draw scaling "$work/several/rows.csv"
key_has 'scaling' 'percent of what the fewest ranks reached (dashed: predicted)'
draw accuracy "$work/several/rows.csv" 'rows=1' # reduce is no part of all_reduce
sed 's/,all_gather,/,reduce,/' "$work/several/rows.csv" >"$work/reduce.csv"
draw accuracy "$work/reduce.csv" 'rows=1'
key_has accuracy reduce
# Nights: limits from five on, apart after a change, which is marked; one night is outside
nights() {
	local n
	echo $trend_head
	for n in 100 101 102 101 100 99 "$@" 101 100; do
		echo "2026-10-$((++day + 10)),h,c,${nccl:-2.28.3},580,all_reduce,1024,stream,in-place,$n,98,103,5"
	done
}
trend_of() {
	draw trend "$work/nights.csv" "formats='svg'"
	expect_rc 0 'nights:'
	grep -c 'rgb(213,   0,  94)' "$work/out.svg"
}
day=0 nights >"$work/nights.csv"
even=$(trend_of)
day=0 nights 80 >"$work/nights.csv"
holds 'a night outside of the limits is not red' [ "$(trend_of)" -gt "$even" ]
day=20 nccl=2.29.1 nights 80 | sed 1d >>"$work/nights.csv"
even=$(trend_of)
key_has 'a change' ' NCCL 2.29.1'
head -n 4 "$work/nights.csv" >"$work/few.csv"
draw trend "$work/few.csv" "formats='svg'"
holds 'limits of three nights' [ "$(grep -c 'rgb(  0, 158, 115)' "$work/out.svg")" -eq 1 ]
# A panel of each variant, an axis that does not go below 0, and two nights of one day
{
	echo $trend_head,variant,night,exit
	for type in float half; do
		for night in 24 24-2 25; do
			echo "2026-11-${night%-2},h,c,mpi,,all_reduce,8,stream,in-place,1,0.1,2,5,\"2 ranks, mpi, $type sum\",2026-11-$night,0"
		done
	done
} >"$work/variants.csv"
draw trend "$work/variants.csv" "formats='svg'"
expect_rc 0 'variants:'
for text in '2 ranks, mpi, float sum' '2 ranks, mpi, half sum' 2026-11-24 2026-11-24-2 0; do
	key_has variants "$text"
done
holds 'variants: an axis below 0' bash -c '! grep -q ">-[0-9.]*<" "$1"' - "$work/out.svg"

# ---- predict ----

predict() {
	run env BUILD="$BUILD" OUT_DIR="$work/$1" plots/predict "${@:2}"
}
predict h100 --topo dgx-h100 -N 1-2048 -c all_reduce,alltoall
expect_rc 0 'plots/predict:'
for plot in all_reduce-sizes-1 all_reduce-sizes-2048 all_reduce-nodes alltoall-nodes; do
	expect_out "^# $work/h100/$plot.svg $work/h100/$plot.png\$"
	holds "no $plot.png" [ -s "$work/h100/$plot.png" ]
done
holds 'the plateau lacks an algorithm' bash -c \
	'for a in Ring Tree NVLSTree; do grep -qF ">$a<" "$1" || exit 1; done' - \
	"$work/h100/all_reduce-nodes.svg"
holds 'the plateau does not reach 2048 nodes' grep -qF '>2048<' "$work/h100/all_reduce-nodes.svg"
holds 'NVLS on many nodes without SHARP' bash -c '! grep -qF ">NVLS<" "$1"' - \
	"$work/h100/all_reduce-sizes-2048.svg"
for algorithm in Ring Tree NVLS NVLSTree; do # of one colour each, though NVLS stands where NVLSTree does elsewhere
	grep -h -A 7 "<title>$algorithm<" "$work"/h100/*.svg | grep -o "stroke='rgb([^)]*)'" | sort -u
done >"$work/colours"
holds "colours of four algorithms: $(tr '\n' ' ' <"$work/colours")" \
	[ "$(wc -l <"$work/colours"),$(sort -u "$work/colours" | wc -l)" = 4,4 ]
holds 'the title does not say at which size' grep -qF '>dgx-h100, all_reduce, at 8 GiB<' \
	"$work/h100/all_reduce-nodes.svg"
holds 'no key for the ceilings' grep -qF '>what the links can carry<' "$work/h100/all_reduce-sizes-2048.svg"
# ceilings: one grey line where they coincide
ceilings() {
	grep -c 'stroke-dasharray' "$work/h100/$1.svg"
}
holds "ceilings apart $(ceilings all_reduce-sizes-1), alike $(ceilings all_reduce-sizes-2048)" \
	[ "$(ceilings all_reduce-sizes-1)" -gt "$(ceilings all_reduce-sizes-2048)" ]
# Twice in a second: a folder each, and clean paths
here=$PWD
mkdir -p "$work/tree/plots" "$work/tree/build"
cp plots/predict plots/draw.sh plots/predict.gp plots/common.gp "$work/tree/plots/"
cd "$work/tree/build" || exit 1
for i in 1 2 3; do
	HANGAR_E2E=$token BUILD=$BUILD ../plots/predict --topo dgx-a100 >"$work/twin-$i" &
done
wait
cd "$here" || exit 1
holds 'a folder shared' [ "$(find "$work/tree/results/runs" -mindepth 1 -maxdepth 1 | wc -l)" -eq 3 ]
holds 'a path over plots/..' [ "$(sort -u "$work"/twin-* | grep -c "^# $work/tree/results/runs/")" -eq 3 ]
predict one --topo dgx-a100
expect_rc 0 'one node:'
holds 'nodes of one node' [ ! -e "$work/one/all_reduce-nodes.svg" ]
predict odds --topo dgx-a100 --failures 2
expect_rc 2 'odds of failures are no figures to draw:'
expect_err 'failures prints text: without --csv'
predict unknown --topo pdp-11
expect_rc 2 'an unknown machine:'
expect_err "no machine spec 'pdp-11'"
holds 'a folder of nothing' [ ! -e "$work/unknown" ]
# A full folder: nothing half-written, one line
mkdir "$work/disk"
if unshare -rm true 2>/dev/null; then
	run unshare -rm sh -c 'mount -t tmpfs -o size=4k none "$1" && OUT_DIR=$1/made BUILD=$2 plots/predict --topo dgx-a100
		code=$?; ls -A "$1"; exit $code' - "$work/disk" "$BUILD"
	expect_rc 1 'predict on a full disk:'
	holds 'predict on a full disk: not one line' [ "$(wc -l <"$work/err")" -eq 1 ]
	expect_err "^predict: $work/disk/made/(chosen|algos).csv: No space left on device\$"
	holds 'predict on a full disk leaves something' [ ! -s "$work/out" ]
fi
predict list --list
expect_rc 2 'plots/predict --list:'
expect_err 'printed no figures'
predict none
expect_rc 2 'plots/predict without options:'
draw predict "$work/h100/chosen.csv" "over='nnodes'; only='alltoall'"
expect_rc 0 'predict.gp over nodes:'
draw predict "$work/h100/chosen.csv" "only='hypercube'"
refused 1 'no rows to plot' 'a collective that the file lacks'

# ---- a program under hangar_run: who waits, who is late ----

# metered RANKS CALLS: rank 2 of these comes 5 ms late from call 10 on, the others' waits differ by less than 0.1 ms
metered() {
	mkdir "$work/metered"
	python3 - "$1" "$2" "$work/metered" <<'END'
import json
import sys
ranks, calls, place = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
events = [{"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "sampled calls"}}]
for call in range(1, calls + 1):
    for rank in range(ranks):
        waits = 0 if rank == 2 and call >= 10 else (5000 if call >= 10 else 0) + rank % 10 * 10
        args = {"communicator": "00ab", "call": call}
        if waits:
            events.append({"ph": "X", "tid": rank, "ts": call * 9e3, "dur": waits, "name": "waits in AllReduce", "args": args})
        events.append({"ph": "X", "tid": rank, "ts": call * 9e3 + waits, "dur": 100, "name": "AllReduce", "args": args})
json.dump({"traceEvents": events}, open(place + "/trace.json", "w"))
with open(place + "/meter.csv", "w") as out:
    print("communicator,name,nranks,call,rank,held_percent,waited_percent", file=out)
    for rank in range(-1, ranks):
        print(f'0,"ranks 0,1",{ranks},AllReduce,{rank},60,{2 if rank == 2 else 50}', file=out)
END
}
for ranks in 8 1024; do
	metered $ranks 30
	python3 ci/night/arrivals.py "$work/metered/trace.json" >"$work/arrivals.csv"
	check "$ranks ranks: lanes" [ "$(cut -d, -f3 "$work/arrivals.csv" | sort -u | wc -l)" = $((1 + (ranks < 128 ? ranks : 128))) ]
	check "$ranks ranks: who is late, and since when" [ "$(awk -F, 'NR > 1 && $4 > 1000 { print $3, $2 }' "$work/arrivals.csv" | sed -n '1p;$p' | paste -sd' ')" = \
		"$((ranks < 128 ? 2 : 0)) 10 $((ranks < 128 ? 2 : 0)) 30" ]
	run plots/plot "$work/metered"
	expect_rc 0 "$ranks ranks:"
	for picture in arrivals waiting; do
		holds "$picture of $ranks ranks" [ -s "$work/metered/$picture.png" ]
		holds "$picture of $ranks ranks says so" grep -qE '(waiting for others|median rank)' "$work/metered/$picture.svg"
	done
	rm -r "$work/metered"
done
mkdir "$work/metered"
echo '{"traceEvents":[]}' >"$work/metered/trace.json"
run plots/plot "$work/metered"
expect_rc 1 'a trace without calls:'
expect_err 'no call in it says who waited'
echo '[1,' >"$work/metered/trace.json"
run plots/plot "$work/metered"
expect_rc 1 'a trace that is torn:'
expect_err 'no trace: '
finish
