# predict.gp: predicted bus bandwidth over size, or over the number of nodes, with the ceiling.
# usage: topo_predict --csv ... >F.csv; gnuplot -e "csv='F.csv'; out='F'" plots/predict.gp
#        over='nnodes'    over nodes, one curve per size (default: over size, one per number of nodes)
#        by='algo'     one curve per algorithm too (topo_predict --all-algos)

if (!exists("csv") || !exists("out")) {
	print "usage: gnuplot -e \"csv='F.csv'; out='NAME'\" plots/predict.gp"
	exit status 2
}
if (!exists("over")) { over = "size_bytes" }
if (!exists("by")) { by = "" }

set datafile separator ","
set datafile missing NaN
set key autotitle columnheader
other = over eq "nnodes" ? "size_bytes" : "nnodes"

curves = ""
topo = ""
smallest = 1e300
largest = 0
key_of(row) = strcol("collective").",".strcol(other).",".(by eq "" ? "-" : strcol(by))
note(key) = strstrt(curves, key." ") ? 0 : (curves = curves.key." ", 0)
note_x(v) = (smallest = v < smallest ? v : smallest, largest = v > largest ? v : largest, 0)
note_topo(text) = (topo = text, 0)
stats csv using (note_topo(strcol("topo")) + note(key_of(0)) + note_x(column(over))) nooutput
ncurves = words(curves)
if (ncurves == 0) {
	print csv, ": no rows to plot"
	exit status 1
}
of_curve(i, value) = key_of(0) eq word(curves, i) ? value : NaN
spaced(s) = (at = strstrt(s, ","), at ? s[:at - 1]." ".spaced(s[at + 1:]) : s)
part(i, n) = word(spaced(word(curves, i)), n)
unit(b) = b >= 2.0**30 ? sprintf("%gG", b / 2.0**30) : b >= 2.0**20 ? sprintf("%gM", b / 2.0**20) : \
	b >= 2.0**10 ? sprintf("%gK", b / 2.0**10) : sprintf("%g", b)
label(i) = part(i, 1).(over eq "nnodes" ? ", ".unit(real(part(i, 2)))."B" : ", ".part(i, 2)." node(s)"). \
	(by eq "" ? "" : ", ".part(i, 3))

array colours[8] = [0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x000000, 0x999999]
do for [i = 1:ncurves] {
	set linetype i linecolor rgb colours[(i - 1) % 8 + 1] linewidth 2 pointtype 7 pointsize 0.5
}
set border 3 linecolor rgb "#555555"
set tics nomirror out textcolor rgb "#222222"
set grid xtics ytics linetype 1 linecolor rgb "#e4e4e4" linewidth 1
set logscale x 2
set xrange [smallest / 1.4 : largest * 1.4]
set yrange [0:*]
set xlabel over eq "nnodes" ? "nodes" : "size, bytes"
set ylabel "predicted bus bandwidth, GB/s"
set title topo." (dashed: what the links could carry)" noenhanced
set key outside right top noenhanced
first = floor(log(smallest) / log(2))
last = ceil(log(largest) / log(2))
set xtics ()
do for [i = first:last:ceil((last - first + 1) / 12.0)] {
	set xtics add (unit(2.0**i) 2.0**i)
}

terminal(format) = format eq "svg" ? \
	"set terminal svg size 900,560 dynamic font 'Helvetica,14' background 'white'" : \
	"set terminal pngcairo size 1800,1120 fontscale 2 linewidth 2 pointscale 2 background 'white'"
do for [format in "svg png"] {
	eval terminal(format)
	set output out.".".format
	plot for [i = 1:ncurves] csv using (column(over)):(of_curve(i, column("busbw_gbs"))) \
		with linespoints linetype i title label(i), \
		for [i = 1:ncurves] csv using (column(over)):(of_curve(i, column("ceiling_busbw_gbs"))) \
		with lines linetype i linewidth 1 dashtype 2 notitle
	set output
}
