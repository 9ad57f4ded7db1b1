# predict.gp: predicted bus bandwidth over size, or over the number of nodes, with error bars (nine in
# ten of such machines; none: never scored) and the ceiling.
# usage: topo_predict --csv ... >F.csv; gnuplot -e "csv='F.csv'; out='F'" plots/predict.gp
#        over='nnodes'    over nodes, a curve per size (default: over size, one per number of nodes)
#        by='algo'        a curve per algorithm (topo_predict --all-algos) at the largest size or
#                         number of nodes, or at='VALUE' of it
#        only='NAME'      of this collective alone
#        chosen='G.csv'   behind them what NCCL would choose (topo_predict without --all-algos)

if (!exists("over")) { over = "size_bytes" }
if (!exists("by")) { by = "" }
if (!exists("only")) { only = "" }
if (!exists("at")) { at = "" }
other = over eq "nnodes" ? "size_bytes" : "nnodes"
needs = "nnodes nranks size_bytes busbw_gbs ceiling_busbw_gbs"
texts = "topo collective algo"
here = ARG0[1:strlen(ARG0) - strlen("predict.gp")]
load here."common.gp"

# One pass finds the value of the other axis, one more the curves.
asked(row) = whole(0) ? only eq "" || strcol("collective") eq only : 0
most = 0
note_other(v) = v > most ? (most = v, at = strcol(other), 0) : 0
if (by eq "algo" && at eq "") {
	stats csv using (asked(0) ? note_other(column(other)) : 0) nooutput
}
drawn(row) = asked(0) ? by eq "" || strcol(other) eq at : 0
curves = ""
topo = ""
gpus = ""
smallest = 1e300
largest = 0
key_of(row) = strcol("collective").",".strcol(by eq "algo" ? "algo" : other)
note_key(key) = strstrt(curves, key." ") ? 0 : (curves = curves.key." ", 0)
note_x(v) = (smallest = v < smallest ? v : smallest, largest = v > largest ? v : largest, 0)
note_topo(row) = (topo = strcol("topo"), \
	gpus = sprintf("%g", column("nranks") / column("nnodes")), 0)
note_row(row) = note_topo(0) + note_key(key_of(0)) + note_x(column(over))
stats csv using (drawn(0) ? note_row(0) : 0) nooutput
ncurves = words(curves)
if (ncurves == 0) {
	print file, ": no rows to plot"
	exit status 1
}

# Ceilings that are the same for all curves are one grey line, others have their curve's colour. And
# how far the picture reaches.
note_ceiling(row) = key_of(0) eq word(curves, i) ? \
	(text = text.sprintf("%g=%.3g ", column(over), column("ceiling_busbw_gbs")), 0) : 0
same = 1
alike = ""
do for [i = 1:ncurves] {
	text = ""
	stats csv using (drawn(0) ? note_ceiling(0) : 0) nooutput
	if (i == 1) { alike = text }
	same = same && text eq alike
}
nceilings = same ? 1 : ncurves
peak = 0
note_peak(v) = v > peak ? (peak = v, 0) : 0
stats csv using (drawn(0) ? note_peak(column("busbw_gbs")) + \
	note_peak(column("ceiling_busbw_gbs")) : 0) nooutput
x(row) = drawn(0) ? column(over) : NaN
of_curve(i, name) = drawn(0) ? key_of(0) eq word(curves, i) ? column(name) : NaN : NaN
part(i, n) = word(spaced(word(curves, i)), n)
counted(n, what) = n.what.(n eq "1" ? "" : "s")
bytes(u) = strstrt("KMGT", u[strlen(u):]) == 0 ? u." B" : u[:strlen(u) - 1]." ".u[strlen(u):]."iB"
measure(name, v) = name eq "nnodes" ? counted(v, " node") : bytes(unit(real(v)))
label(i) = by eq "algo" ? (only eq "" ? part(i, 1).", " : "").part(i, 2) : \
	(only eq "" ? part(i, 1).", " : "").measure(other, part(i, 2))

colour(i) = colour_of(by eq "algo" ? part(i, 2) : "", i)
do for [i = 1:ncurves] {
	set linetype i linecolor rgb colour(i) linewidth 2 pointtype 7 pointsize 0.5 \
		dashtype 1 + (i - 1) / 8
}
set logscale x 2
set xrange [smallest / 1.4 : largest * 1.4]
set yrange [0:*]
set offsets 0, 0, graph 0.03, 0
set xlabel over eq "nnodes" ? "nodes of ".counted(gpus, " GPU") : "size, bytes"
set ylabel "predicted bus bandwidth, GB/s"
set title topo.(only eq "" ? "" : ", ".only). \
	(by eq "algo" ? (over eq "nnodes" ? ", at " : ", ").measure(other, at) : ""). \
	(by eq "algo" && over ne "nnodes" ? " of ".counted(gpus, " GPU") : "") noenhanced
set key outside bottom center horizontal reverse Left samplen 2.5 spacing 1.2 noenhanced
if (ncurves > 8) { set key outside right top vertical }
if (ncurves > 24) { unset key }   # nobody could tell them apart
if (over eq "nnodes") { unit(b) = sprintf("%g", b) }
eval power_ticks(smallest, largest, 12)

# A band rather than a thick line, which would hang over the axis.
half = 0.015 * peak
lower(v) = v > half ? v - half : 0
wide = !exists("chosen") ? "" : \
	"chosen using (x(0)):(drawn(0) ? lower(column('busbw_gbs')) : NaN): ". \
	"(drawn(0) ? column('busbw_gbs') + half : NaN) with filledcurves fillstyle solid noborder ". \
	"linecolor rgb '#dddddd' title \"NCCL's choice\","
do for [format in formats] {
	eval terminal(format, ncurves > 8 ? 1.4 : 1, 1)
	set output out.".".format
	plot @wide for [i = 1:ncurves] csv using (x(0)):(of_curve(i, "busbw_gbs")): \
			(of_curve(i, "low_busbw_gbs")):(of_curve(i, "high_busbw_gbs")) \
			with yerrorbars linetype i pointtype 0 notitle, \
		for [i = 1:ncurves] csv using (x(0)):(of_curve(i, "busbw_gbs")) \
			with linespoints linetype i title label(i), \
		for [i = 1:nceilings] csv using (x(0)):(of_curve(i, "ceiling_busbw_gbs")) \
			with lines linecolor rgb (same ? 0x777777 : colour(i)) \
			linewidth 1.5 dashtype 3 notitle, \
		NaN with lines linewidth 1.5 dashtype 3 linecolor rgb "#777777" \
			title "what the links can carry"
	set output
}
