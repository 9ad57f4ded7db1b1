# pairs.gp: what every pair of ranks reached, as heat maps: GB/s alone, in disjoint pairs and with all
# pairs at once, and latency. From p2p_matrix_perf --csv; a pair that was not measured stays white.
# usage: gnuplot -e "csv='DIR/pairs.csv'; out='DIR/pairs'" plots/pairs.gp      writes out.svg, .png

needs = "from to latency_us alone_gbs disjoint_gbs all_gbs"
texts = "link"
load ARG0[1:strlen(ARG0) - strlen("pairs.gp")]."common.gp"

last = 0
links = ""
stats csv using (whole(0) ? (last = column("to") > last ? column("to") : last, \
	links = strstrt(links, strcol("link")) ? links : links." ".strcol("link"), 1) : NaN) nooutput
if (last == 0) {
	print file, ": no pairs to plot"
	exit status 1
}
set xrange [-0.5:last + 0.5]
set yrange [last + 0.5:-0.5]
set size ratio 1
set xlabel "to rank"
set ylabel "from rank"
set xtics 1 + int(last / 16)
set ytics 1 + int(last / 16)
set format cb "%g"
set cbrange [0:*]
unset grid
set palette defined (0 "#440154", 0.25 "#3b528b", 0.5 "#21918c", 0.75 "#5ec962", 1 "#fde725")
names = "alone_gbs disjoint_gbs all_gbs latency_us"
array titles[4] = ["GB/s, one pair alone, one way", "GB/s, disjoint pairs, both ways", \
	"GB/s, all pairs at once", "latency, us"]
do for [format in formats] {
	eval terminal(format, 1.2, 1.9)
	set output out.".".format
	set multiplot layout 2, 2 title last < 32 ? "pairs of ranks".(links eq "" ? "" : ", over".links) \
		: "pairs of ranks" noenhanced
	do for [i = 1:4] {
		set title titles[i]
		plot csv using (column("to")):(column("from")):(0.5):(0.5):(number(word(names, i))) \
			with boxxyerror fillstyle solid noborder linecolor palette notitle
	}
	unset multiplot
	set output
}
