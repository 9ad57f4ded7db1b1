# busbw.gp: bus bandwidth over size, out of place and in place.
# usage: gnuplot -e "csv='DIR/rows.csv'; out='DIR/busbw'" plots/busbw.gp     writes out.svg, .png

load (strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("busbw.gp")] : "")."common.gp"

set ylabel "bus bandwidth, GB/s"
set yrange [0:*]
set format y "%g"

do for [format in "svg png"] {
	eval terminal(format)
	set output out.".".format
	plot for [i = 1:ncurves] csv using (column("size_bytes")):(of_curve(i, column("busbw_gbs"))) \
		with linespoints linetype i title label(i)
	set output
}
