# latency.gp: time of a call over size: the median, and as a band the 5th to 95th percentile of the
# samples.
# usage: gnuplot -e "csv='DIR/rows.csv'; out='DIR/latency'" plots/latency.gp  writes out.svg, .png

load (strstrt(ARG0, "/") ? ARG0[1:strlen(ARG0) - strlen("latency.gp")] : "")."common.gp"

# Bands of several series would hide each other.
nbands = nseries == 1 ? ncurves : 0
set ylabel "time, microseconds (median".(nbands ? "; band: p5 to p95)" : ")")
set logscale y 10
set format y "%g"

do for [format in "svg png"] {
	eval terminal(format)
	set output out.".".format
	plot for [i = 1:nbands] csv using (column("size_bytes")):(of_curve(i, column("p5_us"))): \
			(of_curve(i, column("p95_us"))) with filledcurves fillstyle transparent solid 0.2 noborder \
			linecolor rgb colour(i) notitle, \
		for [i = 1:ncurves] csv using (column("size_bytes")):(of_curve(i, column("time_us"))) \
			with linespoints linetype i title label(i)
	set output
}
